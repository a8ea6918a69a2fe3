"""OAuth on a real stack: the SDK's client, a person's browser, the conformance suite, attacks."""

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest
import pytest_asyncio
from browser_fixture import Visitor
from node_programs import CONFORMANCE, MODULES, NODE, missing
from oauth_fixture import Keeping, Listening, call, listening, provider
from stack_fixture import Living, until
from web_fixture import WEB, a_browser, a_stack, an_owner

pytestmark = WEB
HOSTILE = "Helper<script>window.pwned=1</script><img src=x onerror=window.pwned=1>\u202eedualC"

here = pytest_asyncio.fixture(a_stack, scope="module", loop_scope="module")
browser = pytest_asyncio.fixture(a_browser, scope="module", loop_scope="module")
owner = pytest_asyncio.fixture(an_owner, scope="module", loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def back() -> AsyncIterator[Listening]:
    async with listening() as one:
        yield one


async def raw(here: Living, method: str, path: str, **how: Any) -> httpx.Response:
    """One HTTP request as any program makes it."""
    async with httpx.AsyncClient(base_url=here.stack.url, timeout=30) as http:
        return await http.request(method, path, **how)


async def registered(here: Living, back: Listening, **said: Any) -> str:
    """A new client's id."""
    metadata = {"client_name": "Some client", "redirect_uris": [back.url]} | said
    reply = await raw(here, "POST", "/oauth/register", json=metadata)
    assert reply.status_code == 201, reply.text
    return str(reply.json()["client_id"])


def authorize(here: Living, back: Listening, client_id: str, **change: str) -> str:
    """Where a client sends its person."""
    said = {"response_type": "code", "client_id": client_id, "redirect_uri": back.url}
    said |= {"code_challenge": "c" * 43, "code_challenge_method": "S256", "state": "s"}
    said |= {"resource": f"{here.stack.url}/mcp", **change}
    return f"{here.stack.url}/oauth/authorize?{urlencode(said)}"


async def signs_in_and_approves(owner: Visitor, back: Listening, url: str) -> None:
    """What a signed-out person does whom a client sent, from there on by keyboard."""
    page = owner.page
    await page.goto(url)
    await page.wait_for_selector("form[data-signin]")
    await page.click("text=Sign in with a passkey")
    await page.wait_for_selector("form[data-consent]")
    shown = await page.inner_text("main")
    assert "The SDK's client" in shown
    assert "a program on this computer" in shown
    assert await owner.faults() == []
    await owner.photograph("consent")
    await page.set_viewport_size({"width": 380, "height": 760})
    assert await page.evaluate("document.documentElement.scrollWidth") <= 380
    await owner.photograph("consent-phone")
    await page.set_viewport_size({"width": 1100, "height": 800})
    await page.focus("form[data-consent] select")
    await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")
    await page.wait_for_url(f"{back.url}?**")


async def test_the_sdk_s_client_from_registration_to_revocation(
    here: Living, owner: Visitor, back: Listening
) -> None:
    kept, sent = Keeping(), []

    async def opened(url: str) -> None:
        sent.append(url)
        await signs_in_and_approves(owner, back, url)

    await owner.page.click("text=Sign out")
    await owner.page.wait_for_url("**/signin")
    url = f"{here.stack.url}/mcp"
    auth = provider(url, back, kept, opened)
    assert {t["name"] for t in (await call(url, auth, "list_targets"))["targets"]} >= {"staging"}
    first = kept.tokens
    auth.context.token_expiry_time = 1.0
    await call(url, auth, "list_targets")
    second = kept.tokens
    assert first is not None
    assert second is not None
    assert first.access_token != second.access_token
    assert len(sent) == 1, "it was refreshed"
    (task,) = [t for t in await here.ask("GET", "/v1/tasks") if t["agent"] == "The-SDK-s-client"]
    assert task["person"] == "owner"
    wanted = {"target": "prod", "scopes": ["delete"], "reason": "try", "wait_s": 0}
    assert (await call(url, auth, "request_access", **wanted))["status"] == "pending"
    assert (await here.pending())["agent"] == "The-SDK-s-client"
    await owner.show("/settings", "form[data-disconnect]")
    assert await owner.faults() == []
    await owner.photograph("settings-clients")
    await owner.page.click("form[data-disconnect] button")
    await owner.page.wait_for_selector("form[data-disconnect]", state="detached")
    await it_is_over(here, kept)


async def it_is_over(here: Living, kept: Keeping) -> None:
    """Neither token of a revoked client opens anything, and its request is gone."""
    assert kept.tokens is not None
    assert kept.client is not None
    token = kept.tokens.access_token
    refused = await raw(here, "POST", "/mcp", headers=bearing(token), json={})
    assert refused.status_code == 401
    assert 'error="invalid_token"' in refused.headers["www-authenticate"]
    form = {"grant_type": "refresh_token", "client_id": kept.client.client_id}
    form["refresh_token"] = kept.tokens.refresh_token
    assert (await raw(here, "POST", "/oauth/token", data=form)).json()["error"] == "invalid_grant"
    assert await here.grants("pending") == [], "what it had asked for went with it"
    told = await until(lambda: entries(here, "client_access_ended"))
    assert token not in str(told)


def bearing(token: str) -> dict[str, str]:
    """The header that shows a token."""
    return {"Authorization": f"Bearer {token}"}


async def entries(here: Living, kind: str) -> Any:
    """What the audit log holds of one kind."""
    found = await here.ask("GET", "/audit/entries", limit=200)
    return [each for each in found["entries"] if kind in str(each)]


async def test_where_a_client_begins(here: Living) -> None:
    reply = await raw(here, "POST", "/mcp", json={})
    assert reply.status_code == 401
    challenge = reply.headers["www-authenticate"]
    assert "error=" not in challenge
    assert 'scope="agent"' in challenge
    (where,) = re.findall('resource_metadata="([^"]+)"', challenge)
    assert where.startswith(here.stack.url + "/")
    resource = (await raw(here, "GET", where)).json()
    assert resource["resource"] == f"{here.stack.url}/mcp"
    (issuer,) = resource["authorization_servers"]
    server = (await raw(here, "GET", f"{issuer}/.well-known/oauth-authorization-server")).json()
    assert server["issuer"] == issuer == here.stack.url


async def test_a_client_s_words_run_nothing_and_hide_nothing(
    here: Living, owner: Visitor, back: Listening
) -> None:
    client_id = await registered(here, back, client_name=HOSTILE)
    await owner.page.goto(authorize(here, back, client_id))
    shown = await owner.page.inner_text("form[data-consent] >> xpath=ancestor::main")
    assert "<script>window.pwned=1</script>" in shown
    assert "⟨U+202E⟩" in shown
    assert await owner.page.evaluate("window.pwned") is None
    await owner.photograph("consent-hostile")
    await owner.page.click("text=Deny")
    await owner.page.wait_for_url(f"{back.url}?**")
    said = await back.came.get()
    assert (said["error"], said["state"], said["iss"]) == ("access_denied", "s", here.stack.url)


async def test_a_wrong_request_stays_here_until_the_person_goes_back(
    here: Living, owner: Visitor, back: Listening
) -> None:
    client_id = await registered(here, back)
    await owner.page.goto(authorize(here, back, client_id, code_challenge_method="plain"))
    await owner.page.wait_for_selector(".wrong >> text=PKCE with S256 is needed")
    assert await owner.faults() == []
    await owner.photograph("consent-refused")
    assert back.came.empty()
    await owner.page.click("text=Go back and tell it so")
    await owner.page.wait_for_url(f"{back.url}?**")
    assert (await back.came.get())["error"] == "invalid_request"
    await owner.page.goto(authorize(here, back, client_id, redirect_uri="https://evil.example/"))
    await owner.page.wait_for_selector("text=did not register this address")
    assert "evil.example" not in await owner.page.content()
    owner.wrong.clear()  # the console tells of the refusals


async def test_nobody_frames_the_consent(here: Living, owner: Visitor, back: Listening) -> None:
    client_id = await registered(here, back)
    back.frame = authorize(here, back, client_id).replace("127.0.0.1", "localhost", 1)
    await owner.page.goto(back.url.replace("/callback", "/frame"))
    await until(lambda: any("frame-ancestors" in text for text in owner.wrong))
    (frame,) = [f for f in owner.page.frames if f != owner.page.main_frame]
    assert await frame.locator("form[data-consent]").count() == 0
    owner.wrong.clear()


async def test_a_click_forged_by_another_site_is_refused(
    here: Living, owner: Visitor, back: Listening
) -> None:
    client_id = await registered(here, back)
    url = authorize(here, back, client_id).replace("127.0.0.1", "localhost", 1)
    await owner.page.goto(back.url.replace("/callback", "/elsewhere"))
    project = here.place.project["id"]
    forged = """async ([url, project]) => {
      const body = JSON.stringify({approve: true, project});
      const how = {method: "POST", credentials: "include", mode: "no-cors", body};
      await fetch(url, how).catch(() => null);
    }"""
    await owner.page.evaluate(forged, [url, project])
    assert await here.ask("GET", "/v1/clients") == []
    assert back.came.empty()
    owner.wrong.clear()


@pytest.mark.skipif(bool(missing(CONFORMANCE)), reason=missing(CONFORMANCE))
async def test_the_conformance_suite_s_authorization_scenarios(
    here: Living, owner: Visitor, back: Listening
) -> None:
    client_id = await registered(here, back)
    async with listening() as free:
        port = free.port  # free again when this ends
    words = ["authorization", "--url", here.stack.url, "--client-id", client_id]
    words += ["--resource", f"{here.stack.url}/mcp", "--port", str(port)]
    ran = await asyncio.create_subprocess_exec(
        *(NODE, str(MODULES / CONFORMANCE), *words),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said = ""
    try:
        async with asyncio.timeout(60):
            assert ran.stdout is not None
            async for line in ran.stdout:
                said += line.decode()
                if f"{here.stack.url}/oauth/authorize?" in line.decode():
                    await owner.page.goto(line.decode().strip())
                    await owner.page.click("button[value=approve]")
                    await owner.page.wait_for_url("**/callback?**", wait_until="commit")
            await ran.wait()
    finally:
        with contextlib.suppress(ProcessLookupError):
            ran.kill()
    await owner.show("/board")
    owner.wrong.clear()  # the suite's server is gone before its page is whole
    assert ran.returncode == 0, said
    assert "Total: 2 passed, 0 failed" in said, said
