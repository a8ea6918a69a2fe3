"""Ways to tell people something: signed webhooks, and whatever else `apprise` knows.

Webhooks are of the Standard Webhooks form (standardwebhooks.com, 1.0): the id stays the same over
retries, so that a receiver can drop a repeat, and the signature covers id, time and body. No
redirect is followed, and what a receiver answers is not read.
"""

import asyncio
import base64
import binascii
import ipaddress
import json
import logging
from datetime import datetime
from typing import Final
from urllib.parse import urlsplit

from styx_core.contract.adapters_notices import Notice
from styx_core.errors import Invalid, ProviderFailed

ANSWER_SECONDS: Final = 15.0
DESKTOP: Final = frozenset({"dbus", "glib", "gnome", "kde", "macosx", "qt", "syslog", "windows"})
"""Ways of apprise that reach the machine of `adapters`, not a person."""


def checked(secret: dict[str, str]) -> str:
    """What a channel is called, if it can be one. Raises `Invalid`, which quotes no address."""
    if unknown := secret.keys() - {"url", "secret"}:
        raise Invalid(f"box: a channel has a url and a secret, not {sorted(unknown)[0][:40]!r}")
    url = secret.get("url", "")
    return _webhook(url, secret["secret"]) if "secret" in secret else _apprise(url)


def _webhook(url: str, secret: str) -> str:
    try:
        where = urlsplit(url)
        host, port = where.hostname or "", where.port
    except ValueError:
        raise Invalid("url: not an address") from None
    if where.scheme != "https" and not (where.scheme == "http" and _loopback(host)):
        raise Invalid("url: a webhook's address begins with https://")
    if not host or where.username or where.fragment:
        raise Invalid("url: a webhook's address has a host, and no user and no fragment")
    kind, _, key = secret.partition("_")
    try:
        size = len(base64.b64decode(key, validate=True))
    except binascii.Error:
        size = 0
    if kind != "whsec" or not 24 <= size <= 64:
        raise Invalid("secret: whsec_ and 24 to 64 bytes in base64 (Standard Webhooks)")
    return f"webhook {host}:{port}" if port else f"webhook {host}"


def _loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _apprise(url: str) -> str:
    from apprise import Apprise  # slow to import: only who uses it pays

    kind = url.partition("://")[0].lower()
    made = None if kind in DESKTOP else Apprise.instantiate(url, suppress_exceptions=True)
    if made is None:
        raise Invalid("url: no address that apprise knows; its docs list them by service")
    host = getattr(made, "host", None) if kind.startswith("mail") else None
    return f"{made.service_name} {host}" if host else str(made.service_name)


async def send(secret: dict[str, str], notice: Notice, now: datetime) -> None:
    """Send a notice, once. Raises `ProviderFailed`."""
    if "secret" in secret:
        await _post(secret, notice, now)
    elif not await asyncio.to_thread(_notify, secret["url"], notice):
        raise ProviderFailed("the channel's service did not take the notice")


def _notify(url: str, notice: Notice) -> bool:
    from apprise import Apprise, AppriseAsset

    logging.getLogger("apprise").setLevel(logging.CRITICAL)  # it logs addresses of failed sends
    asset = AppriseAsset(app_id="Styx", app_desc="Styx", app_url="", secure_logging=True)
    sender = Apprise(asset=asset)
    return bool(
        sender.add(url) and sender.notify(title=notice.title, body=f"{notice.text}\n{notice.link}")
    )


async def _post(secret: dict[str, str], notice: Notice, now: datetime) -> None:
    import httpx
    from standardwebhooks import Webhook

    about = {**notice.about, "title": notice.title, "text": notice.text, "link": notice.link}
    said = {"type": notice.kind, "timestamp": notice.at.isoformat(), "data": about}
    body = json.dumps(said, separators=(",", ":"))
    headers = {
        "content-type": "application/json",
        "webhook-id": notice.id,
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": Webhook(secret["secret"]).sign(notice.id, now, body),
    }
    try:
        async with (
            httpx.AsyncClient(timeout=ANSWER_SECONDS, trust_env=False) as client,
            client.stream("POST", secret["url"], content=body, headers=headers) as reply,
        ):
            status = reply.status_code
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise ProviderFailed(f"the webhook can't be reached ({type(error).__name__})") from None
    if not 200 <= status < 300:
        raise ProviderFailed(f"the webhook answered with HTTP {status}")
