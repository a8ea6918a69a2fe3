"""The demo account, with an OpenID Connect provider in its IAM: it admits one issuer's tokens.

It refuses what AWS refuses ("AssumeRoleWithWebIdentity", STS API Reference): a token of another
key, issuer, audience or subject than the role's trust policy names, and one that has expired.
"""

import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from typing import Any
from urllib.parse import parse_qs

import jwt
from moto.iam.models import iam_backends
from moto.s3.models import s3_backends
from moto.sts.models import sts_backends
from styx_cli.demo.account import ACCOUNT, ROLE, Account, StartResponse, _refused, furnish
from styx_cli.demo.account_rules import Call, Refusal
from werkzeug.serving import make_server

MOTOS_ROLE = b"ARO123EXAMPLE123"
"""What moto answers in the place of the role's own id, whatever the role."""


class Federated(Account):
    """The account; `trust` is what its role's trust policy says, `jwk` the issuer's key."""

    def __init__(self, jwk: Mapping[str, str], trust: Mapping[str, str]) -> None:
        super().__init__()
        self.jwk, self.trust = dict(jwk), dict(trust)

    def __call__(self, environ: dict[str, Any], start: StartResponse) -> Iterable[bytes]:
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        environ["wsgi.input"] = BytesIO(body)
        form = parse_qs(body.decode(errors="replace"))
        if form.get("Action") != ["AssumeRoleWithWebIdentity"]:
            return super().__call__(environ, start)
        arns = tuple(v[0] for k, v in form.items() if k.endswith(".arn"))
        call = Call("", "sts", "sts:AssumeRoleWithWebIdentity", "*", arns)
        refusal = self._admits(form["WebIdentityToken"][0], form["RoleArn"][0])
        if refusal is not None:
            return _refused(refusal, call, False, start)
        said: list[Any] = []
        answer = b"".join(self._moto(environ, lambda *words: said.extend(words)))
        self._remember(call, answer)
        answer = answer.replace(MOTOS_ROLE, iam_backends[ACCOUNT]["aws"].get_role(ROLE).id.encode())
        headers = [(k, v) for k, v in said[1] if k.lower() != "content-length"]
        start(said[0], [*headers, ("Content-Length", str(len(answer)))])
        return [answer]

    def _admits(self, token: str, role: str) -> Refusal | None:
        try:
            key = jwt.PyJWK(self.jwk)
            audience, issuer = self.trust["aud"], self.trust["iss"]
            said = jwt.decode(token, key, ["RS256"], audience=audience, issuer=issuer)
        except jwt.ExpiredSignatureError:
            return Refusal("ExpiredTokenException", "the token has expired")
        except jwt.PyJWTError:
            return Refusal("InvalidIdentityToken", "no OpenID Connect provider of this token")
        if said["sub"] != self.trust["sub"] or not role.endswith(f"/{ROLE}"):
            return Refusal("AccessDenied", "not authorized to perform AssumeRoleWithWebIdentity")
        return None


@contextmanager
def federated_account(account: Federated) -> Iterator[dict[str, str]]:
    """The account over HTTP, until the block ends."""
    server = make_server("127.0.0.1", 0, account, threaded=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield furnish(server.server_port)
    finally:
        server.shutdown()
        thread.join(10)
        server.server_close()
        for backends in (iam_backends, s3_backends, sts_backends):  # moto keeps them per process
            backends.reset()
