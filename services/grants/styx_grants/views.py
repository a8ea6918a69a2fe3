"""Grants as people see them, however many: a fixed number of statements."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import Connection, select
from styx_core.contract.values import GrantView
from styx_core.scope import Scope, ordered

from styx_grants import repository as repo

_COPIED = (
    "id", "project_id", "task_id", "state", "reason", "understood", "why", "decided_by",
    "decided_person", "duration", "mfa", "created_at", "decided_at", "expires_at", "ended_at",
    "end_why", "quorum", "extended_at",
)  # fmt: skip
_AT_ONCE = 500
"""Ids in one statement; databases bound the number of their parameters."""


def grant_views(c: Connection, rows: Sequence[repo.Record]) -> tuple[GrantView, ...]:
    """These grants, in their order."""
    targets = {r.id: r for r in _among(c, repo.TARGET.c.id, {row.target_id for row in rows})}
    tasks = {r.id: r for r in _among(c, repo.TASK.c.id, {row.task_id for row in rows})}
    ids = {row.id for row in rows}
    leases, approvals = defaultdict(list), defaultdict(list)
    for lease in _among(c, repo.LEASE.c.grant_id, ids):
        leases[lease.grant_id].append(lease)
    for approval in _among(c, repo.APPROVAL.c.grant_id, ids):
        approvals[approval.grant_id].append(approval.person)
    return tuple(
        _view(row, targets[row.target_id], tasks[row.task_id], leases[row.id], approvals[row.id])
        for row in rows
    )


def _among(c: Connection, column: Any, values: Collection[str]) -> list[repo.Record]:
    wanted = sorted(values)
    return [
        row
        for start in range(0, len(wanted), _AT_ONCE)
        for row in c.execute(
            select(column.table).where(column.in_(wanted[start : start + _AT_ONCE]))
        )
    ]


def _view(
    row: repo.Record,
    at: repo.Record,
    by: repo.Record,
    leases: list[repo.Record],
    approved: list[str],
) -> GrantView:
    newest = max(leases, key=lambda lease: lease.issued_at, default=None)
    return GrantView(
        **{name: getattr(row, name) for name in _COPIED},
        agent=by.agent,
        person=by.person,
        worktree=by.worktree,
        branch=by.branch,
        target=at.name,
        provider=at.provider,
        env=at.env,
        scopes=ordered(Scope(s) for s in row.scopes),
        command=tuple(row.command),
        because=tuple(row.because),
        leases=len(leases),
        revocable=newest.revocable if newest else None,
        approved_by=tuple(sorted(approved)),
    )
