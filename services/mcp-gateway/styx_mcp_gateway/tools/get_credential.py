"""`get_credential`: a live grant's credential, for calls of a provider's own API.

The credential comes sealed to a key that is made here for this one call; it is opened, handed to
the caller, and kept nowhere.
"""

from typing import Any, Literal

from pydantic import Field
from styx_core.contract.base import utc_ms
from styx_core.contract.grants import Access, GetCredential
from styx_core.errors import Forbidden, GrantOver, Internal, StyxError
from styx_core.ids import new_id
from styx_core.seal import OpeningKey, WontOpen, use_info

from styx_mcp_gateway.outcome import GrantId
from styx_mcp_gateway.tool import Arguments, Call, Result, Tool

CERTIFICATE = "STYX_SSH_CERTIFICATE"
"""Where an SSH certificate stands until `styx mcp` has put it into an agent socket."""


class Which(Arguments):
    """The grant, and for SSH the key that its certificate shall be for."""

    grant_id: GrantId
    public_key: str = Field(
        "",
        pattern=r"^ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI[A-Za-z0-9+/]{43}$",
        description="For an SSH target: the public half of a key that you hold, without a "
        "comment. `styx mcp` fills it in by itself.",
    )


class Credential(Result):
    """What the provider's own tools and libraries read."""

    kind: Literal["env", "ssh-agent"]
    env: dict[str, str] = Field(description="environment variables")
    socket_path: str | None = Field(description="SSH: the agent socket (SSH_AUTH_SOCK)")
    expires_at: int | None = Field(description="epoch milliseconds")
    scoped: bool = Field(
        description="whether it can do no more than the grant says, or is the connection's own"
    )


async def run(which: Which, call: Call) -> Credential:
    """Have it issued to a key of this call, and open it."""
    key, exec_id = OpeningKey.make(), new_id("exe")
    authorized = await call.deps.bus.request(
        GetCredential(
            task_id=call.task.task_id,
            grant_id=which.grant_id,
            exec_id=exec_id,
            edge_key=key.public,
            public_key=which.public_key or None,
        )
    )
    sealed = authorized.sealed
    if sealed is None:
        raise _withheld(authorized.access)
    secret = _opened(key, sealed.box, use_info(which.grant_id, exec_id))
    if "identity" in secret:
        raise Forbidden("the key of this host never leaves Styx; run the wrapped `ssh` instead")
    certificate = secret.get("certificate")
    return Credential(
        kind=sealed.kind,
        env={**secret.get("env", {}), **({CERTIFICATE: certificate} if certificate else {})},
        socket_path=None,
        expires_at=utc_ms(sealed.expires_at),
        scoped=sealed.scoped,
    )


def _withheld(standing: Access) -> StyxError:
    """Why no credential came: the policy of today wants a person, or nobody, to decide on it."""
    if standing.status == "denied":
        return Forbidden(f"the policy denies the credential itself: {standing.why}")
    return GrantOver(
        f"a person must first allow the credential itself ({standing.why}); "
        f"wait with check_grant for {standing.grant_id}, then ask for that grant's"
    )


def _opened(key: OpeningKey, box: str, info: str) -> dict[str, Any]:
    try:
        return key.open(box, info)
    except WontOpen:
        raise Internal("a credential came that is not for this call; it was thrown away") from None


TOOL = Tool(
    name="get_credential",
    title="Get a credential",
    description="The short-lived credential of a live grant, as environment variables. Only for "
    "calling a provider's API directly: the wrapped tools ({tools}) get theirs by themselves. "
    "Each call is recorded as a use of the grant. Don't print it or write it to a file.",
    arguments=Which,
    result=Credential,
    per_minute=30,
    run=run,
)
