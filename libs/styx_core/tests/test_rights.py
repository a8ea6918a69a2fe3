"""Who may say and hear what, computed a second time from the contract's classes and compared."""

from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from styx_core.contract import (
    adapters,
    adapters_notices,
    broker,
    broker_board,
    grants,
    grants_events,
    grants_people,
    grants_policies,
)
from styx_core.contract.base import Command, Event
from styx_core.contract.rights import (
    SERVICES,
    check_hear,
    check_say,
    covers,
    entry_subject,
    inbox,
    next_subject,
    rights,
)
from styx_core.errors import Forbidden
from styx_core.nats_conf import FORBIDDEN, MAKE_STREAMS, NatsUser, overlaps, problems

GRANTS = (grants, grants_events, grants_people, grants_policies)
DECLARED: list[Any] = [
    each
    for module in (adapters, adapters_notices, broker, broker_board, *GRANTS)
    for each in vars(module).values()
    if isinstance(each, type) and each.__module__ == module.__name__ and "[" not in each.__name__
]
COMMANDS: list[type[Command[Any]]] = [each for each in DECLARED if issubclass(each, Command)]
EVENTS: list[type[Event]] = [each for each in DECLARED if issubclass(each, Event)]
EDGES = {"broker", "mcp-gateway"}


def allowed(check: Any, service: str, subject: str) -> bool:
    """Whether a check lets it through."""
    try:
        check(service, subject)
    except Forbidden:
        return False
    return True


@pytest.mark.parametrize("service", SERVICES)
def test_a_command_is_sent_by_whom_it_names_and_heard_by_its_owner(service: str) -> None:
    said = {c.__name__ for c in COMMANDS if allowed(check_say, service, c.subject)}
    heard = {c.__name__ for c in COMMANDS if allowed(check_hear, service, c.subject)}
    assert said == {c.__name__ for c in COMMANDS if service in c.by}
    assert heard == {c.__name__ for c in COMMANDS if c.owner == service}


@pytest.mark.parametrize("service", SERVICES)
def test_an_event_is_said_by_its_owner_and_heard_live_by_who_holds_callers(service: str) -> None:
    said = {e.__name__ for e in EVENTS if allowed(check_say, service, e.subject)}
    heard = {e.__name__ for e in EVENTS if allowed(check_hear, service, e.subject)}
    assert said == {e.__name__ for e in EVENTS if e.owner == service}
    holding = service in ("broker", "mcp-gateway")
    owners = {"broker", "grants"} if holding else set()
    assert heard == {e.__name__ for e in EVENTS if e.owner in owners}


def test_the_table_by_hand() -> None:
    """A few rows that no derivation may change."""
    by = {c.__name__: set(c.by) for c in COMMANDS}
    assert by["Issue"] == by["RevokeLease"] == by["SignChallenge"] == {"grants"}
    assert by["Decide"] == by["PutPolicy"] == by["EnrolApprover"] == by["SaveTarget"] == {"broker"}
    assert by["Connect"] == {"broker"}
    assert by["IdentifyTask"] == {"mcp-gateway"}
    assert by["RequestAccess"] == by["GetCredential"] == {"mcp-gateway"}


@pytest.mark.parametrize("service", SERVICES)
def test_the_stream_is_read_by_audit_and_the_catalog_written_by_adapters(service: str) -> None:
    assert allowed(check_say, service, next_subject("audit")) is (service == "audit")
    assert allowed(check_say, service, entry_subject("tool.acme")) is (service == "adapters")
    read = f"$JS.API.DIRECT.GET.KV_styx_catalog.{entry_subject('index')}"
    assert allowed(check_say, service, read), "everybody reads the catalog"


@pytest.mark.parametrize(("service", "other"), product(SERVICES, SERVICES))
def test_replies_go_to_callers_only_and_are_heard_by_nobody_else(service: str, other: str) -> None:
    answers = any(c.owner == service and other in c.by for c in COMMANDS)
    reply = f"{inbox(other)}.FIXTURE.1"
    assert allowed(check_say, service, reply) is answers
    assert allowed(check_hear, service, reply) is (service == other)


@pytest.mark.parametrize("service", SERVICES)
def test_nobody_reaches_what_is_barred_to_all(service: str) -> None:
    mine = rights(service)
    user = NatsUser("U" + "A" * 55, mine.publish, mine.subscribe)
    assert list(problems({service: user})) == []
    for subject, law in product(mine.publish, (*FORBIDDEN, *MAKE_STREAMS)):
        assert not overlaps(subject, law)
    heard = [subject for subject in mine.subscribe if subject.split(".")[0] in (">", "*", "_INBOX")]
    assert heard == []


@pytest.mark.parametrize("service", ["", "bootstrap", "Grants", "grants ", "grants.x", "*"])
def test_an_unknown_service_may_say_nothing_of_ours(service: str) -> None:
    for each in (*COMMANDS, *EVENTS):
        assert not allowed(check_say, service, each.subject)
        assert not allowed(check_hear, service, each.subject)


@pytest.mark.parametrize(
    "subject",
    ["styx.v1.cmd.>", "styx.v1.cmd.grants.*", "styx.v1.evt.>", ">", "*", "styx.v1.cmd.grants", ""],
)
@pytest.mark.parametrize("service", SERVICES)
def test_a_pattern_opens_no_more_than_its_parts(service: str, subject: str) -> None:
    assert not allowed(check_say, service, subject)
    assert not allowed(check_hear, service, subject)


def test_a_refusal_names_who_and_what() -> None:
    with pytest.raises(Forbidden, match=r"audit may not send styx\.v1\.cmd\.adapters\.issue"):
        check_say("audit", adapters.Issue.subject)
    with pytest.raises(Forbidden, match=r"broker may not hear styx\.v1\.cmd\.adapters\.connect"):
        check_hear("broker", adapters.Connect.subject)


@pytest.mark.parametrize(
    ("pattern", "subject", "fits"),
    [
        ("a.b", "a.b", True),
        ("a.b", "a.b.c", False),
        ("a.b.c", "a.b", False),
        ("a.*", "a.b", True),
        ("a.*", "a.*", True),
        ("a.*", "a.>", False),
        ("a.*.c", "a.b.c", True),
        ("a.>", "a.b.c", True),
        ("a.>", "a.>", True),
        ("a.>", "a.*", True),
        ("a.>", "a", False),
        ("a.b", "a.*", False),
        ("a.b", "a.>", False),
        (">", "a", True),
    ],
)
def test_what_a_pattern_covers(pattern: str, subject: str, fits: bool) -> None:
    assert covers(pattern, subject) is fits


WORD = st.sampled_from(["a", "b", "*"])
SUBJECT = st.builds(
    lambda words, tail: ".".join([*words, *tail]),
    st.lists(WORD, min_size=1, max_size=4),
    st.sampled_from([[], [">"]]),
)
PLAIN = st.lists(st.sampled_from(["a", "b"]), min_size=1, max_size=5).map(".".join)


@given(SUBJECT, SUBJECT, PLAIN)
def test_a_covered_pattern_matches_nothing_that_its_cover_does_not(
    pattern: str, asked: str, plain: str
) -> None:
    if covers(pattern, asked) and covers(asked, plain):
        assert covers(pattern, plain)
