"""Telemetry: JSON logs redacted by construction, traces (OpenTelemetry) and metrics (Prometheus).

Spans carry names and ids, never arguments. A trace begins at the shim (its `traceparent` header)
and goes through every hop. Sampling happens at the head: `sample` is the share of traces kept.
"""

import contextlib
import logging
import sys
import time
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from typing import Any

import structlog
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased
from opentelemetry.trace import INVALID_SPAN, Span
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from prometheus_client import Counter, Gauge, Histogram

from styx_core.secret_names import MARK, holds_secret, is_secret_name

_tracer = trace.get_tracer("styx")
_collected = False
"""Whether spans go anywhere: where not, none are made."""
_propagator = TraceContextTextMapPropagator()

COMMAND_SECONDS = Histogram(
    "styx_command_seconds",
    "Time in a bus handler",
    ("service", "command"),
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5),
)
COMMANDS = Counter("styx_commands", "Commands answered", ("service", "command", "outcome"))
DECISIONS = Counter("styx_decisions", "Requests decided", ("verdict", "decided_by"))
WAITING = Gauge("styx_callers_waiting", "Callers held for a decision", ("service",))
OUTBOX = Gauge("styx_outbox_rows", "Events not yet in the stream", ("service",))
AUDIT_SIZE = Gauge("styx_audit_entries", "Entries in the audit log")


@contextmanager
def span(name: str, traceparent: str = "") -> Iterator[Span]:
    """A span under the current one, or under a `traceparent` header's value; where nobody collects
    them there is none, at next to no cost."""
    if not _collected:
        yield INVALID_SPAN
        return
    context = _propagator.extract({"traceparent": traceparent}) if traceparent else None
    with _tracer.start_as_current_span(name, context=context) as current:
        yield current


def carry(headers: dict[str, str]) -> None:
    """Put the current trace into a message's headers."""
    if _collected:
        _propagator.inject(headers)


@contextmanager
def command(service: str, name: str) -> Iterator[Callable[[str], None]]:
    """Measure one handled command; call what is yielded with an error's code when it failed."""
    outcome = ["ok"]
    began = time.perf_counter()
    try:
        yield outcome.append
    finally:
        COMMAND_SECONDS.labels(service, name).observe(time.perf_counter() - began)
        COMMANDS.labels(service, name, outcome[-1]).inc()


def trace_to(exporter: SpanExporter | None, endpoint: str | None, sample: float) -> None:
    """Send spans to an exporter or an OTLP/HTTP endpoint; with neither, none are made."""
    global _collected
    if exporter is None and endpoint is None:
        return
    _collected = True
    provider = TracerProvider(
        resource=Resource.create({"service.name": "styx"}),
        sampler=ParentBased(TraceIdRatioBased(sample)),
    )
    provider.add_span_processor(BatchSpanProcessor(exporter or OTLPSpanExporter(endpoint)))
    trace.set_tracer_provider(provider)


Event = MutableMapping[str, Any]


class Unfailing:
    """stderr, but what it can't take is dropped: a full disk under a log must stop no service."""

    def write(self, text: str) -> int:
        """Write, or don't."""
        with contextlib.suppress(OSError, ValueError):
            return sys.stderr.write(text)
        return 0

    def flush(self) -> None:
        """Flush, or don't."""
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.flush()


class Through(logging.Handler):
    """The standard library's log records (asyncio's, uvicorn's), said as ours are."""

    def emit(self, record: logging.LogRecord) -> None:
        """See `logging.Handler`."""
        level = logging.ERROR if record.levelno >= logging.ERROR else logging.WARNING
        log = structlog.get_logger()
        log.log(level, record.getMessage(), logger=record.name, exc_info=record.exc_info)


def log_as_json(redact: Callable[[str], str], level: str = "INFO") -> None:
    """Logs go to stderr as JSON lines, and all that is no number passes `redact` first.

    So do the warnings and errors of libraries that use the standard library's `logging`.
    """

    def redacted(_logger: object, _method: str, event: Event) -> Event:
        return {redact(key): _clean(redact, key, value) for key, value in event.items()}

    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            redacted,
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level]),
        logger_factory=structlog.PrintLoggerFactory(Unfailing()),  # type: ignore[arg-type]
        cache_logger_on_first_use=False,
    )
    root = logging.getLogger()
    if not any(isinstance(handler, Through) for handler in root.handlers):
        root.addHandler(Through(logging.WARNING))


def _clean(redact: Callable[[str], str], name: str, value: object) -> object:
    """`value`, which stands under `name`, without secrets and as JSON can hold it."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, Mapping):
        return {redact(str(k)): _clean(redact, str(k), item) for k, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_clean(redact, name, item) for item in value]
    text = value if isinstance(value, str) else repr(value)
    return MARK if is_secret_name(name) and holds_secret(name, text) else redact(text)
