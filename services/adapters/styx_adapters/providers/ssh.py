"""SSH hosts. Connect: the host trusts the CA that lives in Vault (nothing standing is stored), or a
key that Vault keeps and nobody is handed.

With the CA it issues an OpenSSH user certificate for a key that the agent's machine made and keeps
in an agent socket. Narrowed by: one principal per target (a host lists it in
`AuthorizedPrincipalsFile`, so a certificate for one target opens no other), expiry, optional source
addresses, and `force-command` for a this-command-once grant. Scopes can't be told apart by sshd:
any shell may do anything that its user may, so only a forced command is `scoped`. Revoke: by
expiry, which is why a certificate lives at most five minutes; a host that fetches the revocation
list refuses it earlier; a session that is open stays open (ssh(1), sshd_config(5)).

With a stored key it issues the key's public half for an agent socket, and Vault signs each login as
the target's user while the grant lives. Nothing narrows the session (`scoped` is never said), and
a revoke is `hard`: no more logins are signed.
"""

from collections.abc import Mapping
from datetime import timedelta

from styx_core.errors import Invalid
from styx_core.provider import Field, Method, Provider
from styx_core.remote import remote_command
from styx_core.scope import Scope

from styx_adapters import ssh_stored
from styx_adapters.adapter import Config, Connected, Deps, Ended, Minted, Secret, Want
from styx_adapters.commands.load import tool
from styx_adapters.ssh_login import login

HOST = r"[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?|\[[0-9a-fA-F:]{2,39}\]"
PORT = r"[1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]"
USER = r"[a-z_][a-z0-9_-]{0,31}"
LIFE = timedelta(minutes=5)
VERIFY_LIFE = timedelta(seconds=60)
STORED_LIFE = timedelta(hours=1)

PREPARE = """\
# On the host, every minute (cron), and once before the rest: without this list sshd would admit
# no key at all. With it a revoke is felt before a certificate's own end.
curl -fsS $styx/ssh/krl -o /etc/ssh/styx.krl.new && mv /etc/ssh/styx.krl.new /etc/ssh/styx.krl
# /etc/ssh/styx_ca.pub
$ssh_ca
# /etc/ssh/principals/<login name>
$target
# sshd_config
TrustedUserCAKeys /etc/ssh/styx_ca.pub
AuthorizedPrincipalsFile /etc/ssh/principals/%u
RevokedKeys /etc/ssh/styx.krl"""

_PLACE = (
    Field("host", "host name or address", pattern=HOST),
    Field("port", "port", pattern=PORT, default="22", required=False),
    Field("user", "login name", pattern=USER),
)

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
                *_PLACE,
                Field("source", "source addresses (CIDR)", pattern=r"[0-9a-fA-F.:/,]{1,200}",
                      required=False),
            ),
            revocable="expiry",
            prepare=PREPARE,
        ),
        Method(
            "key",
            "A key that Vault keeps, for a host that can't trust a CA",
            (
                *_PLACE,
                Field("private_key", "private key (Ed25519, no passphrase)", secret=True,
                      pattern=r"-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----[A-Za-z0-9+/=\s]{40,4000}"
                              r"-----END [A-Z ]{0,20}PRIVATE KEY-----\s*"),
            ),
            revocable="hard",
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
        """Log in once: with the key, or with a certificate of a minute that may only run `true`."""
        full = {**config, "principal": target_id}
        label = f"{config['user']}@{config['host']}"
        if method == "key":
            kept = await ssh_stored.bring_in(self._deps.vault, full, secret["private_key"])
            return Connected(kept, full, label)
        await self._certified_login(full)
        return Connected({"kind": "ca"}, full, label)

    async def issue(self, secret: Secret, config: Config, want: Want) -> Minted:
        """A certificate for the agent's key, or the public half of the stored one."""
        if "key" in secret:
            return self._stored(secret, want)
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

    def _stored(self, secret: Secret, want: Want) -> Minted:
        latest = self._deps.now() + STORED_LIFE
        return Minted(
            secret={"identity": secret["public"], "env": {}},
            expires_at=latest if want.until is None else min(want.until, latest),
            scoped=False,
            revocable="hard",
            handle={},
        )

    async def sign(self, secret: Secret, config: Config, data: bytes) -> bytes:
        """One login's signature by the stored key. Raises `Forbidden` for any other data."""
        if "key" not in secret:
            raise Invalid("data: this target's keys are in agent sockets; nothing is signed here")
        return await ssh_stored.sign(self._deps.vault, secret, config, data)

    async def revoke(self, secret: Secret, config: Config, handle: Mapping[str, str]) -> Ended:
        """Nothing at the host can be undone; the stored key signs no more for this grant."""
        if "key" in secret:
            return Ended("hard", "no further login is signed; a session that is open stays open")
        return Ended("expiry", "the certificate ends by itself within five minutes")

    async def health(self, secret: Secret, config: Config) -> str:
        """Log in as `connect` does."""
        if "key" in secret:
            await ssh_stored.try_login(self._deps.vault, secret, config)
        else:
            await self._certified_login(config)
        return f"{config['user']}@{config['host']}"

    async def _certified_login(self, config: Config) -> None:
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
        refused = (
            f"{config['host']} refuses the certificate: its sshd must have TrustedUserCAKeys "
            f"with Styx's CA and {config['principal']} in AuthorizedPrincipalsFile"
        )
        await login(config, (key, asyncssh.import_certificate(certificate)), refused)


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
