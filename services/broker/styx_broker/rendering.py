"""Pages from templates: everything escaped, nothing inline, and headers that let nothing else in.

Scripts and styles come from our own files alone (CSP, level 3), whose path holds a digest of them
all, so that they may be kept for good. Trusted Types keep strings from becoming markup.
"""

import hashlib
from collections.abc import Mapping
from importlib import resources
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from starlette.responses import HTMLResponse, Response
from styx_core.printable import printable

TYPES: Final = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}


def _read() -> dict[str, bytes]:
    folder = resources.files("styx_broker") / "static"
    return {each.name: each.read_bytes() for each in folder.iterdir() if "." in each.name}


STATIC: Final = _read()
DIGEST: Final = hashlib.sha256(b"".join(STATIC[name] for name in sorted(STATIC))).hexdigest()[:16]
SECURITY: Final = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; "
    "base-uri 'none'; trusted-types styx; require-trusted-types-for 'script'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "publickey-credentials-get=(self), publickey-credentials-create=(self)",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}

_templates = Environment(
    loader=PackageLoader("styx_broker"),
    autoescape=select_autoescape(default=True, default_for_string=True),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_templates.globals["asset"] = lambda name: f"/static/{DIGEST}/{name}"
_templates.globals["pages"] = {"approvals", "board", "targets", "policies", "audit", "settings"}
_templates.filters["shown"] = printable
_templates.filters["lines"] = lambda text: "\n".join(map(printable, text.split("\n")))


def page(template: str, values: Mapping[str, Any], status: int = 200) -> HTMLResponse:
    """A page, kept by no cache."""
    text = _templates.get_template(template).render(values)
    return HTMLResponse(text, status, {**SECURITY, "Cache-Control": "no-store"})


def static(digest: str, name: str) -> Response | None:
    """One of our files; None where there is none."""
    if digest != DIGEST or name not in STATIC:
        return None
    kept = {"Cache-Control": "public, max-age=31536000, immutable"}
    kind = TYPES[name.rpartition(".")[2]]
    return Response(STATIC[name], headers={**SECURITY, **kept}, media_type=kind)
