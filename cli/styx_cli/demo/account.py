"""An AWS account to play with: moto over HTTP, with the rules of STS sessions that moto lacks.

moto serves the real wire protocol, but lets a session live for ever and ignores its session policy.
Here, as at AWS: an unknown key is refused, a session ends at its expiry, may do only what its
session policy allows, and nothing once its role denies its `aws:userid`. Small, and it refuses what
it can't judge. Run as `python -m styx_cli.demo.account PORT`; the first line it prints is JSON.
"""

import json
import sys
import threading
from collections.abc import Callable, Iterable
from io import BytesIO
from typing import Any

from moto.iam.models import iam_backends
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from moto.s3.models import s3_backends
from werkzeug.serving import make_server

from styx_cli.demo.account_rules import Call, Refusal, call_of, judge

ACCOUNT = "123456789012"
ROLE = "styx-demo"
EVERYTHING = json.dumps(
    {"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "*", "Resource": "*"}}
)
TRUST = json.dumps(
    {
        "Version": "2012-10-17",
        "Statement": {
            "Effect": "Allow",
            "Principal": {"AWS": f"arn:aws:iam::{ACCOUNT}:root"},
            "Action": "sts:AssumeRole",
        },
    }
)
StartResponse = Callable[..., Any]


class Account:
    """moto behind the rules: a WSGI application."""

    def __init__(self) -> None:
        self._moto = DomainDispatcherApplication(create_backend_app)
        self.sessions: dict[str, tuple[str, ...]] = {}
        """Access key → the managed policies of its session, which moto forgets."""

    def __call__(self, environ: dict[str, Any], start: StartResponse) -> Iterable[bytes]:
        """Judge a call, then let moto serve it."""
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        environ["wsgi.input"] = BytesIO(body)
        call = call_of(environ, body)
        refusal = judge(call, self.sessions)
        if refusal is not None:
            return _refused(refusal, call, "HTTP_X_AMZ_TARGET" in environ, start)
        answer = list(self._moto(environ, start))
        if call.action == "sts:AssumeRole":
            self._remember(call, b"".join(answer))
        return answer

    def _remember(self, call: Call, answer: bytes) -> None:
        _, found, rest = answer.partition(b"<AccessKeyId>")
        if found:
            self.sessions[rest.partition(b"<")[0].decode()] = call.policy_arns


def _refused(
    refusal: Refusal, call: Call, json_protocol: bool, start: StartResponse
) -> list[bytes]:
    if json_protocol:
        start("403 Forbidden", [("Content-Type", "application/x-amz-json-1.1")])
        return [json.dumps({"__type": refusal.code, "message": refusal.says}).encode()]
    error = f"<Code>{refusal.code}</Code><Message>{refusal.says}</Message>"
    if call.service == "s3":
        text = f"<Error>{error}</Error>"
    else:
        text = f"<ErrorResponse><Error><Type>Sender</Type>{error}</Error></ErrorResponse>"
    start("403 Forbidden", [("Content-Type", "text/xml")])
    return [text.encode()]


def furnish(port: int) -> dict[str, str]:
    """A role, a user who may assume it, a bucket with objects; what a target needs to know."""
    iam = iam_backends[ACCOUNT]["aws"]
    iam.create_user("us-east-1", "styx-connector")
    iam.put_user_policy("styx-connector", "all", EVERYTHING)
    key = iam.create_access_key("styx-connector")
    iam.create_role(ROLE, TRUST, "/", None, "", [], "3600")
    iam.put_role_policy(ROLE, "all", EVERYTHING)
    s3 = s3_backends[ACCOUNT]["aws"]
    s3.create_bucket("releases", "us-east-1")
    for name in ("app-1.0.tgz", "app-1.1.tgz", "notes.txt"):
        s3.put_object("releases", name, b"a demo object")
    return {
        "endpoint": f"http://127.0.0.1:{port}",
        "role_arn": f"arn:aws:iam::{ACCOUNT}:role/{ROLE}",
        "access_key_id": key.access_key_id,
        "secret_access_key": key.secret_access_key,
    }


def main() -> None:
    """Serve until the parent closes our stdin."""
    server = make_server("127.0.0.1", int(sys.argv[1]), Account(), threaded=True)
    print(json.dumps(furnish(server.server_port)), flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()
    server.shutdown()


if __name__ == "__main__":
    main()
