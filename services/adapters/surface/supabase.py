"""Writes `supabase.json` by asking an installed Supabase CLI for the help of every command.

Run, after `npm install supabase@2.117.0` in some folder:
    python services/adapters/surface/supabase.py FOLDER/node_modules/.bin/supabase
"""

import subprocess
import sys
import tempfile
from collections.abc import Iterator

from fold import fold, write
from styx_core.tool import Tool
from verbs import classes, lines

DECLARED = {
    "read": [
        "",
        *lines("""
        db diff, db dump, db lint, db pull, db schema declarative generate, domains reverify
        config pull, functions download, functions new, gen types, init, inspect report
        issue bug, issue docs, issue feature, migration fetch, migration list, migration new
        postgres-config get, services, start, status, stop, test new, telemetry enable
        telemetry disable, telemetry status, completion bash, completion fish
        completion powershell, completion zsh, sso info, db schema declarative sync
        functions serve, db start
        """),
    ],
    "write": lines("""
        bootstrap, link, login, logout, db query, gen bearer-jwt, gen signing-key, gen keys
        migration repair, migration squash, seed buckets, storage cp, encryption update-root-key
        domains activate, domains create, vanity-subdomains activate
        network-restrictions update, test db, unlink, encryption get-root-key, projects api-keys
        backups restore, db remote commit, db advisors
        """),
    "deploy": lines("config push, db push, functions deploy, migration up"),
    "delete": lines("""
        db reset, secrets unset, network-bans remove, migration down
        """),
}
MINTS = lines("""
    login, gen bearer-jwt, gen signing-key, encryption get-root-key, projects api-keys
    """)


class Help:
    """What one command's help says."""

    def __init__(self, text: str) -> None:
        self.sections: dict[str, list[str]] = {}
        lines_of = self.sections.setdefault("", [])
        for line in text.splitlines():
            if line and not line.startswith(" "):
                lines_of = self.sections.setdefault(line.strip(), [])
            elif line.strip():
                lines_of.append(line.strip())

    def subcommands(self) -> Iterator[tuple[str, list[str]]]:
        """Each subcommand with its other names."""
        for line in self.sections.get("SUBCOMMANDS", []):
            names, text = [], line
            while "," in text.split(" ")[0]:
                name, _, text = text.partition(", ")
                names.append(name)
            names.append(text.split()[0])
            yield names[0], names[1:]

    def flags(self, section: str) -> Iterator[str]:
        """The flags of a section, `=` behind those that take a value."""
        for line in self.sections.get(section, []):
            names, _, _ = line.partition("   ")
            *flags, last = names.split(", ")
            name, _, value = last.partition(" ")
            yield from (flag + "=" * bool(value) for flag in (*flags, name))


def ask(program: str, path: list[str]) -> Help:
    """The help of one command; the CLI runs nothing and finds no login."""
    with tempfile.TemporaryDirectory() as home:
        ran = subprocess.run(
            [program, *path, "--help"],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env={"HOME": home, "PATH": "/usr/local/bin:/usr/bin:/bin", "DO_NOT_TRACK": "1"},
        )
    return Help(ran.stdout or ran.stderr)


def main(program: str) -> None:
    """Crawl and write the tool."""
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    root = ask(program, [])
    paths: list[str] = []
    aliases: dict[str, str] = {}
    options: dict[str, tuple[str, ...]] = {}
    todo: list[list[str]] = [[name] for name, _ in root.subcommands()]
    aliases |= {other: name for name, others in root.subcommands() for other in others}
    while todo:
        path = todo.pop()
        page = ask(program, path)
        below = list(page.subcommands())
        todo += [[*path, name] for name, _ in below]
        aliases |= {" ".join([*path, o]): " ".join([*path, n]) for n, os in below for o in os}
        if not below:
            paths.append(" ".join(path))
            options[" ".join(path)] = tuple(page.flags("FLAGS"))
    _write(version.stdout.split()[-1], root, paths, aliases, options)


def _write(
    version: str,
    root: Help,
    paths: list[str],
    aliases: dict[str, str],
    options: dict[str, tuple[str, ...]],
) -> None:
    flags = list(root.flags("GLOBAL FLAGS"))
    by_class = classes((p for p in paths if not p.startswith("inspect ")), DECLARED)
    by_class["read"] |= {path for path in paths if path.startswith("inspect ")}
    write(
        Tool(
            name="supabase",
            version=version,
            source="the help of every command of the CLI",
            total=len(paths),
            read=fold(by_class["read"]),
            write=fold(by_class["write"]),
            deploy=fold(by_class["deploy"]),
            delete=fold(by_class["delete"]),
            aliases=aliases,
            bare="read",
            values=tuple(flag.removesuffix("=") for flag in flags if flag.endswith("=")),
            switches=tuple(flag for flag in flags if not flag.endswith("=")),
            options={path: flags for path, flags in options.items() if flags},
            help_flags=("--help", "-h", "--version", "-v", "--completions"),
            adds={
                "delete": ("functions deploy --prune", "stop --no-backup"),
                "write": (
                    "db pull --linked",
                    "db schema declarative {generate --reset,sync --apply}",
                ),
            },
            mints=tuple(MINTS),
            identity=("--profile",),
            secrets=("--token", "--db-url", "--password", "-p", "--db-password"),
        )
    )


if __name__ == "__main__":
    main(sys.argv[1])
