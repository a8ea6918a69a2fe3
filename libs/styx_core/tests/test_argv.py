"""Reading an argument vector: what is a word, what a flag, what a flag's value, what is unknown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from styx_core.argv import Grammar, Reading, read
from styx_core.tool import Tool

ACME = Grammar(
    Tool(
        name="acme",
        read=("list", "db diff", "api"),
        delete=("db reset",),
        values=("--region", "-r"),
        switches=("--debug", "-d"),
        options={"db": ("--schema=",), "db reset": ("--hard", "-x=")},
        help_flags=("--help",),
        operands=("api",),
    )
)
HUB = Grammar(
    Tool(name="hub", read=("pr view",), options={"pr view": ("--repo=", "-w")}, scattered=True)
)
MODEST = Grammar(Tool(name="modest", read=("ls",), values=("--at", "-a"), greedy=False))
SHORTENING = Grammar(
    Tool(name="s", read=("ls",), values=("--output", "--region"), abbreviates=True)
)


def reading(grammar: Grammar, call: str) -> Reading:
    """A call written with blanks."""
    return read(grammar, call.split())


@pytest.mark.parametrize(
    ("call", "path", "operands", "flags"),
    [
        ("list", "list", [], []),
        ("list a b", "list", ["a", "b"], []),
        ("db diff", "db diff", [], []),
        ("--region db db reset", "db reset", [], [("--region", "db")]),
        ("--region=db list", "list", [], [("--region", "db")]),
        ("--region= list", "list", [], [("--region", "")]),
        ("-r db list", "list", [], [("-r", "db")]),
        ("-rdb list", "list", [], [("-r", "db")]),
        ("-r=db list", "list", [], [("-r", "db")]),
        ("-drdb list", "list", [], [("-d", None), ("-r", "db")]),
        ("-dr db list", "list", [], [("-d", None), ("-r", "db")]),
        ("db --schema list reset", "db reset", [], [("--schema", "list")]),
        ("db reset --hard a", "db reset", ["a"], [("--hard", None)]),
        ("db reset -x list a", "db reset", ["a"], [("-x", "list")]),
        ("list -- --region a", "list", ["--region", "a"], []),
        ("list - a", "list", ["-", "a"], []),
        ("-- list", "list", [], []),
        ("list --region", "list", [], [("--region", None)]),
        ("list --region --debug", "list", [], [("--region", "--debug")]),
        ("api list db", "api", ["list", "db"], []),
    ],
)
def test_words_flags_and_values_are_told_apart(
    call: str, path: str, operands: list[str], flags: list[tuple[str, str | None]]
) -> None:
    found = reading(ACME, call)
    assert (found.node.path, found.operands, found.flags) == (path, operands, flags)
    assert not found.strange
    assert not found.unread
    assert not found.tainted


@pytest.mark.parametrize(
    ("call", "strange", "unread", "tainted"),
    [
        ("frob", ["frob"], False, False),
        ("db frob", ["frob"], False, False),
        ("LIST", ["LIST"], False, False),
        ("db list", ["list"], False, False),
        ("--unknown list", [], True, False),
        ("-q list", [], True, False),
        ("-dq list", [], True, False),
        ("db --unknown diff", [], True, False),
        ("list --unknown", [], False, True),
        ("list -q", [], False, True),
        ("db diff --hard", [], False, True),
        ("frob --unknown", ["frob"], False, True),
    ],
)
def test_what_is_not_known_is_kept_as_such(
    call: str, strange: list[str], unread: bool, tainted: bool
) -> None:
    found = reading(ACME, call)
    assert (found.strange, found.unread, found.tainted) == (strange, unread, tainted)


def test_help_is_heard_unless_an_unknown_flag_may_have_eaten_it() -> None:
    assert reading(ACME, "db reset --help").helps == ["--help"]
    assert reading(ACME, "db reset --unknown --help").helps == []
    assert reading(ACME, "db reset -- --help").helps == []
    assert reading(ACME, "db reset -x --help").helps == []


def test_a_scattered_flag_is_read_with_its_command() -> None:
    found = reading(HUB, "--repo pr pr view 1")
    assert (found.node.path, found.operands, found.flags) == (
        "pr view", ["1"], [("--repo", "pr")]
    )  # fmt: skip
    assert not found.unread


def test_a_modest_tools_flag_takes_no_flag_for_its_value() -> None:
    assert reading(MODEST, "ls --at -a x").flags == [("--at", None), ("-a", "x")]
    assert reading(MODEST, "ls --at - x").flags == [("--at", "-")], "one dash alone is a word"


@pytest.mark.parametrize(
    ("flag", "meant"), [("--out", "--output"), ("--r", "--region"), ("--x", "--x"), ("--", "--")]
)
def test_only_the_one_beginning_of_a_flag_is_that_flag(flag: str, meant: str) -> None:
    assert SHORTENING.full_name("", flag) == meant
    assert ACME.full_name("", "--reg") == "--reg", "not every tool abbreviates"


def test_arity_is_looked_up_from_the_command_to_its_groups() -> None:
    assert ACME.takes_value("db reset", "--schema") is True
    assert ACME.takes_value("db reset", "--hard") is False
    assert ACME.takes_value("db diff", "--hard") is None
    assert ACME.takes_value("list", "--debug") is False
    assert ACME.takes_value("list", "--schema") is None
    assert ACME.knows("--hard=1")
    assert ACME.knows("-xvalue")
    assert not ACME.knows("--region")


ARGS = st.lists(
    st.sampled_from(
        [
            "list",
            "db",
            "reset",
            "--region",
            "-r",
            "-dr",
            "--x",
            "-q",
            "--",
            "--help",
            "-",
            "",
            "=",
            "--=",
        ]
    )
    | st.text(max_size=4),
    max_size=8,
)


@pytest.mark.parametrize("grammar", [ACME, HUB, MODEST, SHORTENING], ids=lambda g: g.tool.name)
@given(argv=ARGS)
def test_nothing_is_invented(grammar: Grammar, argv: list[str]) -> None:
    """Each word and value that comes out went in, and no more of them."""
    found = read(grammar, argv)
    said = [*found.operands, *found.strange]
    assert all(word in argv for word in said)
    assert len(said) <= len(argv)
    for _, value in found.flags:
        assert value is None or any(value in word for word in argv)
    assert all(flag.startswith("-") for flag, _ in found.flags)
