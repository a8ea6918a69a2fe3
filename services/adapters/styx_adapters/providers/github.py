"""GitHub. Connect: a GitHub App, a fine-grained token, or the `gh` CLI's own login on this machine.

`app` issues installation tokens, each lease its own, for the target's repositories (all that the
App is installed on, if none are named) and with the permissions of the granted scopes alone: one
table, in `github_permissions`, says which and why. For `read` all of them are at `read`, so such a
token is `scoped`; GitHub's `write` deletes too, so no other is. What anybody may see (public
repositories) any token may. It lives an hour: GitHub knows no other life. The App's key is imported
into Vault's transit engine and signs there; Vault's entry holds its name alone.

Revoke: the token is deleted, which takes the token itself. It is in the memory of the process that
minted it, so a revoke is `hard` while that runs; after a restart it is `expiry`, and says so. What
`token` and `cli` hand on can't be narrowed (never `scoped`) or ended (`none`).

An App is no user: what gh asks of its user (`gh auth status`, `gh status`, gists, keys) GitHub
refuses to it. GH_CONFIG_DIR is set to a place that can't be: /proc takes no new entries, not even
root's, so nobody plants a config there, and the person's logins, aliases and proxies
(`http_unix_socket`) stay out. An Enterprise Server's certificate must be of a well-known authority.
"""

from collections.abc import Mapping
from datetime import timedelta

from styx_core.errors import LoginExpired, ProviderFailed
from styx_core.provider import Field, Method, Provider
from styx_core.scope import Scope

from styx_adapters.adapter import Config, Connected, Deps, Ended, Minted, Secret, Want
from styx_adapters.api import URL, Answer
from styx_adapters.commands.load import tool
from styx_adapters.github_api import WHO, ask, environment, host_of
from styx_adapters.github_app import GithubApp
from styx_adapters.github_login import TOKEN, read_login, shaped, store
from styx_adapters.local_login import ACCOUNT

LONGEST = timedelta(hours=1)
HERE = rf"(?=https:|http://127\.0\.0\.1[:/])(?:{URL})"
"""Where this machine's own login may be sent: never in the clear, and only to the host it is of."""
_REPOSITORY = r"(?!\.{1,2}(?:,|\Z))[A-Za-z0-9_.][A-Za-z0-9_.-]{0,99}"
_PEM = (
    r"-----BEGIN (?:RSA )?PRIVATE KEY-----[A-Za-z0-9+/=\r\n]{100,8000}"
    r"-----END (?:RSA )?PRIVATE KEY-----[\r\n]{0,4}"
)


def _api(pattern: str) -> Field:
    return Field(
        "api",
        "API address (https://HOST/api/v3 of an Enterprise Server)",
        pattern=pattern,
        default="https://api.github.com",
        required=False,
    )


PROVIDER = Provider(
    id="github",
    label="GitHub",
    tools=(tool("gh"),),
    scopes=(Scope.READ, Scope.WRITE, Scope.DEPLOY, Scope.DELETE),
    narrows=(Scope.READ,),
    env=("GH_TOKEN", "GH_ENTERPRISE_TOKEN", "GH_HOST"),
    strip=(
        # Other credentials; Copilot and codespaces prefer their own.
        "GITHUB_TOKEN", "GITHUB_ENTERPRISE_TOKEN", "COPILOT_GITHUB_TOKEN", "GITHUB_CODESPACE_TOKEN",
        # Other places: a repository at any host, another gh, and where codespaces are asked for.
        "GH_REPO", "GH_PATH", "GITHUB_SERVER_URL", "GITHUB_API_URL", "INTERNAL_VSCS_TARGET_URL",
    ),
    quiet={
        "GH_CONFIG_DIR": "/proc/styx-no-config",
        "GH_PROMPT_DISABLED": "1",
        "GH_NO_UPDATE_NOTIFIER": "1",
        "GH_NO_EXTENSION_UPDATE_NOTIFIER": "1",
        "GH_SPINNER_DISABLED": "1",
        "GH_TELEMETRY": "0",
        "GH_PAGER": "cat",
    },
    methods=(
        Method(
            "app",
            "A GitHub App",
            (
                Field("app_id", "App id or client id",
                      pattern=r"[1-9][0-9]{0,19}|Iv[0-9A-Za-z.]{8,40}"),
                Field("installation_id", "installation id", pattern=r"[1-9][0-9]{0,19}"),
                Field("repositories", "repositories, without their owner (a,b)", required=False,
                      pattern=rf"{_REPOSITORY}(?:,{_REPOSITORY}){{0,499}}"),
                Field("private_key", "private key (PEM)", secret=True, pattern=_PEM),
                _api(URL),
            ),
            revocable="hard",
        ),
        Method(
            "token",
            "A fine-grained token",
            (
                Field("token", "token", secret=True, pattern=r"github_pat_[A-Za-z0-9_]{22,255}"),
                _api(URL),
            ),
            narrows=(),
        ),
        Method(
            "cli",
            "This machine's gh login",
            (Field("account", "user name", pattern=ACCOUNT, required=False), _api(HERE)),
            local=True,
            narrows=(),
        ),
    ),
)  # fmt: skip


class GithubAdapter:
    """An App's tokens, or a person's own."""

    def __init__(self, deps: Deps) -> None:
        self._deps = deps
        self._app = GithubApp(deps)

    async def connect(
        self, method: str, target_id: str, config: Config, secret: Secret
    ) -> Connected:
        """Have the App's key make a token of its repositories, or ask whose the login is."""
        if method == "app":
            key, label = await self._app.connect(target_id, config, secret["private_key"])
            return Connected({"key": key}, dict(config), label)
        _, user = await self._login(secret, config)
        kept = dict(secret) if method == "token" else {"account": user}
        return Connected(kept, {**config, "account": user}, _label(user, config))

    async def health(self, secret: Secret, config: Config) -> str:
        """The App's installation, or whose the login is."""
        if "key" in secret:
            return await self._app.health(secret["key"], config)
        return _label((await self._login(secret, config))[1], config)

    async def issue(self, secret: Secret, config: Config, want: Want) -> Minted:
        """An installation token of its own, or the target's own login, if it is still good."""
        if "key" in secret:
            return await self._app.issue(secret["key"], config, want)
        token, _ = await self._login(secret, config)
        return Minted(
            secret={"env": environment(token, config["api"])},
            expires_at=want.until or self._deps.now() + LONGEST,
            scoped=False,
            revocable="none",
            handle={},
        )

    async def revoke(self, secret: Secret, config: Config, handle: Mapping[str, str]) -> Ended:
        """Delete an installation token."""
        if "lease_id" in handle:
            return await self._app.revoke(handle)
        return Ended("none", "the target's own login was handed on; Styx can't end that")

    async def _login(self, secret: Secret, config: Config) -> tuple[str, str]:
        """The target's own token, and whose it is. Raises `LoginExpired` if that has changed."""
        token = secret["token"] if "token" in secret else await self._local(config)
        said = Answer(WHO, await ask(self._deps.api, config["api"], "GET", "/user", token))
        user = shaped(ACCOUNT, said["login"])
        if not user:
            raise ProviderFailed(f"{WHO} answered with a login of an unknown shape")
        if user.lower() != config.get("account", user).lower():
            raise LoginExpired(f"this login is {user}'s, not {config['account']}'s")
        return token, user

    async def _local(self, config: Config) -> str:
        """What gh would use at this moment: from its file, else from gh itself."""
        local = self._deps.local()
        text = local.read("gh", store(local))
        login = read_login(text, host_of(config["api"]), config.get("account", ""))
        if login.token:
            return login.token
        told = await local.ask("gh", login.command(), keep=("GH_CONFIG_DIR",))
        token = shaped(TOKEN, told)
        if not token:
            raise LoginExpired(f"gh has no token for {login.host}; run `gh auth login`")
        return token


def _label(user: str, config: Config) -> str:
    return f"{user} at {host_of(config['api'])}"


def adapter(deps: Deps) -> GithubAdapter:
    """The provider's code, on these edges."""
    return GithubAdapter(deps)
