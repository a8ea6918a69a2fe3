"""Targets from the terminal: what to prepare, a login that is tried, and a new one for an old."""

import json
import re
import sys
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from stack_fixture import Living, finished, living, surroundings

pytestmark = [pytest.mark.integration, pytest.mark.asyncio(loop_scope="module")]

WRONG = "access_key_id=AKIAFIXTUREWRONG0000\nsecret_access_key=FIXTURE-wrong-secret-key\n"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def here(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Living]:
    async with living(tmp_path_factory.mktemp("stack") / "data") as stack:
        yield stack


async def styx(here: Living, text: str, *words: str) -> tuple[int, str, str]:
    """`styx targets …` as the owner, with this on stdin."""
    env = surroundings(here.data, STYX_ADMIN_TOKEN=here.place.secret)
    command = (sys.executable, "-m", "styx_cli", "targets", *words)
    shell = ("sh", "-c", 'printf %s "$STDIN" | exec "$@"', "sh", *command)
    done = await finished(*shell, env={**env, "STDIN": text})
    return done.code, done.out, done.err


async def test_what_a_role_must_trust_is_ready_to_paste(here: Living) -> None:
    code, out, _ = await styx(here, "", "prepare", "aws")
    assert code == 0
    policy = json.loads(out[out.index("{") : out.rindex("}") + 1])
    (statement,) = policy["Statement"]
    said = statement["Condition"]["StringEquals"]
    (target,) = re.findall(r"--id (tgt_\w+)", out)
    assert f"target:{target}" in said.values()
    assert "sts.amazonaws.com" in said.values()
    assert here.stack.url in out


async def test_what_a_host_must_trust_is_ready_to_paste(here: Living) -> None:
    code, out, _ = await styx(here, "", "prepare", "ssh")
    assert code == 0
    (target,) = re.findall(r"--id (tgt_\w+)", out)
    assert f"\n{target}\n" in out
    assert re.search(r"^ssh-ed25519 AAAA", out, re.M)
    assert "RevokedKeys /etc/ssh/styx.krl" in out
    code, _, err = await styx(here, "", "prepare", "ssh", "--method", "key")
    assert (code, "needs nothing before" in err) == (64, True)


async def test_a_login_is_tried_and_a_wrong_new_one_changes_nothing(here: Living) -> None:
    code, out, _ = await styx(here, "", "check", "staging", "--json")
    assert code == 0
    (found,) = json.loads(out)
    assert (found["ok"], found["expired"]) == (True, False)
    code, _, err = await styx(here, WRONG, "reconnect", "staging")
    assert code != 0
    assert "refuses this target's credential" in err
    assert "FIXTURE" not in err
    code, out, _ = await styx(here, "", "check", "staging")
    assert (code, "works" in out) == (0, True)
    code, _, err = await styx(here, "", "check", "nowhere")
    assert (code, "no target 'nowhere'" in err) == (64, True)


async def test_a_new_login_keeps_the_targets_id_and_place(here: Living) -> None:
    _, out, _ = await styx(here, "", "--json")
    before = next(t for t in json.loads(out) if t["name"] == "staging")
    account = here.place.account
    lines = "".join(f"{n}={account[n]}\n" for n in ("access_key_id", "secret_access_key"))
    code, out, err = await styx(here, lines, "reconnect", "staging", "--json")
    assert code == 0, err
    after = json.loads(out)
    for name in ("id", "name", "env", "provider", "config"):
        assert after[name] == before[name]


async def test_anyone_may_read_where_the_identitys_key_is(here: Living) -> None:
    import httpx

    async with httpx.AsyncClient(base_url=here.stack.url) as anyone:
        said = (await anyone.get("/.well-known/openid-configuration")).json()
        assert said["issuer"] == here.stack.url
        keys = (await anyone.get(said["jwks_uri"])).json()["keys"]
    assert [(key["kty"], key["alg"], key["use"]) for key in keys] == [("RSA", "RS256", "sig")]
    assert "d" not in keys[0]
