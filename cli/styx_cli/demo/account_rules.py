"""What AWS's authorization would say of a call: who calls, which action, and whether it may be."""

import fnmatch
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple
from urllib.parse import parse_qs, unquote

from moto.iam.models import iam_backends
from moto.sts.models import sts_backends

READ_ONLY = ("Get", "List", "Describe", "Head")
_S3 = {
    ("GET", True): "GetObject",
    ("HEAD", True): "GetObject",
    ("PUT", True): "PutObject",
    ("POST", True): "PutObject",
    ("DELETE", True): "DeleteObject",
    ("GET", False): "ListBucket",
    ("HEAD", False): "ListBucket",
    ("PUT", False): "CreateBucket",
    ("DELETE", False): "DeleteBucket",
    ("POST", False): "DeleteObject",
}


class Refusal(NamedTuple):
    """AWS's error code and a sentence."""

    code: str
    says: str


@dataclass(frozen=True)
class Call:
    """One signed call."""

    key: str
    service: str
    action: str
    resource: str
    policy_arns: tuple[str, ...] = ()


def call_of(environ: Mapping[str, Any], body: bytes) -> Call:
    """Who calls what, from the signature's scope and the protocol's own place for the action."""
    _, _, credential = environ.get("HTTP_AUTHORIZATION", "").partition("Credential=")
    parts = credential.split("/")
    key, service = (parts[0], parts[3]) if len(parts) > 3 else ("", "")
    if service == "s3":
        action, resource = _s3(environ)
        return Call(key, service, action, resource)
    form = parse_qs(body.decode(errors="replace"))
    target = environ.get("HTTP_X_AMZ_TARGET", "").rpartition(".")[2]
    name = form.get("Action", [target])[0]
    arns = tuple(v[0] for k, v in form.items() if k.startswith("PolicyArns.") and k[-4:] == ".arn")
    return Call(key, service, f"{service}:{name or '?'}", "*", arns)


def _s3(environ: Mapping[str, Any]) -> tuple[str, str]:
    path = unquote(environ["PATH_INFO"]).lstrip("/")
    bucket, _, name = path.partition("/")
    if not bucket:
        return "s3:ListAllMyBuckets", "*"
    action = _S3.get((environ["REQUEST_METHOD"], bool(name)), "?")
    if "location" in environ.get("QUERY_STRING", "") and not name:
        action = "GetBucketLocation"
    return f"s3:{action}", f"arn:aws:s3:::{path.rstrip('/')}"


def judge(call: Call, sessions: Mapping[str, tuple[str, ...]]) -> Refusal | None:
    """Why AWS would refuse; None where it would not."""
    if not call.key.startswith("ASIA"):
        return None if _user_exists(call.key) else Refusal("InvalidClientTokenId", "unknown key")
    role = _session(call.key)
    if role is None:
        return Refusal("InvalidClientTokenId", "unknown session")
    if role.expiration.replace(tzinfo=UTC) <= datetime.now(UTC):
        return Refusal("ExpiredToken", "the session has ended")
    if _denied(role):
        return Refusal("AccessDenied", "the role denies everything to this session")
    if not _allowed(role.policy, sessions.get(call.key, ()), call):
        return Refusal("AccessDenied", f"the session policy does not allow {call.action}")
    return None


def _user_exists(key: str) -> bool:
    return any(
        key in {k.access_key_id for u in backend.users.values() for k in u.access_keys}
        for account in iam_backends.values()
        for backend in account.values()
    )


def _session(key: str) -> Any:
    for account in list(sts_backends.values()):
        for backend in list(account.values()):
            found = backend.get_assumed_role_from_access_key(key)
            if found is not None:
                return found
    return None


def _denied(role: Any) -> bool:
    """Whether an inline policy of the role denies this session by its `aws:userid`."""
    account = role.role_arn.split(":")[4]
    held = iam_backends[account]["aws"].get_role_by_arn(role.role_arn)
    for document in held.policies.values():
        for statement in _listed(json.loads(unquote(document))["Statement"]):
            named = statement.get("Condition", {}).get("StringEquals", {}).get("aws:userid")
            if statement["Effect"] == "Deny" and named in (role.user_id, [role.user_id]):
                return True
    return False


def _allowed(policy: str | None, arns: tuple[str, ...], call: Call) -> bool:
    if policy is None and not arns:
        return True
    reads = call.action.partition(":")[2].startswith(READ_ONLY)
    if reads and any(arn.endswith("/ReadOnlyAccess") for arn in arns):
        return True
    statements = _listed(json.loads(policy)["Statement"]) if policy else []
    matching = [s for s in statements if _matches(s, call)]
    return bool(matching) and all(s["Effect"] == "Allow" for s in matching)


def _matches(statement: Mapping[str, Any], call: Call) -> bool:
    action, resource = call.action.lower(), call.resource
    actions = [a.lower() for a in _listed(statement["Action"])]
    return any(fnmatch.fnmatchcase(action, a) for a in actions) and any(
        fnmatch.fnmatchcase(resource, r) for r in _listed(statement["Resource"])
    )


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
