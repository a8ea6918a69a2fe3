"""Plays Vercel's REST API as far as tokens, users, teams, projects and a deployment go.

Read from: Vercel REST API, "Create an Auth Token" (POST /v3/user/tokens: name, expiresAt in
milliseconds, projectId; teamId or slug in the query), "Delete an authentication token",
"List Auth Tokens", "Get the User" (a limited one for a token of one team), "Retrieve a list of
projects", "Find a project by id or name", "Create a new deployment"; the docs page "Access
tokens" (full account, team and project; only a full-account token makes others; one of a project
is denied anything of another project, of the user or of the team). How refusals look is read from
the CLI, release 58.10.0: a bad token gets 403 with `invalidToken`, a login by OAuth that wants to
make a token gets 403 too.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from styx_adapters.playing import Played

USER = "FIXTUREuser0000000000001"
ACME, OTHER = "team_FIXTUREacme00000", "team_FIXTUREother0000"
SLUGS = {ACME: "acme", OTHER: "other"}
WEB, API, AWAY = "prj_FIXTUREweb0000000", "prj_FIXTUREapi0000000", "prj_FIXTUREaway000000"

Said = tuple[int, Any]


@dataclass(frozen=True)
class Token:
    """What a token reaches: one project, else one team, else the whole account."""

    id: str
    ends: float | None = None
    team: str | None = None
    project: str | None = None
    oauth: bool = False

    @property
    def full(self) -> bool:
        """Whether it is the account's."""
        return self.team is None and self.project is None


def _error(status: int, code: str, message: str, **more: Any) -> Said:
    return status, {"error": {"code": code, "message": message, **more}}


NOT_ALLOWED = _error(403, "forbidden", "You don't have permission to access this resource.")
NO_TEAM = _error(403, "team_unauthorized", "You don't have permission to access this team.")


@dataclass
class VercelAccount:
    """One person's account, with two teams."""

    now: Callable[[], datetime]
    username: str = "jane"
    tokens: dict[str, Token] = field(default_factory=dict)
    projects: dict[str, tuple[str, str]] = field(
        default_factory=lambda: {WEB: ("web", ACME), API: ("api", ACME), AWAY: ("away", OTHER)}
    )
    plan: Said | None = None
    """How the plan refuses the making of tokens, if it does."""
    endless: bool = False
    """Makes tokens without an end, whatever was asked."""
    least_ms: float = 0
    """The shortest life that it gives a token."""
    seen: Callable[[Played], None] = lambda _: None
    calls: list[str] = field(default_factory=list)
    deployed: list[str] = field(default_factory=list)

    def add(self, name: str, **reach: Any) -> str:
        """A token that is there already."""
        bearer = f"vcp_FIXTURE{name}{'0' * 24}"[:40]
        self.tokens[bearer] = Token(f"id-FIXTURE-{name}", **reach)
        return bearer

    def answer(self, call: Played) -> Said:
        """What Vercel says to one call."""
        self.seen(call)
        self.calls.append(f"{call.method} {call.path}")
        token = self.tokens.get(call.bearer)
        if token is None or (token.ends or 1e20) <= self._ms():
            return _error(403, "forbidden", "Not authorized", invalidToken=True)
        match call.path.strip("/").split("/"):
            case ["v2", "user"]:
                return self._user(token)
            case ["v3" | "v6", "user", "tokens", *rest]:
                return self._tokens(call, token, rest)
            case ["teams", team]:
                return self._team(token, team)
            case ["v1" | "v9" | "v10", "projects", *rest]:
                return self._projects(call, token, rest)
            case ["v13", "deployments", *_]:
                return self._deployment(token, call)
            case ["projects", project, "custom-environments"]:
                return self._in_project(token, project, {"environments": []})
        return _error(404, "not_found", "Not Found")

    def _ms(self) -> float:
        return self.now().timestamp() * 1000

    def _user(self, token: Token) -> Said:
        if token.project:
            return NOT_ALLOWED
        about = {"id": USER, "email": "jane@example.com", "username": self.username, "name": None}
        limited = {} if token.full else {"limited": True}
        team = token.team or ACME
        return 200, {"user": {**about, **limited, "version": "northstar", "defaultTeamId": team}}

    def _team(self, token: Token, team: str) -> Said:
        if token.project or team not in SLUGS or token.team not in (None, team):
            return NO_TEAM
        return 200, {"id": team, "slug": SLUGS[team], "name": SLUGS[team], "createdAt": 1}

    def _tokens(self, call: Played, token: Token, rest: list[str]) -> Said:
        if call.method == "DELETE":
            return self._delete(token, rest[0], call)
        if call.method == "GET":
            shown = [{"id": each.id, "name": "t"} for each in self.tokens.values()]
            return (200, {"tokens": shown}) if token.full else NOT_ALLOWED
        return self._create(call, token)

    def _create(self, call: Played, token: Token) -> Said:
        body = call.json()
        if token.oauth:
            message = "Only user authentication tokens can be used to create new tokens."
            return _error(403, "forbidden", message)
        if not token.full:
            message = 'To create a token you must be authenticated to scope "jane"'
            return _error(403, "forbidden", message)
        if self.plan is not None:
            return self.plan
        unknown = set(body) - {"name", "expiresAt", "projectId"}
        unknown |= set(call.query) - {"teamId", "slug"}
        if unknown or not isinstance(body.get("name"), str):
            return _error(400, "bad_request", "Invalid request: unknown or missing property")
        if body.get("expiresAt", 1e20) <= self._ms():
            return _error(400, "bad_request", "expiresAt has to be in the future")
        team = self._asked_team(call)
        if (call.query and team is None) or body.get("projectId", WEB) not in self.projects:
            return _error(404, "not_found", "Not Found")
        return self._made(body, team)

    def _made(self, body: dict[str, Any], team: str | None) -> Said:
        number = len(self.calls)
        asked = body.get("expiresAt")
        ends = None if asked is None or self.endless else max(asked, self._ms() + self.least_ms)
        made = Token(f"{number:04d}fixture{number:053d}", ends, team, body.get("projectId"))
        bearer = f"vcp_FIXTUREmade{number:025d}"
        self.tokens[bearer] = made
        about = {"id": made.id, "name": body["name"], "type": "token", "createdAt": 1}
        return 200, {"token": about | ({"expiresAt": ends} if ends else {}), "bearerToken": bearer}

    def _delete(self, token: Token, token_id: str, call: Played) -> Said:
        itself = token_id in ("current", token.id)
        if not (token.full or itself):
            return NOT_ALLOWED
        wanted = token.id if token_id == "current" else token_id
        found = next((b for b, each in self.tokens.items() if each.id == wanted), None)
        if found is None:
            return _error(404, "not_found", "Token not found with the requested `tokenId`.")
        del self.tokens[found]
        return 200, {"tokenId": wanted}

    def _asked_team(self, call: Played) -> str | None:
        wanted = call.query.get("teamId") or call.query.get("slug")
        return next((team for team, slug in SLUGS.items() if wanted in (team, slug)), None)

    def _projects(self, call: Played, token: Token, rest: list[str]) -> Said:
        team = self._asked_team(call)
        if call.query.keys() & {"teamId", "slug"} and (
            team is None or token.team not in (None, team)
        ):
            return NO_TEAM
        if rest:
            return self._one(call, token, team or token.team, rest)
        if call.method == "POST":
            return self._new(call, token, team or token.team)
        mine = [
            self._shown(project)
            for project, (_, owner) in self.projects.items()
            if owner == (team or token.team or owner) and token.project in (None, project)
        ]
        return 200, {"projects": mine, "pagination": {"count": len(mine), "next": None}}

    def _new(self, call: Played, token: Token, team: str | None) -> Said:
        if token.project:
            return NOT_ALLOWED
        project = f"prj_FIXTUREnew{len(self.calls):08d}"
        self.projects[project] = (call.json()["name"], team or ACME)
        return 200, self._shown(project)

    def _one(self, call: Played, token: Token, team: str | None, rest: list[str]) -> Said:
        found = next((p for p, (name, _) in self.projects.items() if rest[0] in (p, name)), None)
        if found is None or self.projects[found][1] != (team or self.projects[found][1]):
            return _error(404, "not_found", "Project not found.")
        if call.method == "DELETE" and token.project in (None, found):
            del self.projects[found]
            return 204, None
        shown = {"envs": []} if rest[1:] == ["env"] else self._shown(found)
        return self._in_project(token, found, shown)

    def _in_project(self, token: Token, project: str, said: Any) -> Said:
        return (200, said) if token.project in (None, project) else NOT_ALLOWED

    def _deployment(self, token: Token, call: Played) -> Said:
        if call.method == "POST":
            name = call.json()["name"]
            if token.project and self.projects[token.project][0] != name:
                return NOT_ALLOWED
            self.deployed.append(name)
        ready = {"readyState": "READY", "status": "READY", "aliasAssigned": True, "alias": []}
        about = {"id": "dpl_FIXTURE000000", "url": "web.example", "name": "web", "target": None}
        return 200, {**about, **ready, "createdAt": 1}

    def _shown(self, project: str) -> dict[str, Any]:
        name, owner = self.projects[project]
        return {"id": project, "name": name, "accountId": owner, "createdAt": 1, "updatedAt": 1}
