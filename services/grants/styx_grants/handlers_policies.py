"""The commands about rules that may come: one call tried, and a draft over the past."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from sqlalchemy import Connection, select
from styx_core.contract.grants_policies import (
    Changed,
    Replayed,
    ReplayPolicy,
    SimulateCall,
    Verdict,
)
from styx_core.scope import Scope, ordered

from styx_grants import repository as repo
from styx_grants.asking import Asked, compiled, policy_text, question
from styx_grants.deps import Deps
from styx_grants.policy import Policy
from styx_grants.policy_draft import accepted
from styx_grants.policy_terms import Decision, Effect
from styx_grants.replaying import Difference, Past, replay, said_then

MOST_REQUESTS: Final = 10_000
MOST_SHOWN: Final = 100


@dataclass(frozen=True)
class _Somebody:
    agent: str
    person: str


async def simulate_call(command: SimulateCall, deps: Deps) -> Verdict:
    """What rules say about a call that nobody has made."""
    at = command.at or deps.now()
    asked = Asked(frozenset(command.scopes), command.command)
    who = _Somebody(command.agent, command.person)
    draft = None if command.toml is None else Policy.compile(accepted(command.toml))

    def look(c: Connection) -> Decision:
        target = repo.target_named(c, command.project_id, command.target)
        rules = draft or compiled(policy_text(c, command.project_id))
        return rules.evaluate(question(deps, who, target, asked, at))

    said = await deps.db.read(look)
    return Verdict(
        effect=said.effect.value,
        because=said.because,
        why=said.why,
        mfa=said.mfa,
        max_seconds=said.max_seconds,
        approvers=None if said.approvers is None else tuple(sorted(said.approvers)),
        quorum=said.quorum,
        own_agent=said.own_agent,
    )


async def replay_policy(command: ReplayPolicy, deps: Deps) -> Replayed:
    """A draft over what was asked in these days; nothing is changed by it."""
    draft = Policy.compile(accepted(command.toml))
    since = deps.now() - timedelta(days=command.days)
    query = (
        select(repo.GRANT, repo.TASK.c.agent, repo.TASK.c.person)
        .join(repo.TASK, repo.TASK.c.id == repo.GRANT.c.task_id)
        .where(repo.GRANT.c.project_id == command.project_id, repo.GRANT.c.created_at >= since)
        .order_by(repo.GRANT.c.id.desc())
        .limit(MOST_REQUESTS + 1)
    )

    def look(c: Connection) -> tuple[list[repo.Record], dict[str, repo.Record]]:
        targets = {row.id: row for row in repo.targets(c, (command.project_id,))}
        return [row for row in c.execute(query) if row.target_id in targets], targets

    rows, targets = await deps.db.read(look)
    looked = rows[:MOST_REQUESTS]
    past = [_past(deps, row, targets[row.target_id]) for row in looked]
    commands = {row.id: tuple(word[:200] for word in row.command[:30]) for row in looked}
    more, changed = replay(draft, past)
    return Replayed(
        requests=len(looked),
        whole=len(rows) == len(looked),
        more={effect.value: more[effect] for effect in Effect},
        changed=tuple(_changed(each, commands[each.past.id]) for each in changed[:MOST_SHOWN]),
    )


def _past(deps: Deps, row: repo.Record, target: repo.Record) -> Past:
    scopes = frozenset(Scope(s) for s in row.scopes)
    asked = Asked(scopes, tuple(row.command), surface=row.surface)
    put = question(deps, row, target, asked, row.created_at)
    return Past(row.id, put, said_then(row.state, row.decided_by))


def _changed(each: Difference, command: tuple[str, ...]) -> Changed:
    put = each.past.request
    return Changed(
        grant_id=each.past.id,
        created_at=put.at,
        agent=put.agent,
        person=put.person,
        target=put.target,
        env=put.env.value,
        scopes=ordered(put.scopes),
        command=command,
        was=each.past.was.value,
        would_be=each.now.effect.value,
        because=each.now.because,
    )
