"""The demo's AWS account refuses what AWS refuses, on real sessions of moto."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
from moto.iam.models import iam_backends
from moto.sts.models import sts_backends
from styx_cli.demo.account import ACCOUNT, ROLE, furnish
from styx_cli.demo.account_rules import Call, call_of, judge

ARN = f"arn:aws:iam::{ACCOUNT}:role/{ROLE}"
READ_ONLY = "arn:aws:iam::aws:policy/ReadOnlyAccess"
LIST = Call("", "s3", "s3:ListBucket", "arn:aws:s3:::releases")
DELETE = Call("", "s3", "s3:DeleteObject", "arn:aws:s3:::releases/app-1.0.tgz")


@pytest.fixture(scope="module")
def account() -> Iterator[dict[str, str]]:
    """A furnished account, and nothing of it left behind."""
    yield furnish(1)
    for backends in (iam_backends, sts_backends):
        backends[ACCOUNT].reset()


def session(policy: Any = None, name: str = "styx-x") -> Any:
    """A session of the role, as `sts:AssumeRole` gives one."""
    text = policy if policy is None or isinstance(policy, str) else json.dumps(policy)
    backend = sts_backends[ACCOUNT]["aws"]
    return backend.assume_role("us-east-1", name, ARN, text, 900, "")  # type: ignore[arg-type]


def allow(*actions: str, resource: Any = "*", effect: str = "Allow") -> dict[str, Any]:
    return {"Effect": effect, "Action": list(actions), "Resource": resource}


def policy(*statements: dict[str, Any]) -> dict[str, Any]:
    return {"Version": "2012-10-17", "Statement": list(statements)}


def verdict(role: Any, call: Call, *arns: str) -> str | None:
    """AWS's error code for a call by this session; None where it goes through."""
    key = role.access_key_id
    found = judge(Call(key, call.service, call.action, call.resource), {key: arns} if arns else {})
    return found.code if found else None


def test_an_unknown_key_is_refused(account: dict[str, str]) -> None:
    for key in ("", "AKIAFIXTURE", "ASIAFIXTURE"):
        refusal = judge(Call(key, "s3", "s3:ListBucket", "*"), {})
        assert refusal is not None
        assert refusal.code == "InvalidClientTokenId"
    assert judge(Call(account["access_key_id"], "s3", "s3:ListBucket", "*"), {}) is None


def test_a_session_ends_at_its_expiry(account: dict[str, str]) -> None:
    role = session()
    assert verdict(role, LIST) is None
    role.expiration = datetime.now(UTC).replace(tzinfo=None) - timedelta(seconds=1)
    assert verdict(role, LIST) == "ExpiredToken"


@pytest.mark.parametrize(
    ("made", "listing", "deleting"),
    [
        (None, True, True),
        (policy(allow("s3:ListBucket")), True, False),
        (policy(allow("s3:List*", "s3:Get*")), True, False),
        (policy(allow("S3:LISTBUCKET")), True, False),
        (policy(allow("s3:*", resource="arn:aws:s3:::releases")), True, False),
        (policy(allow("s3:*", resource=["arn:aws:s3:::releases/*"])), False, True),
        (policy(allow("*")), True, True),
        (policy(allow("*"), allow("s3:DeleteObject", effect="Deny")), True, False),
        (policy(allow("ec2:*")), False, False),
        (policy(), False, False),
        ({"Version": "2012-10-17", "Statement": allow("s3:ListBucket")}, True, False),
    ],
)
def test_a_session_may_do_what_its_policy_allows_and_no_more(
    account: dict[str, str], made: Any, listing: bool, deleting: bool
) -> None:
    role = session(made)
    assert (verdict(role, LIST) is None) == listing
    assert (verdict(role, DELETE) is None) == deleting
    assert verdict(role, DELETE) in (None, "AccessDenied")


def test_a_managed_policy_lets_a_session_read(account: dict[str, str]) -> None:
    role = session(policy(allow("s3:DeleteBucket")))
    assert verdict(role, LIST, READ_ONLY) is None
    assert verdict(role, DELETE, READ_ONLY) == "AccessDenied"
    assert verdict(session(), DELETE, READ_ONLY) == "AccessDenied", "it narrows a whole role"
    assert verdict(session(), LIST, "arn:aws:iam::aws:policy/Other") == "AccessDenied"


def test_a_role_denies_one_session_and_not_the_next(account: dict[str, str]) -> None:
    gone, stays = session(name="styx-gone"), session(name="styx-stays")
    backend = iam_backends[ACCOUNT]["aws"]
    assert gone.user_id != stays.user_id
    for named in (gone.user_id, [gone.user_id]):
        deny = allow("*", effect="Deny") | {"Condition": {"StringEquals": {"aws:userid": named}}}
        backend.put_role_policy(ROLE, "styx-denied", json.dumps(policy(deny)))
        assert verdict(gone, LIST) == "AccessDenied"
        assert verdict(stays, LIST) is None
    backend.delete_role_policy(ROLE, "styx-denied")
    assert verdict(gone, LIST) is None


SIGNED = "AWS4-HMAC-SHA256 Credential={}/20260105/us-east-1/{}/aws4_request, SignedHeaders=host"


def arrived(
    service: str, method: str = "GET", path: str = "/", query: str = "", body: bytes = b""
) -> Call:
    environ = {
        "HTTP_AUTHORIZATION": SIGNED.format("AKIAFIXTURE", service),
        "REQUEST_METHOD": method,
        "PATH_INFO": path,
        "QUERY_STRING": query,
    }
    return call_of(environ, body)


@pytest.mark.parametrize(
    ("method", "path", "query", "action", "resource"),
    [
        ("GET", "/", "", "s3:ListAllMyBuckets", "*"),
        ("GET", "/releases", "list-type=2", "s3:ListBucket", "arn:aws:s3:::releases"),
        ("GET", "/releases/", "", "s3:ListBucket", "arn:aws:s3:::releases"),
        ("GET", "/releases", "location", "s3:GetBucketLocation", "arn:aws:s3:::releases"),
        ("GET", "/releases/a%20b", "", "s3:GetObject", "arn:aws:s3:::releases/a b"),
        ("HEAD", "/releases/x", "", "s3:GetObject", "arn:aws:s3:::releases/x"),
        ("PUT", "/releases/x", "", "s3:PutObject", "arn:aws:s3:::releases/x"),
        ("DELETE", "/releases/x/y", "", "s3:DeleteObject", "arn:aws:s3:::releases/x/y"),
        ("DELETE", "/releases", "", "s3:DeleteBucket", "arn:aws:s3:::releases"),
        ("POST", "/releases", "delete", "s3:DeleteObject", "arn:aws:s3:::releases"),
        ("PATCH", "/releases/x", "", "s3:?", "arn:aws:s3:::releases/x"),
    ],
)
def test_what_an_s3_call_is(method: str, path: str, query: str, action: str, resource: str) -> None:
    call = arrived("s3", method, path, query)
    assert call == Call("AKIAFIXTURE", "s3", action, resource)


def test_what_a_call_with_a_form_is() -> None:
    form = {"Action": "AssumeRole", "PolicyArns.member.1.arn": READ_ONLY, "RoleArn": ARN}
    call = arrived("sts", "POST", body=urlencode(form).encode())
    assert call == Call("AKIAFIXTURE", "sts", "sts:AssumeRole", "*", (READ_ONLY,))
    assert arrived("sts", "POST", body=b"\xff").action == "sts:?"


def test_what_nobody_signed_is_nobodys() -> None:
    for header in ("", "Bearer FIXTURE", "AWS4-HMAC-SHA256 Credential=AKIAFIXTURE"):
        call = call_of({"HTTP_AUTHORIZATION": header}, b"Action=ListUsers")
        assert (call.key, call.service) == ("", "")
        refusal = judge(call, {})
        assert refusal is not None
        assert refusal.code == "InvalidClientTokenId"


def test_what_is_not_known_is_allowed_by_no_narrow_policy(account: dict[str, str]) -> None:
    role = session(policy(allow("s3:Get*", "s3:List*")))
    assert verdict(role, arrived("s3", "PATCH", "/releases/x")) == "AccessDenied"
