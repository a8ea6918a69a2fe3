"""People decide in a real browser, on a real stack: joining, passkeys, approving and denying."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
import pytest_asyncio
from browser_fixture import MISSING, Visitor, chromium
from playwright.async_api import Browser
from stack_fixture import Agent, Living, an_agent, living
from styx_cli.commands.passkey import own_link
from styx_cli.commands.policy import put
from styx_cli.deciding import decide

pytestmark = [
    pytest.mark.integration,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(bool(MISSING), reason=MISSING),
]

REMOVE = ("aws", "s3", "rm")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def here(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Living]:
    async with living(tmp_path_factory.mktemp("stack") / "data") as stack:
        yield stack


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with chromium() as one:
        yield one


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def owner(here: Living, browser: Browser) -> AsyncIterator[Visitor]:
    visitor = await Visitor.opened(browser, here.stack.url)
    await visitor.join(await asyncio.to_thread(own_link, here.place.approver), "owner")
    yield visitor
    assert visitor.wrong == []


@pytest_asyncio.fixture(loop_scope="module")
async def agent(here: Living) -> AsyncIterator[Agent]:
    async with an_agent(here.data) as one:
        yield one


async def waiting(here: Living, agent: Agent, name: str) -> "asyncio.Future[Any]":
    """A prod delete that waits for a person."""
    call = asyncio.ensure_future(agent.run(*REMOVE, f"s3://releases/{name}", target="prod"))
    await until_async(lambda: pending(here, name))
    return call


async def pending(here: Living, name: str) -> bool:
    """Whether such a request waits."""
    return any(name in " ".join(each["command"]) for each in await here.grants("pending"))


async def until_async(holds: Callable[[], Awaitable[bool]]) -> None:
    """Wait for something that has to be asked for."""
    async with asyncio.timeout(20):
        while not await holds():
            await asyncio.sleep(0.05)


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
    assert await owner.faults() == []
    await owner.photograph("approvals")
    await owner.page.click("text=Approve with passkey")
    done = await call
    assert done.code == 0, done
    await owner.page.wait_for_selector("text=by owner")
    await owner.photograph("decided")
    assert {"credential_id", "client_data", "authenticator_data"} <= set(await evidence(here))


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


async def test_the_log_is_searched_and_an_entry_shown_with_its_proof(owner: Visitor) -> None:
    await owner.show("/audit-log", "#entries tr")
    await owner.page.fill("[name=text]", "elsewhere.txt")
    await owner.page.click("text=Search")
    await owner.page.wait_for_selector("#entries tr >> text=grant_decided")
    await owner.page.click("#entries button >> nth=0")
    await owner.page.wait_for_selector("#entry:visible")
    whole = json.loads(await owner.page.inner_text("#entry code"))
    assert {"entry", "proof", "checkpoint"} <= set(whole)
    assert await owner.faults() == []
    await owner.photograph("audit")


@pytest.mark.parametrize("name", ["board", "targets", "policies", "settings", "audit-log"])
async def test_every_page_can_be_read_by_everybody(owner: Visitor, name: str) -> None:
    await owner.show(f"/{name}", "h1")
    assert await owner.faults() == []
    await owner.photograph(name)
    await owner.page.set_viewport_size({"width": 380, "height": 760})
    wide = await owner.page.evaluate("document.documentElement.scrollWidth")
    assert wide <= 380, "nothing to scroll sideways on a phone"
    await owner.photograph(f"{name}-phone")
    await owner.page.set_viewport_size({"width": 1100, "height": 800})


async def test_a_target_is_connected_by_its_provider_s_form(here: Living, owner: Visitor) -> None:
    if here.place.host is None:
        pytest.skip(here.place.no_host)
    (web,) = [t for t in await here.ask("GET", "/v1/targets") if t["provider"] == "ssh"]
    await owner.show("/targets", "text=Connect a target")
    await owner.page.click("text=Connect a target")
    await owner.page.click('a[href*="provider=ssh&method=ca"]')
    await owner.page.fill("[name=name]", "by-form")
    for field in ("host", "port", "user"):
        await owner.page.fill(f"[name={field}]", web["config"][field])
    assert await owner.faults() == []
    await owner.photograph("connect")
    await owner.page.click("text=Try it, and connect with passkey")
    await owner.page.wait_for_selector(".wrong:visible")
    owner.wrong.clear()  # the console tells of the refusal
    assert "by-form" not in {t["name"] for t in await here.ask("GET", "/v1/targets")}
    target_id = await owner.page.get_attribute("form[data-connect]", "data-id")
    with (here.place.host.folder / "principals").open("a") as admitted:
        admitted.write(f"{target_id}\n")
    await owner.page.click("text=Try it, and connect with passkey")
    await owner.page.wait_for_selector("article >> text=by-form")
    made = {t["name"]: t for t in await here.ask("GET", "/v1/targets")}["by-form"]
    assert (made["provider"], made["env"]) == ("ssh", "staging")
    assert made["config"]["host"] == web["config"]["host"]
    await owner.show("/targets/connect?provider=aws&method=key", "text=In a terminal")
    assert await owner.page.locator("form[data-connect]").count() == 0


async def test_a_target_s_login_is_tried_and_rules_are_put_with_the_passkey(
    here: Living, owner: Visitor
) -> None:
    await owner.show("/targets", "form[data-check]")
    await owner.page.click("form[data-check] button >> nth=0")
    await owner.page.wait_for_selector("text=works: ")
    await owner.show("/policies", "form[data-policy]")
    before = (await here.ask("GET", "/v1/projects/shop/policy"))["toml"]
    await owner.page.click("text=As TOML")
    await owner.page.fill("textarea", before + "# reviewed\n")
    await owner.page.click("text=Put with passkey")
    put = f"{before}# reviewed\n"
    await until_async(lambda: same_rules(here, put))
    await owner.page.click("text=As TOML")
    await owner.page.fill("textarea", "[[rule]]\n")
    await owner.page.click("text=Put with passkey")
    await owner.page.wait_for_selector(".wrong:visible >> text=id is missing")
    await owner.page.fill("textarea", '[[rule]]\nid = "never"\neffect = "deny"\n')
    await owner.page.click("text=Try over the last 30 days")
    await owner.page.wait_for_selector("text=denied")
    await owner.page.click("text=What would be said to a call?")
    await owner.page.fill("[name=target]", "staging")
    await owner.page.fill("[name=command]", "aws s3 ls")
    await owner.page.click("text=Ask the rules")
    await owner.page.wait_for_selector("text=deny (never)")
    assert await owner.faults() == []
    await owner.photograph("policies-tried")
    assert await same_rules(here, put)
    owner.wrong.clear()  # the console tells of the refusal


async def same_rules(here: Living, toml: str) -> bool:
    """Whether these are the rules in force."""
    return bool((await here.ask("GET", "/v1/projects/shop/policy"))["toml"] == toml)


async def test_somebody_is_invited_and_may_do_what_their_role_says(
    here: Living, browser: Browser, owner: Visitor, agent: Agent
) -> None:
    await owner.show("/settings", "form[data-invite]")
    await owner.page.select_option("form[data-invite] [name=role]", "member")
    await owner.page.click("form[data-invite] button")
    await owner.page.wait_for_selector("form[data-invite] ~ .made:visible")
    link = await owner.page.input_value("form[data-invite] ~ .made input")
    guest = await Visitor.opened(browser, here.stack.url)
    await guest.join(link, "ada")
    call = await waiting(here, agent, "members.txt")
    await guest.page.wait_for_selector("article.delete")
    await guest.page.click("text=Approve with passkey")
    await guest.page.wait_for_selector(".wrong:visible >> text=ada is not an approver here")
    await owner.show("/settings", "form[data-role]")
    await owner.page.select_option("form[data-role] select", "approver")
    await owner.page.click("form[data-role] button")
    await owner.page.wait_for_selector("text=Changed.")
    await guest.page.click("text=Approve with passkey")
    assert (await call).code == 0
    again = await Visitor.opened(browser, here.stack.url)
    await again.page.goto(link)
    await again.page.fill("[name=person]", "eve")
    await again.page.click("text=Make a passkey")
    await again.page.wait_for_selector(".wrong:visible >> text=used already")
    await guest.page.click("text=Sign out")
    await guest.page.wait_for_url("**/signin")
    await guest.show("/", "h1")
    assert guest.page.url.endswith("/signin?next=%2F")
    await guest.page.click("text=Sign in with a passkey")
    await guest.page.wait_for_url(guest.url + "/")


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
