"""The log over HTTP: who may look, what is found, and that every proof holds."""

import base64
import hashlib
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from log_fixture import KeyVault, made, say
from styx_audit.checkpoint import Checkpoint, open_note, parse_verifier
from styx_audit.entries import leaf_hash
from styx_audit.merkle import verify_consistency, verify_inclusion
from styx_audit.recorder import Recorder
from styx_audit.routes import Deps, build
from styx_audit.signer import Signer
from styx_core.contract.broker import IdentifyPerson, PersonIdentity
from styx_core.db import Database
from styx_core.errors import Unauthenticated
from styx_core.testing import MemoryBus

SIZE = 13
BEARER = "styx_per_FIXTURE-bearer"
GUEST = "styx_per_FIXTURE-guest"
"""Of somebody with a role in one project alone."""
KNOWN = {
    hashlib.sha256(bearer.encode()).hexdigest(): PersonIdentity(
        person=name, everywhere=not where, projects=where
    )
    for bearer, name, where in ((BEARER, "owner", ()), (GUEST, "guest", ("prj_1",)))
}
SOCKET, TCP = "http://socket", "http://audit:8123"
PATHS = ("entries", "entries/0", "checkpoint", "consistency?first=1&second=2", "export")


async def identify(command: IdentifyPerson) -> PersonIdentity:
    """The broker's part: one person."""
    if command.bearer_sha256 not in KNOWN:
        raise Unauthenticated("this token is nobody's; sign in with `styx login`")
    return KNOWN[command.bearer_sha256]


@pytest.fixture
async def vault() -> KeyVault:
    return KeyVault()


@pytest.fixture
async def app(server: MemoryBus, db: Database, vault: KeyVault) -> Any:
    """The HTTP face of a log of thirteen."""
    await say(server, *(made(n) for n in range(SIZE)))
    bus = server.as_service("audit")
    await Recorder(bus, db).once()
    return build(Deps(bus, db, Signer(vault, db)))  # type: ignore[arg-type]


@pytest.fixture
async def http(app: Any) -> AsyncIterator[httpx.AsyncClient]:
    """The owner of this machine: through the socket, which has no port."""
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=SOCKET) as client:
        yield client


async def ask(http: httpx.AsyncClient, path: str, **query: Any) -> Any:
    reply = await http.get(f"/audit/{path}", params=query)
    assert reply.status_code == 200, reply.text
    return reply.json()


async def refused(http: httpx.AsyncClient, path: str, **query: Any) -> dict[str, Any]:
    reply = await http.get(f"/audit/{path}", params=query)
    assert reply.status_code >= 400
    assert reply.headers["content-type"] == "application/problem+json"
    found: dict[str, Any] = reply.json()
    assert found["status"] == reply.status_code
    return found


@pytest.mark.parametrize("at", PATHS)
@pytest.mark.parametrize(
    ("header", "status"),
    [
        (None, 401),
        ("Bearer", 401),
        ("Bearer ", 401),
        ("Bearer styx_per_FIXTURE-wrong", 401),
        (f"Basic {BEARER}", 401),
        (BEARER, 401),
        (f"Bearer {GUEST}", 403),
        (f"Bearer {BEARER}", 200),
        (f"bearer {BEARER}", 200),
    ],
)
async def test_over_tcp_only_a_persons_bearer_opens(
    app: Any, server: MemoryBus, at: str, header: str | None, status: int
) -> None:
    await server.as_service("broker").serve("broker", {IdentifyPerson: identify})
    headers = {"Authorization": header} if header else {}
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app), base_url=TCP, headers=headers
    ) as client:
        reply = await client.get(f"/audit/{at}")
    assert reply.status_code == status
    if status == 401:
        assert reply.json()["code"] == "unauthenticated"
        assert "FIXTURE" not in reply.text


@pytest.mark.parametrize(
    ("name", "cookie", "status"),
    [
        ("__Host-styx", BEARER, 200),
        ("__Host-styx-4100", BEARER, 200),
        ("__Host-styx", GUEST, 403),
        ("__Host-styx", "FIXTURE-wrong", 401),
        ("other", BEARER, 401),
    ],
)
async def test_a_signed_in_browser_reads_it_too(
    app: Any, server: MemoryBus, name: str, cookie: str, status: int
) -> None:
    await server.as_service("broker").serve("broker", {IdentifyPerson: identify})
    headers = {"Cookie": f"{name}={cookie}"}
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app), base_url=TCP, headers=headers
    ) as client:
        assert (await client.get("/audit/entries")).status_code == status


async def test_a_broker_that_is_away_lets_nobody_in(app: Any) -> None:
    headers = {"Authorization": f"Bearer {BEARER}"}
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app), base_url=TCP, headers=headers
    ) as client:
        assert (await refused(client, "entries"))["retryable"] is True


async def test_a_wrong_bearer_through_the_socket_is_still_wrong(
    http: httpx.AsyncClient, server: MemoryBus
) -> None:
    await server.as_service("broker").serve("broker", {IdentifyPerson: identify})
    reply = await http.get("/audit/entries", headers={"Authorization": "Bearer FIXTURE-wrong"})
    assert reply.status_code == 401


async def test_search_by_field_text_and_page(http: httpx.AsyncClient) -> None:
    async def seqs(**query: Any) -> list[int]:
        return [each["seq"] for each in (await ask(http, "entries", **query))["entries"]]

    assert await seqs() == list(reversed(range(SIZE)))
    assert await seqs(kind="broker.project_created") == [12, 9, 6, 3, 0]
    assert await seqs(kind="broker.project_created", target="prod", before=12) == [6, 0]
    assert await seqs(text="shop 1") == [12]
    assert await seqs(before=5, limit=2) == [4, 3]
    assert await seqs(limit=0) == list(reversed(range(SIZE)))
    assert await seqs(limit=10**9) == list(reversed(range(SIZE)))


@pytest.mark.parametrize(
    ("at", "query", "names"),
    [
        ("entries", {"seq": "1"}, "seq: search by"),
        ("entries", {"before": "-1"}, "before: a whole number"),
        ("entries", {"before": "1e3"}, "before: a whole number"),
        ("entries", {"limit": "٣"}, "limit: a whole number"),
        ("entries", {"limit": "9" * 40}, "limit: a whole number"),
        ("entries/13", {}, "the log holds entries 0 to 12"),
        (f"entries/{'9' * 40}", {}, "the log holds entries 0 to 12"),
        ("consistency", {}, "first, second"),
        ("consistency", {"first": "1"}, "first, second"),
        ("consistency", {"first": "0", "second": "3"}, "first, second"),
        ("consistency", {"first": "3", "second": "2"}, "first, second"),
        ("consistency", {"first": "3", "second": "14"}, "first, second"),
    ],
)
async def test_what_cannot_be_asked_is_named(
    http: httpx.AsyncClient, at: str, query: dict[str, str], names: str
) -> None:
    found = await refused(http, at, **query)
    assert (found["status"], found["code"]) == (422, "invalid")
    assert names in found["detail"]


async def test_a_role_in_one_project_reads_of_that_alone(app: Any, server: MemoryBus) -> None:
    await server.as_service("broker").serve("broker", {IdentifyPerson: identify})
    headers = {"Authorization": f"Bearer {GUEST}"}
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app), base_url=TCP, headers=headers
    ) as client:
        found = (await ask(client, "entries", project_id="prj_1"))["entries"]
        assert [each["seq"] for each in found] == [11, 9, 7, 5, 3, 1]
        assert (await ask(client, "entries/3"))["entry"]["project_id"] == "prj_1"
        for at, query in (("entries", {"project_id": "prj_0"}), ("entries/4", {})):
            assert (await refused(client, at, **query))["status"] == 403


def hashes(listed: list[str]) -> list[bytes]:
    return [base64.b64decode(each) for each in listed]


async def checkpoint(http: httpx.AsyncClient) -> tuple[Checkpoint, str]:
    """The newest head, its signature checked with the key that is told."""
    told = await ask(http, "checkpoint")
    return open_note(told["note"], parse_verifier(told["key"])), told["key"]


async def test_every_entry_is_proven_to_be_in_the_signed_log(http: httpx.AsyncClient) -> None:
    head, key = await checkpoint(http)
    assert head.size == SIZE
    for seq in range(SIZE):
        told = await ask(http, f"entries/{seq}")
        assert open_note(told["checkpoint"], parse_verifier(key)) == head
        assert told["entry"]["id"] == made(seq).id
        proof, leaf = hashes(told["proof"]), leaf_hash(told["entry"])
        assert verify_inclusion(leaf, seq, head.size, proof, head.root)
        forged = leaf_hash(told["entry"] | {"actor": "nobody"})
        assert not verify_inclusion(forged, seq, head.size, proof, head.root)


async def test_a_later_log_is_proven_to_extend_an_earlier_one(
    http: httpx.AsyncClient, server: MemoryBus, db: Database
) -> None:
    recorder = Recorder(server.as_service("audit"), db)
    heads = [(await checkpoint(http))[0]]
    for number in (13, 14, 15, 16):
        await say(server, made(number))
        await recorder.once()
        heads.append((await checkpoint(http))[0])
    for first in heads:
        for second in heads:
            if first.size > second.size:
                continue
            told = await ask(http, "consistency", first=first.size, second=second.size)
            proof = hashes(told["proof"])
            roots = first.root, second.root
            assert verify_consistency(first.size, second.size, *roots, proof)
            wrong = bytes(32), second.root
            assert not verify_consistency(first.size, second.size, *wrong, proof)


async def test_a_sealed_vault_is_said_and_search_goes_on(
    http: httpx.AsyncClient, vault: KeyVault
) -> None:
    vault.sealed = True
    for path in ("checkpoint", "entries/0", "export"):
        found = await refused(http, path)
        assert (found["status"], found["retryable"]) == (503, True)
    assert len((await ask(http, "entries"))["entries"]) == SIZE


async def test_a_log_is_only_read_here(http: httpx.AsyncClient) -> None:
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        assert (await http.request(method, "/audit/entries")).status_code == 405
        assert (await http.request(method, "/audit/entries/0")).status_code == 405
