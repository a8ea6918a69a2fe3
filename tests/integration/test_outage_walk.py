"""The outage walk: each part fails while calls stand at each step of one call's way.

For each part, four calls are under way: one held for a person, one at the provider and not yet
minted, one minted and not yet answered, one that starts while the part is away. Each ends in its
credential or in a clear refusal; afterwards the part comes back, everybody finds the others again,
and at the very end no session that was handed over lacks its record.
"""

import asyncio
import os
import resource
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest
import pytest_asyncio
from parts_fixture import Answer, Parts, parts
from provider_gate import Hold, Moment, empty, failing, silent
from stack_fixture import until
from styx_cli.engines import binaries
from styx_cli.engines.bao import SEAL_VARIABLE
from styx_core import keyring

pytestmark = [pytest.mark.integration, pytest.mark.asyncio(loop_scope="module")]

AWAY = {"unavailable", "timed_out", "unrecorded"}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def all_parts(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Parts]:
    async with parts(tmp_path_factory.mktemp("stack") / "data") as running:
        yield running


@asynccontextmanager
async def killed(here: Parts, name: str) -> AsyncIterator[None]:
    """A service dies without a word and is started again."""
    await here.services[name].end(signal.SIGKILL)
    yield
    await here.services[name].start()


@asynccontextmanager
async def stopped(here: Parts, name: str) -> AsyncIterator[None]:
    """An engine ends and is started again."""
    child = getattr(here.engines, name)
    await child.stop()
    yield
    await child.start()


@asynccontextmanager
async def sealed(here: Parts, name: str) -> AsyncIterator[None]:
    """OpenBao runs with a key that isn't its own: it answers, and is sealed."""
    await here.engines.bao.stop()
    process = await asyncio.create_subprocess_exec(
        *(str(binaries.find("bao")), "server", f"-config={here.data / 'bao' / 'bao.hcl'}"),
        env={SEAL_VARIABLE: keyring.seal_key(b"FIXTURE-another-stacks-root-key!")},
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    await until(lambda: is_sealed(here.engines.bao_url))
    yield
    process.kill()
    await process.wait()
    await here.engines.bao.start()


async def is_sealed(url: str) -> bool:
    """OpenBao's own word."""
    async with httpx.AsyncClient(base_url=url) as http:
        try:
            return bool((await http.get("/v1/sys/health")).json()["sealed"])
        except httpx.HTTPError:
            return False


@asynccontextmanager
async def frozen(here: Parts, name: str) -> AsyncIterator[None]:
    """A part stands still with all its connections open, and goes on."""
    engine = getattr(here.engines, name, None)
    pid = engine.pid if engine else here.services[name].pid
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


OUTAGES = [
    (killed, "broker", False),
    (killed, "grants", False),
    (killed, "adapters", False),
    (killed, "audit", True),
    (stopped, "nats", False),
    (stopped, "bao", False),
    (sealed, "bao", False),
    (frozen, "adapters", False),
    (frozen, "audit", True),
    (frozen, "nats", False),
    (frozen, "bao", False),
]


@pytest.mark.parametrize(
    ("outage", "name", "goes_on"), OUTAGES, ids=[f"{o.__name__}-{n}" for o, n, _ in OUTAGES]
)
async def test_a_part_fails_under_calls_at_every_step(
    all_parts: Parts, outage: object, name: str, goes_on: bool
) -> None:
    here = all_parts
    tokens = [await here.task() for _ in range(5)]
    held = here.call(tokens[0], "s3", "rm", "s3://releases/notes.txt", target="prod")
    request = await here.pending()
    before, after = Hold(minted=False), Hold(minted=True)
    here.gate.next += [before, after]
    at_provider = here.call(tokens[1])
    await before.reached.wait()
    minted = here.call(tokens[2])
    await after.reached.wait()

    async with outage(here, name):  # type: ignore[operator]
        starting = here.call(tokens[3])
        before.let_go.set()
        after.let_go.set()
        answers = await asyncio.gather(at_provider, minted, starting)
    for answer in answers:
        clear(answer, broken_off=name == "broker")
    assert (answers[2].status == 200) is goes_on, answers[2]

    await here.ready()
    await here.approve(request)
    first = await held
    clear(first, broken_off=name == "broker")
    again = await here.call(tokens[0], "s3", "rm", "s3://releases/notes.txt", target="prod")
    assert again.key, again
    assert (await here.call(tokens[4])).key, "the next call works"


def clear(answer: Answer, *, broken_off: bool) -> None:
    """A credential, or a refusal that says that it may be tried again."""
    if answer.status == 0:
        assert broken_off, "only a dead broker breaks a call off"
    elif answer.status != 200:
        assert answer.code in AWAY, answer
        assert answer.retryable, answer
        assert not answer.key


@pytest.mark.parametrize(
    ("moment", "status", "code", "retryable"),
    [
        (failing("403 Forbidden", "InvalidClientTokenId"), 409, "login_expired", False),
        (failing("403 Forbidden", "AccessDenied"), 409, "login_expired", False),
        (failing("400 Bad Request", "PackedPolicyTooLarge"), 502, "provider_failed", True),
        (failing("503 Service Unavailable", "Throttling"), 502, "provider_failed", True),
        (failing("200 OK", "not what was asked"), 502, "provider_failed", True),
        (empty, 502, "provider_failed", True),
        (silent, 502, "provider_failed", True),
    ],
    ids=["unknown-key", "denied", "refused", "throttled", "nonsense", "empty", "silent"],
)
async def test_a_provider_that_fails_is_said_to(
    all_parts: Parts, moment: Moment, status: int, code: str, retryable: bool
) -> None:
    token = await all_parts.task()
    all_parts.gate.next.append(moment)
    said = await all_parts.call(token)
    assert (said.status, said.code, said.retryable, said.key) == (status, code, retryable, "")
    assert (await all_parts.call(token)).key, "the same grant goes on once the provider does"


async def test_a_full_disk_under_the_audit_log_delays_entries_and_loses_none(
    all_parts: Parts,
) -> None:
    """Files of the audit process may not grow: as if the disk were full, for it alone."""
    audit = all_parts.services["audit"]
    before = len(await all_parts.log("grants.credential_issued"))
    resource.prlimit(audit.pid, resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
    try:
        keys = [(await all_parts.call(await all_parts.task())).key for _ in range(3)]
        assert all(keys), "issuing goes on: the stream holds the record"
        await until(lambda: _not_ready(all_parts))
    finally:
        unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
        resource.prlimit(audit.pid, resource.RLIMIT_FSIZE, unlimited)
    await all_parts.ready()
    await until(lambda: _grown(all_parts, before + 3))


async def _not_ready(here: Parts) -> bool:
    return not await here.services["audit"].ready()


async def _grown(here: Parts, size: int) -> bool:
    return len(await here.log("grants.credential_issued")) == size


async def test_every_session_that_left_is_on_the_log(all_parts: Parts) -> None:
    """Last: what callers hold, what the account minted, and what the log says, side by side."""
    here = all_parts
    assert (await here.call(await here.task())).key
    minted = {session.key: session.lease_id for session in here.gate.minted}
    assert set(here.handed) <= set(minted)
    left = {minted[key] for key in here.handed}

    async def recorded() -> bool:
        issued = {entry["lease_id"] for entry in await here.log("grants.credential_issued")}
        return left <= issued

    await until(recorded)
