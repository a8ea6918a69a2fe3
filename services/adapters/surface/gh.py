"""Writes `gh.json` from `gh reference`, and from gh's manual for what came after that release.

Run, with an installed gh:
    python services/adapters/surface/gh.py /usr/bin/gh
"""

import re
import subprocess
import sys

from fold import fold, write
from styx_core.tool import Tool
from verbs import classes, lines, names

LATER = lines("""
    accessibility, agent-task create, agent-task list, agent-task view, alias import
    attestation download, attestation inspect, attestation trusted-root, attestation verify
    auth switch, auth token, cache delete, cache list, codespace view, config clear-cache
    config list, copilot, discussion list, discussion view, gist rename, issue lock
    issue unlock, label clone, org list, pr lock, pr unlock, pr update-branch, pr revert
    preview prompter, project close, project copy, project create, project delete, project edit
    project field-create, project field-delete, project field-list, project item-add
    project item-archive, project item-create, project item-delete, project item-edit
    project item-list, project link, project list, project mark-template, project unlink
    project view, release delete-asset, release verify, release verify-asset
    repo autolink create, repo autolink delete, repo autolink list, repo autolink view
    repo gitignore list, repo gitignore view, repo license list, repo license view
    repo read-dir, repo read-file, repo set-default, ruleset check, ruleset list, ruleset view
    run delete, search code, search commits, skill install, skill list, skill preview
    skill publish, skill remove, skill search, skill update, ssh-key delete, gpg-key delete
    variable delete, variable get, variable list, variable set, release download, version
    licenses, codespace select
    """)
TOPICS = names("actions environment exit-codes formatting mintty reference accessibility")
DECLARED = {
    "read": [
        "",
        *TOPICS,
        *lines("""
        api, browse, completion, status, version, pr checks, pr diff, release download
        run download, run watch, attestation download, attestation verify, repo read-dir
        repo read-file, ruleset check, attestation trusted-root, extension search, issue status
        pr status, preview prompter, repo gitignore view, codespace ports, codespace logs
        search code, search commits, search issues, search prs, search repos, licenses
        skill preview, skill search, config list, project item-list, project field-list
        """),
    ],
    "write": lines("""
        alias delete, auth logout, auth token, auth git-credential
        config get, config clear-cache, extension remove, skill remove, extension browse
        pr checkout, repo clone, gist clone
        copilot, codespace ports forward, codespace ports visibility, codespace select
        release publish, skill publish
        """),
    "delete": lines("""
        release delete-asset, project field-delete, project item-delete
        """),
}
ALIASES = """
cs codespace|at attestation|rs ruleset|ext extension|extensions extension|skills skill
agent agent-task|agents agent-task|agent-tasks agent-task|tasks agent-task
"""
LISTED = """
alias autolink cache codespace config deploy-key discussion extension gist gitignore gpg-key issue
label license org pr project release repo ruleset run secret ssh-key variable workflow agent-task
skill
"""
CREATED = "issue pr repo release gist autolink"
REMOVED = "secret variable"
EXTRA = {
    "auth token": ("-h=", "--hostname=", "-u=", "--user=", "--secure-storage"),
    "auth switch": ("-h=", "--hostname=", "-u=", "--user="),
    "auth logout": ("-h=", "--hostname=", "-u=", "--user="),
    "config list": ("-h=", "--host="),
    "config get": ("-h=", "--host="),
    "config set": ("-h=", "--host="),
    "repo create": ("-h=", "--homepage="),
    "repo edit": ("-h=", "--homepage="),
}
UNSURE = ("-h=",)
"""What `-h` means to a command whose help wasn't read: perhaps a host, so it isn't help."""
EXEC = "extension exec, copilot, codespace ssh, repo clone, gist clone, repo fork"
HEADING = re.compile(r"^#+ `gh ([a-z -]+?)(?: [<{\[(].*)?`$")
FLAG = re.compile(r"^ +(?:(-\w), )?(?:(--[\w-]+))( \S+)?(?:   .*)?$")


def read_reference(text: str) -> dict[str, tuple[str, ...]]:
    """Every command of `gh reference` with its flags."""
    found: dict[str, list[str]] = {}
    path = ""
    for line in text.splitlines():
        heading, flag = HEADING.match(line), FLAG.match(line)
        if heading:
            path = heading[1].strip()
            found[path] = []
        elif flag and path:
            found[path] += [f"{name}{'=' if flag[3] else ''}" for name in flag.groups()[:2] if name]
    groups = {other.rpartition(" ")[0] for other in found}
    return {p: tuple(flags) for p, flags in found.items() if p not in groups or flags}


def aliases(paths: set[str]) -> dict[str, str]:
    """The other names that gh itself gives to its commands."""
    found = dict(pair.split() for pair in ALIASES.strip().replace("\n", "|").split("|"))
    for verb, other, groups in (
        ("list", "ls", LISTED),
        ("create", "new", CREATED),
        ("delete", "remove", REMOVED),
    ):
        for path in sorted(paths):
            before, _, last = path.rpartition(" ")
            if last == verb and before.rpartition(" ")[2] in groups.split():
                found[f"{before} {other}"] = path
    return found


def main(program: str) -> None:
    """Read and write the tool."""
    run = ["--version"], ["reference"]
    version, text = (
        subprocess.run([program, *args], capture_output=True, text=True, check=True).stdout
        for args in run
    )
    options = read_reference(text)
    paths = {*options, *LATER}
    total = len(options)
    options |= {path: UNSURE for path in LATER if path not in options}
    options |= {path: (*options.get(path, ()), *flags) for path, flags in EXTRA.items()}
    _write(version.split()[2], total, paths, options)


def _write(version: str, total: int, paths: set[str], options: dict[str, tuple[str, ...]]) -> None:
    found = classes(paths, DECLARED)
    write(
        Tool(
            name="gh",
            version=version,
            source="`gh reference`, and gh's manual for commands of later releases",
            total=total,
            read=fold(found["read"]),
            write=fold(found["write"]),
            deploy=fold(found["deploy"]),
            delete=fold(found["delete"]),
            aliases=aliases(paths),
            bare="read",
            verbs={"delete": ("delete", "remove")},
            values=("-R", "--repo"),
            options={path: flags for path, flags in options.items() if flags},
            scattered=True,
            help_flags=("--help", "-h"),
            help_words=("help",),
            alone=("--version",),
            opaque=tuple(lines(EXEC)),
            adds={
                "write": (
                    "api {-f,-F,--field,--raw-field,--input}",
                    "auth status {-t,--show-token}",
                ),
                "delete": ("pr {merge,close} {-d,--delete-branch}",),
            },
            methods=("api {-X,--method}",),
            mints=(
                *lines("auth token, auth git-credential, auth login, auth refresh, config get"),
                "auth status {-t,--show-token}",
            ),
            identity=("--hostname",),
            home=("github.com", "www.github.com", "gist.github.com", "api.github.com"),
            places=("repo", "issue transfer", "browse"),
        )
    )


if __name__ == "__main__":
    main(sys.argv[1])
