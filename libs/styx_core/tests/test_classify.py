"""The laws of classification, on a small tool that uses every feature and on the smallest one."""

import string

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from styx_core.classify import classify
from styx_core.scope import UNREADABLE, Scope
from styx_core.tool import Tool

ACME = Tool(name="acme", read=("list", "show"), write=("set",), deploy=("push",), delete=("rm",))
RICH = Tool(
    name="rich",
    read=("", "db {diff,pull}", "api", "login-status", "help-me"),
    write=("db {set,mv}", "login", "run"),
    deploy=("push",),
    delete=("db {reset,mv}",),
    aliases={"database": "db", "db erase": "db reset"},
    skips=("beta",),
    bare="read",
    values=("--region", "-r"),
    switches=("--debug", "-d"),
    options={
        "db set": ("--note=", "-n=", "--force", "-f", "-h="),
        "db diff": ("--note=", "-n=", "--quick", "-q"),
        "api": ("-X=", "--method=", "-F=", "-i"),
    },
    adds={"delete": ("db pull {--prune,-p}",), "write": ("api -F",)},
    methods=("api {-X,--method}",),
    help_flags=("--help", "-h"),
    help_words=("help",),
    alone=("--version",),
    opaque=("run",),
    verbs={"delete": ("delete", "rm")},
    mints=("login",),
    identity=("--region",),
)
OPEN = Tool(
    name="open",
    read=("pets list",),
    delete=("pets delete",),
    verbs={"read": ("list",), "delete": ("delete",)},
    nouns=("pets", "toys"),
    greedy=False,
)
SHORT = Tool(name="short", read=("x ls",), write=("x sync",), delete=("x rm",), abbreviates=True,
             greedy=False, values=("--region",), switches=("--debug", "--dry"),
             help_last=("help",), adds={"delete": ("x sync --delete",)})  # fmt: skip

word = st.text(string.ascii_letters + string.digits + "-_./:=é\u0455\u200b \n", max_size=8)
plain = word.filter(lambda text: not text.startswith("-"))
KNOWN = {"db", "database", "api", "login", "login-status", "help", "help-me", "beta", "run", "push"}


def scopes(tool: Tool, *argv: str) -> set[str]:
    return {scope.value for scope in classify(tool, argv).scopes}


@pytest.mark.parametrize(
    ("argv", "needs"),
    [
        ("list", "read"),
        ("show x", "read"),
        ("set a b", "write"),
        ("push", "deploy"),
        ("rm x", "delete"),
        ("", "write"),
        ("frob", "write"),
        ("frob rm x", "write delete"),
        ("--x list", "write deploy delete"),
        ("--x=1 list", "write deploy delete"),
        ("-x list", "write deploy delete"),
        ("list --x", "read"),
        ("-- rm x", "delete"),
        ("LIST", "write"),
        ("--help", "write deploy delete"),
    ],
)
def test_the_smallest_tool_fails_closed(argv: str, needs: str) -> None:
    assert scopes(ACME, *argv.split()) == set(needs.split())


@pytest.mark.parametrize(
    ("argv", "needs"),
    [
        ("", "read"),
        ("db", "read"),
        ("db frob", "write"),
        ("db diff", "read"),
        ("db reset", "delete"),
        ("db mv a b", "write delete"),
        ("database erase", "delete"),
        ("beta db reset", "delete"),
        ("--region db db reset", "delete"),
        ("--region=db db reset", "delete"),
        ("-rdb db reset", "delete"),
        ("-drdb db reset", "delete"),
        ("-dr db db reset", "delete"),
        ("db -r diff reset", "delete"),
        ("db --x diff reset", "write deploy delete"),
        ("db pull", "read"),
        ("db pull --prune", "delete"),
        ("db pull -dp", "delete"),
        ("db pull --prune=false", "delete"),
        ("db pull -- --prune", "delete"),
        ("api /x", "read"),
        ("api -X GET /x", "read"),
        ("api -X DELETE /x", "delete"),
        ("api -X delete /x", "delete"),
        ("api -iXDELETE /x", "delete"),
        ("api -X=DELETE /x", "delete"),
        ("api -X DELETE -X GET /x", "delete"),
        ("api --method PURGE /x", "write"),
        ("api -F a=b /x", "write"),
        ("db set --help", "read"),
        ("--help db reset", "read"),
        ("db set -h", "write"),
        ("db set -n --help", "write"),
        ("db set -fn --help", "write"),
        ("db reset -- --help", "delete"),
        ("db reset --new --help", "delete"),
        ("run --help", "write"),
        ("frob --help", "write"),
        ("help db reset", "read"),
        ("help db reset -d", "delete"),
        ("help -- db reset", "delete"),
        ("help frob", "write"),
        ("--version", "read"),
        ("--version db reset", "write deploy delete"),
        ("delete-thing", "write delete"),
    ],
)
def test_a_tool_that_uses_every_feature(argv: str, needs: str) -> None:
    assert scopes(RICH, *argv.split()) == set(needs.split())


@pytest.mark.parametrize(
    ("argv", "needs"),
    [
        ("pets list", "read"),
        ("pets toys list", "read"),
        ("toys list", "read"),
        ("list", "write"),
        ("pets frob list", "write"),
        ("pets toys delete x", "delete"),
        ("pets toys frob list", "write"),
        ("pets toys", "write"),
        ("pets toys delete list", "delete"),
    ],
)
def test_an_open_tree_trusts_a_verb_only_behind_known_groups(argv: str, needs: str) -> None:
    assert scopes(OPEN, *argv.split()) == set(needs.split())


@pytest.mark.parametrize(
    ("argv", "needs"),
    [
        ("--reg x x rm", "delete"),
        ("--deb x rm", "delete"),
        ("--d x ls", "write deploy delete"),
        ("x sync --del", "write delete"),
        ("x sync --d", "write delete"),
        ("x help", "read"),
        ("x rm help", "read"),
        ("x rm y help", "delete"),
        ("x rm --id help", "delete"),
        ("x rm help --debug", "delete"),
    ],
)
def test_abbreviations_and_help_as_a_last_word(argv: str, needs: str) -> None:
    assert scopes(SHORT, *argv.split()) == set(needs.split())


def test_a_scattered_flag_is_read_by_the_command_that_it_belongs_to() -> None:
    tool = Tool(
        name="hub",
        read=("api", "pr view"),
        delete=("repo delete",),
        options={"api": ("-X=", "-i"), "repo delete": ("--yes",)},
        methods=("api -X",),
        verbs={"delete": ("delete",)},
        scattered=True,
    )
    assert scopes(tool, "-X", "DELETE", "api", "x") == {"delete"}
    assert scopes(tool, "-iXDELETE", "api", "x") == {"delete"}
    assert scopes(tool, "-X", "GET", "api", "x") == {"read"}
    assert scopes(tool, "--yes", "repo", "delete", "x") == {"write", "delete"}
    assert scopes(tool, "--new", "x", "pr", "view") == {"write", "deploy", "delete"}


@given(st.lists(st.one_of(plain.filter(lambda w: w not in KNOWN)), max_size=3), st.data())
def test_unknown_words_before_and_inside_a_delete_keep_it_one(
    words: list[str], data: st.DataObject
) -> None:
    at = data.draw(st.integers(0, 2))
    argv = ["db", "reset", "x"]
    argv[at:at] = [w for w in words if w not in {"diff", "pull", "set", "mv", "reset", "erase"}]
    assert "delete" in scopes(RICH, *argv)


@given(st.lists(word, max_size=5))
def test_nothing_after_a_delete_makes_it_less_but_help(words: list[str]) -> None:
    assume(not {"--help", "-h"} & set(words))
    assume(not any(w.startswith("-") and w[1:2] != "-" and "h" in w for w in words))
    assert "delete" in scopes(RICH, "db", "reset", *words)


@given(st.sampled_from(["db diff", "db pull", "db set", "push", "db mv", "db reset"]), plain)
def test_a_flag_value_never_lowers_a_class(path: str, value: str) -> None:
    bare = scopes(RICH, *path.split())
    assert scopes(RICH, "--region", value, *path.split()) == bare
    assert scopes(RICH, f"--region={value}", *path.split()) == bare
    assert scopes(RICH, *path.split(), "--note", value) >= bare - {"read"}


@given(word.filter(lambda w: w not in {"-r", "-d", "-h"}), st.sampled_from(["list", "rm", "push"]))
def test_an_unknown_leading_flag_needs_everything_but_read(flag: str, verb: str) -> None:
    assume(flag not in {"", "-"})
    assert classify(ACME, [f"--{flag}x", verb]).scopes == UNREADABLE


@given(st.sampled_from(["list", "show", "set", "push", "rm"]), st.lists(word, max_size=4))
def test_adding_words_never_lowers_a_class(verb: str, words: list[str]) -> None:
    assert scopes(ACME, verb, *words) >= scopes(ACME, verb)


@given(plain, st.lists(word, max_size=3))
@example("l\u0456st", [])
@example("list ", [])
@example("\uff4cist", [])
@example("LIST", [])
@example("list\u200b", [])
@example("list\0", [])
@example("", ["list"])
def test_only_exact_words_are_known(verb: str, words: list[str]) -> None:
    assume(verb not in {"list", "show", "set", "push", "rm"})
    assert "read" not in scopes(ACME, verb, *words)
    assert "write" in scopes(ACME, verb, *words)


@given(st.sampled_from([ACME, RICH, OPEN, SHORT]), st.lists(st.text(max_size=12), max_size=6))
def test_any_vector_gets_an_answer(tool: Tool, argv: list[str]) -> None:
    answer = classify(tool, argv)
    assert answer.scopes
    assert Scope.READ not in answer.scopes or answer.scopes == {Scope.READ}
    assert answer.why.isprintable()


def test_why_never_repeats_what_the_call_brought() -> None:
    secret = "FIXTURE-secret"
    for argv in ([secret], ["db", secret], ["db", "set", secret, "--note", secret], ["-r", secret]):
        assert secret not in classify(RICH, argv).why


def test_identity_switches_and_minters_are_told() -> None:
    answer = classify(RICH, ["--region", "x", "login"])
    assert (answer.identity_switch, answer.mints) == (True, True)
    assert Scope.READ not in answer.scopes
    assert not classify(RICH, ["db", "diff"]).identity_switch


def test_a_harmless_setting_switches_no_identity() -> None:
    tool = Tool(
        name="sh", write=("",), values=("-o",), identity=("-o",), harmless={"-o": ("user",)}
    )
    assert not classify(tool, ["-o", "User=x", "host"]).identity_switch
    assert classify(tool, ["-oProxyCommand x", "host"]).identity_switch


def test_operations_are_named_where_they_are_known() -> None:
    tool = Tool(
        name="cloud",
        read=("s3api list-buckets", "s3api head-object", "s3 ls"),
        surfaces={"s3api": "s3"},
        actions={"s3api head-object": "GetObject"},
        unnamed=("s3 ls",),
        action_style="iam",
    )
    named = [classify(tool, path.split()).operation for path in tool.read]
    assert named == ["s3:ListBuckets", "s3:GetObject", None]
    assert classify(tool, ["s3api", "frob"]).operation is None
    assert classify(tool, ["s3api", "list-buckets"]).surface == "s3"
    assert classify(RICH, ["db", "diff"]).operation == "db diff"
