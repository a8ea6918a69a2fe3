"""People decide in a real browser, on a real stack: passkeys, denying, offering, two of them."""

import asyncio
import json
from datetime import datetime, timedelta

import pytest_asyncio
from browser_fixture import Visitor
from playwright.async_api import Browser
from stack_fixture import Agent, Living, an_agent, mcp_call
from styx_cli.commands.policy import put
from styx_cli.deciding import decide
from web_fixture import (
    REMOVE,
    WEB,
    a_browser,
    a_stack,
    a_task,
    an_owner,
    until_async,
    waiting,
)

pytestmark = WEB
MARKUP = "<img src=x onerror=alert(1)>"

here = pytest_asyncio.fixture(a_stack, scope="module", loop_scope="module")
browser = pytest_asyncio.fixture(a_browser, scope="module", loop_scope="module")
owner = pytest_asyncio.fixture(an_owner, scope="module", loop_scope="module")
agent = pytest_asyncio.fixture(a_task, loop_scope="module")


async def evidence(here: Living) -> dict[str, str]:
    """What the log holds of the newest decision's signature."""
    signed: list[str] = []

    async def recorded() -> bool:
        found = await here.ask("GET", "/audit/entries", text="credential_id")
        signed[:] = [e["entry"]["signature"] for e in found["entries"] if "verdict" in e["entry"]]
        return bool(signed)

    await until_async(recorded)
    kept: dict[str, str] = json.loads(signed[0])
    return kept


async def test_a_prod_delete_is_approved_with_the_passkey(
    here: Living, owner: Visitor, agent: Agent
) -> None:
    await owner.show("/")
    assert "Nothing waits" in await owner.page.inner_text("main")
    call = await waiting(here, agent, "notes.txt")
    card = await owner.page.wait_for_selector("article.delete")
    assert card is not None
    text = await card.inner_text()
    assert "aws s3 rm s3://releases/notes.txt" in text
    assert "agent of owner" in text
    assert "A revoke" in text
    assert await owner.faults() == []
    await owner.photograph("approvals")
    await owner.page.click("text=Approve with passkey")
    done = await call
    assert done.code == 0, done
    await owner.page.wait_for_selector("text=by owner")
    await owner.photograph("decided")
    assert {"credential_id", "client_data", "authenticator_data"} <= set(await evidence(here))


async def test_what_waits_alike_is_approved_with_one_touch(
    here: Living, owner: Visitor, agent: Agent
) -> None:
    await owner.show("/")
    async with an_agent(here.data) as other:
        calls = [
            asyncio.ensure_future(a.run(*REMOVE, "s3://releases/alike.txt", target="prod"))
            for a in (agent, other)
        ]
        await owner.page.click("text=Approve these with one passkey")
        codes = [(await call).code for call in calls]
    assert codes == [0, 0]
    await owner.page.wait_for_selector("text=Nothing waits")
    kept = await evidence(here)
    assert len(kept["each"]) == 2
    assert owner.wrong == []


async def test_a_request_is_denied_with_a_word_and_without_a_passkey(
    here: Living, owner: Visitor, agent: Agent
) -> None:
    await owner.show("/")
    call = await waiting(here, agent, "kept.txt")
    await owner.page.click("article.delete summary")
    await owner.page.fill("article.delete [name=reason]", "ask again on Monday")
    await owner.page.click("article.delete >> text=Deny")
    done = await call
    assert done.code == 77
    assert "ask again on Monday" in done.err


async def test_something_else_is_offered_and_the_agent_has_it_by_asking_for_it(
    here: Living, owner: Visitor, agent: Agent
) -> None:
    await owner.show("/")
    call = await waiting(here, agent, "offered.txt")
    await owner.page.click("text=Offer something else instead")
    await owner.page.select_option("[name=instead]", "staging")
    await owner.page.check("[name=offered][value=delete]")
    await owner.photograph("offer")
    await owner.page.click("text=Deny, and offer this")
    done = await call
    assert done.code == 77
    assert "owner offers read, delete on staging for 1h instead" in done.err
    assert (await agent.run(*REMOVE, "s3://releases/offered.txt", target="staging")).code == 0


async def test_what_is_decided_elsewhere_shows_at_once(
    here: Living, owner: Visitor, agent: Agent
) -> None:
    await owner.show("/")
    call = await waiting(here, agent, "elsewhere.txt")
    await owner.page.wait_for_selector("article.delete")
    (request,) = await here.grants("pending")
    await asyncio.to_thread(decide, here.place.approver, request, "deny")
    await owner.page.wait_for_selector(f"#{request['id']} >> text=denied")
    assert await owner.page.locator("form[data-decide]").count() == 0
    assert (await call).code == 77


async def test_a_grant_that_runs_out_is_extended_once(
    here: Living, owner: Visitor, agent: Agent
) -> None:
    call = agent.run(*REMOVE, "s3://releases/extended.txt", target="staging")
    request = await here.pending()
    await asyncio.to_thread(decide, here.place.approver, request, "approve", (), "1h")
    assert (await call).code == 0
    await owner.show("/board", "form[data-extend]")
    await owner.page.click("form[data-extend] button")
    await owner.page.wait_for_selector("text=It lives as long again.")
    await owner.page.wait_for_selector("form[data-extend]", state="detached")
    (now,) = [g for g in await here.grants("active") if g["id"] == request["id"]]
    lives = datetime.fromisoformat(now["expires_at"]) - datetime.fromisoformat(now["decided_at"])
    assert lives == timedelta(hours=2)


async def test_the_board_shows_what_lives_and_revokes_it(
    here: Living, owner: Visitor, agent: Agent
) -> None:
    assert (await agent.run("aws", "s3", "ls", "s3://releases", target="staging")).code == 0
    await owner.show("/board", "form[data-revoke]")
    assert await owner.faults() == []
    await owner.photograph("board")
    live = len(await here.grants("active"))
    await owner.page.click("form[data-revoke] button >> nth=0")
    await owner.page.wait_for_selector("text=Revoked.")
    assert len(await here.grants("active")) == live - 1


async def test_questions_are_answered_on_the_board_and_a_timeline_tells_it_all(
    here: Living, owner: Visitor, agent: Agent
) -> None:
    await mcp_call(agent, "report_status", status=f"{MARKUP} moving")
    async with an_agent(here.data) as peer:
        await mcp_call(peer, "send_message", to=agent.task, text=f"{MARKUP} mind the lock")
    plan = f"1. {MARKUP}\n2. \u202edrop the table"
    held = asyncio.ensure_future(mcp_call(agent, "ask_user", kind="plan", text=plan))
    await owner.show("/board", "form[data-answer]")
    text = await owner.page.inner_text("main")
    assert all(each in text for each in (f"{MARKUP} moving", f"{MARKUP} mind", f"1. {MARKUP}"))
    assert "\n2. ⟨U+202E⟩drop the table" in text
    assert await owner.page.locator("main img").count() == 0
    assert await owner.faults() == []
    assert text.index("Waiting for a person") < text.index(f"{MARKUP} moving")
    await owner.photograph("board-questions")
    await owner.page.fill("form[data-answer] [name=note]", "in two steps")
    await mcp_call(agent, "report_status", status="still waiting")
    await owner.page.wait_for_selector("text=still waiting")
    await owner.page.click("form[data-answer] >> text=edit")
    told = (await held)["resolution"]
    assert (told["answer"], told["note"]) == ("edit", "in two steps")
    await owner.page.click(f'a[href="/tasks/{agent.task}"]')
    for event in ("question answered", "status reported", "task started"):
        await owner.page.wait_for_selector(f"#timeline tr >> text={event}")
    await agent.run("aws", "s3", "ls", "s3://releases", target="staging")
    await owner.page.wait_for_selector("#timeline tr >> text=aws s3 ls s3://releases")
    assert await owner.page.locator("#timeline img").count() == 0
    assert await owner.faults() == []
    await owner.photograph("timeline")


async def test_where_two_must_approve_one_is_not_enough(
    here: Living, browser: Browser, owner: Visitor, agent: Agent
) -> None:
    before = (await here.ask("GET", "/v1/projects/shop/policy"))["toml"]
    rule = '[[rule]]\nid = "two"\neffect = "ask"\nquorum = 2\n[rule.match]\nenv = ["prod"]\n'
    await asyncio.to_thread(put, here.place.approver, here.place.project["id"], before + rule)
    await owner.show("/settings", "form[data-invite]")
    await owner.page.select_option("form[data-invite] [name=role]", "approver")
    await owner.page.click("form[data-invite] button")
    await owner.page.wait_for_selector("form[data-invite] ~ .made:visible")
    link = await owner.page.input_value("form[data-invite] ~ .made input")
    second = await Visitor.opened(browser, here.stack.url)
    await second.join(link, "grace")
    await owner.show("/")
    call = await waiting(here, agent, "two.txt")
    await owner.page.click("text=Approve with passkey")
    await second.page.wait_for_selector("text=1 of 2: owner")
    assert not call.done()
    await owner.photograph("quorum")
    await second.page.click("text=Approve with passkey")
    assert (await call).code == 0
    await asyncio.to_thread(put, here.place.approver, here.place.project["id"], before)
