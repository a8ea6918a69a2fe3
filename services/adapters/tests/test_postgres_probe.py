"""What a server says before any password, and what that means."""

import asyncio
import struct
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager

import pytest
from styx_adapters import postgres_probe
from styx_core.errors import Invalid, LoginExpired, ProviderFailed, StyxError

Said = list[bytes]


@asynccontextmanager
async def answering(*answers: bytes) -> AsyncIterator[tuple[int, Said]]:
    """A server that gives these answers, one a message; its port, and what it was told."""
    heard: Said = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for answer in answers:
            (size,) = struct.unpack("!I", await reader.readexactly(4))
            heard.append(await reader.readexactly(size - 4))
            writer.write(answer)
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1], heard


def error(code: str) -> bytes:
    """An ErrorResponse with this SQLSTATE, and a text that nobody should repeat."""
    fields = b"SFATAL\0" + f"C{code}".encode() + b"\0MFIXTURE-text\0\0"
    return b"E" + struct.pack("!I", len(fields) + 4) + fields


def probe(port: int, sslmode: str = "disable") -> Awaitable[None]:
    """Ask there."""
    return postgres_probe.asks_for_password("127.0.0.1", port, "boss", "shop", sslmode)


ASKS = b"R" + struct.pack("!II", 8, 5)


async def test_it_stops_where_the_password_would_go() -> None:
    async with answering(ASKS) as (port, heard):
        await probe(port)
    assert heard == [struct.pack("!I", 196608) + b"user\0boss\0database\0shop\0\0"]


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (error("28000"), LoginExpired),
        (error("28P01"), LoginExpired),
        (error("53300"), ProviderFailed),
        (error("57P03"), ProviderFailed),
        (error("3D000"), ProviderFailed),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", ProviderFailed),
        (b"E\xff\xff\xff\xff", ProviderFailed),
        (b"E\0\0\0\0", ProviderFailed),
        (b"E\0\0\0\4", ProviderFailed),
        (b"", ProviderFailed),
        (b"R", ProviderFailed),
    ],
)
async def test_each_answer_has_its_meaning(answer: bytes, kind: type[StyxError]) -> None:
    async with answering(answer) as (port, _):
        with pytest.raises(kind) as told:
            await probe(port)
    assert "FIXTURE" not in told.value.detail


@pytest.mark.parametrize("answer", [b"N", b"E"])
async def test_without_tls_no_name_is_said(answer: bytes) -> None:
    async with answering(answer) as (port, heard):
        with pytest.raises(Invalid, match="^sslmode: "):
            await probe(port, "require")
    assert heard == [struct.pack("!I", 80877103)]


async def test_what_is_no_tls_after_all_is_a_failure() -> None:
    async with answering(b"S", b"FIXTURE-not-tls") as (port, _):
        with pytest.raises(ProviderFailed):
            await probe(port, "require")


async def test_silence_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_probe, "SECONDS", 0.05)
    gate = asyncio.Event()

    async def wait(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await gate.wait()
        writer.close()

    async with await asyncio.start_server(wait, "127.0.0.1", 0) as server:
        with pytest.raises(ProviderFailed, match="TimeoutError"):
            await probe(server.sockets[0].getsockname()[1])
        gate.set()
