"""One server put into a client's file: everything else stays letter by letter."""

import json
import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from styx_cli.config_texts import Unreadable, put, read, shown

ENTRY = {"command": "styx", "args": ["mcp"]}
OTHERS = """\
{
\t"z": 1.50,
\t"mcpServers": {
\t\t"b": {"env": {"K": "\\u00e9"}},
\t\t"a": {}
\t},
\t"y": []
}"""
TOML = """\
# my own
model = "x"  # a fine one

[mcp_servers.other]  # kept
command = "o"

[profiles.p]
a = 1
"""


def in_json(text: str, entry: dict[str, Any] = ENTRY) -> str:
    return put(text, ".json", "mcpServers", "styx", entry)


def in_toml(text: str, entry: dict[str, Any] = ENTRY) -> str:
    return put(text, ".toml", "mcp_servers", "styx", entry)


@pytest.mark.parametrize("text", ["", "{}", " {\n}\n", '{"mcpServers": {}}', '{"a": {}}\n', OTHERS])
def test_json_gets_it_and_keeps_the_rest(text: str) -> None:
    made = in_json(text)
    meant = json.loads(text or "{}")
    meant.setdefault("mcpServers", {})["styx"] = ENTRY
    assert json.loads(made) == meant
    assert list(json.loads(made)) == list(meant)
    assert in_json(made) == made, "a second time changes nothing"


def test_what_is_not_ours_stays_letter_by_letter() -> None:
    made = in_json(OTHERS)
    ours = made.index(',\n\t\t"styx"')
    end = made.index('\n\t},\n\t"y"')
    assert made[:ours] + made[end:] == OTHERS
    changed = in_json(made, {"url": "https://x/mcp"})
    assert changed[:ours] == made[:ours]
    assert changed.endswith('\n\t},\n\t"y": []\n}')
    crlf = in_json(OTHERS.replace("\n", "\r\n"))
    assert crlf.count("\n") == crlf.count("\r\n")


@given(
    st.dictionaries(
        st.text(max_size=5),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(max_size=9),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(st.text(max_size=5), inner, max_size=3)
            ),
            max_leaves=8,
        ),
        max_size=4,
    ),
    st.sampled_from([None, 1, 2, "\t"]),
    st.booleans(),
)
def test_any_json_survives(values: dict[str, Any], indent: Any, ascii_only: bool) -> None:
    values = {**values, "mcpServers": {"x": values}}
    text = json.dumps(values, indent=indent, ensure_ascii=ascii_only)
    made = json.loads(in_json(text))
    assert made["mcpServers"].pop("styx") == ENTRY
    assert made == values


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# only words",
        TOML,
        TOML.replace("[mcp_servers.other]", "[mcp_servers.'styx']"),
        'mcp_servers = {other = {command = "o"}}\n',
        'mcp_servers.other.command = "o"\n',
        '[mcp_servers]\nother = {command = "o"}\n[z]\n',
        '[mcp_servers.styx]\nurl = "x"\n[mcp_servers.styx.http_headers]\nA = "b"\n[z]\nk = 1\n',
        'a = 1\r\n[mcp_servers.styx]\r\nurl = "x"\r\n',
    ],
)
def test_toml_gets_it_and_keeps_comments_and_tables(text: str) -> None:
    made = in_toml(text)
    meant = tomllib.loads(text)
    meant.setdefault("mcp_servers", {})["styx"] = ENTRY
    assert tomllib.loads(made) == meant
    assert in_toml(made) == made
    assert [line for line in text.splitlines() if "#" in line] == [
        line for line in made.splitlines() if "#" in line
    ]


@pytest.mark.parametrize(
    ("text", "suffix", "said"),
    [
        ('{\n "a": 1,\n}', ".json", "line 3"),
        ("// mine\n{}", ".json", "line 1"),
        ("[]", ".json", "object"),
        ('{"a": 1, "a": 2}', ".json", "'a' stands there twice"),
        ('{"a": NaN}', ".json", "NaN"),
        ("[" * 100_000, ".json", "recursion"),
        ('{"mcpServers": []}', ".json", "no table of servers"),
        ("a = 1\nb =\n", ".toml", "line 2"),
        ("a = 1\na = 2\n", ".toml", "line 2"),
    ],
)
def test_what_cannot_be_read_is_refused_by_its_line(text: str, suffix: str, said: str) -> None:
    with pytest.raises(Unreadable, match=said):
        put(text, suffix, "mcpServers", "styx", ENTRY)


@pytest.mark.parametrize("suffix", [".json", ".toml"])
def test_an_entry_is_shown_as_it_would_stand_there(suffix: str) -> None:
    assert read(shown(suffix, "servers", "styx", ENTRY), suffix) == {"servers": {"styx": ENTRY}}
