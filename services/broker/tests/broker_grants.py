"""A `grants` for `broker`'s tests: rows in memory, decisions by `effect`, signatures checked.

It refuses what the real one refuses: a task, grant or target that isn't known, a decision that was
made already, a signature over something else.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from broker_adapters import START, Played
from broker_people import PeopleRows, PlayedPeople
from styx_core.contract import adapters as a
from styx_core.contract import grants as g
from styx_core.contract.base import Done
from styx_core.contract.grants_events import GrantDecided
from styx_core.contract.grants_policies import SimulateCall, Verdict
from styx_core.contract.values import GrantView, HealthAnswer, TargetView
from styx_core.errors import (
    AlreadyDecided,
    Unauthenticated,
    UnknownGrant,
    UnknownTarget,
)
from styx_core.ids import new_id
from styx_core.signing import decision_payload, policy_payload, target_payload
from styx_core.testing import MemoryBus


def by_scope(command: g.Authorize) -> str:
    """Reads go through; all else waits for a person."""
    return "active" if set(command.scopes) == {"read"} else "pending"


@dataclass
class Kept:
    """A request or grant."""

    id: str
    asked: g.Authorize
    target: TargetView
    state: str
    why: str
    scopes: tuple[Any, ...]
    decided_by: str | None = None

    def access(self) -> g.Access:
        """As a caller sees it."""
        return g.Access(
            status=self.state if self.state in ("active", "pending", "denied") else "ended",
            grant_id=self.id,
            scopes=self.scopes,
            target=self.target.name,
            why=self.why,
            decided_by=self.decided_by,
        )

    def covers(self, asked: g.Authorize) -> bool:
        """Whether this lives and holds for such a call of the same task."""
        same = (self.asked.task_id, self.asked.command_digest)
        return self.state == "active" and same == (asked.task_id, asked.command_digest)


def target(name: str, env: str, provider: str = "aws") -> TargetView:
    """A connected target."""
    return TargetView(
        id=new_id("tgt"),
        project_id=new_id("prj"),
        name=name,
        provider=provider,
        env=env,
        label=name,
        config={},
        lock_state="locked",
    )


@dataclass
class Rows(PeopleRows):
    """What `grants` keeps."""

    tasks: dict[str, bool] = field(default_factory=dict)
    kept: dict[str, Kept] = field(default_factory=dict)
    uses: dict[str, str] = field(default_factory=dict)
    policies: dict[str, str] = field(default_factory=dict)
    targets: dict[str, TargetView] = field(
        default_factory=lambda: {
            "staging": target("staging", "staging"),
            "prod": target("prod", "prod"),
            "web": target("web", "staging", "ssh"),
            "code": target("code", "scm", "hub"),
        }
    )


class PlayedGrants(PlayedPeople, Played):
    """Decides by `effect`, keeps rows in memory, and checks what `grants` alone can check.

    `tells`: whether a decision is on the stream at once.
    """

    name = "grants"

    def __init__(self, server: MemoryBus) -> None:
        self.rows = Rows()
        super().__init__(server)

    def reset(self) -> None:
        """No request, no call under way."""
        super().reset()
        self.rows.kept.clear()
        self.rows.uses.clear()
        self.effect: Callable[[g.Authorize], str] = by_scope
        self.tells = True

    async def admit_task(self, command: g.AdmitTask) -> Done:
        self.rows.tasks[command.task_id] = True
        return Done()

    async def retire_task(self, command: g.RetireTask) -> Done:
        self.rows.tasks[command.task_id] = False
        return Done()

    async def authorize(self, command: g.Authorize) -> g.Authorized:
        if not self.rows.tasks.get(command.task_id):
            raise Unauthenticated("no such task")
        kept = next((k for k in self.rows.kept.values() if k.covers(command)), None)
        kept = kept or self._open(command)
        if kept.state != "active":
            return g.Authorized(access=kept.access())
        issue = a.Issue(
            lease_id=new_id("lse"),
            grant_id=kept.id,
            exec_id=command.exec_id,
            provider=command.provider,
            credential_ref="styx/creds/one",
            config={},
            scopes=command.scopes,
            expires_at=None,
            edge_key=command.edge_key,
            public_key=command.public_key,
        )
        issued = await self.bus.request(issue)
        self.rows.uses[command.exec_id] = command.task_id
        return g.Authorized(access=kept.access(), sealed=issued.sealed)

    def _open(self, command: g.Authorize) -> Kept:
        named = [t for n, t in self.rows.targets.items() if command.target in (None, n)]
        fitting = [t for t in named if t.provider == command.provider]
        if not fitting:
            raise UnknownTarget(f"no target {command.target!r} in this project")
        state = self.effect(command)
        kept = Kept(new_id("grt"), command, fitting[0], state, "a rule says so", command.scopes)
        self.rows.kept[kept.id] = kept
        return kept

    async def check_grant(self, command: g.CheckGrant) -> g.Access:
        kept = self._kept(command.grant_id)
        if kept.asked.task_id != command.task_id:
            raise UnknownGrant("no such grant")
        return kept.access()

    async def report_use(self, command: g.ReportUse) -> Done:
        if self.rows.uses.get(command.exec_id) != command.task_id:
            raise UnknownGrant("no call with this id is under way in this task")
        del self.rows.uses[command.exec_id]
        return Done()

    async def decide(self, command: g.Decide) -> g.Access:
        choice, kept = command.choice, self._kept(command.choice.grant_id)
        payload = decision_payload(
            grant_id=kept.id,
            verdict=choice.verdict,
            target=kept.target.name,
            env=kept.target.env,
            scopes=choice.scopes or kept.scopes,
            duration=choice.duration or "1h",
            command=kept.asked.command,
        )
        self.signed(command.person, payload, command.signature)
        if kept.state != "pending":
            raise AlreadyDecided(f"{kept.id} is {kept.state} already")
        state = "active" if choice.verdict == "approve" else "denied"
        await self.settle(kept, state, told=self.tells)
        kept.why = choice.reason or kept.why
        return kept.access()

    async def settle(self, kept: Kept, state: str, told: bool = True) -> None:
        """Decide a request, and say so on the stream, as the outbox would."""
        kept.state, kept.decided_by = state, "user"
        event = GrantDecided(
            id=new_id("evt"),
            at=START,
            actor="owner",
            grant_id=kept.id,
            verdict="approve" if state == "active" else "deny",
            decided_by="user",
            because=(),
            why=kept.why,
        )
        if told:
            await self.bus.publish(event.subject, event.id, event.model_dump_json().encode())

    async def revoke_grant(self, command: g.RevokeGrant) -> g.Access:
        kept = self._kept(command.grant_id)
        if kept.state not in ("pending", "active"):
            raise AlreadyDecided(f"{kept.id} is already {kept.state}")
        kept.state, kept.why = "revoked", command.reason or f"{command.person} revoked it"
        return kept.access()

    async def list_grants(self, command: g.ListGrants) -> g.GrantList:
        listed = [
            k
            for k in self.rows.kept.values()
            if (k.state in command.states or not command.states)
            and command.grant_id in (None, k.id)
        ]
        return g.GrantList(grants=tuple(view(kept) for kept in reversed(listed)))

    async def list_targets(self, command: g.ListTargets) -> g.TargetList:
        return g.TargetList(targets=tuple(self.rows.targets.values()))

    async def list_revoked_certificates(
        self, _command: g.ListRevokedCertificates
    ) -> g.RevokedCertificates:
        return g.RevokedCertificates(key_ids=("FIXTURE-key-id",))

    async def check_target(self, command: g.CheckTarget) -> HealthAnswer:
        if command.target_id not in {t.id for t in self.rows.targets.values()}:
            raise UnknownTarget(f"no target {command.target_id}")
        return HealthAnswer(ok=True, expired=False, detail="it works")

    async def save_target(self, command: g.SaveTarget) -> TargetView:
        names = ("project_id", "target_id", "name", "provider", "env", "nonce")
        payload = target_payload(**{name: getattr(command, name) for name in names})
        self.signed(command.person, payload, command.signature)
        asked = {"id": command.target_id, "project_id": command.project_id}
        made = target(command.name, command.env, command.provider).model_copy(update=asked)
        self.rows.targets[command.name] = made
        return made

    async def put_policy(self, command: g.PutPolicy) -> g.PolicyText:
        said = command.model_dump(include={"project_id", "toml", "nonce"})
        payload = policy_payload(**said)
        self.signed(command.person, payload, command.signature)
        self.rows.policies[command.project_id] = command.toml
        return g.PolicyText(toml=command.toml)

    async def read_policy(self, command: g.ReadPolicy) -> g.PolicyText:
        return g.PolicyText(toml=self.rows.policies.get(command.project_id, ""))

    async def simulate_call(self, command: SimulateCall) -> Verdict:
        unknown = dict.fromkeys(("max_seconds", "approvers"))
        told = {"because": (), "why": "no rule says so", "quorum": 1, "own_agent": True}
        return Verdict(effect="ask", matched=(), mfa=False, **told, **unknown)

    def _kept(self, grant_id: str) -> Kept:
        if grant_id not in self.rows.kept:
            raise UnknownGrant(f"no grant {grant_id}")
        return self.rows.kept[grant_id]


def view(kept: Kept) -> GrantView:
    """A grant as people see it."""
    unknown = dict.fromkeys(
        (
            *("reason", "decided_person", "decided_at", "expires_at", "ended_at", "end_why"),
            "revocable",
        )
    )
    return GrantView(
        id=kept.id,
        project_id=kept.target.project_id,
        task_id=kept.asked.task_id,
        agent="agent",
        person="owner",
        target=kept.target.name,
        provider=kept.target.provider,
        env=kept.target.env,
        scopes=kept.scopes,
        state=kept.state,
        command=kept.asked.command,
        understood=kept.asked.understood,
        why=kept.why,
        because=(),
        decided_by=kept.decided_by,
        duration="1h",
        mfa=False,
        created_at=START,
        leases=0,
        **unknown,
    )
