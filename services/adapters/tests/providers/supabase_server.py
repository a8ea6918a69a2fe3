"""Plays Supabase's Management API: projects of one account, and the tokens that reach it.

Read from the Management API reference: "Introduction" (bearer tokens, their shape), "List all
projects", "Delete a project" and the status codes given there. Anything else is not found.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from styx_adapters.playing import Played, playing

REFS = ("abcdefghijklmnopqrst", "tsrqponmlkjihgfedcba")
GOOD, EXPIRED = (f"sbp_{letter * 40}" for letter in "fe")
"""The CLI takes only hex here, so a fake token can't spell what it is."""
NOBODY = "/nobody"
"""Below here the API knows no token at all."""


@dataclass
class Account:
    """One account; `broken` is answered instead, with 200."""

    url: str = ""
    tokens: set[str] = field(default_factory=lambda: {GOOD})
    refs: list[str] = field(default_factory=lambda: list(REFS))
    status: int = 0
    broken: bytes | None = None
    calls: list[str] = field(default_factory=list)

    def answer(self, call: Played) -> tuple[int, Any]:
        """What the API answers."""
        self.calls.append(f"{call.method} {call.path}")
        if self.broken is not None:
            return self.status or 200, self.broken
        if self.status:
            return self.status, {"message": "FIXTURE-trouble"}
        if call.bearer not in self.tokens or call.path.startswith(NOBODY):
            return 401, {"message": "Unauthorized"}
        if (call.method, call.path) == ("GET", "/v1/projects"):
            return 200, [_project(ref) for ref in self.refs]
        ref = call.path.removeprefix("/v1/projects/")
        if call.method == "DELETE" and ref in self.refs:
            self.refs.remove(ref)
            return 200, {"id": 1, "ref": ref, "name": f"name of {ref}"}
        return 404, {"message": "Not Found"}


def _project(ref: str) -> dict[str, Any]:
    return {
        "id": ref,
        "ref": ref,
        "organization_id": "acme",
        "organization_slug": "acme",
        "name": f"name of {ref}",
        "region": "eu-west-1",
        "created_at": "2026-01-05T12:00:00Z",
        "status": "ACTIVE_HEALTHY",
        "database": {
            "host": f"db.{ref}.supabase.co",
            "version": "17.6",
            "postgres_engine": "17",
            "release_channel": "ga",
        },
    }


@contextmanager
def supabase_account() -> Iterator[Account]:
    """The account, served until the block ends."""
    account = Account()
    with playing(account.answer) as url:
        account.url = url
        yield account
