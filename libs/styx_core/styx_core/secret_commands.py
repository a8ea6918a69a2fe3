"""Secrets that only the command around them makes secret: `mysql -pX`, `curl -u me:X`. A table of
rules and one reader over words. Pure.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from styx_core.secret_names import holds_secret, is_secret_name


@dataclass(frozen=True)
class CommandRule:
    """A command and where its secret is.

    The rule holds for what follows when all of `words` have occurred in the command. `flags` take
    the secret as the next word, after `=`, or glued to a one-letter flag (`glued`: only so).
    `after` starts the secret behind that letter of the value (`me:X`); `pairs`: every `NAME=X`
    word is one; `named`: the word after a secret's name is one.
    """

    words: tuple[str, ...]
    flags: tuple[str, ...] = ()
    glued: bool = False
    after: str = ""
    pairs: bool = False
    named: bool = False


RULES: Final = (
    *(
        CommandRule((tool,), ("-p",), glued=True)
        for tool in ("mysql", "mysqldump", "mysqladmin", "mysqlimport", "mariadb", "7z", "7za")
    ),
    *(
        CommandRule((tool,), ("-p",))
        for tool in ("sshpass", "mongo", "mongosh", "mongodump", "twine", "supabase")
    ),
    *(CommandRule((tool, "login"), ("-p",)) for tool in ("docker", "podman", "helm", "az", "oc")),
    CommandRule(("curl",), ("-u", "--user", "-U", "--proxy-user"), after=":"),
    CommandRule(("http",), ("-a", "--auth"), after=":"),
    CommandRule(("https",), ("-a", "--auth"), after=":"),
    CommandRule(("smbclient",), ("-U",), after="%"),
    CommandRule(("redis-cli",), ("-a",)),
    *(
        CommandRule((tool,), ("-w",))
        for tool in ("ldapsearch", "ldapadd", "ldapmodify", "ldapdelete", "ldapwhoami")
    ),
    *(CommandRule((tool,), ("-P",)) for tool in ("sqlcmd", "zip", "unzip")),
    CommandRule(("openssl",), ("-k", "-passin", "-passout", "-pass"), after=":"),
    CommandRule(("put-parameter", "SecureString"), ("--value",)),
    CommandRule(("secrets", "set"), pairs=True),
    CommandRule(("secret", "set"), ("--body", "-b")),
    CommandRule(("config:set",), pairs=True),
    CommandRule(("vercel", "env"), ("--value",)),
    CommandRule(("create", "secret"), ("--from-literal",), after="="),
    CommandRule(("vault", "kv", "put"), pairs=True),
    CommandRule(("vault", "write"), pairs=True),
    CommandRule(("configure", "set"), named=True),
    CommandRule(("config", "set"), named=True),
)

_TRIGGER: Final = re.compile(
    r"(?<![\w.-])(?:" + "|".join(sorted({re.escape(r.words[0]) for r in RULES})) + r")(?![\w.-])"
)
_WORD: Final = re.compile(r"(?:\"[^\"]*+\"|'[^']*+'|[^\s\"'|;&]|[\"'])++|[|;&\n]")
_SEPARATORS: Final = frozenset("|;&\n")


def in_commands(text: str) -> Iterator[tuple[int, int]]:
    """The spans of such secrets in a text that holds shell commands."""
    if not _TRIGGER.search(text):
        return
    command: list[re.Match[str]] = []
    for word in _WORD.finditer(text):
        if word[0] not in _SEPARATORS:
            command.append(word)
            continue
        yield from _spans(command)
        command = []
    yield from _spans(command)


def _spans(command: list[re.Match[str]]) -> Iterator[tuple[int, int]]:
    for at, offset in secret_words([word[0] for word in command]):
        yield command[at].start() + offset, command[at].end()


def secret_words(words: Sequence[str]) -> Iterator[tuple[int, int]]:
    """(i, offset) of every word whose letters from `offset` on are secret; words may be quoted."""
    bare = [word.strip("\"'`$(){}[],") for word in words]
    first: dict[str, int] = {}
    for at, word in enumerate(bare):
        first.setdefault(word.rpartition("/")[2], at)
    for rule in RULES:
        if all(word in first for word in rule.words):
            yield from _apply(rule, bare, words, first[rule.words[0]])


def _apply(
    rule: CommandRule, bare: list[str], words: Sequence[str], start: int
) -> Iterator[tuple[int, int]]:
    for at in range(start + 1, len(words)):
        word, before = words[at], bare[at - 1]
        offset = -1
        if rule.pairs and "=" in word and not word.startswith("-"):
            offset = word.index("=") + 1
        elif rule.named and is_secret_name(before):
            offset = -1 if word.startswith(("-", "<")) else 0
        elif rule.flags:
            offset = _flag_value(rule, word, before)
        if offset >= 0 and holds_secret("", word[offset:].strip("\"'")):
            yield at, offset


def _flag_value(rule: CommandRule, word: str, before: str) -> int:
    """Where in `word` the value of one of the rule's flags starts, or -1."""
    offset = -1
    if before in rule.flags and not rule.glued:
        offset = 0
    for flag in rule.flags:
        if word.startswith(f"{flag}="):
            offset = len(flag) + 1
        elif len(flag) == 2 and word.startswith(flag) and len(word) > 2:
            offset = 2
    if offset >= 0 and rule.after:
        return word.find(rule.after, offset) + 1 or -1
    return offset
