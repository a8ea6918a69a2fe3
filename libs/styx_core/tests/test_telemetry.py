"""Logs are JSON lines without a secret, whatever stands where; spans and metrics carry names."""

import asyncio
import json
import logging
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry import trace
from prometheus_client import REGISTRY
from styx_core import telemetry
from styx_core.redact import redactor
from styx_core.telemetry import Through, log_as_json

TOKEN = "gh" + "p_" + "FIXTURE" + "abcDEF0123456789abcDEF0123456"
PASSWORD = "FIXTURE-Tr0ub4dor"
AROUND = f"postgresql://ada:{PASSWORD}@db.example/x --token {TOKEN}"


class Holder:
    """A value that JSON doesn't know."""

    def __repr__(self) -> str:
        return f"Holder({TOKEN})"


class Lines:
    """What was logged, one object a line."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys
        self.text = ""

    def read(self) -> list[dict[str, Any]]:
        """Each line as what it holds; the text as a whole stays in `text`."""
        out, self.text = self._capsys.readouterr()
        assert out == "", "logs go to stderr"
        return [json.loads(line) for line in self.text.splitlines()]


@pytest.fixture
def lines(capsys: pytest.CaptureFixture[str]) -> Iterator[Lines]:
    before = structlog.get_config()
    log_as_json(redactor())
    yield Lines(capsys)
    structlog.configure(**before)
    root = logging.getLogger()
    root.handlers[:] = [each for each in root.handlers if not isinstance(each, Through)]


def test_a_line_is_json_with_its_level_and_a_utc_time(lines: Lines) -> None:
    log = structlog.get_logger()
    log.info("two\nlines", number=7, share=0.5, on=True, nothing=None)
    log.debug("not asked for")
    (line,) = lines.read()
    assert line.pop("timestamp").endswith("Z")
    expected = {"event": "two\nlines", "level": "info", "number": 7, "share": 0.5, "on": True}
    assert line == {**expected, "nothing": None}


PLANTED: dict[str, Mapping[str, Any]] = {
    "value": {"said": AROUND},
    "key name": {TOKEN: "x"},
    "nested": {"a": {"b": [{"c": (TOKEN, f"password={PASSWORD}")}]}},
    "nested key": {"a": {f"x {TOKEN}": 1}},
    "set": {"a": {TOKEN}},
    "under a name that promises it": {"password": PASSWORD},
    "nested under such a name": {"config": {"db_password": PASSWORD, "client_secret": [PASSWORD]}},
    "list under such a name": {"api_key": [PASSWORD, PASSWORD]},
    "bytes": {"body": f"password={PASSWORD} {TOKEN}".encode()},
    "exception as a value": {"error": ValueError(AROUND)},
    "object": {"holder": Holder(), "many": [Holder()]},
    "object as a key": {"a": {Path(f"/x/{TOKEN}"): 1}},
    "path": {"path": Path(f"/x/{TOKEN}")},
}


@pytest.mark.parametrize("planted", PLANTED.values(), ids=list(PLANTED))
def test_no_position_lets_a_secret_through(lines: Lines, planted: Mapping[str, Any]) -> None:
    structlog.get_logger().warning("FIXTURE", **planted)
    assert len(lines.read()) == 1
    assert TOKEN not in lines.text
    assert PASSWORD not in lines.text
    assert "[REDACTED]" in lines.text


def test_a_secret_in_the_message_or_bound_beforehand_is_hidden(lines: Lines) -> None:
    structlog.get_logger(owner=AROUND).info(f"calling with {TOKEN}")
    with structlog.contextvars.bound_contextvars(call=AROUND):
        structlog.get_logger().info("FIXTURE")
    assert len(lines.read()) == 2
    assert TOKEN not in lines.text
    assert PASSWORD not in lines.text


def test_an_exceptions_text_and_its_causes_are_hidden_and_its_kind_is_not(lines: Lines) -> None:
    try:
        try:
            raise OSError(AROUND)
        except OSError as cause:
            raise LookupError(f"password={PASSWORD}") from cause
    except LookupError:
        structlog.get_logger().exception("failed", command="issue")
    (line,) = lines.read()
    assert TOKEN not in lines.text
    assert PASSWORD not in lines.text
    assert "LookupError" in line["exception"]
    assert "OSError" in line["exception"]


def test_what_libraries_log_is_said_the_same_way(lines: Lines) -> None:
    logging.getLogger("uvicorn.error").error("failed at %s", AROUND)
    logging.getLogger("uvicorn.access").info("not asked for")
    (line,) = lines.read()
    assert (line["level"], line["logger"]) == ("error", "uvicorn.error")
    assert TOKEN not in lines.text
    assert PASSWORD not in lines.text


async def test_an_exception_that_nobody_awaited_is_too(lines: Lines) -> None:
    context = {"message": "FIXTURE", "exception": ValueError(AROUND)}
    asyncio.get_running_loop().call_exception_handler(context)
    (line,) = lines.read()
    assert (line["level"], line["logger"]) == ("error", "asyncio")
    assert "ValueError" in line["exception"]
    assert TOKEN not in lines.text
    assert PASSWORD not in lines.text


def test_asking_twice_says_nothing_twice(lines: Lines) -> None:
    log_as_json(redactor())
    logging.getLogger("nats").warning("FIXTURE")
    assert len(lines.read()) == 1


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.text(), inner, max_size=3), max_leaves=8
)  # fmt: skip


@given(st.dictionaries(st.text(min_size=1).filter(lambda k: k not in ("event", "self")), JSON))
def test_whatever_is_logged_is_one_line_of_json(values: dict[str, Any]) -> None:
    event = {**values, "event": "FIXTURE"}
    before = structlog.get_config()
    log_as_json(redactor())
    try:
        for processor in structlog.get_config()["processors"]:
            event = processor(None, "info", event)
    finally:
        structlog.configure(**before)
    assert isinstance(event, str)
    assert "\n" not in event
    assert json.loads(event)["event"] == "FIXTURE"


class Broken:
    """A stream whose disk is full."""

    def write(self, _text: str) -> int:
        raise OSError(28, "No space left on device")

    def flush(self) -> None:
        raise ValueError("closed")


def test_a_log_that_cannot_be_written_stops_nobody(
    lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stderr", Broken())
    structlog.get_logger().error("FIXTURE")
    monkeypatch.undo()
    structlog.get_logger().error("and on")
    assert [line["event"] for line in lines.read()] == ["and on"]


def test_an_unknown_level_is_named() -> None:
    with pytest.raises(KeyError, match="LOUD"):
        log_as_json(redactor(), "LOUD")


@pytest.mark.usefixtures("traced")
def test_a_span_goes_on_with_the_trace_that_it_is_given() -> None:
    parent = f"00-{'a' * 32}-{'b' * 16}-01"
    with telemetry.span("FIXTURE", parent) as current:
        assert f"{current.get_span_context().trace_id:032x}" == "a" * 32
    for broken in ("", "nonsense", "00-" + "0" * 32 + "-" + "0" * 16 + "-01"):
        with telemetry.span("FIXTURE", broken):
            assert trace.get_current_span().get_span_context().trace_id != int("a" * 32, 16)


UNTRACED = """
from styx_core import telemetry
headers = {}
with telemetry.span("FIXTURE", "00-" + "a" * 32 + "-" + "b" * 16 + "-01") as current:
    telemetry.carry(headers)
print(current.get_span_context().is_valid, headers)
"""


def test_where_nobody_collects_traces_none_are_made_nor_sent() -> None:
    """In a process of its own: once there is a collector it is there for good."""
    words = [sys.executable, "-c", UNTRACED]
    ran = subprocess.run(words, capture_output=True, text=True, check=True)
    assert ran.stdout == "False {}\n"


def test_a_command_is_counted_by_its_outcome() -> None:
    def count(outcome: str) -> float:
        labels = {"service": "FIXTURE", "command": "c", "outcome": outcome}
        return REGISTRY.get_sample_value("styx_commands_total", labels) or 0.0

    with telemetry.command("FIXTURE", "c"):
        pass
    with telemetry.command("FIXTURE", "c") as met:
        met("forbidden")
    with pytest.raises(LookupError), telemetry.command("FIXTURE", "c"):
        raise LookupError
    timed = {"service": "FIXTURE", "command": "c"}
    assert (count("ok"), count("forbidden")) == (2.0, 1.0)
    assert REGISTRY.get_sample_value("styx_command_seconds_count", timed) == 3.0
