"""SSH hosts. Connect: the host trusts the CA that lives in Vault; nothing standing is stored.

Issues an OpenSSH user certificate for a key that the agent's machine made and keeps in an agent
socket. Narrowed by: one principal per target (a host lists it in `AuthorizedPrincipalsFile`, so a
certificate for one target opens no other), expiry, optional source addresses, and `force-command`
for a this-command-once grant. Scopes can't be told apart by sshd: any shell may do anything that
its user may, so only a forced command is `scoped`. Revoke: by expiry, which is why a certificate
lives at most five minutes; a session that is open already stays open (ssh(1), sshd_config(5)).
"""

import asyncio
from collections.abc import Mapping
from datetime import timedelta

from styx_core.errors import Invalid, LoginExpired, ProviderFailed
from styx_core.provider import Field, Method, Provider
from styx_core.remote import remote_command
from styx_core.scope import Scope

from styx_adapters.adapter import Config, Connected, Deps, Ended, Minted, Secret, Want
from styx_adapters.commands.load import tool

HOST = r"[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?|\[[0-9a-fA-F:]{2,39}\]"
PORT = r"[1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]"
USER = r"[a-z_][a-z0-9_-]{0,31}"
LIFE = timedelta(minutes=5)
VERIFY_LIFE = timedelta(seconds=60)
CONNECT_SECONDS = 10.0

PROVIDER = Provider(
    id="ssh",
    label="SSH",
    tools=(tool("ssh"),),
    kind="ssh-agent",
    scopes=(Scope.WRITE, Scope.DELETE),
    host_in_argv=True,
    strip=("SSH_AUTH_SOCK", "SSH_AGENT_PID", "SSH_ASKPASS"),
    methods=(
        Method(
            "ca",
            "The host trusts Styx's CA",
            (
                Field("host", "host name or address", pattern=HOST),
                Field("port", "port", pattern=PORT, default="22", required=False),
                Field("user", "login name", pattern=USER),
                Field("source", "source addresses (CIDR)", pattern=r"[0-9a-fA-F.:/,]{1,200}",
                      required=False),
            ),
        ),
    ),
)  # fmt: skip


class SshAdapter:
    """Certificates from Vault's ssh engine."""

    def __init__(self, deps: Deps) -> None:
        self._deps = deps

    async def connect(
        self, method: str, target_id: str, config: Config, secret: Secret
    ) -> Connected:
        """Log in once with a certificate of a minute that may only run `true`."""
        full = {**config, "principal": target_id}
        await self._login(full)
        return Connected({"kind": "ca"}, full, f"{config['user']}@{config['host']}")

    async def issue(self, secret: Secret, config: Config, want: Want) -> Minted:
        """A certificate for the agent's key."""
        if want.public_key is None:
            raise Invalid(
                "public_key: SSH needs a key made on the agent's machine; run `ssh` through the "
                "Styx shim, or use `styx mcp`"
            )
        forced = _forced(want)
        life = LIFE if want.until is None else min(LIFE, want.until - self._deps.now())
        certificate = await self._deps.vault.ssh_sign(
            want.public_key,
            config["principal"],
            max(life, timedelta(seconds=1)),
            key_id=f"{want.grant_id}.{want.lease_id}",
            force_command=forced,
            source_address=config.get("source"),
        )
        return Minted(
            secret={"certificate": certificate, "env": {}},
            expires_at=self._deps.now() + life,
            scoped=forced is not None,
            revocable="expiry",
            handle={"key_id": f"{want.grant_id}.{want.lease_id}"},
        )

    async def revoke(self, secret: Secret, config: Config, handle: Mapping[str, str]) -> Ended:
        """Nothing at the host can be undone: the certificate ends within five minutes."""
        return Ended("expiry", "the certificate ends by itself within five minutes")

    async def health(self, secret: Secret, config: Config) -> str:
        """Log in as `connect` does."""
        await self._login(config)
        return f"{config['user']}@{config['host']}"

    async def _login(self, config: Config) -> None:
        import asyncssh  # slow to import: only connecting needs it

        key = asyncssh.generate_private_key("ssh-ed25519")
        certificate = await self._deps.vault.ssh_sign(
            key.export_public_key().decode().strip(),
            config["principal"],
            VERIFY_LIFE,
            key_id="styx.verify",
            force_command="true",
            source_address=config.get("source"),
        )
        pair = (key, asyncssh.import_certificate(certificate))
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                async with asyncssh.connect(
                    config["host"].strip("[]"),
                    int(config["port"]),
                    username=config["user"],
                    client_keys=[pair],
                    known_hosts=None,
                    agent_path=None,
                    config=None,
                ) as connection:
                    await connection.run("true", check=True)
        except asyncssh.PermissionDenied:
            raise LoginExpired(
                f"{config['host']} refuses the certificate: its sshd must have TrustedUserCAKeys "
                f"with Styx's CA and {config['principal']} in AuthorizedPrincipalsFile"
            ) from None
        except (OSError, TimeoutError, asyncssh.Error) as error:
            raise ProviderFailed(
                f"{config['host']}:{config['port']} did not answer as an SSH host "
                f"({type(error).__name__})"
            ) from None


def _forced(want: Want) -> str | None:
    """What a this-command-once certificate may run: the call's remote command, to the letter."""
    if not want.once:
        return None
    remote = remote_command(PROVIDER.tools[0], want.command[1:])
    if remote is None:
        raise Invalid(
            "this grant is for one command, and this call can't be held to it (an interactive "
            "shell, or words that hold a secret); ask for a time instead"
        )
    return remote


def adapter(deps: Deps) -> SshAdapter:
    """The provider's code, on these edges."""
    return SshAdapter(deps)
