"""Whether a PostgreSQL answers and asks a user for a password, without giving any.

OpenBao says only that the database didn't let it in. Asked the same way up to the password, the
server tells apart what may pass (it is away, full or starting) from what a person must correct
(PostgreSQL, "Frontend/Backend Protocol", "Message Flow" and "Message Formats").
"""

import asyncio
import ssl
import struct

from styx_core.errors import Invalid, LoginExpired, ProviderFailed

SECONDS = 3.0
MOST_BYTES = 30_000
_PROTOCOL, _TLS = 196608, 80877103


async def asks_for_password(host: str, port: int, user: str, database: str, sslmode: str) -> None:
    """Return once the server asks. Raises `ProviderFailed`, `LoginExpired` and `Invalid`."""
    try:
        async with asyncio.timeout(SECONDS):
            reader, writer = await asyncio.open_connection(host, port)
            try:
                if sslmode != "disable":
                    await _start_tls(reader, writer, host, sslmode == "verify-full")
                await _start(reader, writer, user, database)
            finally:
                writer.close()
    except ssl.SSLCertVerificationError:
        raise Invalid(f"sslmode: the certificate of {host} is not one that we trust") from None
    except (OSError, TimeoutError, asyncio.IncompleteReadError, struct.error) as error:
        raise ProviderFailed(
            f"{host}:{port} did not answer as a PostgreSQL ({type(error).__name__})"
        ) from None


async def _start_tls(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, host: str, verify: bool
) -> None:
    writer.write(struct.pack("!II", 8, _TLS))
    if await reader.readexactly(1) != b"S":
        raise Invalid(f"sslmode: {host} offers no TLS")
    context = ssl.create_default_context()
    if not verify:  # No secret goes over this connection.
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    await writer.start_tls(context, server_hostname=host)


async def _start(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, user: str, database: str
) -> None:
    words = ("user", user, "database", database, "")
    said = struct.pack("!I", _PROTOCOL) + b"".join(word.encode() + b"\0" for word in words)
    writer.write(struct.pack("!I", len(said) + 4) + said)
    kind, size = struct.unpack("!cI", await reader.readexactly(5))
    if kind == b"R":
        return
    if kind != b"E" or not 4 <= size <= MOST_BYTES:
        raise ProviderFailed("what answered is not a PostgreSQL")
    fields = (await reader.readexactly(size - 4)).split(b"\0")
    code = next((each[1:6].decode("ascii", "replace") for each in fields if each[:1] == b"C"), "")
    if code.startswith("28"):  # Invalid authorization specification: no rule lets this user in.
        raise LoginExpired(f"the database refuses this target's login (SQLSTATE {code})")
    raise ProviderFailed(f"the database takes no login now (SQLSTATE {code})")
