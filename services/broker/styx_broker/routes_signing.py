"""Signatures for an agent socket whose key never leaves Vault: one login at a time."""

from fastapi import APIRouter
from styx_core.contract.grants import SignLogin
from styx_core.contract.values import Base64, Id, Signature

from styx_broker.auth import TheAgent, TheDeps
from styx_broker.routes_tasks import Body

router = APIRouter(tags=["calls"])


class Login(Body):
    """What an SSH client would have signed (RFC 4252, section 7), base64."""

    data: Base64


@router.post("/v1/exec/{exec_id}/sign")
async def sign(exec_id: Id, body: Login, deps: TheDeps, agent: TheAgent) -> Signature:
    """Sign a login for a call that is under way, while its grant lives."""
    deps.limits.take(agent.task.id, "exec", "too many calls")
    return await deps.bus.request(SignLogin(task_id=agent.task.id, exec_id=exec_id, data=body.data))
