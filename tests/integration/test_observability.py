"""What an operator sees of a running stack: one trace per call, metrics, health, `nats micro`."""

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import nats
import pytest
import pytest_asyncio
from nats.aio.client import Client
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from stack_fixture import Agent, Living, an_agent, living, until
from styx_cli.stack import OPERATOR
from styx_core import keyring, telemetry
from styx_core.contract.base import COMMANDS, snake

pytestmark = [pytest.mark.integration, pytest.mark.asyncio(loop_scope="module")]

SERVICES = ("broker", "grants", "adapters", "audit", "mcp-gateway")
OWNERS = sorted({command.owner for command in COMMANDS.values()})


@pytest.fixture(scope="module")
def spans() -> InMemorySpanExporter:
    exporter = InMemorySpanExporter()
    if not isinstance(trace.get_tracer_provider(), TracerProvider):
        telemetry.trace_to(InMemorySpanExporter(), None, 1.0)  # a process has one provider, once
    provider = trace.get_tracer_provider()
    assert isinstance(provider, TracerProvider)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return exporter


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def here(
    tmp_path_factory: pytest.TempPathFactory, spans: InMemorySpanExporter
) -> AsyncIterator[Living]:
    async with living(tmp_path_factory.mktemp("stack") / "data") as stack:
        yield stack


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def agent(here: Living) -> AsyncIterator[Agent]:
    async with an_agent(here.data) as one:
        yield one


CHAIN = [
    "handle styx.v1.cmd.adapters.issue",
    "send styx.v1.cmd.adapters.issue",
    "handle styx.v1.cmd.grants.authorize",
    "send styx.v1.cmd.grants.authorize",
    "POST /v1/exec",
]


async def issued(spans: InMemorySpanExporter) -> list[ReadableSpan]:
    """From the adapter's span up to the one whose parent is elsewhere."""

    def up() -> list[ReadableSpan]:
        known = {s.context.span_id: s for s in spans.get_finished_spans() if s.context}
        above = [s for s in known.values() if s.name == CHAIN[0]]
        while above and (parent := above[-1].parent) and parent.span_id in known:
            above.append(known[parent.span_id])
        return above if above and above[-1].name.startswith("POST") else []

    found: list[ReadableSpan] = await until(up)
    return found


async def test_one_trace_runs_from_the_shim_to_the_adapter(
    agent: Agent, spans: InMemorySpanExporter
) -> None:
    spans.clear()
    assert (await agent.run("aws", "s3", "ls", target="staging")).code == 0
    chain = await issued(spans)
    assert [span.name for span in chain] == CHAIN
    assert chain[-1].parent is not None
    assert chain[-1].parent.is_remote, "the shim began it"
    told = "".join(span.to_json() for span in spans.get_finished_spans())
    assert not [word for word in ("ASIA", "staging", "s3") if word in told], "never arguments"


async def test_a_held_call_stays_one_trace(
    here: Living, agent: Agent, spans: InMemorySpanExporter
) -> None:
    spans.clear()
    held = agent.run("aws", "s3", "rm", "s3://releases/notes.txt", target="prod")
    request = await here.pending()
    await here.styx("approve", request["id"], "--yes", owner=True)
    assert (await held).code == 0
    chain = await issued(spans)
    assert [span.name for span in chain] == CHAIN
    asked = [s for s in spans.get_finished_spans() if s.name == CHAIN[2]]
    assert len({s.context.trace_id for s in asked if s.context}) == 1, "asked and asked again"


@pytest.mark.parametrize("service", SERVICES)
async def test_every_service_has_health_and_metrics(here: Living, service: str) -> None:
    async with httpx.AsyncClient(base_url=f"{here.stack.url}/services/{service}") as http:
        assert (await http.get("/healthz")).json() == {"service": service, "ok": True}
        ready = (await http.get("/readyz")).json()
        assert (ready["ok"], ready["parts"]["bus"]) == (True, True)
        await until(lambda: _relayed(http))
        metrics = (await http.get("/metrics")).text
    assert 'styx_commands_total{command="authorize",outcome="ok",service="grants"}' in metrics
    assert "styx_audit_entries" in metrics


async def _relayed(http: httpx.AsyncClient) -> bool:
    return 'styx_outbox_rows{service="grants"} 0.0' in (await http.get("/metrics")).text


@pytest_asyncio.fixture(loop_scope="module")
async def operator(here: Living) -> AsyncIterator[Client]:
    engines = here.stack.engines
    client = await nats.connect(
        engines.nats_url, nkeys_seed_str=keyring.nats_seed(engines.root, OPERATOR)
    )
    yield client
    await client.close()


async def asked(client: Client, verb: str) -> dict[str, dict[str, Any]]:
    """What each service answers, as `nats micro` asks."""
    inbox, answers = client.new_inbox(), {}
    heard = await client.subscribe(inbox)
    await client.publish(f"$SRV.{verb}", b"", reply=inbox)
    for _ in OWNERS:
        said = json.loads((await heard.next_msg(timeout=10)).data)
        answers[said["name"]] = said
    await heard.unsubscribe()
    return answers


async def test_nats_micro_tools_find_every_command(operator: Client) -> None:
    for verb in ("PING", "INFO", "STATS"):
        answers = await asked(operator, verb)
        assert sorted(answers) == OWNERS
    for name, info in (await asked(operator, "INFO")).items():
        found = {each["subject"]: each for each in info["endpoints"]}
        declared = {c.subject: snake(c.__name__) for c in COMMANDS.values() if c.owner == name}
        assert {subject: each["name"] for subject, each in found.items()} == declared
        assert {each["queue_group"] for each in found.values()} == {name}
    stats = (await asked(operator, "STATS"))["grants"]
    assert any(each["num_requests"] for each in stats["endpoints"])


async def test_the_operators_user_can_ask_nothing_else(here: Living, operator: Client) -> None:
    complaints: list[str] = []

    async def complain(error: Exception) -> None:
        complaints.append(str(error).lower())

    operator._error_cb = complain
    for subject in ("styx.v1.cmd.grants.list_grants", "$JS.API.STREAM.NAMES", "$KV.styx_catalog.x"):
        await operator.publish(subject, b"{}", reply=operator.new_inbox())
        await operator.flush()
        await until(lambda s=subject: any(s.lower() in said for said in complaints))
    await operator.subscribe("styx.v1.evt.>")
    await operator.flush()
    await until(lambda: any("styx.v1.evt" in said for said in complaints))
