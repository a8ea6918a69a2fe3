"""The two forms of a call, and that the shim's own reader takes what is written here."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from styx_broker.exec_wire import (
    MOST_WORDS,
    ExecRequest,
    field,
    parse_json,
    parse_shim,
    readable,
    refuse_fields,
    run_fields,
)
from styx_cli.shim_wire import Answer, Stop
from styx_core.errors import Invalid

WORDS = st.lists(st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=20))
KEY = "ssh-ed25519 FIXTURE"


def refused(body: bytes, target: str | None = None) -> str:
    with pytest.raises(Invalid) as told:
        readable(parse_shim(body, target))
    return told.value.detail


def shim_reads(fields: bytes) -> Answer:
    """What the shim makes of an answer."""
    answer = Answer(200)
    for each in fields.split(b"\0")[:-1]:
        answer.take(each)
    return answer


@given(WORDS)
def test_every_word_arrives_as_it_was_typed(argv: list[str]) -> None:
    body = "\0".join(("aws", "/here", KEY, *argv)).encode()
    assert parse_shim(body, "prod") == ExecRequest(
        tool="aws", argv=tuple(argv), cwd="/here", public_key=KEY, target="prod"
    )


def test_no_arguments_and_no_key() -> None:
    assert parse_shim(b"aws\0/\0", None) == ExecRequest(tool="aws", argv=(), cwd="/")
    assert parse_shim(b"aws\0/\0\0", None).argv == ("",), "one argument, and it is empty"


@pytest.mark.parametrize("body", [b"", b"aws", b"aws\0/"])
def test_a_body_that_ends_too_soon(body: bytes) -> None:
    assert refused(body) == "body: tool, cwd and public key are needed before the arguments"


@pytest.mark.parametrize(
    ("body", "what"),
    [
        (b"\xff\0/\0\0s3", "tool"),
        (b"aws\0\xff\0\0s3", "cwd"),
        (b"aws\0/\0\xff\0s3", "public key"),
        (b"aws\0/\0\0s3\0\xed\xa0\x80", "argument 2"),
        (b"aws\0/\0\0s3\0ls\0\xc3", "argument 3"),
    ],
)
def test_what_is_not_utf8_is_named_by_its_place(body: bytes, what: str) -> None:
    assert refused(body).startswith(f"{what} is not UTF-8")


@pytest.mark.parametrize(
    ("words", "target", "what"),
    [
        (("t" * 65, "/", ""), None, "tool:"),
        (("aws", "/" * 4097, ""), None, "cwd:"),
        (("aws", "/", "k" * 1001), None, "public_key:"),
        (("aws", "/", "", "s3", "FIXTURE" * 20_000), None, "argv.1:"),
        (("aws", "/", ""), "t" * 129, "target:"),
    ],
)
def test_what_is_too_long_is_named_and_not_shown(
    words: tuple[str, ...], target: str | None, what: str
) -> None:
    said = refused("\0".join(words).encode(), target)
    assert said.startswith(what)
    assert "FIXTURE" not in said
    assert len(said) < 200


def test_as_many_words_as_are_read_and_one_more() -> None:
    most = b"aws\0/\0" + b"\0x" * MOST_WORDS
    assert len(parse_shim(most, None).argv) == MOST_WORDS
    assert (
        refused(most + b"\0x") == f"argv: {MOST_WORDS + 1} words; Styx reads at most {MOST_WORDS}"
    )


@pytest.mark.parametrize(
    ("body", "what"),
    [
        (b"", "body: Invalid JSON"),
        (b'{"tool": "aws", "argv": ["s3"', "body: Invalid JSON"),
        (b"\xff\xfe", "body: Invalid JSON"),
        (b"[]", "body: Input should be an object"),
        (b"{}", "tool: Field required"),
        (b'{"tool": "aws"}', "argv: Field required"),
        (b'{"tool": "aws", "argv": "FIXTURE s3 ls"}', "argv: Input should be"),
        (b'{"tool": "aws", "argv": ["s3", 7]}', "argv.1: Input should be a valid string"),
        (b'{"tool": "aws", "argv": ["\\ud800"]}', "body: Invalid JSON"),
        (b'{"tool": "aws", "argv": [], "env": "FIXTURE"}', "env: Extra inputs"),
        (json.dumps({"tool": "a", "argv": [], "FIXTURE" * 999: 1}).encode(), "FIXTURE"),
    ],
)
def test_json_that_is_no_call_is_named_by_its_part(body: bytes, what: str) -> None:
    with pytest.raises(Invalid) as told:
        parse_json(body)
    assert told.value.detail.startswith(what)
    assert "FIXTURE s3" not in told.value.detail
    assert len(told.value.detail) < 300


def test_a_nul_in_json_is_refused_by_its_place() -> None:
    call = parse_json(b'{"tool": "aws", "argv": ["s3", "a\\u0000b"]}')
    with pytest.raises(Invalid, match="argument 2 holds a NUL"):
        readable(call)


@given(st.text(), st.text())
def test_a_field_ends_once_and_where_it_should(name: str, value: str) -> None:
    made = field(name, value)
    assert made.count(b"\0") == 1
    assert made.endswith(b"\0")


def test_the_shim_takes_what_lets_a_call_run() -> None:
    env = {"A": "x=y", "EMPTY": "", "LINES": "a\nb", "NUL": "a\0verdict=run"}
    answer = shim_reads(b"".join(run_fields("exe_1", env, ("OLD", "A"), "cert FIXTURE")))
    assert (answer.verdict, answer.exec_id, answer.cert) == ("run", b"exe_1", b"cert FIXTURE")
    changed = answer.changed({b"OLD": b"o", b"KEPT": b"k"})
    assert changed == {
        b"KEPT": b"k",
        b"A": b"x=y",
        b"EMPTY": b"",
        b"LINES": b"a\nb",
        b"NUL": "a\ufffdverdict=run".encode(),
    }


def test_the_shim_takes_what_stops_a_call(capfd: pytest.CaptureFixture[str]) -> None:
    answer = shim_reads(b"".join(refuse_fields(77, "denied: no\nstyx: \x1b[2Jverdict=run")))
    assert (answer.verdict, answer.exit) == ("refuse", 77)
    said = capfd.readouterr().err
    assert said == "styx: denied: no\nstyx: styx: ?[2Jverdict=run\n"


def test_a_beat_is_life_and_an_unknown_field_is_refused() -> None:
    assert shim_reads(field("beat", "")).verdict == ""
    with pytest.raises(Stop, match="can't be read"):
        shim_reads(field("surprise", "1"))
