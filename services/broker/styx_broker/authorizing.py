"""One call, from its words to a verdict: classify, ask `grants`, wait, open the sealed credential.

The raw words end here: what goes on is redacted, with a digest that only this task's token could
have made, so that a this-command-once grant fits that command and no other.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError
from styx_core.contract.grants import Access, Authorize, Authorized, CheckGrant, Sealed
from styx_core.digest import command_digest
from styx_core.errors import Internal
from styx_core.ids import new_id
from styx_core.remote import host
from styx_core.seal import OpeningKey, WontOpen, use_info

from styx_broker.deps import Deps
from styx_broker.exec_wire import ExecRequest, named, readable
from styx_broker.repository import Record
from styx_broker.understanding import Understood, understood


@dataclass(frozen=True)
class Opened:
    """A call that may run: the environment for it, and for SSH the certificate for its key, or the
    public half of a key that signs elsewhere (`identity`)."""

    exec_id: str
    grant_id: str
    env: dict[str, str]
    unset: tuple[str, ...]
    certificate: str | None
    identity: str | None
    expires_at: str
    scoped: bool
    revocable: str


class ExecCall:
    """One call on its way."""

    def __init__(self, deps: Deps, task: Record, token: str, request: ExecRequest) -> None:
        readable(request)
        self._deps, self._task = deps, task
        found = understood(deps.catalog, request.tool, request.argv)
        self.provider, self.tool = found.provider, found.tool
        self._edge = OpeningKey.make()
        self.exec_id = new_id("exe")
        self.command = self._command(found, token, request)

    def _command(self, found: Understood, token: str, request: ExecRequest) -> Authorize:
        try:
            return Authorize(
                task_id=self._task.id,
                exec_id=self.exec_id,
                provider=found.provider.id,
                target=request.target,
                scopes=found.scopes,
                surface=found.surface,
                operation=found.operation,
                host=self._host(request),
                command=found.hidden,
                command_digest=command_digest(token, found.words),
                exact=found.hidden == found.words,
                understood=found.why,
                edge_key=self._edge.public,
                public_key=request.public_key,
            )
        except ValidationError as error:
            raise named(error) from None

    def _host(self, request: ExecRequest) -> str | None:
        """The host that a call names, for providers whose calls do; none named fits no target."""
        named = host(self.tool, request.argv) or "" if self.provider.host_in_argv else None
        return named[:2000] if named else named

    async def ask(self) -> Authorized:
        """Ask once: decided and issued, denied, or pending."""
        return await self._deps.bus.request(self.command)

    def wait(self, grant_id: str) -> AsyncIterator[Access]:
        """Each look at a pending request, until it is decided or the longest wait is over."""
        ask = CheckGrant(task_id=self._task.id, grant_id=grant_id)
        return self._deps.waiting.until(
            grant_id,
            self._deps.settings.wait_seconds,
            lambda: self._deps.bus.request(ask),
            lambda access: access.status != "pending",
        )

    def open(self, authorized: Authorized) -> Opened:
        """Open what was sealed to this call's key. Raises `Internal` for a box that isn't ours."""
        sealed = authorized.sealed
        if sealed is None:
            raise Internal("an active grant came without its credential")
        secret = self._unsealed(authorized.access.grant_id, sealed)
        env = {**self.provider.quiet, **secret.get("env", {})}
        return Opened(
            exec_id=self.exec_id,
            grant_id=authorized.access.grant_id,
            env=env,
            unset=tuple(name for name in self._deps.catalog.strip if name not in env),
            certificate=secret.get("certificate"),
            identity=secret.get("identity"),
            expires_at=sealed.expires_at.isoformat(),
            scoped=sealed.scoped,
            revocable=sealed.revocable,
        )

    def _unsealed(self, grant_id: str, sealed: Sealed) -> dict[str, Any]:
        try:
            return self._edge.open(sealed.box, use_info(grant_id, self.exec_id))
        except WontOpen:
            raise Internal(
                "a credential came that is not for this call; it was thrown away"
            ) from None
