"""The commands about rules that may come: one call tried, a draft over the past, suggestions."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from sqlalchemy import Connection, select
from styx_core.contract.grants_policies import (
    Changed,
    Replayed,
    ReplayPolicy,
    SimulateCall,
    Suggested,
    Suggestion,
    SuggestRules,
    Verdict,
)
from styx_core.errors import UnknownTarget
from styx_core.scope import Scope, ordered

from styx_grants import policy_toml
from styx_grants import repository as repo
from styx_grants.asking import Asked, policy_text, question
from styx_grants.deps import Deps
from styx_grants.policy import Policy
from styx_grants.policy_draft import accepted
from styx_grants.policy_terms import Decision, Effect, Request
from styx_grants.replaying import Difference, Past, replay, said_then
from styx_grants.simulating import matched
from styx_grants.suggesting import Judged, suggest, was_approved

MOST_REQUESTS: Final = 10_000
MOST_SHOWN: Final = 100
MOST_NAMED: Final = 100
"""Rules in one answer."""
MOST_LETTERS: Final = 1000
"""Of one command in an answer: agents write commands, and a message has an end."""


@dataclass(frozen=True)
class _Somebody:
    agent: str
    person: str


@dataclass(frozen=True)
class _Asked:
    """Past requests, newest first, each with its row; `whole` where there were no more."""

    found: Sequence[tuple[repo.Record, Request]]
    whole: bool


async def simulate_call(command: SimulateCall, deps: Deps) -> Verdict:
    """What rules say about a call that nobody has made."""
    at = command.at or deps.now()
    asked = Asked(frozenset(command.scopes), command.command, surface=command.surface)
    who = _Somebody(command.agent, command.person)
    draft = None if command.toml is None else accepted(command.toml)

    def look(c: Connection) -> tuple[Decision, tuple[str, ...]]:
        target = repo.target_named(c, command.project_id, command.target)
        if command.provider not in (None, target.provider):
            raise UnknownTarget(f"target {target.name} is not reached by this tool")
        text = policy_text(c, command.project_id)
        rules = policy_toml.loads(text) if draft is None else draft
        put = question(deps, who, target, asked, at)
        return Policy.compile(rules).evaluate(put), matched(rules, put)

    said, bearing = await deps.db.read(look)
    return Verdict(
        effect=said.effect.value,
        matched=bearing[:MOST_NAMED],
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

    def look(c: Connection) -> Replayed:
        asked = _asked(c, deps, command)
        past = [Past(r.id, put, said_then(r.state, r.decided_by)) for r, put in asked.found]
        more, changed = replay(draft, past)
        shown, commands = changed[:MOST_SHOWN], {row.id: row.command for row, _ in asked.found}
        return Replayed(
            requests=len(past),
            whole=asked.whole,
            more={effect.value: more[effect] for effect in Effect},
            changed=tuple(_changed(each, commands[each.past.id]) for each in shown),
        )

    return await deps.db.read(look)


async def suggest_rules(command: SuggestRules, deps: Deps) -> Suggested:
    """Rules for what people approved again and again in these days."""

    def look(c: Connection) -> Suggested:
        asked = _asked(c, deps, command)
        in_force = policy_toml.loads(policy_text(c, command.project_id))
        rules = suggest(in_force, filter(None, (_judged(row, put) for row, put in asked.found)))
        return Suggested(
            requests=len(asked.found),
            whole=asked.whole,
            rules=tuple(
                Suggestion(
                    id=each.rule.id,
                    toml=policy_toml.dumps([each.rule]),
                    reason=each.reason,
                    spared=len(each.spared),
                )
                for each in rules
            ),
        )

    return await deps.db.read(look)


def _asked(c: Connection, deps: Deps, command: ReplayPolicy | SuggestRules) -> _Asked:
    """What was asked in a project in these days, as it was put then: two statements."""
    since = deps.now() - timedelta(days=command.days)
    query = (
        select(repo.GRANT, repo.TASK.c.agent, repo.TASK.c.person)
        .join(repo.TASK, repo.TASK.c.id == repo.GRANT.c.task_id)
        .where(repo.GRANT.c.project_id == command.project_id, repo.GRANT.c.created_at >= since)
        .order_by(repo.GRANT.c.id.desc())
        .limit(MOST_REQUESTS + 1)
    )
    rows = c.execute(query).all()
    targets = {row.id: row for row in repo.targets(c, (command.project_id,))}
    found = [(r, _put(deps, r, targets[r.target_id])) for r in rows if r.target_id in targets]
    return _Asked(found[:MOST_REQUESTS], len(rows) <= MOST_REQUESTS)


def _put(deps: Deps, row: repo.Record, target: repo.Record) -> Request:
    scopes = frozenset(Scope(s) for s in row.scopes)
    asked = Asked(scopes, tuple(row.command), surface=row.surface)
    return question(deps, row, target, asked, row.created_at)


def _judged(row: repo.Record, put: Request) -> Judged | None:
    approved = was_approved(row.state, row.decided_by)
    if approved is None:
        return None
    given = None if row.expires_at is None else row.expires_at - row.decided_at
    seconds = None if given is None else int(given.total_seconds())
    return Judged(put, approved, row.decided_person, seconds)


def _changed(each: Difference, command: Sequence[str]) -> Changed:
    put = each.past.request
    return Changed(
        grant_id=each.past.id,
        created_at=put.at,
        agent=put.agent,
        person=put.person,
        target=put.target,
        env=put.env.value,
        scopes=ordered(put.scopes),
        command=_beginning(command),
        was=each.past.was.value,
        would_be=each.now.effect.value,
        because=each.now.because[:MOST_NAMED],
    )


def _beginning(command: Sequence[str]) -> tuple[str, ...]:
    shown, left = [], MOST_LETTERS
    for word in command:
        shown.append(word[:left])
        left -= len(word) + 1
        if left <= 0:
            break
    return tuple(shown)
