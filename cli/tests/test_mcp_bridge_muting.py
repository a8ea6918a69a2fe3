"""What is pushed: all but some, or some and nothing else; a call that is no such thing is named."""

import re
from typing import Any

import pytest
from styx_cli.mcp_bridge_muting import ID, MOST, NAMES, TOOLS, Muting, chosen

GRANT, QUESTION, SESSION = (f"{kind}_{'0' * 26}" for kind in ("grt", "qst", "tsk"))


def muted(*calls: tuple[str, Any]) -> Muting:
    made = Muting()
    for verb, wanted in calls:
        given = {"all": True} if wanted is all else {"ids": wanted}
        made.call(f"channel_{verb}", given)
    return made


@pytest.mark.parametrize(
    ("calls", "hidden"),
    [
        ([], set()),
        ([("mute", [GRANT])], {GRANT}),
        ([("mute", [GRANT, QUESTION]), ("unmute", [GRANT])], {QUESTION}),
        ([("mute", all)], {GRANT, QUESTION, SESSION}),
        ([("mute", all), ("unmute", [SESSION])], {GRANT, QUESTION}),
        ([("mute", all), ("unmute", [SESSION, GRANT]), ("mute", [GRANT])], {GRANT, QUESTION}),
        ([("mute", [GRANT]), ("mute", all), ("unmute", [QUESTION])], {GRANT, SESSION}),
        ([("mute", all), ("unmute", all)], set()),
        ([("mute", [GRANT]), ("unmute", all)], set()),
        ([("unmute", [GRANT])], set()),
    ],
)
def test_all_or_some_and_the_exceptions(calls: list[tuple[str, Any]], hidden: set[str]) -> None:
    made = muted(*calls)
    assert {each for each in (GRANT, QUESTION, SESSION) if made.hides(each)} == hidden
    shown = made.call("channel_muted", {})["structuredContent"]
    assert shown["all"] == (made.hides(f"grt_{'1' * 26}"))
    assert set(shown["muted"]) == (set() if shown["all"] else hidden)
    assert set(shown["heard"]) & hidden == set()


@pytest.mark.parametrize("name", NAMES[:2])
@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "ids: name some, or say all"),
        ({"all": True, "ids": [GRANT]}, "ids: name some, or say all"),
        ({"all": False}, "all: wants true"),
        ({"all": "true"}, "all: wants true"),
        ({"all": 1}, "all: wants true"),
        ({"all": None}, "all: wants true"),
        ({"ids": []}, "ids: wants a list"),
        ({"ids": None}, "ids: wants a list"),
        ({"ids": GRANT}, "ids: wants a list"),
        ({"ids": [GRANT] * (MOST + 1)}, "ids: wants a list"),
        ({"ids": [GRANT, 7]}, "ids.1: wants"),
        ({"ids": [f"{GRANT}\n"]}, "ids.0: wants"),
        ({"ids": ["msg_" + "0" * 26]}, "ids.0: wants"),
        ({"task_ids": [GRANT]}, "task_ids: channel_"),
        ({"\x1b[2J": 1}, r"\x1b[2J: channel_"),
        ([], "arguments: wants an object"),
        (None, "arguments: wants an object"),
    ],
)
def test_what_is_wrong_is_named_and_changes_nothing(name: str, given: Any, said: str) -> None:
    made = muted(("mute", all))
    with pytest.raises(ValueError, match=re.escape(said)) as told:
        made.call(name, given)
    assert str(told.value).endswith("(code -32001)")
    assert made.hides(GRANT)


def test_looking_takes_nothing() -> None:
    with pytest.raises(ValueError, match="all: channel_muted has no such argument"):
        chosen("channel_muted", {"all": True})


def test_the_tools_are_declared_as_the_gateways_are() -> None:
    for tool in TOOLS:
        schema = tool["inputSchema"]
        assert schema["additionalProperties"] is False
        assert not {"anyOf", "oneOf", "allOf"} & set(schema)
        assert len(tool["description"]) < 2048
    assert re.compile(ID).fullmatch(GRANT)
