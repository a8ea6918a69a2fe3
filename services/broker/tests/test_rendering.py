"""Templates: whatever a text holds, it is text; and a page asks for no file but ours."""

import re
from typing import Any

import pytest
from broker_adapters import START
from jinja2 import UndefinedError
from styx_broker.cards import card
from styx_broker.rendering import DIGEST, STATIC, page, static
from test_cards import grant

HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>\u202e\x1b[2J{{7777*7777}}"
FRAME = {"person": "ada", "here": "approvals", "csrf": "c", "session": "s", "owner": True}
TEXTS = ("agent", "person", "target", "reason", "understood", "why", "branch", "worktree")


def cards(**over: Any) -> str:
    """The fragment with one request, once waiting and once decided."""
    hostile: dict[str, Any] = dict.fromkeys(TEXTS, HOSTILE)
    hostile |= {"because": (HOSTILE,), "command": ("aws", HOSTILE), "decided_person": HOSTILE}
    one = grant("delete", env="prod", quorum=2, approved_by=(HOSTILE,), **{**hostile, **over})
    decided = one.model_copy(update={"state": "denied", "decided_at": START})
    task = {"name": HOSTILE}
    values = {"cards": [card(one, task)], "alike": {}, "more": 0, "decided": [decided]}
    return bytes(page("cards.html", FRAME | values | {"places": {}}).body).decode()


def test_nothing_that_an_agent_writes_becomes_markup_or_hides() -> None:
    text = cards()
    assert "<script" not in text
    assert "<img" not in text
    assert str(7777 * 7777) not in text
    visible = re.sub(r'data-\w+="[^"]*"', "", text)
    assert not {"\u202e", "\x1b"} & set(visible)
    assert visible.count("⟨U+202E⟩") >= 9
    assert re.fullmatch(r"[^<>]*(<[^<>]*>[^<>]*)*", text), "every tag is whole"


def test_an_attribute_ends_where_ours_does() -> None:
    (held,) = re.findall(r'data-decision="([^"]*)"', cards())
    assert "<" not in held
    assert "&lt;script&gt;" in held


def test_a_template_that_names_what_it_was_not_given_fails_loudly() -> None:
    with pytest.raises(UndefinedError):
        page("signin.html", {})


def test_a_page_is_kept_by_nobody_and_our_files_for_good() -> None:
    assert page("signin.html", {"next": "/", "oidc": ""}).headers["cache-control"] == "no-store"
    kept = static(DIGEST, "styx.css")
    assert kept is not None
    assert kept.headers["content-type"].startswith("text/css")
    assert static("0" * 16, "styx.css") is None
    assert static(DIGEST, "../rendering.py") is None


@pytest.mark.parametrize("name", sorted(STATIC))
def test_no_file_of_ours_reaches_for_another_host_or_runs_text(name: str) -> None:
    text = STATIC[name].decode()
    hosts = set(re.findall(r"https?://[^\s\"'`)]+", text))
    assert hosts <= {"http://www.w3.org/2000/svg"}
    assert not re.search(
        r"\beval\(|new Function|innerHTML|insertAdjacentHTML|document\.write", text
    )
