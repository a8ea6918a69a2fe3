"""A grant's live credential is found again, for what it is good for and while it lives."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from adapter_fixture import HOUR, NOW, issue_command
from styx_adapters.adapter import Minted
from styx_adapters.leases import LEAST_LEFT, Leases
from styx_core.contract.adapters import Issue
from styx_core.ids import new_id
from styx_core.scope import Scope
from styx_core.seal import OpeningKey

KEY = OpeningKey.make()
MINTED = Minted({"env": {}}, NOW + HOUR, True, "hard", {})
SECOND = timedelta(seconds=1)


class Clock:
    """Told what time it is."""

    now: datetime = NOW

    def __call__(self) -> datetime:
        return self.now


def held(**more: Any) -> tuple[Clock, Leases, Issue]:
    clock, command = Clock(), issue_command(KEY, **more)
    leases = Leases(clock)
    leases.keep(command, MINTED)
    return clock, leases, command


def again(command: Issue, **more: Any) -> Issue:
    """A later call of the same grant."""
    ids = {"lease_id": new_id("lse"), "exec_id": new_id("exe")}
    return command.model_copy(update=ids | more)


def test_a_later_call_finds_the_first_ones_credential() -> None:
    _, leases, command = held()
    assert leases.find(again(command)) == (command.lease_id, MINTED)


@pytest.mark.parametrize(
    "other",
    [
        {"grant_id": new_id("gnt")},
        {"surface": "s3"},
        {"public_key": "ssh-ed25519 other"},
        {"scopes": (Scope.READ, Scope.WRITE)},
    ],
)
def test_it_is_for_nothing_else(other: dict[str, Any]) -> None:
    _, leases, command = held()
    assert leases.find(again(command, **other)) is None


def test_one_for_one_command_is_for_that_call_alone() -> None:
    _, leases, command = held(once=True)
    assert leases.find(command) == (command.lease_id, MINTED)
    assert leases.find(again(command)) is None


def test_one_with_little_life_left_is_not_handed_out_again() -> None:
    clock, leases, command = held(expires_at=None)
    clock.now = MINTED.expires_at - LEAST_LEFT - SECOND
    assert leases.find(again(command))
    clock.now = MINTED.expires_at - LEAST_LEFT
    assert leases.find(again(command)) is None


def test_one_that_lives_as_long_as_its_grant_is_good_to_the_end() -> None:
    clock, leases, command = held(expires_at=MINTED.expires_at)
    clock.now = MINTED.expires_at - SECOND
    assert leases.find(again(command))
    clock.now = MINTED.expires_at
    assert leases.find(again(command)) is None


def test_an_ended_one_is_forgotten_at_once() -> None:
    _, leases, command = held()
    other = issue_command(KEY)
    leases.keep(other, MINTED)
    leases.forget(command.lease_id)
    assert leases.find(again(command)) is None
    assert leases.find(again(other)) is not None
    leases.forget("lse_unknown")


def test_keeping_drops_what_is_over() -> None:
    clock, leases, command = held()
    clock.now = MINTED.expires_at
    leases.keep(issue_command(KEY), replace(MINTED, expires_at=clock.now + HOUR))
    clock.now = NOW  # a clock set back finds nothing either
    assert leases.find(again(command)) is None


async def test_a_turn_is_of_one_use_and_ends_with_it() -> None:
    _, leases, command = held()
    turn = leases.turn(command)
    assert leases.turn(again(command)) is turn
    assert leases.turn(again(command, surface="s3")) is not turn
