"""The few pages of today: they say where to go on, show no data, and run no script."""

import base64
import hashlib
from html import escape

from starlette.responses import HTMLResponse

_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'sha256-{digest}'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:40rem;margin:12vh auto;padding:0 1rem}"
    "code{background:#8882;padding:.15em .4em;border-radius:.3em}"
    ":root{color-scheme:light dark}"
)


def _page(title: str, *paragraphs: str) -> HTMLResponse:
    digest = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
    headers = {name: value.format(digest=digest) for name, value in _HEADERS.items()}
    body = "".join(f"<p>{text}</p>" for text in paragraphs)
    return HTMLResponse(
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style>'
        f"<h1>{escape(title)}</h1>{body}</html>",
        headers=headers,
    )


def admin() -> HTMLResponse:
    """The admin link's page. The code stands after `#`, so no server ever sees it here."""
    return _page(
        "Claim this Styx",
        "In a terminal on the machine that you approve from, run <code>styx login</code> and "
        "paste the whole link of this page, with what follows the <code>#</code>.",
        "It works once. Whoever claims it becomes the owner and first approver.",
    )


def grant(grant_id: str) -> HTMLResponse:
    """A waiting request's page."""
    shown = escape(grant_id)
    return _page(
        "A request waits",
        f"See it: <code>styx grants show {shown}</code>",
        f"Decide: <code>styx approve {shown}</code> or <code>styx deny {shown}</code>",
    )
