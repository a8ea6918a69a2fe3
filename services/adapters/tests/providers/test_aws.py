"""AWS against the demo account over HTTP, which holds sessions to AWS's own rules."""

import json
import socket
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
import pytest_asyncio
from aws_calls import OBJECT, SESSION, call
from conformance import Case, Conformance, now
from styx_adapters import aws_api
from styx_adapters.adapter import Deps, Want
from styx_adapters.providers import aws
from styx_cli.demo.place import aws_account
from styx_core.errors import ProviderFailed
from styx_core.ids import new_id
from styx_core.scope import Scope

pytestmark = pytest.mark.asyncio(loop_scope="module")

WRONG = "AKIAFIXTUREFIXTURE00"


@pytest.fixture(scope="module")
def account() -> Iterator[dict[str, str]]:
    """The account, in a process of its own."""
    with aws_account() as made:
        yield made


@pytest.fixture(scope="module")
def silent() -> Iterator[str]:
    """An address that takes a call and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


@pytest_asyncio.fixture(loop_scope="module")
async def case(
    account: dict[str, str], silent: str, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Case]:
    """A role whose sessions can be ended."""
    monkeypatch.setattr(aws_api, "READ_SECONDS", 0.3)
    yield made_case(account, silent)


def made_case(account: dict[str, str], silent: str) -> Case:
    """The case without patience."""
    deps: Any = Deps(vault=None, now=now)  # type: ignore[arg-type]
    return Case(
        provider=aws.PROVIDER,
        adapter=aws.adapter(deps),
        method="role",
        config={
            "role_arn": account["role_arn"],
            "endpoint": account["endpoint"],
            "deny_policy": "yes",
            "region": "us-east-1",
        },
        secret={key: account[key] for key in ("access_key_id", "secret_access_key")},
        want=wanted(Scope.READ),
        shortest=aws.SHORTEST,
        refused={"secret": {"access_key_id": WRONG}},
        silent={"endpoint": silent},
    )


def wanted(*scopes: Scope, surface: str | None = "s3", **more: Any) -> Want:
    """A use of a grant of an hour."""
    until = now() + timedelta(hours=1)
    ids = {"lease_id": new_id("lse"), "grant_id": new_id("gnt")}
    return Want(**ids, scopes=frozenset(scopes), until=until, surface=surface, **more)


class TestAws(Conformance):
    """Held to what every provider is."""


async def session(case: Case, want: Want) -> tuple[dict[str, str], Mapping[str, str]]:
    """A session's environment, and its handle."""
    minted = await case.adapter.issue(case.secret, case.config, want)
    return minted.secret["env"], minted.handle


READS_AND_WRITES = [
    ("s3", "list_objects_v2", {"Bucket": "releases"}, "put_object", {**OBJECT, "Body": b"x"}),
    ("s3", "get_object", OBJECT, "delete_object", OBJECT),
    ("sqs", "list_queues", {}, "create_queue", {"QueueName": "q"}),
    ("sns", "list_topics", {}, "create_topic", {"Name": "t"}),
    ("iam", "list_users", {}, "create_user", {"UserName": "mallory"}),
    ("ec2", "describe_vpcs", {}, "create_vpc", {"CidrBlock": "10.0.0.0/16"}),
    ("ssm", "describe_parameters", {}, "delete_parameter", {"Name": "p"}),
    ("dynamodb", "list_tables", {}, "delete_table", {"TableName": "table"}),
    ("logs", "describe_log_groups", {}, "create_log_group", {"logGroupName": "g"}),
]


@pytest.mark.parametrize(
    ("service", "read", "reading", "write", "writing"), READS_AND_WRITES, ids=lambda v: str(v)[:20]
)
async def test_a_credential_for_reading_writes_nothing(
    case: Case, service: str, read: str, reading: Any, write: str, writing: Any
) -> None:
    for surface in (service, None):
        env, _ = await session(case, wanted(Scope.READ, surface=surface))
        assert call(env, service, read, **reading) == "ok"
        assert call(env, service, write, **writing) == "AccessDenied"
    other = "sns" if service != "sns" else "sqs"
    env, _ = await session(case, wanted(Scope.READ, Scope.WRITE, surface=other))
    assert call(env, service, read, **reading) == "AccessDenied"


async def test_a_credential_for_one_command_deletes_that_object_alone(case: Case) -> None:
    words = ("aws", "s3", "rm", "s3://releases/app-1.1.tgz")
    want = wanted(Scope.DELETE, once=True, operation="s3:DeleteObject", command=words)
    minted = await case.adapter.issue(case.secret, case.config, want)
    env = minted.secret["env"]
    assert minted.scoped
    assert call(env, "s3", "delete_object", Bucket="releases", Key="app-1.0.tgz") == "AccessDenied"
    assert call(env, "s3", "delete_bucket", Bucket="releases") == "AccessDenied"
    assert call(env, "s3", "get_object", **OBJECT) == "AccessDenied"
    assert call(env, "s3", "delete_object", Bucket="releases", Key="app-1.1.tgz") == "ok"


async def test_a_revoke_ends_that_session_and_no_other(case: Case) -> None:
    (ended, handle), (other, _) = [await session(case, wanted(Scope.READ)) for _ in range(2)]
    assert call(ended, "s3", "get_object", **OBJECT) == "ok"
    done = await case.adapter.revoke(case.secret, case.config, handle)
    assert done.outcome == "deny-policy"
    assert call(ended, "s3", "get_object", **OBJECT) == "AccessDenied"
    assert call(other, "s3", "get_object", **OBJECT) == "ok"
    again, _ = await session(case, wanted(Scope.READ))
    assert call(again, "s3", "get_object", **OBJECT) == "ok"


def denials(case: Case, *put: dict[str, Any]) -> list[dict[str, Any]]:
    """The statements of the role's policy of ended sessions; first put there, if given."""
    client = SESSION.create_client(
        "iam",
        aws_access_key_id=case.secret["access_key_id"],
        aws_secret_access_key=case.secret["secret_access_key"],
        region_name="us-east-1",
        endpoint_url=case.config["endpoint"],
    )
    role = {"RoleName": "styx-demo", "PolicyName": aws.POLICY_NAME}
    if put:
        text = json.dumps({"Version": "2012-10-17", "Statement": list(put)})
        client.put_role_policy(**role, PolicyDocument=text)
    found = client.get_role_policy(**role)["PolicyDocument"]
    listed: list[dict[str, Any]] = found["Statement"]
    return listed


async def test_denials_of_sessions_that_are_over_are_dropped(case: Case) -> None:
    now_s = int(now().timestamp())
    base = {"Effect": "Deny", "Action": "*", "Resource": "*"}
    old = {**base, "Sid": f"Until{now_s - 5:010d}old"}
    alive = {**base, "Sid": f"Until{now_s + 900:010d}alive"}
    denials(case, old, alive)
    _, handle = await session(case, wanted(Scope.READ))
    await case.adapter.revoke(case.secret, case.config, handle)
    sids = [each["Sid"] for each in denials(case)]
    assert sids[0] == alive["Sid"]
    assert len(sids) == 2


async def test_sessions_revoked_side_by_side_all_end(case: Case) -> None:
    import asyncio

    made = [await session(case, wanted(Scope.READ)) for _ in range(4)]
    await asyncio.gather(
        *(case.adapter.revoke(case.secret, case.config, handle) for _, handle in made)
    )
    assert {call(env, "s3", "get_object", **OBJECT) for env, _ in made} == {"AccessDenied"}


async def test_a_role_that_may_not_be_changed_says_when_the_session_ends(case: Case) -> None:
    config = case.config | {"deny_policy": "no"}
    minted = await case.adapter.issue(case.secret, config, wanted(Scope.READ))
    assert minted.revocable == "expiry"
    ended = await case.adapter.revoke(case.secret, config, minted.handle)
    assert ended.outcome == "expiry"
    assert minted.expires_at.isoformat() in ended.detail


async def test_a_key_without_a_role_gives_a_federated_session(case: Case) -> None:
    config = {key: case.config[key] for key in ("region", "endpoint")}
    connected = await case.adapter.connect("key", new_id("tgt"), config, case.secret)
    assert connected.label.endswith("user/styx-connector")
    for want, scoped in (
        (wanted(Scope.READ), True),
        (wanted(Scope.WRITE, surface=None), False),
    ):
        minted = await case.adapter.issue(case.secret, config, want)
        assert (minted.scoped, minted.revocable) == (scoped, "expiry")
        assert set(case.secret.values()).isdisjoint(minted.secret["env"].values())
        ended = await case.adapter.revoke(case.secret, config, minted.handle)
        assert ended.outcome == "expiry"


@pytest.mark.parametrize(("scope", "policy"), [(Scope.READ, None), (Scope.WRITE, '"Action":["*"]')])
async def test_a_federated_session_never_goes_without_a_policy(
    case: Case, scope: Scope, policy: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: dict[str, Any] = {}
    real = aws_api._call

    def seen(*words: Any) -> Any:
        asked.update(words[4])
        return real(*words)

    monkeypatch.setattr(aws_api, "_call", seen)
    config = {key: case.config[key] for key in ("region", "endpoint")}
    await case.adapter.issue(case.secret, config, wanted(scope, surface=None))
    assert policy in asked["Policy"] if policy else asked["PolicyArns"]


@pytest.mark.parametrize(
    "answer", [b"", b"<html>", b"<AssumeRoleResponse/>", b"\xff\xfe", b"<a><b></a>"]
)
async def test_an_answer_that_is_not_awss_is_the_providers_failure(
    case: Case, answer: bytes
) -> None:
    import asyncio

    async def reply(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(answer) + answer)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(reply, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    config = case.config | {"endpoint": f"http://127.0.0.1:{port}"}
    with pytest.raises(ProviderFailed) as told:
        await case.adapter.issue(case.secret, config, replace(case.want, surface=None))
    assert "FIXTURE" not in told.value.detail
    server.close()
