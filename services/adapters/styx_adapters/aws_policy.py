"""Session policies for AWS: the narrowest that says what a grant covers. Pure.

A session's rights are what its role has *and* its session policy allows (IAM User Guide, "Session
policies"), so a policy of only these actions narrows any role. Actions come from the catalog: every
operation of a service with its class. A policy may have 2,048 characters (STS, AssumeRole).
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from itertools import groupby
from typing import Any

from styx_core.classify import classify
from styx_core.classify_tree import unfold_all
from styx_core.scope import Scope, Scopes
from styx_core.tool import Tool

MOST_CHARACTERS = 2048
READ_ONLY_ARN = "arn:aws:iam::aws:policy/ReadOnlyAccess"

IAM_ACTIONS: dict[str, tuple[str, ...]] = {
    "s3:CopyObject": ("s3:GetObject", "s3:PutObject"),
    "s3:HeadObject": ("s3:GetObject",),
    "s3:HeadBucket": ("s3:ListBucket",),
    "s3:ListObjects": ("s3:ListBucket",),
    "s3:ListObjectsV2": ("s3:ListBucket",),
    "s3:ListObjectVersions": ("s3:ListBucketVersions",),
    "s3:ListBuckets": ("s3:ListAllMyBuckets",),
    "s3:DeleteObjects": ("s3:DeleteObject",),
    "s3:UploadPart": ("s3:PutObject",),
    "s3:CreateMultipartUpload": ("s3:PutObject",),
    "s3:CompleteMultipartUpload": ("s3:PutObject",),
}
"""Operations whose IAM action has another name (Service Authorization Reference, Amazon S3)."""

FIND = {"s3": ("s3:ListBucket", "s3:GetBucketLocation")}
"""What a service's own commands need to find what they change; they tell names, never content."""


class ServiceActions:
    """The actions of a tool's services by class, read from its commands when first asked for."""

    def __init__(self, tool: Tool) -> None:
        self._tool = tool
        self._known: dict[str, dict[Scope, frozenset[str]]] = {}

    def by_scope(self, surface: str) -> Mapping[Scope, frozenset[str]]:
        """A service's actions. What needs several classes is in the gravest of them."""
        if surface not in self._known:
            found: dict[Scope, set[str]] = defaultdict(set)
            for path in self._paths.get(surface, ()):
                known = classify(self._tool, path.split())
                if known.operation is not None:
                    found[max(known.scopes, key=list(Scope).index)] |= iam(known.operation)
            self._known[surface] = {scope: frozenset(found[scope]) for scope in Scope}
        return self._known[surface]

    @cached_property
    def _paths(self) -> Mapping[str, Sequence[str]]:
        """Every command of the tool, by the service that it belongs to."""
        names, found = self._tool.surfaces, defaultdict(list)
        for paths in self._tool.by_class().values():
            for path in unfold_all(paths):
                first = path.partition(" ")[0]
                found[names.get(first, first)].append(path)
        return found


def session_policy(
    services: ServiceActions,
    scopes: Scopes,
    surface: str | None,
    operation: str | None = None,
    resources: Sequence[str] = (),
) -> tuple[str | None, tuple[str, ...], bool]:
    """(inline policy, managed policy ARNs, whether that is all the grant says and no more).

    With an unknown surface only `read` can be narrowed, by AWS's own read-only policy. `operation`
    and `resources` (ARNs) narrow a this-command-once grant to its own command.
    """
    if surface is None:
        if scopes == {Scope.READ}:
            return None, (READ_ONLY_ARN,), True
        return None, (), False
    actions = services.by_scope(surface)
    allowed = {action for scope in scopes for action in actions[scope]}
    if operation is not None and iam(operation) <= allowed:
        allowed = set(iam(operation))
    if not allowed:
        return None, (), False
    every = {action for some in actions.values() for action in some}
    policy = document([*_shortened(allowed, every), *FIND.get(surface, ())], resources)
    return (policy, (), True) if len(policy) <= MOST_CHARACTERS else (None, (), False)


def document(actions: Iterable[str], resources: Sequence[str] = ()) -> str:
    """An IAM policy that allows these actions, on these resources or on everything."""
    on = list(resources) or "*"
    statement = {"Effect": "Allow", "Action": sorted(set(actions)), "Resource": on}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]}, separators=(",", ":"))


def iam(operation: str) -> frozenset[str]:
    """The IAM actions that an operation needs."""
    return frozenset(IAM_ACTIONS.get(operation, (operation,)))


def s3_resources(command: Sequence[str]) -> tuple[str, ...]:
    """The ARNs of the objects that an `aws s3` command names; none where it may reach others."""
    if len(command) < 3 or command[1] != "s3" or any(w[:2] == "--" for w in command):
        return ()
    places = [word.removeprefix("s3://") for word in command if word.startswith("s3://")]
    if not places or any(not p.partition("/")[2] or "*" in p or "?" in p for p in places):
        return ()
    buckets = {place.partition("/")[0] for place in places}
    return tuple(f"arn:aws:s3:::{each}" for each in sorted({*places, *buckets}))


def _shortened(allowed: set[str], every: set[str]) -> list[str]:
    """`s3:Put*` for all of a verb's actions, where every action that it matches is allowed."""
    shortened = []
    for stem, group in groupby(sorted(allowed), _stem):
        actions = list(group)
        matched = {action for action in every if action.startswith(stem)}
        whole = len(actions) > 1 and matched <= allowed
        shortened += [f"{stem}*"] if whole else actions
    return shortened


def _stem(action: str) -> str:
    """`s3:PutObject` → `s3:Put`."""
    service, _, name = action.partition(":")
    end = next((i for i, letter in enumerate(name[1:], 1) if letter.isupper()), len(name))
    return f"{service}:{name[:end]}"


def denial(handle: Mapping[str, str]) -> dict[str, Any]:
    """The statement that denies everything to one session; its Sid says until when it matters."""
    until = int(datetime.fromisoformat(handle["expires_at"]).timestamp()) + 60
    name = handle["user_id"].rpartition("_")[2]
    return {
        "Sid": f"Until{until:010d}{name}",
        "Effect": "Deny",
        "Action": "*",
        "Resource": "*",
        "Condition": {"StringEquals": {"aws:userid": handle["user_id"]}},
    }


def still_needed(statements: Iterable[Mapping[str, Any]], now: datetime) -> list[dict[str, Any]]:
    """The denials of sessions that would still be alive."""
    at = int(now.timestamp())
    return [dict(s) for s in statements if int(s["Sid"].removeprefix("Until")[:10]) > at]
