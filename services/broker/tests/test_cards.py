"""What a card shows of a request: nothing hidden, the riskiest first, and what will be signed."""

import json
from datetime import timedelta
from typing import Any

import pytest
from broker_adapters import START
from broker_grants import Kept, target, view
from hypothesis import given
from hypothesis import strategies as st
from styx_broker.cards import alike, card, just_decided, quoted, waiting
from styx_core.contract.grants import Authorize
from styx_core.contract.values import GrantView
from styx_core.ids import new_id

HIDING = st.text(st.sampled_from("a '\"\\$\n\r\t\0\x1b\u202e\u200b\u2066é🜁"), max_size=8)


def grant(*scopes: str, env: str = "staging", **over: Any) -> GrantView:
    """A request that waits."""
    asked = Authorize(
        task_id=new_id("tsk"),
        exec_id=new_id("exe"),
        provider="aws",
        scopes=("read",),
        command=("aws", "s3", "ls"),
        command_digest="d",
        exact=True,
        understood="it reads",
        edge_key="k",
    )
    kept = Kept(new_id("grt"), asked, target("t", env), "pending", "nobody said", ("read",))
    return view(kept).model_copy(update={"scopes": scopes or ("read",), **over})


@given(st.lists(HIDING, min_size=1, max_size=5))
def test_no_letter_of_a_command_is_hidden_and_no_two_commands_look_alike(words: list[str]) -> None:
    shown = quoted(words)
    assert shown.isprintable()
    assert not {"\u202e", "\u200b", "\u2066", "\n", "\x1b"} & set(shown)
    for changed in ([*words, ""], words[1:], [word + "x" for word in words]):
        assert quoted(changed) != shown


def test_the_riskiest_come_first_then_the_newest() -> None:
    later = {"created_at": START + timedelta(minutes=1)}
    listed = [
        grant("read", env="preview"),
        grant("read", env="staging"),
        grant("write", env="staging"),
        grant("write", env="staging", **later),
        grant("read", env="prod"),
        grant("read", "delete", env="prod"),
        grant("deploy", env="scm"),
    ]
    order = [listed.index(each) for each in waiting(listed)]
    assert order == [5, 4, 6, 3, 2, 1, 0]


def test_what_will_be_signed_is_what_is_shown() -> None:
    one = grant("write", "read", command=("aws", "s3", "cp", "\u202ex"))
    signed = json.loads(card(one, {}).signed)
    assert signed == {
        "grant": one.id,
        "target": "t",
        "env": "staging",
        "scopes": ["read", "write"],
        "duration": "1h",
        "command": ["aws", "s3", "cp", "\u202ex"],
    }


def test_this_command_once_is_offered_only_where_there_is_one() -> None:
    assert "once" in card(grant(), {}).durations
    assert "once" not in card(grant(command=()), {}).durations


@pytest.mark.parametrize(
    "over", [{"agent": "other"}, {"target": "u"}, {"scopes": ("write",)}, {"command": ("gh",)}]
)
def test_only_what_differs_in_nothing_is_of_one_kind(over: dict[str, Any]) -> None:
    one = grant()
    same, other = (one.model_copy(update={"id": new_id("grt"), **more}) for more in ({}, over))
    counted = alike(card(each, {}) for each in (one, same, other))
    assert sorted(counted.values()) == [1, 2]


def test_what_was_decided_a_moment_ago_is_still_shown() -> None:
    ages = (0, 9, 11)
    listed = [grant(decided_at=START - timedelta(minutes=age)) for age in ages]
    assert just_decided([*reversed(listed), grant()], START) == listed[:2]
