"""What people are told: pure, event by event; nothing that an agent chose is in it."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from styx_broker.notices import DECIDED, ENDING, EXPIRED, KINDS, REQUESTED, due, told_of, wants
from styx_core.contract.base import Event
from styx_core.contract.grants_events import (
    AccessRequested,
    GrantDecided,
    GrantEnded,
    TargetHealthChanged,
)

AT = datetime(2026, 1, 5, 12, tzinfo=UTC)
ABOUT: dict[str, Any] = {
    "id": "evt_1",
    "at": AT,
    "actor": "ada",
    "grant_id": "grt_1",
    "target": "prod",
    "scopes": ("delete",),
    "command": ("aws", "s3", "rm", "FIXTURE-words"),
}
WHY: dict[str, Any] = {"because": (), "why": "FIXTURE-why"}
ASKED = AccessRequested(**ABOUT, reason="FIXTURE-reason", understood="it deletes", why="no rule")
YES = GrantDecided(**ABOUT, **WHY, verdict="approve", decided_by="user")
EVERY = " ".join(KINDS)


def told(event: Event) -> dict[str, Any]:
    """What it tells, by kind."""
    return {each.kind: each for each in told_of(event, "claude, agent of ada,", "shop")}


def channel(**over: Any) -> Any:
    usual = {"kinds": EVERY, "after_minutes": 0, "only_own": False, "person": "ada"}
    return SimpleNamespace(**(usual | over))


@pytest.mark.parametrize(
    ("event", "kinds", "title"),
    [
        (ASKED, {REQUESTED}, "delete on prod waits for you"),
        (YES, {DECIDED}, "delete on prod: approved"),
        (YES.model_copy(update={"verdict": "deny"}), {DECIDED}, "delete on prod: denied"),
        (YES.model_copy(update={"decided_by": "policy"}), set(), ""),
        (
            GrantEnded(**ABOUT | {"actor": "grants"}, state="expired", why="its time was over"),
            {DECIDED},
            "delete on prod is over",
        ),
        (GrantEnded(**ABOUT, state="revoked", why="ada revoked it"), set(), ""),
        (
            TargetHealthChanged(**ABOUT | {"scopes": ()}, expired=True, detail="FIXTURE"),
            {EXPIRED},
            "prod needs a new login",
        ),
        (TargetHealthChanged(**ABOUT, expired=False, detail="works"), set(), ""),
    ],
)
def test_an_event_is_worth_telling_or_not(event: Event, kinds: set[str], title: str) -> None:
    found = told(event)
    assert set(found) == kinds
    assert not kinds or next(iter(found.values())).title == title
    assert "FIXTURE" not in repr(found), "neither command nor reason goes to others' servers"


@pytest.mark.parametrize(("minutes", "before"), [(60, 5.0), (480, 5.0), (15, 3.75), (4, 1.0)])
def test_a_grant_s_end_is_told_some_minutes_before(minutes: int, before: float) -> None:
    until = AT + timedelta(minutes=minutes)
    found = told(YES.model_copy(update={"expires_at": until}))
    assert set(found) == {DECIDED, ENDING}
    assert found[ENDING].due_at == until - timedelta(minutes=before)


def test_the_end_of_a_very_short_grant_is_not_worth_a_word() -> None:
    soon = YES.model_copy(update={"expires_at": AT + timedelta(minutes=3)})
    assert set(told(soon)) == {DECIDED}


@pytest.mark.parametrize(
    ("over", "event", "person", "roles", "wanted"),
    [
        ({}, ASKED, "eve", ("approver",), True),
        ({}, ASKED, "eve", (), False),
        ({"kinds": DECIDED}, ASKED, "eve", ("owner",), False),
        ({"only_own": True}, ASKED, "eve", ("owner",), False),
        ({"only_own": True}, ASKED, "ada", ("owner",), True),
        ({"only_own": True}, ASKED, None, ("owner",), False),
        ({"after_minutes": 10}, ASKED, "eve", ("owner",), True),
        ({"after_minutes": 10}, YES, "eve", ("owner",), False),
    ],
)
def test_a_channel_wants_what_it_is_for(
    over: dict[str, Any], event: Event, person: str | None, roles: tuple[str, ...], wanted: bool
) -> None:
    (first, *_) = told_of(event, "claude", "shop")
    assert wants(channel(**over), first, person, roles) is wanted


def test_an_escalation_is_told_later() -> None:
    (asked,) = told_of(ASKED, "claude", "shop")
    assert due(channel(), asked) == AT
    assert due(channel(after_minutes=10), asked) == AT + timedelta(minutes=10)
