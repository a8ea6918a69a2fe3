"""What an approver signs: one text for one decision, and a signature for that text alone."""

import base64
import hashlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from styx_core.errors import SignatureRefused
from styx_core.scope import Scope
from styx_core.signing import (
    bearer,
    challenge,
    decision_payload,
    enrol_payload,
    invite_payload,
    policy_payload,
    public_key,
    remove_key_payload,
    role_payload,
    sign,
    signin_payload,
    signing_key,
    target_payload,
    verify,
)

SECRET = b"FIXTURE-approver-secret-0123456789"
KEY, OTHER = signing_key(SECRET), signing_key(b"FIXTURE-somebody-else-0123456789")
PUBLIC = public_key(KEY)
DECISION: dict[str, Any] = {
    "grant_id": "grt_1",
    "verdict": "approve",
    "target": "web",
    "env": "prod",
    "scopes": ("read", "write"),
    "duration": "1h",
    "command": ("aws", "s3", "ls"),
}
PAYLOAD = decision_payload(**DECISION)
SIGNED = sign(KEY, PAYLOAD)
NASTY = st.text(st.sampled_from('a"\\,:{}[]\n\r\t\0\x1b\x7f‮ 🜁'), max_size=6) | st.text(max_size=4)
DECISIONS = st.fixed_dictionaries(
    {
        "grant_id": NASTY,
        "verdict": NASTY,
        "target": NASTY,
        "env": NASTY,
        "scopes": st.frozensets(st.sampled_from(Scope)),
        "duration": st.none() | NASTY | st.just("null"),
        "command": st.lists(NASTY, max_size=4),
    }
)


@given(DECISIONS, DECISIONS)
def test_other_decisions_never_give_the_same_text(
    one: dict[str, Any], other: dict[str, Any]
) -> None:
    assert (decision_payload(**one) == decision_payload(**other)) is (one == other)


@given(DECISIONS, st.sampled_from(sorted(DECISION)), st.data())
def test_one_part_changed_is_another_text(
    one: dict[str, Any], part: str, data: st.DataObject
) -> None:
    other = {**one, part: data.draw(DECISIONS)[part]}
    assert (decision_payload(**one) == decision_payload(**other)) is (one == other)


@given(DECISIONS)
def test_the_text_is_one_line_of_plain_ascii_that_says_all_of_it(one: dict[str, Any]) -> None:
    text = decision_payload(**one)
    assert text.isascii()
    assert text.isprintable()
    read = json.loads(text)
    assert read == {
        "styx": "decision/v1",
        "grant": one["grant_id"],
        **{key: one[key] for key in ("verdict", "target", "env", "duration", "command")},
        "scopes": [scope.value for scope in Scope if scope in one["scopes"]],
    }


@pytest.mark.parametrize(
    ("command", "not_command"),
    [
        (["rm", "-rf x"], ["rm", "-rf", "x"]),
        (["a,b"], ["a", "b"]),
        (['a","b'], ["a", "b"]),
        (["a", ""], ["a"]),
        ([], [""]),
        (["a\nb"], ["a", "b"]),
        (["a\\n"], ["a\n"]),
        (['x"],"env":"scm","command":["y'], ["x", "y"]),
        (["a\0b"], ["a", "b"]),
    ],
)
def test_no_word_can_pass_for_another_cut(command: list[str], not_command: list[str]) -> None:
    one = decision_payload(**{**DECISION, "command": command})
    assert one != decision_payload(**{**DECISION, "command": not_command})


def test_scopes_are_a_set_and_none_is_invented() -> None:
    for same in (["write", "read"], ["read", "write", "read"], [Scope.WRITE, "read"]):
        assert decision_payload(**{**DECISION, "scopes": same}) == PAYLOAD
    with pytest.raises(ValueError, match="admin"):
        decision_payload(**{**DECISION, "scopes": ["read", "admin"]})


def test_one_kind_of_text_never_passes_for_another() -> None:
    texts = [
        PAYLOAD,
        policy_payload(project_id="prj_1", toml="", nonce="n"),
        target_payload(**TARGET),
        enrol_payload(person="ada", code_sha256="c"),
        signin_payload(nonce="n", session_key="k"),
        invite_payload(code_sha256="c", person=None, where="*", role="owner", seconds=60),
        role_payload(person="ada", where="*", role=None, nonce="n"),
        remove_key_payload(key_id="key_1"),
    ]
    assert len({json.loads(text)["styx"] for text in texts}) == len(texts)


@given(NASTY, NASTY, NASTY, NASTY)
def test_a_policy_is_signed_by_its_every_byte(
    project: str, toml: str, other_project: str, other: str
) -> None:
    one = policy_payload(project_id=project, toml=toml, nonce="n")
    same = one == policy_payload(project_id=other_project, toml=other, nonce="n")
    assert one != policy_payload(project_id=project, toml=toml, nonce="m")
    assert same is ((project, toml) == (other_project, other))


TARGET = {
    "project_id": "p",
    "target_id": "t",
    "name": "n",
    "provider": "x",
    "env": "scm",
    "nonce": "once",
}


@pytest.mark.parametrize("part", [*TARGET])
def test_a_target_is_signed_by_its_every_part(part: str) -> None:
    assert target_payload(**TARGET) != target_payload(**{**TARGET, part: "other"})


def test_a_passkey_is_challenged_with_the_hash_of_what_it_signs() -> None:
    assert challenge(PAYLOAD) == hashlib.sha256(PAYLOAD.encode()).digest()


def test_a_signature_holds_for_its_text_and_key() -> None:
    verify(PUBLIC, PAYLOAD, SIGNED)
    assert sign(KEY, PAYLOAD) == SIGNED, "Ed25519 signs without chance (RFC 8032)"


def flipped(text: str, bit: int) -> str:
    """Base64 with one bit of what it holds turned."""
    raw = bytearray(base64.b64decode(text))
    raw[bit // 8] ^= 1 << bit % 8
    return base64.b64encode(raw).decode()


@given(st.integers(0, 511))
def test_one_flipped_bit_of_a_signature_is_refused(bit: int) -> None:
    with pytest.raises(SignatureRefused):
        verify(PUBLIC, PAYLOAD, flipped(SIGNED, bit))


@given(st.integers(0, 255))
def test_one_flipped_bit_of_the_key_is_refused(bit: int) -> None:
    with pytest.raises(SignatureRefused):
        verify(flipped(PUBLIC, bit), PAYLOAD, SIGNED)


MALFORMED = {
    "empty": "",
    "no base64": "no base64!",
    "short": base64.b64encode(b"x" * 31).decode(),
    "long": base64.b64encode(b"x" * 65).decode(),
    "no ascii": "é" * 88,
    "blank behind": SIGNED + " ",
    "line end behind": SIGNED + "\n",
    "null": "\0",
    "unpadded": SIGNED.rstrip("="),
    "nothing but zeros": base64.b64encode(bytes(64)).decode(),
}


@pytest.mark.parametrize("text", MALFORMED.values(), ids=list(MALFORMED))
def test_what_is_malformed_is_refused_and_nothing_else_is_raised(text: str) -> None:
    with pytest.raises(SignatureRefused, match="not this approver's over this very decision"):
        verify(PUBLIC, PAYLOAD, text)
    with pytest.raises(SignatureRefused):
        verify(text, PAYLOAD, SIGNED)


@pytest.mark.parametrize("part", sorted(DECISION))
def test_a_signature_over_one_decision_approves_no_other(part: str) -> None:
    changed: dict[str, Any] = {"scopes": ("read", "delete"), "command": ("aws", "s3", "rb")}
    other = decision_payload(**{**DECISION, part: changed.get(part, "other")})
    with pytest.raises(SignatureRefused):
        verify(PUBLIC, other, SIGNED)


def test_another_approvers_signature_is_refused_and_a_denial_is_no_approval() -> None:
    with pytest.raises(SignatureRefused):
        verify(PUBLIC, PAYLOAD, sign(OTHER, PAYLOAD))
    with pytest.raises(SignatureRefused):
        verify(PUBLIC, PAYLOAD, sign(KEY, decision_payload(**{**DECISION, "verdict": "deny"})))


def test_what_the_broker_is_shown_tells_nothing_of_the_key() -> None:
    shown = bearer(SECRET)
    assert shown.startswith("styx_per_")
    assert shown == bearer(SECRET)
    assert shown != bearer(b"FIXTURE-somebody-else-0123456789")
    assert public_key(signing_key(shown.encode())) != PUBLIC
    assert public_key(signing_key(bytes.fromhex(shown.removeprefix("styx_per_")))) != PUBLIC
    assert KEY.private_bytes_raw().hex() not in shown
