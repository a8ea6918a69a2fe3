"""How each MCP client is told of Styx: where its file lies, and what stands in it. Pure.

The one source of these configurations: `styx connect` writes them, and the settings page shows the
same. A secret is in none of them, at most the name of the variable that holds it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

SERVER: Final = "styx"
NEEDED: Final = ("STYX_URL", "STYX_SESSION_ID", "STYX_TOKEN", "STYX_KEYRING")
"""What `styx run` gives an agent, and the bridge reads."""
Entry = dict[str, Any]


@dataclass(frozen=True)
class Agent:
    """One client. `user_file` lies in the home folder, `project_file` in a project's."""

    label: str
    command: str
    section: str
    user_file: str = ""
    project_file: str = ""
    reference: str = ""
    """How its file names a variable of its environment."""


CLIENTS: Final[Mapping[str, Agent]] = {
    "claude": Agent(
        "Claude Code", "claude", "mcpServers", project_file=".mcp.json", reference="${%s}"
    ),
    "codex": Agent("Codex", "codex", "mcp_servers", user_file=".codex/config.toml"),
    "cursor": Agent(
        *("Cursor", "cursor", "mcpServers", ".cursor/mcp.json", ".cursor/mcp.json", "${env:%s}")
    ),
}


def over_pipes(client: str, channel: bool = False) -> Entry:
    """An entry by which the client starts `styx mcp`, under `styx run`.

    Claude Code hands its environment on; the others hand on what their file names.
    """
    entry: Entry = {"command": "styx", "args": ["mcp", "--channel"] if channel else ["mcp"]}
    if client == "codex":
        entry["env_vars"] = list(NEEDED)
    if client == "cursor":
        entry["env"] = {name: CLIENTS[client].reference % name for name in NEEDED}
    return entry


def over_http(client: str, url: str, token_env: str = "") -> Entry:
    """An entry that names Styx's address: the client signs in there, or shows a variable's token.

    `token_env` is the variable's name.
    """
    entry: Entry = {"type": "http"} if client == "claude" else {}
    entry["url"] = f"{url.rstrip('/').removesuffix('/mcp')}/mcp"
    if token_env and client == "codex":
        entry["bearer_token_env_var"] = token_env
    elif token_env:
        bearer = f"Bearer {CLIENTS[client].reference % token_env}"
        entry["headers"] = {"Authorization": bearer}
    return entry


OURS: Final = frozenset(
    {
        *("type", "command", "args", "env", "env_vars", "envFile", "cwd", "url"),
        *("headers", "http_headers", "env_http_headers", "bearer_token_env_var", "auth"),
    }
)
"""How a server is reached and signed in to: an entry's other keys are the person's and stay."""


def merged(old: Mapping[str, Any], new: Entry) -> Entry:
    """The new entry, with what the person set beside the connection (time-outs, tools, …)."""
    return {**new, **{key: value for key, value in old.items() if key not in OURS}}


def unseen(old: Mapping[str, Any], new: Mapping[str, Any]) -> Entry:
    """The old entry to show: a text that isn't in the new one may be a secret, and is a dot."""
    known = {*_leaves(new), old.get("command")}

    def shown(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {key: shown(each) for key, each in value.items()}
        if isinstance(value, list):
            return [shown(each) for each in value]
        plain = not isinstance(value, str) or value in known or value.startswith("${")
        return value if plain else "·"

    return {key: shown(value) for key, value in old.items()}


def _leaves(value: Any) -> list[str]:
    if isinstance(value, Mapping):
        return [leaf for each in value.values() for leaf in _leaves(each)]
    if isinstance(value, list):
        return [leaf for each in value for leaf in _leaves(each)]
    return [value] if isinstance(value, str) else []
