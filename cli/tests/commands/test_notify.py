"""`styx notify`: an address is sealed where it is typed; the rest is asked of the broker."""

from typing import Any

import pytest
from styx_core.seal import OpeningKey, connect_info

KEY = OpeningKey.make()
CHANNEL = {
    "id": "chn_1",
    "name": "phone",
    "label": "ntfy",
    "person": "owner",
    "kinds": ["access.requested"],
    "only_own": True,
    "after_minutes": 10,
}


@pytest.fixture
def told(broker: Any) -> Any:
    """A broker with one project and one channel."""
    broker.answers["GET /v1/catalog"] = {"sealing_key": KEY.public}
    broker.answers["GET /v1/projects"] = [{"id": "prj_1", "name": "shop"}]
    broker.answers["GET /v1/channels"] = [CHANNEL]
    broker.answers["POST /v1/channels"] = (201, CHANNEL)
    broker.answers["POST /v1/channels/chn_1/test"] = {"told": "phone"}
    broker.answers["POST /v1/channels/chn_1/remove"] = {"removed": "chn_1"}
    return broker


def test_channels_are_a_table_or_json(styx: Any, told: Any) -> None:
    shown = styx("notify").out
    assert "access.requested, own agents only, still waiting after 10 min" in shown
    assert styx("notify", "--json").json == [CHANNEL]
    told.answers["GET /v1/channels"] = []
    assert styx("notify").out == "No channel yet: styx notify add --help\n"


def test_an_address_is_sealed_before_it_goes(styx: Any, told: Any) -> None:
    words = ("notify", "add", "phone", "--own", "--after", "10", "--kind", "access.requested")
    done = styx(*words, stdin="url=ntfy://FIXTURE-topic\n")
    assert (done.code, done.out) == (0, "phone: ntfy. Try it: styx notify test phone\n")
    (sent,) = told.sent("POST")
    assert "FIXTURE" not in str(sent.body) + done.out
    opened = KEY.open(sent.body["box"], connect_info(sent.body["id"]))
    assert opened == {"url": "ntfy://FIXTURE-topic"}
    assert (sent.body["project"], sent.body["only_own"]) == ("prj_1", True)
    assert (sent.body["after_minutes"], sent.body["kinds"]) == (10, ["access.requested"])


def test_a_webhook_s_key_is_made_here_and_shown_once(styx: Any, told: Any) -> None:
    done = styx("notify", "add", "siem", "--webhook", stdin="url=https://siem.example/styx\n")
    (sent,) = told.sent("POST")
    opened = KEY.open(sent.body["box"], connect_info(sent.body["id"]))
    assert opened["secret"].startswith("whsec_")
    assert done.out.rstrip().endswith(opened["secret"])
    assert "kinds" not in sent.body, "all of them, by default"


@pytest.mark.parametrize(("word", "said"), [("test", "was told"), ("remove", "is forgotten")])
def test_a_channel_is_named(styx: Any, told: Any, word: str, said: str) -> None:
    assert styx("notify", word, "phone").out == f"phone {said}.\n"
    done = styx("notify", word, "nowhere")
    assert (done.code, "no channel 'nowhere'" in done.err) == (64, True)


def test_what_could_not_be_told_is_shown_and_tried_again(styx: Any, told: Any) -> None:
    dead = {"id": "ntc_1", "at": "2026-01-05T12:00:00Z", "title": "delete on prod", "tries": 8}
    told.answers["GET /v1/dead-letters"] = [{**dead, "trouble": "HTTP 500"}]
    told.answers["POST /v1/dead-letters/ntc_1/retry"] = {"retrying": "ntc_1"}
    assert "HTTP 500" in styx("notify", "dead").out
    assert told.sent("POST") == []
    styx("notify", "dead", "--retry")
    assert len(told.sent("POST")) == 1
