"""The pages that links lead to: what they say, what they hold back, and what they let run."""

import base64
import hashlib
import re

import pytest
from broker_fixture import MODULE, World
from styx_broker import pages
from styx_core.ids import new_id

pytestmark = MODULE
GRANT = new_id("grt")


@pytest.mark.parametrize("path", ["/admin", f"/grants/{GRANT}"])
async def test_a_page_runs_nothing_and_is_framed_by_nobody(world: World, path: str) -> None:
    reply = await world.client().get(path)
    assert reply.status_code == 200
    assert reply.headers["content-type"].startswith("text/html")
    policy = dict(
        part.strip().partition(" ")[::2]
        for part in reply.headers["content-security-policy"].split(";")
    )
    assert policy["default-src"] == "'none'"
    assert policy["frame-ancestors"] == policy["base-uri"] == policy["form-action"] == "'none'"
    assert "script-src" not in policy
    assert reply.headers["referrer-policy"] == "no-referrer"
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert not re.search(r"<script|<form|<iframe|<img|\bon\w+=|https?://|style=", reply.text)
    (style,) = re.findall(r"<style>(.*?)</style>", reply.text)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policy["style-src"] == f"'sha256-{digest}'"


async def test_the_grants_page_shows_what_to_type_and_nothing_of_the_request(world: World) -> None:
    world.grants.effect = lambda _command: "active"
    await world.call("s3", "rm", "s3://hidden-bucket")
    (kept,) = world.grants.rows.kept.values()
    known = await world.client().get(f"/grants/{kept.id}")
    unknown = await world.client().get(f"/grants/{GRANT}")
    assert f"<code>styx approve {kept.id}</code>" in known.text
    assert known.text.replace(kept.id, GRANT) == unknown.text, "nobody learns which exist"
    assert "hidden-bucket" not in known.text


@pytest.mark.parametrize("named", ["<script>alert(1)</script>", "%3Cb%3E", "grt_1", "a;rm -rf ~"])
async def test_a_link_that_somebody_made_up_is_no_page(world: World, named: str) -> None:
    reply = await world.client().get(f"/grants/{named}")
    assert reply.status_code in (404, 422)
    assert reply.headers["content-type"] == "application/problem+json"
    assert "<" not in reply.text


async def test_what_is_shown_is_escaped() -> None:
    page = bytes(pages.grant("\"><script>'&").body).decode()
    assert "<script" not in page
    assert "&quot;&gt;&lt;script&gt;&#x27;&amp;" in page


async def test_the_admin_page_knows_no_code(world: World) -> None:
    page = (await world.client().get("/admin?code=styx_adm_FIXTURE")).text
    assert "styx login" in page
    assert "FIXTURE" not in page
