"""A tool is plain data: small to declare, the same after a trip through JSON, of strict shape."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from styx_core.classify_tree import unfold
from styx_core.tool import Tool

ACME = Tool(name="acme", read=("list", "show"), write=("set",), deploy=("push",), delete=("rm",))
RICH = Tool(
    name="rich",
    version="1.2",
    total=3,
    read=("db {diff,pull}",),
    delete=("db reset",),
    aliases={"database": "db"},
    verbs={"delete": ("zap",)},
    options={"db diff": ("--schema=", "-s=")},
    adds={"delete": ("db pull --prune",)},
    greedy=False,
    scattered=True,
    harmless={"-o": ("user",)},
)


@pytest.mark.parametrize("tool", [ACME, RICH], ids=lambda tool: tool.name)
def test_json_brings_back_the_same_tool(tool: Tool) -> None:
    assert Tool.from_json(tool.to_json()) == tool


def test_json_holds_only_what_differs_from_the_defaults() -> None:
    assert json.loads(ACME.to_json()).keys() <= {
        *("name", "read", "write", "deploy", "delete", "bare", "greedy", "action_style")
    }


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[]", "JSON object"),
        ("{}", "name"),
        ('{"name":"a","reed":["list"]}', "reed"),
        ('{"name":"a","read":"list"}', "read"),
        ('{"name":"a","read":[1]}', "read"),
        ('{"name":"a","greedy":1}', "greedy"),
        ('{"name":"a","total":true}', "total"),
        ('{"name":"a","aliases":{"b":["c"]}}', "aliases"),
        ('{"name":"a","adds":{"delete":"x"}}', "adds"),
        ('{"name":"a","adds":{"destroy":["x --y"]}}', "destroy"),
        ('{"name":"a","bare":"none"}', "none"),
        ("nope", "Expecting"),
    ],
)
def test_a_wrong_shape_is_refused_by_name(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Tool.from_json(text)


def test_one_text_is_not_a_list_of_words() -> None:
    with pytest.raises(ValueError, match="read of acme"):
        Tool(name="acme", read="list")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("pattern", "texts"),
    [
        ("", [""]),
        ("db reset", ["db reset"]),
        ("db {diff,pull}", ["db diff", "db pull"]),
        ("a{,-b{,-c}} d", ["a d", "a-b d", "a-b-c d"]),
        ("{a,b}-{x,y}", ["a-x", "a-y", "b-x", "b-y"]),
    ],
)
def test_braces_hold_alternatives(pattern: str, texts: list[str]) -> None:
    assert unfold(pattern) == texts


def test_a_brace_must_close() -> None:
    with pytest.raises(ValueError, match="closed"):
        unfold("a {b,c")


@given(st.lists(st.from_regex(r"[a-z]{1,6}(-[a-z]{1,6})?", fullmatch=True), min_size=1))
def test_what_is_folded_in_one_brace_comes_back(words: list[str]) -> None:
    assert unfold("x {" + ",".join(words) + "} y") == [f"x {word} y" for word in words]
