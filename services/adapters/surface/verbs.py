"""What a command's verb says of it, for the generators: word -> class.

Rules: the last word of a path is its verb, or that word's first part (`list-versions`). A word that
isn't here changes something. `declared` names commands whose verb misleads and wins over the verb.
"""

from collections.abc import Iterable, Mapping

READS = """
activity backups balance categories check checks compare completion count describe diff discover
download endpoints evaluations export fetch find get help history info inspect installations
installed items leaderboard lint list locate log logs lookup ls members metrics models overview
preview price print projects protection query-status read schema search show status summary tail
trace types usage validate verify version versions view wait watch whoami
"""
DEPLOYS = "deploy promote publish redeploy rollback"
DELETES = """
clear del delete destroy drop empty erase flush prune purge rb remove rm terminate unset wipe
"""

Classes = dict[str, set[str]]


def words(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


_BY_VERB = {
    **dict.fromkeys(words(READS), "read"),
    **dict.fromkeys(words(DEPLOYS), "deploy"),
    **dict.fromkeys(words(DELETES), "delete"),
}


def of_verb(verb: str) -> str:
    """The class that a verb says, by the whole word or its first part; `write` if it says none."""
    return _BY_VERB.get(verb) or _BY_VERB.get(verb.partition("-")[0]) or "write"


def classes(paths: Iterable[str], declared: Mapping[str, Iterable[str]]) -> Classes:
    """Every path under the class that it needs; `declared` (class -> paths) beats the verb."""
    wins: dict[str, set[str]] = {}
    for name, named in declared.items():
        for path in named:
            wins.setdefault(path, set()).add(name)
    found: Classes = {name: set() for name in ("read", "write", "deploy", "delete")}
    for path in {*paths, *wins}:
        for name in wins.get(path) or {of_verb(path.rpartition(" ")[2])}:
            found[name].add(path)
    return found


def names(text: str) -> tuple[str, ...]:
    """The words of a text, in order."""
    return tuple(text.split())


def lines(text: str) -> list[str]:
    """The command paths of a text, one a line or separated by commas."""
    return [path.strip() for path in text.replace("\n", ",").split(",") if path.strip()]
