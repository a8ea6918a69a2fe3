"""Vercel. Connect: an account's token, or the `vercel` CLI's own login on this machine.

Issues a token of the call's own (Vercel REST API, "Create an Auth Token"): at most an hour long,
of the target's one project, else of its one team, else of the whole account. Vercel's tokens have
no read-only level: within its reach a token does everything, so none is ever `scoped`. Only a
full-account token from the dashboard may make others ("Access tokens"). The CLI's login (OAuth)
and the tokens of one team or project get 402 or 403, and then the target's own is handed on.

Revoke: "Delete an authentication token", by the minted token's id: `hard`. What was handed on
can't be ended (`none`). Name a project or a team: a full-account token in an agent's hands can
itself make tokens, which outlive it. A token of one project answers nothing about its user or
team, which the CLI asks for before all but `deploy` and `api`: `reach` may be set to the team.

The CLI reads VERCEL_TOKEN by itself, so that no token is in argv. From the environment it takes a
project only with its owner, and no API's address: `api` is for minting at an emulator.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from styx_core.deploys import Deploy
from styx_core.errors import Invalid, LoginExpired, ProviderFailed
from styx_core.provider import Field, Method, Provider
from styx_core.scope import Scope

from styx_adapters.adapter import Config, Connected, Deps, Ended, Minted, Secret, Want
from styx_adapters.api import URL, Answer
from styx_adapters.commands.load import tool
from styx_adapters.local_login import ACCOUNT
from styx_adapters.vercel_login import TOKEN, Login, instant, read_login, shaped, store

WHO = "Vercel"
LONGEST = timedelta(hours=1)
ID = r"[A-Za-z0-9_-]{8,128}"
"""The shape of the ids that come back: of a token, of a team or user."""
REAL = "https://api.vercel.com"
HERE = r"https://api\.vercel\.com|http://127\.0\.0\.1(:[0-9]{1,5})?"
"""Where this machine's own login may be sent."""

_PLACE = (
    Field("project", "project id", pattern=r"prj_[A-Za-z0-9]{8,64}|Qm[A-Za-z0-9]{44}",
          required=False),
    Field("team", "team id or slug", pattern=r"[A-Za-z0-9](?:[A-Za-z0-9_-]{0,98}[A-Za-z0-9])?",
          required=False),
    Field("reach", "reach of what is issued (project or team)", pattern="project|team",
          default="project", required=False),
)  # fmt: skip

PROVIDER = Provider(
    id="vercel",
    label="Vercel",
    tools=(tool("vercel"),),
    scopes=(Scope.READ, Scope.WRITE, Scope.DEPLOY, Scope.DELETE),
    env=("VERCEL_TOKEN", "VERCEL_ORG_ID", "VERCEL_PROJECT_ID"),
    strip=(
        # Other credentials: `sandbox` prefers the first one to VERCEL_TOKEN.
        "VERCEL_AUTH_TOKEN", "VERCEL_OIDC_TOKEN", "VERCEL_QUEUE_TOKEN", "VERCEL_API_TOKEN",
        "VERCEL_AUTOMATION_BYPASS_SECRET", "BLOB_READ_WRITE_TOKEN", "BLOB_STORE_ID",
        "AI_GATEWAY_API_KEY", "VERCEL_AUTH_CONFIG_DIR", "VERCEL_TOKEN_STORAGE", "NOW_TOKEN",
        # Other accounts and projects. Beside ours, the older names stop the CLI.
        "VERCEL_TEAM_ID", "VERCEL_SCOPE", "NOW_ORG_ID", "NOW_PROJECT_ID",
        # Other places, to which a token would go.
        "VERCEL_API_URL", "VERCEL_AGENT_RUNS_API_URL", "VERCEL_AI_GATEWAY_URL",
        "VERCEL_BLOB_API_URL", "NEXT_PUBLIC_VERCEL_BLOB_API_URL",
        "VERCEL_FLAG_EVALUATIONS_API_URL", "VERCEL_LEADERBOARD_URL", "VERCEL_QUEUE_BASE_URL",
        "VERCEL_TELEMETRY_BRIDGE_URL", "VERCEL_TELEMETRY_DEBUG", "VERCEL_VCR_REGISTRY",
        "VERCEL_PR_BINARIES_URL", "VERCEL_INSTALL_DIR", "VERCEL_AUTO_API",
    ),
    quiet={
        "VERCEL_TELEMETRY_DISABLED": "1",
        "VERCEL_GUIDANCE_DISABLED": "1",
        "NO_UPDATE_NOTIFIER": "1",
    },
    deploys=(Deploy(("vercel", "deploy", "--prod"), "vercel.json"),),
    methods=(
        Method(
            "token",
            "An account's token",
            (
                Field("token", "token", secret=True, pattern=TOKEN),
                *_PLACE,
                Field("api", "API address", pattern=URL, default=REAL, required=False),
            ),
        ),
        Method(
            "cli",
            "This machine's vercel login",
            (
                Field("account", "user name", pattern=ACCOUNT, required=False),
                *_PLACE,
                Field("api", "API address", pattern=HERE, default=REAL, required=False),
            ),
            local=True,
        ),
    ),
)  # fmt: skip

NO_MINTING = dict.fromkeys((402, 403), "token: Vercel lets it make no others")
NO_TEAM = dict.fromkeys((400, 403, 404), "team: Vercel shows this account no such team")
NO_PROJECT = "project: Vercel shows this account no such project, in this team"


@dataclass(frozen=True)
class _Reach:
    """Who a login is (a token of one project can't tell), and the owner of the project."""

    user: str
    owner: str = ""
    project: str = ""


class VercelAdapter:
    """Vercel's REST API."""

    def __init__(self, deps: Deps) -> None:
        self._deps = deps

    async def connect(
        self, method: str, target_id: str, config: Config, secret: Secret
    ) -> Connected:
        """Ask who the login is, and for the team or project: all must be there."""
        login = self._login(secret, config)
        reach = await self._reach(login, config)
        if method == "cli" and not reach.user:
            raise LoginExpired("Vercel doesn't tell whose this machine's vercel login is")
        kept = {"token": login.token} if method == "token" else {"account": reach.user}
        found = {"account": reach.user, "owner": reach.owner}
        shown = {**config, **{name: value for name, value in found.items() if value}}
        return Connected(kept, shown, _label(reach, config))

    async def health(self, secret: Secret, config: Config) -> str:
        """Who the login is, and that it reaches the team or project."""
        return _label(await self._reach(self._login(secret, config), config), config)

    async def issue(self, secret: Secret, config: Config, want: Want) -> Minted:
        """A token of its own, or the login's where Vercel lets it make none."""
        login = self._login(secret, config)
        if login.account:  # The CLI may have been logged in as somebody else since.
            await self._reach(login, config)
        now = self._deps.now()
        until = want.until or now + LONGEST
        made = await self._mint(login.token, config, want.lease_id, min(until, now + LONGEST))
        if made is not None:
            return made
        if not login.account:  # Refused outright, or only the making of tokens?
            await self._reach(login, config)
        return Minted(
            secret={"env": _environment(login.token, config)},
            expires_at=min(until, login.ends or until),
            scoped=False,
            revocable="none",
            handle={},
        )

    async def revoke(self, secret: Secret, config: Config, handle: Mapping[str, str]) -> Ended:
        """Delete the token; one that isn't there any more counts if it was this account's."""
        token_id = handle.get("token_id")
        if token_id is None:
            return Ended("none", "the target's own token was handed on; Styx can't end that")
        if shaped(ID, token_id) is None:
            return Ended("failed", "the handle holds no id of a token")
        there = await self._delete(self._login(secret, config).token, config, token_id)
        if not there and handle.get("account") != config.get("account"):
            return Ended("failed", "the token was made by an account that is no longer connected")
        return Ended("hard", "the token is deleted" if there else "the token was gone already")

    def _login(self, secret: Secret, config: Config) -> Login:
        """The stored token, else the CLI's own at this moment. Raises `LoginExpired`."""
        if "token" in secret:
            return Login(secret["token"])
        local = self._deps.local()
        text = local.read(WHO, store(local))
        return read_login(text, config.get("account", ""), self._deps.now())

    async def _reach(self, login: Login, config: Config) -> _Reach:
        """What the login reaches, asked afresh. Raises `LoginExpired`, `Invalid` for the place."""
        project = config.get("project")
        try:
            user = await self._user(login, config)
        except LoginExpired:
            if project is None or login.account:
                raise
            user = ""  # A token of one project may not ask: the project's answer decides.
        team = _team(config)
        if project is not None:
            wrong = dict.fromkeys((403, 404) if user else (404,), NO_PROJECT)
            path = f"/v9/projects/{project}"
            said = Answer(
                WHO, await self._ask(login.token, config, "GET", path, query=team, wrong=wrong)
            )
            return _Reach(user, _shaped(ID, said, "accountId"), str(said["name"])[:100])
        if team:
            query = {**team, "limit": "1"}
            await self._ask(login.token, config, "GET", "/v9/projects", query=query, wrong=NO_TEAM)
        return _Reach(user)

    async def _user(self, login: Login, config: Config) -> str:
        said = Answer(WHO, await self._ask(login.token, config, "GET", "/v2/user"))
        name = _shaped(ACCOUNT, Answer(WHO, said["user"]), "username")
        if login.account and name != login.account:
            raise LoginExpired(f"this machine's vercel login is {name}'s, not {login.account}'s")
        return name

    async def _mint(
        self, token: str, config: Config, lease_id: str, until: datetime
    ) -> Minted | None:
        """A token of the narrowest reach; None where Vercel lets this one make none."""
        body = {"name": f"styx {lease_id}", "expiresAt": int(until.timestamp() * 1000)}
        query = _team(config)
        if "project" in config and config.get("reach") != "team":
            query, body = {}, {**body, "projectId": config["project"]}
        try:
            said = await self._ask(
                token, config, "POST", "/v3/user/tokens",
                query=query, body=body, wrong=NO_MINTING,
            )  # fmt: skip
        except Invalid:
            return None
        bearer, token_id, ends = _made(Answer(WHO, said))
        if ends is None:
            await self._delete(token, config, token_id)
            raise ProviderFailed(f"{WHO} made a token without an end, so it was deleted again")
        account = {"account": config["account"]} if "account" in config else {}
        return Minted(
            secret={"env": _environment(bearer, config)},
            expires_at=ends,
            scoped=False,
            revocable="hard",
            handle={"token_id": token_id, **account},
        )

    async def _delete(self, token: str, config: Config, token_id: str) -> bool:
        """Delete a token; False if there was none of this id."""
        try:
            await self._ask(
                token, config, "DELETE", f"/v3/user/tokens/{token_id}", wrong={404: "token_id"}
            )
        except Invalid:
            return False
        return True

    async def _ask(
        self,
        token: str,
        config: Config,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        **more: Any,
    ) -> Any:
        url = f"{config['api']}{path}{'?' if query else ''}{urlencode(query or {})}"
        return await self._deps.api.call(WHO, method, url, token=token, **more)


def _made(answer: Answer) -> tuple[str, str, datetime | None]:
    """A new token, its id and its end."""
    about = Answer(WHO, answer["token"])
    ends = instant(about.get("expiresAt"), per_second=1000)
    return _shaped(TOKEN, answer, "bearerToken"), _shaped(ID, about, "id"), ends


def _shaped(pattern: str, answer: Answer, name: str) -> str:
    value = shaped(pattern, answer[name])
    if value is None:
        raise ProviderFailed(f"{WHO} answered with a {name} of an unknown shape")
    return value


def _team(config: Config) -> dict[str, str]:
    """How a call names the target's team, where it has one."""
    team = config.get("team") or config.get("owner", "")
    if team.startswith("team_"):
        return {"teamId": team}
    return {"slug": team} if "team" in config else {}


def _label(reach: _Reach, config: Config) -> str:
    parts = (reach.user or "a project's token", config.get("team"), reach.project)
    return " / ".join(part for part in parts if part)


def _environment(token: str, config: Config) -> dict[str, str]:
    place = {"VERCEL_ORG_ID": "owner", "VERCEL_PROJECT_ID": "project"}
    both = all(name in config for name in place.values())
    return {"VERCEL_TOKEN": token} | (
        {variable: config[name] for variable, name in place.items()} if both else {}
    )


def adapter(deps: Deps) -> VercelAdapter:
    """The provider's code, on these edges."""
    return VercelAdapter(deps)
