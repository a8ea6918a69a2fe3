"""The contract: every message is declared once, whole, documented, and refuses what it isn't."""

import importlib.util
import inspect
import json
import re
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from pydantic import ValidationError
from styx_core.contract import (
    adapters,
    adapters_notices,
    broker,
    broker_board,
    grants,
    grants_events,
    grants_people,
    grants_policies,
    values,
)
from styx_core.contract.base import COMMANDS, EVENTS, Command, Event, Message, snake, utc_ms
from styx_core.contract.grants import Choice, PutPolicy, RequestAccess
from styx_core.contract.rights import SERVICES
from styx_core.errors import BY_CODE
from styx_core.ids import new_id

ROOT = Path(__file__).parents[3]
GRANTS = (grants, grants_events, grants_people, grants_policies)
MODULES = (adapters, adapters_notices, broker, broker_board, *GRANTS, values)
MESSAGES: list[type[Message]] = [
    each
    for module in MODULES
    for each in vars(module).values()
    if isinstance(each, type)
    and issubclass(each, Message)
    and each.__module__ == module.__name__
    and "[" not in each.__name__  # `Command[Issued]`, which pydantic leaves beside them
]
KINDS = [*COMMANDS.values(), *EVENTS.values()]


def name(kind: type[Message]) -> str:
    """For the test's own name."""
    return kind.__name__


def pages() -> ModuleType:
    """What writes the generated pages; tests folders are no packages, so it is loaded by path."""
    spec = importlib.util.spec_from_file_location("docs_pages", ROOT / "tests" / "docs.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_declared_message_is_registered_under_its_own_subject() -> None:
    commands = {m for m in MESSAGES if issubclass(m, Command)}
    events = {m for m in MESSAGES if issubclass(m, Event)}
    assert commands == set(COMMANDS.values())
    assert events == set(EVENTS.values())
    assert len(commands) + len(events) > 30


@pytest.mark.parametrize("kind", KINDS, ids=name)
def test_its_subject_is_its_owner_and_its_name(kind: type[Command[Any]] | type[Event]) -> None:
    what = "cmd" if issubclass(kind, Command) else "evt"
    assert kind.owner in SERVICES
    assert kind.subject == f"styx.v1.{what}.{kind.owner}.{snake(kind.__name__)}"
    assert re.fullmatch(r"styx\.v1\.(cmd|evt)\.[a-z-]+\.[a-z_]+", kind.subject)
    assert kind.__module__.rpartition(".")[2].partition("_")[0] == kind.owner, "found by its owner"


@pytest.mark.parametrize("kind", COMMANDS.values(), ids=name)
def test_a_command_has_callers_a_reply_and_a_deadline(kind: type[Command[Any]]) -> None:
    assert kind.by, "a command that nobody may send is none"
    assert set(kind.by) <= set(SERVICES) - {kind.owner}
    assert issubclass(kind.reply, Message)
    assert not issubclass(kind.reply, Command | Event)
    assert 0 < kind.deadline <= 30


@pytest.mark.parametrize("kind", MESSAGES, ids=name)
def test_it_is_frozen_documented_and_refuses_a_key_that_it_lacks(kind: type[Message]) -> None:
    assert inspect.getdoc(kind), "a message says what it means"
    assert kind.__doc__ != Message.__doc__
    assert kind.model_config["frozen"]
    with pytest.raises(ValidationError) as refused:
        kind.model_validate({"FIXTURE_extra": 1})
    told = {error["loc"]: error["type"] for error in refused.value.errors()}
    assert told[("FIXTURE_extra",)] == "extra_forbidden"


@pytest.mark.parametrize("kind", COMMANDS.values(), ids=name)
def test_what_carries_the_callers_words_is_bounded_or_named_here(kind: type[Command[Any]]) -> None:
    """Digests, keys and boxes are checked by who reads them; every other text has an end."""
    checked_elsewhere = {
        *("token_sha256", "bearer_sha256", "command_digest", "edge_key", "public_key"),
        *("signature", "box", "states", "config", "handle"),
    }
    for field, schema in kind.model_json_schema()["properties"].items():
        for option in schema.get("anyOf", [schema]):
            if option.get("type") == "string" and field not in checked_elsewhere:
                bounded = {"maxLength", "pattern", "enum", "format", "const"} & option.keys()
                assert bounded, f"{kind.__name__}.{field} has no end"


def test_the_snapshot_shows_the_contract_as_it_is() -> None:
    made = pages().snapshot()
    kept = (ROOT / "docs/generated/contract.schemas.json").read_text()
    assert kept == made, "run `make docs` and review the change"
    assert json.loads(made).keys() == {
        *COMMANDS, *EVENTS, *(f"{subject} (reply)" for subject in COMMANDS)
    }  # fmt: skip


def test_the_page_names_every_message_and_every_error() -> None:
    page = pages().contract_page()
    for subject in (*COMMANDS, *EVENTS):
        assert f"`{subject}`" in page
    for code, error in BY_CODE.items():
        assert re.search(rf"\| `{code}` \| {error.status} \| (yes|no) \| \S", page)
    for service in SERVICES:
        assert f"### {service}\n" in page


@pytest.mark.parametrize("kind", EVENTS.values(), ids=name)
def test_an_event_has_what_the_log_needs(kind: type[Event]) -> None:
    required = set(kind.model_json_schema()["required"])
    assert required >= {"id", "at", "actor"}
    with pytest.raises(ValidationError, match="timezone"):
        kind.model_validate({"at": "2030-01-01T00:00:00"})


NOW = datetime(2030, 1, 1, tzinfo=UTC)
ASKED: dict[str, Any] = {
    "task_id": new_id("tsk"),
    "target": "web",
    "scopes": ["read"],
    "reason": "to see",
}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("task_id", "tsk_short"),
        ("task_id", new_id("tsk") + "\n"),
        ("task_id", 7),
        ("target", "x" * 2001),
        ("scopes", []),
        ("scopes", ["admin"]),
        ("scopes", "read"),
        ("command", ["x" * 131_073]),
        ("command", "aws s3 ls"),
        ("duration", "2h"),
        ("duration", "ONCE"),
        ("exact", "perhaps"),
    ],
)
def test_a_value_of_another_shape_is_refused_by_its_name(field: str, value: object) -> None:
    assert RequestAccess.model_validate(ASKED).target == "web"
    with pytest.raises(ValidationError) as refused:
        RequestAccess.model_validate_json(json.dumps({**ASKED, field: value}))
    assert {error["loc"][0] for error in refused.value.errors()} == {field}


def test_a_policy_has_an_end() -> None:
    whole = {
        "project_id": new_id("prj"),
        "person": "ada",
        "signature": "FIXTURE",
        "nonce": "n" * 16,
    }
    assert PutPolicy.model_validate({**whole, "toml": "x" * 1_000_000})
    with pytest.raises(ValidationError, match="toml"):
        PutPolicy.model_validate({**whole, "toml": "x" * 1_000_001})


def test_a_message_cannot_be_changed() -> None:
    choice = Choice(grant_id=new_id("grt"), verdict="deny")
    with pytest.raises(ValidationError, match="frozen"):
        choice.verdict = "approve"  # type: ignore[misc]


def test_names_and_times_on_the_wire() -> None:
    assert [snake(word) for word in ("Issue", "SignChallenge", "GrantDecided")] == [
        "issue", "sign_challenge", "grant_decided"
    ]  # fmt: skip
    assert utc_ms(NOW) == 1_893_456_000_000
    assert utc_ms(None) is None
