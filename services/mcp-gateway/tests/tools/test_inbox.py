"""`inbox`: what a task was told, from a cursor on, and a wait for more."""

import asyncio
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import pytest
from styx_core.contract.base import Event
from styx_core.contract.broker_board import (
    Inbox,
    InboxItem,
    MessageSent,
    ReadInbox,
    TaskTold,
)
from styx_core.errors import Unavailable
from styx_core.ids import new_id


@dataclass
class Mail:
    """What `broker` would answer, and from where it was asked."""

    at: datetime
    items: list[InboxItem] = field(default_factory=list)
    asked: list[str | None] = field(default_factory=list)
    away: bool = False

    def add(self, kind: Any, **more: Any) -> InboxItem:
        about = {"id": new_id("msg"), "at": self.at, "about": new_id("grt"), "text": "so"}
        self.items.append(InboxItem(kind=kind, **about | more))
        return self.items[-1]

    async def read(self, command: ReadInbox) -> Inbox:
        self.asked.append(command.after)
        if self.away:
            raise Unavailable("the broker is away")
        newest = self.items[-1].id if self.items else None
        if command.after == "now":
            return Inbox(items=(), cursor=newest)
        ids = [item.id for item in self.items]
        after = ids.index(command.after) + 1 if command.after else 0
        return Inbox(items=tuple(self.items[after:]), cursor=newest)


@pytest.fixture
async def mail(desk: Any, until_ms: tuple[datetime, int]) -> Mail:
    made = Mail(until_ms[0])
    await desk.grants.bus.as_service("broker").serve("broker", {ReadInbox: made.read})
    return made


async def say(desk: Any, event: Event) -> None:
    body = event.model_dump_json().encode()
    await desk.grants.bus.as_service("broker").publish(event.subject, event.id, body)


async def test_messages_and_notices_as_an_agent_sees_them(
    desk: Any, mail: Mail, until_ms: tuple[datetime, int]
) -> None:
    empty = (await desk("inbox", {})).fields
    assert empty == {"messages": [], "cursor": ""}
    peer = new_id("tsk")
    letter = mail.add("message", about=peer, sender=peer, agent="codex")
    notice = mail.add("ended")
    found = (await desk("inbox", {})).fields
    known = {"at": until_ms[1], "text": "so"}
    assert found["messages"] == [
        {
            "id": letter.id,
            "kind": "message",
            "about": peer,
            "from": peer,
            "agent": "codex",
            **known,
        },
        {"id": notice.id, "kind": "ended", "about": notice.about, **known},
    ]
    assert found["cursor"] == notice.id
    later = (await desk("inbox", {"after": letter.id})).fields
    assert [each["id"] for each in later["messages"]] == [notice.id]
    assert (await desk("inbox", {"after": "now"})).fields == {
        "messages": [],
        "cursor": notice.id,
    }


@pytest.mark.parametrize("kind", ["message", "decision"])
async def test_a_wait_ends_with_the_next_word(
    desk: Any, mail: Mail, task: Any, kind: str, until_ms: tuple[datetime, int]
) -> None:
    first = mail.add("answer")
    held = asyncio.create_task(desk("inbox", {"after": "now", "wait_s": 200}))
    async with asyncio.timeout(10):
        while not desk.said:
            await asyncio.sleep(0.002)
    item = mail.add(kind, **({"sender": new_id("tsk")} if kind == "message" else {}))
    about: dict[str, Any] = {"id": new_id("evt"), "at": until_ms[0], "message_id": item.id}
    if kind == "message":
        event: Event = MessageSent(**about, actor="x", task_id="x", to=task.task_id, text="so")
    else:
        event = TaskTold(**about, actor="broker", task_id=task.task_id, kind="decision")
    await say(desk, event)
    async with asyncio.timeout(10):  # sooner than a waiter asks again by itself
        found = (await held).fields
    assert [each["id"] for each in found["messages"]] == [item.id]
    assert mail.asked[-1] == first.id, "it waits from where `now` was"


async def test_a_broker_that_is_away_meanwhile_ends_no_wait(desk: Any, mail: Mail) -> None:
    first = mail.add("answer")
    held = asyncio.create_task(desk("inbox", {"after": first.id, "wait_s": 200}))
    async with asyncio.timeout(10):
        while not desk.said:
            await asyncio.sleep(0.002)
    mail.away = True
    desk.deps.waiting.drain()
    found = (await held).fields
    assert found == {"messages": [], "cursor": first.id}
    mail.away = True
    assert "away" in (await desk("inbox", {"after": first.id, "wait_s": 200})).refused


@pytest.mark.parametrize(
    "given", [{"after": "then"}, {"after": None}, {"wait_s": 241}, {"wait_s": "1"}, {"waitS": 1}]
)
async def test_wrong_arguments_are_named(desk: Any, mail: Mail, given: dict[str, Any]) -> None:
    assert next(iter(given)) in (await desk("inbox", given)).refused
    assert mail.asked == []
