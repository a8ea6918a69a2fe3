"""People are told of what waits and of what became of it, by a real stack to a real receiver."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from stack_fixture import Living, an_agent, living, until
from standardwebhooks import Webhook
from styx_cli.deciding import decide
from told_fixture import channel, receiving

pytestmark = [pytest.mark.integration, pytest.mark.asyncio(loop_scope="module")]

KEY = f"whsec_{base64.b64encode(b'FIXTURE key of a webhook').decode()}"
WORD = "FIXTURE-private-name.txt"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def here(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Living]:
    async with living(tmp_path_factory.mktemp("stack") / "data") as stack:
        yield stack


async def test_a_request_and_its_outcome_are_told_over_a_signed_webhook(here: Living) -> None:
    with receiving() as hook, receiving() as chat:
        secret = {"url": hook.url, "secret": KEY}
        await channel(here, secret)
        await channel(here, {"url": chat.url.replace("http", "json")}, kinds=["access.decided"])
        async with an_agent(here.data) as agent:
            held = agent.run("aws", "s3", "rm", f"s3://styx/{WORD}", target="staging")
            request = await here.pending()
            await until(lambda: hook.got)
            await asyncio.to_thread(decide, here.place.approver, request, "deny")
            assert (await held).code == 77
            await until(lambda: len(hook.got) == 2 and chat.got)
        told = []
        for heads, body in hook.got:
            Webhook(KEY).verify(body, heads)
            told.append(json.loads(body))
        assert [each["type"] for each in told] == ["access.requested", "access.decided"]
        assert told[0]["data"]["link"].endswith(f"/grants/{request['id']}")
        assert told[1]["data"]["title"] == "delete on staging: denied"
        assert json.loads(chat.got[0][1])["title"] == "delete on staging: denied"
        everything = b"".join(body for _, body in (*hook.got, *chat.got))
        assert WORD.encode() not in everything, "the command stays here"


async def test_an_escalation_is_not_told_of_what_was_settled_in_time(here: Living) -> None:
    with receiving() as hook:
        made = await channel(here, {"url": hook.url, "secret": KEY}, after_minutes=600)
        async with an_agent(here.data) as agent:
            held = agent.run("aws", "s3", "rm", "s3://styx/later", target="staging")
            request = await here.pending()
            await asyncio.to_thread(decide, here.place.approver, request, "deny")
            await held
        assert hook.got == [], "an escalation waits, and is of nothing else"
        assert (await here.ask("POST", f"/v1/channels/{made['id']}/test", {}))["told"] == "told"
        ((heads, body),) = hook.got
        Webhook(KEY).verify(body, heads)
