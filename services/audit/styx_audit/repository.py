"""The statements of `audit`."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from sqlalchemy import Connection, Row, bindparam, func, insert, select
from styx_core.db import into
from styx_core.errors import Invalid

from styx_audit.entries import canonical, decode
from styx_audit.merkle import Frontier, frontier, leaf_hash
from styx_audit.models import METADATA

ENTRY, NODE, CHECKPOINT = (METADATA.tables[name] for name in ("entry", "node", "checkpoint"))
COLUMNS = ("at", "kind", "actor", "project_id", "task_id", "grant_id", "target")
FIELDS = (*COLUMNS, "event_id")
"""What can be searched by name; `text` finds the rest."""

_KNOWN = select(ENTRY.c.event_id).where(ENTRY.c.event_id.in_(bindparam("ids", expanding=True)))


def append(
    c: Connection, head: Frontier, events: Iterable[Mapping[str, Any]]
) -> tuple[Frontier, int]:
    """Add the events that aren't in the log yet; the new head, and how many were new."""
    listed = {str(event["id"]): event for event in events}
    known = set(c.execute(_KNOWN, {"ids": list(listed)}).scalars())
    entries, nodes = [], []
    for event_id, event in listed.items():
        if event_id in known:
            continue
        data = canonical(event)
        leaf = leaf_hash(data)
        nodes += [node._asdict() for node in head.completed(leaf)]
        columns = {name: event.get(name) for name in COLUMNS}
        entries.append({"seq": head.size, "event_id": event_id, "body": data.decode(), **columns})
        head = head.append(leaf)
    if entries:
        c.execute(into(ENTRY), entries)
        c.execute(into(NODE), nodes)
    return head, len(entries)


def size(c: Connection) -> int:
    """How many entries there are."""
    return int(c.execute(select(func.coalesce(func.max(ENTRY.c.seq) + 1, 0))).scalar_one())


def head(c: Connection) -> Frontier:
    """The tree's frontier, from its stored nodes."""
    return frontier(size(c), lambda level, position: node(c, level, position))


def node(c: Connection, level: int, position: int) -> bytes:
    """A complete subtree's hash. Raises KeyError."""
    query = select(NODE.c.hash).where(NODE.c.level == level, NODE.c.position == position)
    found = c.execute(query).scalar_one_or_none()
    if found is None:
        raise KeyError((level, position))
    return bytes(found)


def checkpoint(c: Connection) -> Row[Any] | None:
    """The newest signed checkpoint."""
    query = select(CHECKPOINT).order_by(CHECKPOINT.c.size.desc()).limit(1)
    return c.execute(query).one_or_none()


def save_checkpoint(c: Connection, at: int, note: str) -> None:
    """Keep a signed checkpoint; one of this size that is there already stays."""
    if c.execute(select(CHECKPOINT.c.size).where(CHECKPOINT.c.size == at)).first() is None:
        c.execute(insert(CHECKPOINT), {"size": at, "note": note})


def search(
    c: Connection, where: Mapping[str, str], text: str | None, before: int | None, limit: int
) -> list[dict[str, Any]]:
    """Entries, newest first, by any field and by any words in them. Raises `Invalid`."""
    query = select(ENTRY.c.seq, ENTRY.c.body).order_by(ENTRY.c.seq.desc()).limit(limit)
    for name, value in where.items():
        if name not in FIELDS:
            raise Invalid(f"{name[:64]}: search by {', '.join(FIELDS)}, or by text")
        query = query.where(ENTRY.c[name] == value)
    if text:
        query = query.where(ENTRY.c.body.contains(text, autoescape=True))
    if before is not None:
        query = query.where(ENTRY.c.seq < before)
    return [{"seq": row.seq, "entry": decode(row.body)} for row in c.execute(query)]


def entry(c: Connection, seq: int) -> Row[Any] | None:
    """One entry."""
    return c.execute(select(ENTRY).where(ENTRY.c.seq == seq)).one_or_none()


def bodies(c: Connection, upto: int, step: int = 1000) -> Iterator[str]:
    """The first `upto` entries in order as they are stored, read in pieces."""
    for start in range(0, upto, step):
        query = select(ENTRY.c.body).where(ENTRY.c.seq >= start, ENTRY.c.seq < upto)
        yield from c.execute(query.order_by(ENTRY.c.seq).limit(step)).scalars()
