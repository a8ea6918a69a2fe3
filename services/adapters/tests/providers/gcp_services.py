"""Plays the Google Cloud services that issued tokens are tried on.

Read from: each method's "Authorization scopes" in the references of Cloud Storage (JSON API),
Compute Engine, Cloud Logging, Resource Manager and Cloud Run, where Run takes no read-only scope;
IAM, "Credential Access Boundaries" (ten rules at most, `inRole:`, conditions of `startsWith` on
`resource.name` and on the listed prefix); "IAM roles for Cloud Storage". An object that is there is
overwritten only with the right to delete it.
"""

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from urllib.parse import quote, unquote

from styx_adapters.playing import Played

AUTH = "https://www.googleapis.com/auth/"
Said = tuple[int, Any]
Rule = Mapping[str, Any]

READS = {"cloud-platform", "cloud-platform.read-only"}
SCOPES: dict[str, tuple[set[str], set[str]]] = {
    "storage": (
        READS | {"devstorage.read_only", "devstorage.read_write", "devstorage.full_control"},
        {"cloud-platform", "devstorage.read_write", "devstorage.full_control"},
    ),
    "compute": ({"cloud-platform", "compute", "compute.readonly"}, {"cloud-platform", "compute"}),
    "logging": (READS | {"logging.read", "logging.admin"}, {"cloud-platform", "logging.admin"}),
    "projects": (READS, {"cloud-platform"}),
    "run": ({"cloud-platform"}, {"cloud-platform"}),
}
"""The scopes that a service's reading and its changing methods take."""

_LOOK = {"objects.get", "objects.list"}
ROLES = {
    "objectViewer": _LOOK,
    "objectCreator": {"objects.create"},
    "legacyBucketReader": {"buckets.get", "objects.list"},
    "objectUser": _LOOK | {"objects.create", "objects.delete", "objects.update"},
    "objectAdmin": _LOOK | {"objects.create", "objects.delete", "objects.update", "objects.setIam"},
}
RESOURCE = "//storage.googleapis.com/projects/_/buckets/"
CONDITION = re.compile(
    r"(resource\.name|api\.getAttribute\('storage\.googleapis\.com/objectListPrefix', ''\))"
    r"\.startsWith\('([^'\\]*)'\)"
)


@dataclass(frozen=True)
class Token:
    """An access token: whose it is, and how it is narrowed."""

    who: str
    scopes: frozenset[str]
    ends: datetime
    boundary: tuple[Rule, ...] | None = None


def error(status: int, code: str, message: str) -> Said:
    """How a Google API says no."""
    return status, {"error": {"code": status, "status": code, "message": message}}


NO_SCOPE = error(403, "PERMISSION_DENIED", "Request had insufficient authentication scopes.")
NO_RIGHT = error(403, "PERMISSION_DENIED", "The caller lacks permission, or is bounded.")
NOT_THERE = error(404, "NOT_FOUND", "No such object or resource.")


@dataclass
class Services:
    """Buckets, networks and a log; their service account may do all of it."""

    buckets: dict[str, dict[str, bytes]] = field(
        default_factory=lambda: {"releases": {"app-1.0.tgz": b"one"}, "private": {"keys": b"k"}}
    )
    networks: list[str] = field(default_factory=lambda: ["default"])
    sessions: dict[str, tuple[str, str]] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    host: str = ""

    def answer(self, call: Played, token: Token) -> Said:
        """What a service says to one call with a token that is good."""
        self.calls.append(f"{call.method} {call.path}")
        self.host = call.headers.get("host", "")
        match call.path.strip("/").split("/"):
            case ["storage", "v1", "b", *rest]:
                return self._storage(call, token, [unquote(each) for each in rest])
            case ["upload" | "resumable" | "download", "storage", "v1", "b", *rest]:
                return self._storage(call, token, [unquote(each) for each in rest])
            case ["compute", "v1", "projects", project, "global", "networks", *_]:
                return self._compute(call, token, project)
            case ["v2", "entries:list"]:
                return self._plain(token, "logging", False, {"entries": []})
            case ["v1", "projects", project]:
                return self._plain(
                    token, "projects", call.method != "GET",
                    {"projectId": project, "projectNumber": "1", "lifecycleState": "ACTIVE"},
                )  # fmt: skip
            case ["v2", "projects", _, "locations", _, "services"]:
                return self._plain(token, "run", call.method != "GET", {"services": []})
        return NOT_THERE

    def check(self, rules: Sequence[Rule]) -> None:
        """Raises `ValueError` or `KeyError` for a boundary that Google would refuse."""
        if not 1 <= len(rules) <= 10:
            raise ValueError
        for rule in rules:
            if not rule["availableResource"].startswith(RESOURCE) or not _permissions(rule):
                raise ValueError
            _conditions(rule)

    def _plain(self, token: Token, service: str, changes: bool, said: Any) -> Said:
        if token.boundary is not None:
            return NO_RIGHT
        return (200, said) if token.scopes & SCOPES[service][changes] else NO_SCOPE

    def _compute(self, call: Played, token: Token, project: str) -> Said:
        answer = self._plain(token, "compute", call.method != "GET", None)
        if answer[0] != 200:
            return answer
        if call.method == "POST":
            self.networks.append(call.json()["name"])
            return 200, {"kind": "compute#operation", "name": "op", "status": "DONE"}
        items = [{"name": name, "kind": "compute#network"} for name in self.networks]
        return 200, {"kind": "compute#networkList", "items": items, "id": project}

    def _storage(self, call: Played, token: Token, rest: list[str]) -> Said:
        if not token.scopes & SCOPES["storage"][call.method != "GET"]:
            return NO_SCOPE
        match (call.method, rest):
            case ("GET", []):
                names = {"items": [{"name": each} for each in self.buckets]}
                return (200, names) if token.boundary is None else NO_RIGHT
            case ("GET", [bucket]):
                may = _may(token, "buckets.get", bucket)
                return (200, {"name": bucket, "id": bucket}) if may else NO_RIGHT
            case ("GET", [bucket, "o"]):
                return self._listed(
                    token, bucket, call.query.get("prefix", ""), call.query.get("delimiter", "")
                )
            case ("GET", [bucket, "storageLayout"]):
                may = _may(token, "objects.list", bucket, prefix=call.query.get("prefix", ""))
                return (200, {"bucket": bucket}) if may else NO_RIGHT
            case ("POST", [bucket, "o"]):
                return self._stored(token, bucket, *_uploaded(call))
            case (_, [bucket, "o", name, *rest]):
                return self._object(call, token, (bucket, name), rest)
        return NOT_THERE

    def _object(self, call: Played, token: Token, place: tuple[str, str], rest: list[str]) -> Said:
        match (call.method, rest):
            case ("GET", []):
                return self._got(token, *place, call.query.get("alt") == "media")
            case ("DELETE", []):
                return self._deleted(token, *place)
            case ("POST", ["rewriteTo", "b", bucket, "o", name]):
                return self._copied(token, place, (bucket, name))
        return NOT_THERE

    def _listed(self, token: Token, bucket: str, prefix: str, delimiter: str) -> Said:
        if not _may(token, "objects.list", bucket, prefix=prefix):
            return NO_RIGHT
        names = [n for n in self.buckets.get(bucket, {}) if n.startswith(prefix)]
        cuts = {n: n.find(delimiter, len(prefix)) + 1 if delimiter else 0 for n in names}
        return 200, {
            "kind": "storage#objects",
            "items": [self._shown(bucket, n) for n in names if not cuts[n]],
            "prefixes": sorted({n[:cut] for n, cut in cuts.items() if cut}),
        }

    def _got(self, token: Token, bucket: str, name: str, content: bool) -> Said:
        if not _may(token, "objects.get", bucket, name):
            return NO_RIGHT
        if name not in self.buckets.get(bucket, {}):
            return NOT_THERE
        return 200, self.buckets[bucket][name] if content else self._shown(bucket, name)

    def _stored(self, token: Token, bucket: str, name: str, content: bytes) -> Said:
        needed = {"objects.create"} | (
            {"objects.delete"} if name in self.buckets.get(bucket, {}) else set()
        )
        if not all(_may(token, each, bucket, name) for each in needed):
            return NO_RIGHT
        self.buckets[bucket][name] = content
        return 200, self._shown(bucket, name)

    def _deleted(self, token: Token, bucket: str, name: str) -> Said:
        if not _may(token, "objects.delete", bucket, name):
            return NO_RIGHT
        return (204, None) if self.buckets[bucket].pop(name, None) is not None else NOT_THERE

    def _copied(self, token: Token, source: tuple[str, str], target: tuple[str, str]) -> Said:
        status, content = self._got(token, *source, True)
        if status != 200:
            return status, content
        status, said = self._stored(token, *target, content)
        size = str(len(content))
        done = {"done": True, "resource": said, "objectSize": size, "totalBytesRewritten": size}
        return status, done if status == 200 else said

    def _shown(self, bucket: str, name: str) -> dict[str, Any]:
        content = self.buckets[bucket][name]
        path = f"download/storage/v1/b/{bucket}/o/{quote(name, safe='')}?alt=media"
        return {
            "kind": "storage#object", "name": name, "bucket": bucket, "size": str(len(content)),
            "md5Hash": base64.b64encode(hashlib.md5(content).digest()).decode(),
            "generation": "1", "metageneration": "1", "contentType": "text/plain",
            "timeCreated": "2026-01-05T12:00:00Z", "updated": "2026-01-05T12:00:00Z",
            "storageClass": "STANDARD", "etag": "CAE=", "mediaLink": f"http://{self.host}/{path}",
        }  # fmt: skip


def _uploaded(call: Played) -> tuple[str, bytes]:
    """The name and content of an upload: plain, or of two parts."""
    if call.query.get("uploadType") == "media":
        return call.query["name"], call.body
    mark = call.body.partition(b"\r\n")[0].partition(b"\n")[0]
    about, content = (
        part.replace(b"\r\n\r\n", b"\n\n", 1).partition(b"\n\n")[2]
        for part in call.body.split(mark)[1:3]
    )
    return json.loads(about)["name"], content.removesuffix(b"\n").removesuffix(b"\r")


def _may(token: Token, permission: str, bucket: str, name: str = "", prefix: str = "") -> bool:
    """Whether a token's boundary leaves a permission on this."""
    if token.boundary is None:
        return True
    resource = f"projects/_/buckets/{bucket}" + (f"/objects/{name}" if name else "")
    return any(
        rule["availableResource"] == f"{RESOURCE}{bucket}"
        and permission in _permissions(rule)
        and any(
            (resource if what == "resource.name" else prefix).startswith(start)
            for what, start in _conditions(rule)
        )
        for rule in token.boundary
    )


def _permissions(rule: Rule) -> set[str]:
    roles = [each.removeprefix("inRole:roles/storage.") for each in rule["availablePermissions"]]
    return set().union(*(ROLES[role] for role in roles))


def _conditions(rule: Rule) -> list[tuple[str, str]]:
    if "availabilityCondition" not in rule:
        return [("resource.name", "")]
    parts = rule["availabilityCondition"]["expression"].split(" || ")
    found = [CONDITION.fullmatch(part) for part in parts]
    if not all(found):
        raise ValueError("not an expression that is documented")
    return [(match[1], match[2]) for match in found if match]
