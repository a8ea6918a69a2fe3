"""Approval load: whose decisions, how many a day, how long they took, and which nobody had read."""

from datetime import timedelta

from broker_adapters import START
from styx_broker.approval_load import Load, loads
from styx_core.contract.values import GrantView
from test_cards import grant


def decided(person: str | None, seconds: float, by: str = "user") -> GrantView:
    at = START + timedelta(seconds=seconds)
    return grant(decided_at=at, decided_by=by, decided_person=person)


def test_each_person_s_decisions_are_counted_and_timed() -> None:
    ada = [decided("ada", seconds) for seconds in (1, 2, 30, 600)]
    bob = [decided("bob", seconds) for seconds in (2.1, 10, 20)]
    assert loads([*bob, *ada]) == [
        Load("ada", 4, 4 / 7, 16.0, 2),
        Load("bob", 3, 3 / 7, 10.0, 0),
    ]


def test_what_no_person_decided_counts_for_nobody() -> None:
    policy = decided(None, 0, by="policy")
    standing = decided("ada", 0, by="persistent-grant")
    assert loads([policy, standing, grant()]) == []
