"""What Styx knows of one command-line tool: plain data, made once, read by `classify`.

Rules: a `Tool` holds no code and no secret, so that it can travel as JSON in the catalog and a
process that classifies needs neither the tool nor its provider's library. Whatever a declaration
leaves out is treated as dangerous: an unknown verb changes something, an unknown flag makes the
call unreadable. A small tool is a few lines:

    Tool(name="acme", read=("list", "show"), write=("set",), deploy=("push",), delete=("rm",))

A command is written as its path of words, `"db reset"`; the tool itself is `""`. Braces hold
alternatives and may nest: `"db {diff,pull}"`, `"ec2 describe-{images,vpc{s,-endpoints}}"`. The
same path in two classes needs both.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Self

from styx_core.scope import Scope

Words = tuple[str, ...]
ByPath = Mapping[str, Words]


@dataclass(frozen=True, kw_only=True)
class Tool:
    """One command-line tool: its commands by class and how it reads its arguments.

    Commands:
        read, write, deploy, delete: command paths by what they need.
        aliases: a path to the path it stands for (`{"cs": "codespace"}`).
        skips: first words that choose a release track and change nothing else (`alpha`).
        operands: groups that are commands themselves and take words: one unknown there is one.
        bare: the class of a group of commands named without a command.
        verbs: class -> words that say it of a command which isn't in the tree. `delete` words only
            ever add; the others count only in an open tree, which is one that names `nouns`.
        nouns: names of groups, by which an open tree knows a new command from an operand.
    Flags:
        values, switches: flags that every command takes, with and without a value.
        options: path -> the command's own flags, `--body=` where one takes a value.
        scattered: a command's own flags may stand before its first word (pflag); they are taken
            to have a value there, and are read again once the command is known.
        greedy: a flag takes the next word as its value even if that looks like a flag.
        abbreviates: any unambiguous beginning of a long flag is that flag (argparse).
        adds: class -> `"path flag"`s that need this class besides.
        methods: `"path flag"`s whose value is an HTTP method.
    Calls that run nothing:
        help_flags: flags that print and exit wherever they stand.
        help_words: a first word after which known commands only print their help.
        help_last: words that print help when nothing else follows a command.
        alone: flags that print and exit when they are all there is.
        opaque: commands that hand their arguments to another program, `--help` too.
    Danger and naming:
        fetches: commands that read as well as change: they copy what they find.
        mints: commands (or `"path flag"`s) that print or mint a credential.
        identity: flags that swap the grant's identity or the place it is sent to.
        home: hosts where a repository that is named with its host is at home; naming another, in a
            URL anywhere or after a flag of `values`, swaps the place. Empty: nothing names hosts.
        places: groups whose operands name a repository, `HOST/OWNER/REPO` too.
        harmless: an identity flag -> the settings (`-o Setting=`), or a setting with its value,
            that swap nothing.
        secrets: flags whose value is a secret, for redaction.
        surfaces: first word -> the provider's name for that service where it differs.
        actions: path -> the provider's name for the operation where it can't be derived.
        unnamed: commands that make no operation of a known name, or several.
        action_style: how operations are named: `path` (the words) or `iam` (`s3:DeleteObject`).
    Origin:
        version: the release of the tool that this was read from; source: how; total: how many
        commands that release has.
    """

    name: str
    version: str = ""
    source: str = ""
    total: int = 0
    read: Words = ()
    write: Words = ()
    deploy: Words = ()
    delete: Words = ()
    aliases: Mapping[str, str] = field(default_factory=dict)
    skips: Words = ()
    operands: Words = ()
    bare: str = "write"
    verbs: ByPath = field(default_factory=dict)
    nouns: Words = ()
    values: Words = ()
    switches: Words = ()
    options: ByPath = field(default_factory=dict)
    scattered: bool = False
    greedy: bool = True
    abbreviates: bool = False
    adds: ByPath = field(default_factory=dict)
    methods: Words = ()
    help_flags: Words = ()
    help_words: Words = ()
    help_last: Words = ()
    alone: Words = ()
    opaque: Words = ()
    fetches: Words = ()
    mints: Words = ()
    identity: Words = ()
    home: Words = ()
    places: Words = ()
    harmless: ByPath = field(default_factory=dict)
    secrets: Words = ()
    surfaces: Mapping[str, str] = field(default_factory=dict)
    actions: Mapping[str, str] = field(default_factory=dict)
    unnamed: Words = ()
    action_style: str = "path"

    def __post_init__(self) -> None:
        """Refuse what would be read as something else.

        Raises:
            ValueError: one text where a tuple of words belongs, or a class that isn't a scope.
        """
        for each in fields(self):
            if each.type is Words and isinstance(getattr(self, each.name), str):
                raise ValueError(f"{each.name} of {self.name} is a tuple of words, not one text")
        for name in (self.bare, *self.verbs, *self.adds):
            Scope(name)

    def by_class(self) -> Mapping[Scope, Words]:
        """The command paths, by the class that they need."""
        return {scope: getattr(self, scope.value) for scope in Scope}

    def to_json(self) -> str:
        """This tool as one JSON object that holds only what differs from the defaults."""
        stated = {f.name: getattr(self, f.name) for f in fields(self)}
        return json.dumps(
            {key: value for key, value in stated.items() if value or key == "greedy"},
            ensure_ascii=False,
            separators=(",", ":"),
        )

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """The tool that `to_json` wrote.

        Raises:
            ValueError: not JSON, a key that no tool has, or a value of another shape.
        """
        stated = json.loads(text)
        if not isinstance(stated, dict):
            raise ValueError("a tool is a JSON object")
        kinds = {f.name: f.type for f in fields(cls)}
        unknown = sorted(stated.keys() - kinds.keys())
        if unknown or "name" not in stated:
            raise ValueError(f"not a tool: unknown {unknown}" if unknown else "a tool needs a name")
        return cls(**{key: _shaped(key, kinds[key], value) for key, value in stated.items()})


def _shaped(key: str, kind: Any, value: object) -> Any:
    """`value` as the type that field `key` has; JSON has no tuples."""
    if kind is Words and _is_words(value):
        return tuple(value)  # type: ignore[arg-type]
    if kind is ByPath and isinstance(value, dict) and all(map(_is_words, value.values())):
        return {path: tuple(words) for path, words in value.items()}
    if kind == Mapping[str, str] and isinstance(value, dict) and _is_words([*value.values()]):
        return value
    if isinstance(kind, type) and type(value) is kind:
        return value
    raise ValueError(f"{key} of a tool has the wrong shape")


def _is_words(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(word, str) for word in value)
