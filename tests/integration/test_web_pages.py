"""The other pages, in a real browser on a real stack: joining, targets, rules, the log."""

import asyncio
import json
from pathlib import Path

import httpx
import pytest
import pytest_asyncio
from browser_fixture import Visitor
from playwright.async_api import Browser
from stack_fixture import Agent, Living
from styx_cli.deciding import decide
from told_fixture import channel, receiving
from web_fixture import (
    WEB,
    a_browser,
    a_stack,
    a_task,
    an_owner,
    until_async,
    waiting,
)

pytestmark = WEB
NEVER = '[[rule]]\nid = "never"\neffect = "deny"\n'

here = pytest_asyncio.fixture(a_stack, scope="module", loop_scope="module")
browser = pytest_asyncio.fixture(a_browser, scope="module", loop_scope="module")
owner = pytest_asyncio.fixture(an_owner, scope="module", loop_scope="module")
agent = pytest_asyncio.fixture(a_task, loop_scope="module")


async def same_rules(here: Living, toml: str) -> bool:
    """Whether these are the rules in force."""
    return bool((await here.ask("GET", "/v1/projects/shop/policy"))["toml"] == toml)


async def holds(visitor: Visitor, field: str, value: str) -> bool:
    """Whether a field of the page has this value."""
    return await visitor.page.input_value(field) == value


async def test_the_log_is_searched_and_an_entry_shown_with_its_proof(
    here: Living, owner: Visitor, agent: Agent
) -> None:
    call = await waiting(here, agent, "elsewhere.txt")
    (request,) = await here.grants("pending")
    await asyncio.to_thread(decide, here.place.approver, request, "deny")
    assert (await call).code == 77
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
    await owner.show(f"/targets/connect?target={made['id']}", "text=Reconnect by-form")
    assert await owner.page.input_value("[name=host]") == web["config"]["host"]
    assert await owner.faults() == []
    await owner.photograph("reconnect")
    await owner.page.click("text=Try it, and reconnect with passkey")
    await owner.page.wait_for_selector("article >> text=by-form")
    again = {t["name"]: t for t in await here.ask("GET", "/v1/targets")}["by-form"]
    assert (again["id"], again["config"]) == (made["id"], made["config"])
    await owner.show("/targets/connect?provider=aws&method=key", "text=In a terminal")
    assert await owner.page.locator("form[data-connect]").count() == 0


async def test_a_target_s_login_is_tried_and_rules_are_put_with_the_passkey(
    here: Living, owner: Visitor
) -> None:
    await owner.show("/targets", "form[data-check]")
    await owner.page.click("form[data-check] button >> nth=0")
    await owner.page.wait_for_selector("text=works: ")
    await owner.page.click("details[data-rules] summary >> nth=0")
    await owner.page.wait_for_selector("details[data-rules] td >> text=delete")
    assert await owner.faults() == []
    await owner.photograph("targets-rules")
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
    await owner.page.fill("textarea", NEVER)
    await owner.page.click("text=Try over the last 30 days")
    await owner.page.wait_for_selector(".replayed p")
    assert '+ effect = "deny"' in await owner.page.inner_text(".diff")
    await owner.page.click("text=Suggest rules")
    await owner.page.wait_for_selector(".suggested p")
    file = {"name": "mine.toml", "mimeType": "text/plain", "buffer": NEVER.encode()}
    await owner.page.set_input_files("[name=file]", [file])  # type: ignore[list-item]
    await until_async(lambda: holds(owner, "textarea", NEVER))
    async with owner.page.expect_download() as download:
        await owner.page.click("text=Export")
    assert Path(await (await download.value).path()).read_text() == put
    await owner.page.click("text=What would be said to a call?")
    await owner.page.fill("[name=target]", "staging")
    await owner.page.fill("[name=command]", "aws s3 ls")
    await owner.page.click("text=Ask the rules")
    await owner.page.wait_for_selector("text=deny (never)")
    assert await owner.faults() == []
    await owner.photograph("policies-tried")
    assert await same_rules(here, put)
    owner.wrong.clear()  # the console tells of the refusal


async def test_an_api_key_is_made_shown_once_and_revoked(here: Living, owner: Visitor) -> None:
    await owner.show("/settings", "form[data-new-key]")
    await owner.page.fill("form[data-new-key] [name=name]", "nightly")
    await owner.page.check("form[data-new-key] [value=agent]")
    await owner.page.click("text=Make a key")
    await owner.page.wait_for_selector("form[data-new-key] ~ .made:visible")
    key = await owner.page.input_value("form[data-new-key] ~ .made input")
    async with httpx.AsyncClient(base_url=here.stack.url, timeout=30) as program:
        program.headers["Authorization"] = f"Bearer {key}"
        assert (await program.get("/v1/targets")).status_code == 200
        await owner.show("/settings", "form[data-revoke-key]")
        assert key not in await owner.page.content()
        assert await owner.faults() == []
        await owner.photograph("settings-keys")
        await owner.page.click("form[data-revoke-key] button")
        await owner.page.wait_for_selector("form[data-revoke-key]", state="detached")
        assert (await program.get("/v1/targets")).status_code == 401


async def test_a_channel_is_tried_and_removed(here: Living, owner: Visitor) -> None:
    with receiving() as chat:
        await channel(here, {"url": chat.url.replace("http", "json")})
        await owner.show("/settings", "form[data-channel]")
        await owner.page.click("text=Try it")
        await owner.page.wait_for_selector("text=It was told.")
        assert len(chat.got) == 1
        assert await owner.faults() == []
        await owner.photograph("settings-channels")
        await owner.page.click("form[data-channel] >> text=Remove")
        await owner.page.wait_for_selector("form[data-channel]", state="detached")


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
