"""A call that names another host than its tool's own is told apart, however the host is named."""

import pytest
from styx_adapters.commands.load import tool
from styx_core.classify import classify
from styx_core.tool import Tool

GH = tool("gh")


@pytest.mark.parametrize(
    "words",
    [
        "issue list -R evil.example/o/r",
        "issue list --repo=evil.example/o/r",
        "issue list -Revil.example/o/r",
        "-R evil.example/o/r issue list",
        "pr view https://evil.example/o/r/pull/1",
        "pr view HTTPS://EVIL.example/o/r/pull/1",
        "pr view https://github.com@evil.example/o/r/pull/1",
        "pr view https://github.com.evil.example/o/r/pull/1",
        "pr view https://evil.example:443/o/r/pull/1",
        "repo view evil/o/r",
        "repo clone git@evil.example:o/r.git",
        "repo view ssh://git@evil.example/o/r",
        "issue transfer 1 evil.example/o/r",
        "api https://evil.example/user",
        "frobnicate https://evil.example/",
        "issue list --hostname evil.example",
    ],
)
def test_another_host_is_a_switch(words: str) -> None:
    assert classify(GH, words.split()).identity_switch


@pytest.mark.parametrize(
    "words",
    [
        "issue list -R o/r",
        "issue list -R github.com/o/r",
        "pr view https://github.com/o/r/pull/1",
        "pr view https://GitHub.com/o/r/pull/1",
        "repo view o/r",
        "repo clone git@github.com:o/r.git",
        "api repos/o/r/issues",
        "api https://api.github.com/user",
        "release upload v1 build/out/app.zip",
        "issue create --title t --body see=https://evil.example/x",
        "issue create --title t --body https://evil.example/x",
        "gist view https://gist.github.com/o/1",
    ],
)
def test_its_own_is_none(words: str) -> None:
    assert not classify(GH, words.split()).identity_switch


def test_a_tool_that_names_no_home_knows_no_elsewhere() -> None:
    plain = Tool(name="acme", read=("get",))
    assert not classify(plain, ["get", "https://evil.example/x"]).identity_switch
