"""What agents say to people and to each other: asked once, answered once, within one project."""

from typing import Any

import pytest
from broker_fixture import MODULE, OWNER, World
from styx_broker import handlers_board as h
from styx_core.contract import broker_board as b
from styx_core.contract.grants_people import EVERYWHERE
from styx_core.errors import Invalid, UnknownQuestion, UnknownTask
from styx_core.ids import new_id

pytestmark = MODULE


async def ask(world: World, text: str = "Go on?", **more: Any) -> b.Answered:
    """A question of the running task."""
    said = {"task_id": world.task, "kind": "question", "text": text, **more}
    return await h.ask_user(b.AskUser(**said), world.deps)


async def answer(world: World, question_id: str, **body: Any) -> Any:
    return await world.owner.post(f"/v1/questions/{question_id}/answer", json=body)


async def waiting(world: World) -> list[str]:
    return [each["id"] for each in (await world.owner.get("/v1/questions")).json()]


async def test_the_same_question_is_asked_once_and_its_answer_told_once(world: World) -> None:
    first, again = await ask(world), await ask(world)
    assert (first.question_id, first.answer) == (again.question_id, None)
    assert await waiting(world) == [first.question_id]
    assert "Go on?" in (await world.owner.get("/board")).text
    assert (await answer(world, first.question_id, answer="yes", note="do")).status_code == 200
    assert await waiting(world) == []
    told = await ask(world)
    assert (told.question_id, told.answer, told.note) == (first.question_id, "yes", "do")
    assert (await ask(world)).question_id != first.question_id, "told: this is asked anew"
    (asked, _) = await world.told(b.QuestionAsked, 2)
    (answered,) = await world.told(b.QuestionAnswered)
    assert (asked.question_id, answered.actor, answered.answer) == (first.question_id, OWNER, "yes")


@pytest.mark.parametrize(
    ("kind", "options", "good", "bad"),
    [
        ("plan", (), "edit", "maybe"),
        ("decision", ("red", "blue"), "blue", "green"),
        ("question", (), "in words", ""),
    ],
)
async def test_an_answer_fits_its_question_and_the_first_one_is_it(
    world: World, kind: str, options: tuple[str, ...], good: str, bad: str
) -> None:
    asked = await ask(world, f"A {kind}", kind=kind, options=options)
    assert (await answer(world, asked.question_id, answer=bad)).status_code == 422
    assert (await answer(world, asked.question_id, answer=good)).status_code == 200
    late = await answer(world, asked.question_id, answer=good)
    assert (late.status_code, late.json()["detail"].split()[0]) == (409, OWNER)


@pytest.mark.parametrize(("kind", "options"), [("decision", ()), ("plan", ("red",))])
async def test_only_a_decision_has_options(
    world: World, kind: str, options: tuple[str, ...]
) -> None:
    with pytest.raises(Invalid, match="options"):
        await ask(world, kind=kind, options=options)


async def test_an_auditor_and_a_stranger_answer_nothing(world: World) -> None:
    asked = await ask(world, "For whom?")
    world.grants.rows.roles[OWNER] = {EVERYWHERE: "auditor"}
    assert (await answer(world, asked.question_id, answer="me")).status_code == 403
    world.grants.rows.roles[OWNER] = {new_id("prj"): "owner"}
    assert (await answer(world, asked.question_id, answer="me")).status_code == 404
    assert await waiting(world) == []
    world.grants.rows.roles[OWNER] = {EVERYWHERE: "owner"}
    check = b.CheckQuestion(task_id=new_id("tsk"), question_id=asked.question_id)
    with pytest.raises(UnknownQuestion):
        await h.check_question(check, world.deps)


async def test_a_status_is_on_the_board_and_told_once(world: World) -> None:
    for status in ("<b>Migrating</b>", "<b>Migrating</b>", "done"):
        await h.report_status(b.ReportStatus(task_id=world.task, status=status), world.deps)
    assert [each.status for each in await world.told(b.StatusReported, 2)] == [
        "<b>Migrating</b>",
        "done",
    ]
    assert "done" in (await world.owner.get("/board")).text


async def test_a_task_s_timeline_is_for_those_of_its_project(world: World) -> None:
    path = f"/tasks/{world.task}"
    assert f'data-task="{world.task}"' in (await world.owner.get(path)).text
    assert path in (await world.owner.get("/board")).text
    world.grants.rows.roles[OWNER] = {new_id("prj"): "owner"}
    assert (await world.owner.get(path)).status_code == 404
    world.grants.rows.roles[OWNER] = {EVERYWHERE: "owner"}
    assert (await world.owner.get(f"/tasks/{new_id('tsk')}")).status_code == 404


async def test_the_board_has_tasks_by_state(world: World) -> None:
    other = (await world.start(name="at ease"))["id"]
    one = (await world.start(name="in doubt"))["id"]
    asked = await ask(world, "Which one?", task_id=one)
    page = (await world.owner.get("/board")).text
    waits, works = page.index("Waiting for a person"), page.index("<h2>At work")
    assert waits < page.index(f'id="t-{one}"') < works < page.index(f'id="t-{other}"')
    await answer(world, asked.question_id, answer="this")
    await world.owner.post(f"/v1/tasks/{other}/end")
    page = (await world.owner.get("/board")).text
    assert page.index("<h2>At work") < page.index(f'id="t-{one}"')
    assert page.index("Ended in the last day") < page.index("at ease")


async def test_peers_see_and_write_to_each_other_and_to_nobody_else(world: World) -> None:
    peer = (await world.start(name="the other"))["id"]
    await world.owner.post("/v1/projects", json={"name": "elsewhere"})
    foreign = (await world.start(project="elsewhere"))["id"]
    seen = await h.list_sessions(b.ListSessions(task_id=world.task), world.deps)
    ids = [each.task_id for each in seen.sessions]
    assert {world.task, peer} <= set(ids)
    assert foreign not in ids
    letter = b.SendMessage(task_id=world.task, to=peer, text="mind <i>the</i> lock")
    await h.send_message(letter, world.deps)
    (item,) = (await h.read_inbox(b.ReadInbox(task_id=peer), world.deps)).items
    assert (item.sender, item.text) == (world.task, "mind <i>the</i> lock")
    later = b.ReadInbox(task_id=peer, after=item.id)
    assert (await h.read_inbox(later, world.deps)).items == ()
    page = (await world.owner.get("/board")).text
    assert "mind &lt;i&gt;the" in page
    for to, error in ((world.task, Invalid), (foreign, UnknownTask), (new_id("tsk"), UnknownTask)):
        with pytest.raises(error):
            await h.send_message(letter.model_copy(update={"to": to}), world.deps)
