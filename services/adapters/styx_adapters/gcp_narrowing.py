"""How a Google access token is narrowed: by an OAuth scope, or by a boundary around objects. Pure.

An OAuth scope bounds what a token's owner may do through it, whatever IAM allows the owner. Each
API takes the scopes that it lists and refuses any other token, so a read-only one writes nowhere;
but many APIs list none that is read-only (Run, SQL, GKE, IAM, Pub/Sub, Secret Manager …), and there
reading takes all of `cloud-platform`: not narrowed, and said so. The surfaces below are those whose
API lists one (each method's "Authorization scopes"; the client libraries in Google Cloud SDK 528).

A boundary (IAM, "Credential Access Boundaries overview") leaves a token only roles on buckets, and
with a condition only on objects whose names begin so. Cloud Storage alone knows it, on buckets with
uniform access. It is drawn around what a this-command-once grant's own words name, if surely read.
What the command copies from may be read: the command says so. A destination may be read as well,
for gcloud looks at what is there; no role lets one delete without creating and reading.
"""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from styx_core.scope import Scope, Scopes

_AUTH = "https://www.googleapis.com/auth/"
EVERYTHING = f"{_AUTH}cloud-platform"
READ_ONLY = f"{_AUTH}cloud-platform.read-only"
READ_SCOPES = {
    "app": READ_ONLY,
    "artifacts": READ_ONLY,
    "bigtable": READ_ONLY,
    "billing": f"{_AUTH}cloud-billing.readonly",
    "compute": f"{_AUTH}compute.readonly",
    "deployment-manager": READ_ONLY,
    "dns": f"{_AUTH}ndev.clouddns.readonly",
    "logging": f"{_AUTH}logging.read",
    "monitoring": f"{_AUTH}monitoring.read",
    "organizations": READ_ONLY,
    "projects": READ_ONLY,
    "resource-manager": READ_ONLY,
    "services": READ_ONLY,
    "storage": f"{_AUTH}devstorage.read_only",
}
"""The narrowest scope that reads a surface's API."""

MOST_RULES = 10
FLAGS = frozenset(
    {"-r", "-R", "--recursive", "-n", "--no-clobber", "-l", "--long", "-q", "--quiet"}
)
"""Flags that lead a command to no other place and let it do no more."""

_DOES = {
    **dict.fromkeys(("cat", "du", "hash", "ls"), (Scope.READ, Scope.READ)),
    "cp": (Scope.READ, Scope.WRITE),
    "mv": (Scope.DELETE, Scope.WRITE),
    "rm": (Scope.DELETE, Scope.DELETE),
}
"""What each command does to the places that it names, and to the last of them."""

_ROLES = {
    Scope.READ: ("objectViewer",),
    Scope.WRITE: ("objectCreator", "objectViewer"),
    Scope.DELETE: ("objectUser",),
}
_LETS = {
    Scope.READ: {Scope.READ},
    Scope.WRITE: {Scope.READ, Scope.WRITE},
    Scope.DELETE: {Scope.READ, Scope.WRITE, Scope.DELETE},
}
_PLACE = re.compile(r"gs://([a-z0-9][a-z0-9._-]{1,220}[a-z0-9])(?:/(.*))?", re.DOTALL)
_PLAIN = re.compile(r"[A-Za-z0-9 ._/=+@,~:-]*")
"""Letters that mean themselves to gcloud and inside quotes: up to another one, a name's prefix."""


@dataclass(frozen=True)
class Narrowing:
    """What to ask Google for. `holds`: the token can then do no more than the grant says."""

    scope: str
    boundary: str | None
    """The `options` of a token exchange, as JSON."""
    holds: bool


def narrowing(scopes: Scopes, surface: str | None, command: Sequence[str] = ()) -> Narrowing:
    """The narrowest for these scopes; `command` is that of a this-command-once grant."""
    found = _bounded(scopes, command) if surface == "storage" else None
    if found is not None:
        return found
    if scopes <= {Scope.READ} and (surface is None or surface in READ_SCOPES):
        return Narrowing(READ_SCOPES.get(surface or "", READ_ONLY), None, holds=True)
    return Narrowing(EVERYTHING, None, holds=False)


def _bounded(scopes: Scopes, command: Sequence[str]) -> Narrowing | None:
    """A boundary around what the command names; None where that isn't surely all of it."""
    named = len(command) > 3 and command[1] == "storage"
    does = _DOES.get(command[2]) if named else None
    copies = does == (Scope.READ, Scope.WRITE)
    if does is None or not set(does[copies:]) <= scopes:
        return None
    flags = {word for word in command[3:] if word.startswith("-") and word != "-"}
    uses = _uses(*does, [word for word in command[3:] if word not in flags])
    if not flags <= FLAGS or not uses or len(uses) > MOST_RULES:
        return None
    # What is copied from may be read because the command says so, whatever the scopes say.
    lets = {let for use, _, _ in uses if not copies or use is Scope.WRITE for let in _LETS[use]}
    options = {"accessBoundary": {"accessBoundaryRules": [_rule(*use) for use in uses]}}
    return Narrowing(EVERYTHING, json.dumps(options, separators=(",", ":")), lets <= scopes)


def _uses(each: Scope, last: Scope, words: Sequence[str]) -> list[tuple[Scope, str, str]]:
    """(what is done, bucket, beginning of the names) of each place; none if one can't be read."""
    local = last is Scope.WRITE  # Only what copies or moves may name files of this machine.
    found = [(each, word) for word in words[:-1]] + [(last, word) for word in words[-1:]]
    uses = [_use(use, word) for use, word in found if not local or "://" in word]
    return list(dict.fromkeys(use for use in uses if use is not None)) if all(uses) else []


def _use(does: Scope, word: str) -> tuple[Scope, str, str] | None:
    place = _PLACE.fullmatch(word)
    if place is None or (does is Scope.DELETE and not place[2]):
        return None  # No bucket of ours, or the bucket itself.
    plain = _PLAIN.match(place[2] or "")
    return does, place[1], plain[0] if plain else ""


def _rule(does: Scope, bucket: str, prefix: str) -> dict[str, object]:
    where = f"projects/_/buckets/{bucket}"
    rule: dict[str, object] = {
        "availableResource": f"//storage.googleapis.com/{where}",
        "availablePermissions": [f"inRole:roles/storage.{role}" for role in _ROLES[does]],
    }
    if prefix:
        # gcloud lists a folder by its name without the slash.
        listed = prefix.rstrip("/")
        starts = {
            "resource.name": f"{where}/objects/{prefix}",
            "api.getAttribute('storage.googleapis.com/objectListPrefix', '')": listed,
        }
        rule["availabilityCondition"] = {"expression": _any_starts(starts.items())}
    return rule


def _any_starts(starts: Iterable[tuple[str, str]]) -> str:
    return " || ".join(f"{what}.startsWith('{start}')" for what, start in starts)
