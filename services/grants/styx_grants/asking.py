"""What is put to a policy: who asks for what, where, and the rules that answer."""

from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Protocol

from sqlalchemy import Connection, select
from styx_core.scope import Scopes

from styx_grants import policy_toml
from styx_grants import repository as repo
from styx_grants.deadlines import DEFAULT, Duration
from styx_grants.deps import Deps
from styx_grants.policy import Policy
from styx_grants.policy_terms import Decision, Env, Request


@dataclass(frozen=True)
class Asked:
    """What a task asks for at a target."""

    scopes: Scopes
    command: tuple[str, ...] = ()
    digest: str | None = None
    exact: bool = False
    surface: str | None = None
    operation: str | None = None
    understood: str = ""
    reason: str | None = None
    duration: Duration = DEFAULT


class Asking(Protocol):
    """Whose agent asks: a task's row, or a made-up one."""

    @property
    def agent(self) -> str:
        """What runs."""
        ...

    @property
    def person(self) -> str:
        """Whose it is."""
        ...


@lru_cache(maxsize=64)
def compiled(toml: str) -> Policy:
    """A project's policy, compiled once for each text."""
    return Policy.compile(policy_toml.loads(toml))


def policy_text(c: Connection, project_id: str) -> str:
    """A project's rules; none at first, so that everything asks."""
    row = c.execute(select(repo.POLICY).where(repo.POLICY.c.project_id == project_id)).one_or_none()
    return row.toml if row is not None else ""


def evaluate(
    c: Connection, deps: Deps, task: repo.Record, target: repo.Record, asked: Asked, now: datetime
) -> Decision:
    """What the project's policy says about this now."""
    rules = compiled(policy_text(c, task.project_id))
    return rules.evaluate(question(deps, task, target, asked, now))


def question(deps: Deps, task: Asking, target: repo.Record, asked: Asked, now: datetime) -> Request:
    """What is put to a policy."""
    provider = deps.catalog.providers.get(target.provider)
    narrowable = provider is not None and provider.narrowable(
        asked.scopes, asked.surface, target.config.get("method")
    )
    return Request(
        project=target.project_id,
        provider=target.provider,
        env=Env(target.env),
        target=target.name,
        scopes=asked.scopes,
        agent=task.agent,
        person=task.person,
        command=asked.command[1:],
        at=now,
        narrowable=narrowable,
    )
