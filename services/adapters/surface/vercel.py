"""Writes `vercel.json` from the commands that an installed Vercel CLI declares.

Run, after `npm install vercel@58.10.0` in some folder:
    node services/adapters/surface/vercel_commands.mjs FOLDER/node_modules/vercel > commands.json
    python services/adapters/surface/vercel.py commands.json
"""

import json
import sys
from pathlib import Path
from typing import Any

from fold import fold, write
from styx_core.tool import Tool
from verbs import classes, lines

DECLARED = {
    "read": lines("""
        activity, alerts, api, bisect, build, contract, dev, init, httpstat, inspect, list, logs
        mcp, open, pull, usage, whoami, version, agent, agent init, skills, metrics
        metrics query, traces, comments, tokens, domains, flags, global-config, project
        webhooks, dns, crons, certs, teams, target, blob, git, env, cache, env pull, env run
        flags open, integration open, comments open, connect open, microfrontends pull
        telemetry, telemetry enable, telemetry disable, telemetry flush, guidance
        guidance enable, guidance disable, project access-summary, project access-groups
        alerts rules, ai-gateway coding-agents setup, ai-gateway leaderboard labs
        ai-gateway leaderboard apps, ai-gateway leaderboard providers, flags versions
        vcr config, deploy-hooks, redirects, routes, integration, microfrontends, firewall
        rolling-release, ai-gateway, agent-runs, vcr, connect, oauth-apps, integration guide
        domains verify
            project protection, routes export, microfrontends inspect-group
        """),
    "write": lines("""
        project checks add, project checks update, project protection enable
        project protection disable
        alias, project token, connect token, curl, sandbox, sandbox exec, switch, cron run
        global-config tokens, blob signed-token, blob presign, traces create, buy domain
        vcr login, upgrade, version use, version update, version autoupdate, teams request
        project web-analytics, project speed-insights, git disconnect, vcr permissions, login
        link, firewall discard, routes discard-staging, routes publish, logout, blob get-token
        oauth-apps register, flags prepare
        """),
    "deploy": [
        "",
        *lines("""
        deploy, deploy continue, deploy init, promote, redeploy, rollback, firewall publish
        redirects promote, rolling-release start, rolling-release approve, vcr build, vcr push
        rolling-release complete, rolling-release abort, routes publish
        """),
    ],
    "delete": lines("""
        project checks remove, project checks rm
        cache purge, cache invalidate, cache dangerously-delete, blob del, connect revoke-tokens
        microfrontends remove-from-group, microfrontends delete-group, blob empty-store
        firewall ip-blocks unblock, vcr permissions clear, sandbox rm, sandbox remove
        """),
}
MINTS = lines("""
    login, tokens add, ai-gateway api-keys create, flags sdk-keys add, blob signed-token
    blob presign, connect token, project token, deploy-hooks create, oauth-apps register
    global-config tokens, env pull, env run, pull, vcr login, microfrontends pull
    """)
GLOBAL_VALUES = """
--cwd --local-config -A --global-config -Q --scope -S --team -T --token -t --api
"""
GLOBAL_SWITCHES = "--debug -d --no-color --non-interactive --version -v"
BODY = "{-f,-F,--field,--raw-field,--input}"

Command = dict[str, Any]
Flags = dict[str, tuple[str, ...]]


def walk(command: Command, before: str, aliases: dict[str, str], options: Flags) -> list[str]:
    """The paths of a command and its subcommands; other names and flags go where they belong."""
    path = f"{before} {command['name']}".strip()
    options[path] = own_flags(command)
    for other in command.get("aliases") or []:
        aliases[f"{before} {other}".strip()] = path
    below = command.get("subcommands") or []
    runs = not below or command["arguments"] or any(sub.get("default") for sub in below)
    return [path] * bool(runs) + [p for sub in below for p in walk(sub, path, aliases, options)]


def top_level(declared: list[Command]) -> list[Command]:
    """The commands that are nobody's subcommand."""
    nested = {
        json.dumps(sub["options"]) + sub["name"]
        for command in declared
        for sub in command.get("subcommands") or []
    }
    return [
        command
        for command in declared
        if command["key"].endswith("Command")
        and json.dumps(command["options"]) + command["name"] not in nested
    ]


def own_flags(command: Command) -> tuple[str, ...]:
    """The flags of one command, `=` behind those that take a value."""
    flags = set()
    for option in command["options"]:
        takes = "" if option["type"] == "Boolean" else "="
        flags |= {f"--{option['name']}{takes}"}
        flags |= {f"-{option['shorthand']}{takes}"} if option["shorthand"] else set()
    return tuple(sorted(flags))


def main(source: Path) -> None:
    """Read the declared commands and write the tool."""
    read = json.loads(source.read_text(encoding="utf-8"))
    aliases: dict[str, str] = {}
    options: Flags = {}
    paths = [p for c in top_level(read["declared"]) for p in walk(c, "", aliases, options)]
    aliases = {path: meant for path, meant in aliases.items() if path not in ("switch", "teams")}
    options = {path: flags for path, flags in options.items() if flags}
    options[""] = (*options["deploy"], "--public")  # bare `vercel` deploys; --public is old
    _write(read["version"], paths, aliases, options)


def _write(version: str, paths: list[str], aliases: dict[str, str], options: Flags) -> None:
    by_class = classes(paths, DECLARED)
    write(
        Tool(
            name="vercel",
            version=version,
            source="the commands that the CLI's own package declares",
            total=len(set(paths)),
            read=fold(by_class["read"]),
            write=fold(by_class["write"]),
            deploy=fold(by_class["deploy"]),
            delete=fold(by_class["delete"]),
            aliases=aliases,
            bare="read",
            values=tuple(GLOBAL_VALUES.split()),
            switches=tuple(GLOBAL_SWITCHES.split()),
            options=options,
            operands=("api", "traces", "metrics", "project checks", "project protection"),
            greedy=False,
            help_flags=("--help", "-h"),
            help_words=("help",),
            alone=("--version", "-v"),
            opaque=("curl", "sandbox", "sandbox exec", "env run"),
            adds={
                "write": (f"api {BODY}", "global-config backups --restore"),
                "delete": ("global-config tokens --remove",),
            },
            methods=("api {-X,--method}",),
            mints=tuple(MINTS),
            identity=("--token", "-t", "--api", "--global-config", "-Q"),
            secrets=("--token", "-t", "--rw-token"),
        )
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
