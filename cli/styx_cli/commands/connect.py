"""`styx connect`: tell Claude Code, Codex or Cursor of Styx's MCP server, in its own file."""

import difflib
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple
from urllib.parse import urlsplit

import typer
from styx_core.printable import printable

from styx_cli import agent_clients, config_texts, show
from styx_cli.agent_clients import CLIENTS, SERVER
from styx_cli.client import Client, find_broker, plain_errors
from styx_cli.exits import Exit
from styx_cli.failure import Failure

app = typer.Typer(add_completion=False)
CHANNEL = "--dangerously-load-development-channels"
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")


class Change(NamedTuple):
    """What a file is, and what it shall be."""

    path: Path
    before: str | None
    after: str
    diff: str


@app.command()
def connect(
    client: Annotated[str, typer.Argument(help=", ".join(CLIENTS))],
    project: Annotated[str | None, typer.Option(help="Styx's project that it works in")] = None,
    user: Annotated[bool, typer.Option("--user", help="for all folders, where it can be")] = False,
    channel: Annotated[bool, typer.Option("--channel", help="push what happens to it")] = False,
    http: Annotated[bool, typer.Option("--http", help="by Styx's address")] = False,
    server: Annotated[str, typer.Option(help="the address; default: this Styx's own")] = "",
    token_env: Annotated[
        str, typer.Option(help="with --http: the variable that holds a token or an API key")
    ] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="show it, write nothing")] = False,
    json: Annotated[bool, typer.Option("--json", help="as JSON")] = False,
) -> None:
    """Write an agent's MCP configuration: that it starts `styx mcp`, or Styx's address."""
    with plain_errors():
        _fitting(client, channel, http, server, token_env)
        if http:
            entry = agent_clients.over_http(client, server or _address(), token_env)
        else:
            entry = agent_clients.over_pipes(client, channel)
        change = planned(client, where(client, user, os.environ), entry)
        changed = change.before != change.after
        if changed and not dry_run:
            write(change)
        next_step = following(client, project, channel, http and not token_env)
        if json:
            said = {"client": client, "file": str(change.path), "changed": changed}
            said |= {"written": changed and not dry_run, "diff": change.diff, "next": next_step}
            show.as_json(said)
        else:
            _tell(change, changed, dry_run, next_step)


def _fitting(client: str, channel: bool, http: bool, server: str, token_env: str) -> None:
    """Raises `Failure` for options that don't fit together."""
    wrong = ""
    if client not in CLIENTS:
        wrong = f"no client {client!r}: one of {', '.join(CLIENTS)}"
    elif channel and (client != "claude" or http):
        wrong = "--channel: only Claude Code has channels, and only with `styx mcp`, not --http"
    elif (server or token_env) and not http:
        wrong = "--server and --token-env belong to --http; `styx mcp` reads its environment"
    elif token_env and not VARIABLE.fullmatch(token_env):
        wrong = "--token-env: wants a variable's name, such as STYX_TOKEN, never the token itself"
    elif server and not (urlsplit(server).scheme in ("http", "https") and urlsplit(server).netloc):
        wrong = "--server: wants the form https://host"
    if wrong:
        raise Failure(wrong, Exit.USAGE)


def _address() -> str:
    """Where this Styx says that it is reached."""
    client = Client(find_broker(os.environ))
    return str(client.call("GET", "/.well-known/openid-configuration")["issuer"])


def where(client: str, user: bool, environ: Mapping[str, str]) -> Path:
    """The file that the client reads. Raises `Failure` where it has none of that kind."""
    agent = CLIENTS[client]
    if not agent.user_file and user:
        words = "claude mcp add --scope user styx -- styx mcp"
        raise Failure(f"--user: {agent.label} keeps that itself; type: {words}", Exit.USAGE)
    if agent.project_file and not user:
        return Path.cwd() / agent.project_file
    if client == "codex" and environ.get("CODEX_HOME"):
        return Path(environ["CODEX_HOME"]) / Path(agent.user_file).name
    return Path(environ.get("HOME") or Path.home()) / agent.user_file


def planned(client: str, path: Path, entry: dict[str, Any]) -> Change:
    """The file with the entry in it. Raises `Failure` naming what can't be read, and its line."""
    section = CLIENTS[client].section
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        content = None
    try:
        before = None if content is None else content.decode()
        values = config_texts.read(before or "", path.suffix)
        servers = values.get(section, {})
        old = servers.get(SERVER, {}) if isinstance(servers, dict) else {}
        new = agent_clients.merged(old if isinstance(old, dict) else {}, entry)
        after = config_texts.put(before or "", path.suffix, section, SERVER, new)
    except UnicodeDecodeError as wrong:
        line = (content or b"")[: wrong.start].count(b"\n") + 1
        raise Failure(
            f"{path}: line {line}: isn't UTF-8; it was left as it is", Exit.CONFIG
        ) from None
    except config_texts.Unreadable as wrong:
        raise Failure(f"{path}: {wrong}; it was left as it is", Exit.CONFIG) from None
    return Change(path, before, after, "" if after == before else _diff(path, section, old, new))


def _diff(path: Path, section: str, old: Any, new: dict[str, Any]) -> str:
    """What becomes of our entry; nothing else changes, and others' entries may hold secrets."""
    hidden = agent_clients.unseen(old, new) if isinstance(old, dict) else {}
    was = config_texts.shown(path.suffix, section, SERVER, hidden) if hidden else ""
    will = config_texts.shown(path.suffix, section, SERVER, new)
    lines = difflib.unified_diff(was.splitlines(), will.splitlines(), str(path), str(path), n=99)
    return "\n".join(line.rstrip("\n") for line in lines)


def write(change: Change) -> None:
    """Put the file in place at once, with the old one's mode; a link stays one."""
    target = change.path.resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    fresh = target.with_name(f"{target.name}.{os.getpid()}.styx")
    handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(change.after.encode())
            file.flush()
            os.fsync(file.fileno())
        if change.before is not None:
            os.chmod(fresh, target.stat().st_mode & 0o7777)
        os.replace(fresh, target)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise


def following(client: str, project: str | None, channel: bool, sign_in: bool) -> str:
    """What to do next."""
    agent = CLIENTS[client]
    if sign_in:
        how = {"claude": "run /mcp in Claude Code", "codex": "type `codex mcp login styx`"}
        place = f", for project {project}" if project else ""
        return f"{how.get(client, 'open the MCP settings of Cursor')} and sign in to styx{place}"
    words = ["styx", "run", *(["--project", project] if project else []), "--", agent.command]
    words += [CHANNEL, f"server:{SERVER}"] if channel else []
    asks = " (it asks once whether it may use styx)" if client == "claude" else ""
    return f"start it as a task: {show.command(words)}{asks}"


def _tell(change: Change, changed: bool, dry_run: bool, next_step: str) -> None:
    if not changed:
        print(f"{printable(str(change.path))}: styx is there already; nothing changes.")
    elif dry_run:
        print("\n".join(printable(line) for line in change.diff.splitlines()))
    else:
        print(f"{printable(str(change.path))}: styx is there now.")
    print(f"{'Then' if dry_run and changed else 'Next'}: {next_step}")
