"""An export is checked with the public key alone; each attack is named at its first bad entry."""

import base64
import hashlib
import json
from collections.abc import Callable

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given, settings
from hypothesis import strategies as st
from styx_audit.checkpoint import Checkpoint, Verifier, signed_note
from styx_audit.entries import canonical, leaf_hash
from styx_audit.export import export
from styx_audit.merkle import Frontier
from styx_audit.verify import Fault, Verdict, verify_export

NAME = "log.example/styx"
SIGNER = Ed25519PrivateKey.from_private_bytes(hashlib.sha256(b"FIXTURE").digest())
KEY = Verifier(NAME, SIGNER.public_key().public_bytes_raw())
OTHER = Ed25519PrivateKey.from_private_bytes(hashlib.sha256(b"FIXTURE 2").digest())


def entry(number: int) -> dict[str, object]:
    return {
        "id": f"e{number}",
        "actor": "agent",
        "command": ["aws", "s3", "rm", f"s3://b/{number}"],
    }


def point(size: int, signer: Ed25519PrivateKey = SIGNER) -> tuple[Checkpoint, str]:
    grown = Frontier()
    for number in range(size):
        grown = grown.append(leaf_hash(entry(number)))
    made = Checkpoint(NAME, size, grown.root())
    key = Verifier(NAME, signer.public_key().public_bytes_raw())
    return made, signed_note(made, key, signer.sign(made.text.encode()))


def exported(size: int, signer: Ed25519PrivateKey = SIGNER) -> list[str]:
    nodes: dict[tuple[int, int], bytes] = {}
    grown = Frontier()
    for number in range(size):
        for node in grown.completed(leaf_hash(entry(number))):
            nodes[node.level, node.position] = node.hash
        grown = grown.append(leaf_hash(entry(number)))
    note = point(size, signer)[1]
    bodies = (canonical(entry(number)).decode() for number in range(size))
    return list(export(bodies, size, note, str(KEY), lambda lv, i: nodes[lv, i]))


LINES = exported(13)


def rewrite(line: str, **changes: object) -> str:
    return json.dumps(
        json.loads(line) | changes, sort_keys=True, separators=(",", ":"), ensure_ascii=False
    )


def fault(lines: list[str]) -> Fault:
    verdict = verify_export(lines, KEY)
    assert verdict.fault is not None
    assert not verdict.ok
    return verdict.fault


@pytest.mark.parametrize("size", [*range(10), 31, 32, 33, 100])
def test_a_true_export_is_proven_whole(size: int) -> None:
    made, _ = point(size)
    assert verify_export(exported(size), KEY) == Verdict(size, made)
    assert verify_export([f"{line}\r\n" for line in exported(size)], KEY).ok


FORGED = {"actor": "nobody", "id": "forged"}
PROOF = [base64.b64encode(bytes(32)).decode()]
Attack = Callable[[list[str]], list[str]]
ATTACKS: list[tuple[str, Attack, int, str, str]] = [
    (
        "entry changed",
        lambda s: [*s[:6], rewrite(s[6], entry=FORGED), *s[7:]],
        5,
        "forged",
        "altered",
    ),
    ("proof changed", lambda s: [*s[:7], rewrite(s[7], proof=PROOF), *s[8:]], 6, "e6", "altered"),
    ("no JSON", lambda s: [*s[:6], "{", *s[7:]], 5, "", "altered"),
    ("spaces added", lambda s: [*s[:6], f" {s[6]}", *s[7:]], 5, "", "altered"),
    (
        "key given twice",
        lambda s: [*s[:6], s[6].replace('"id":', '"id":"shown","id":'), *s[7:]],
        5,
        "e5",
        "altered",
    ),
    ("deleted", lambda s: s[:6] + s[7:], 5, "", "missing"),
    ("first deleted", lambda s: s[:1] + s[2:], 0, "", "missing"),
    ("deleted and renumbered", lambda s: renumber(s[:6] + s[7:]), 5, "e6", "altered"),
    ("swapped", lambda s: [*s[:6], s[7], s[6], *s[8:]], 5, "e5", "out of order"),
    ("moved to the end", lambda s: [*s[:6], *s[7:], s[6]], 5, "e5", "out of order"),
    ("duplicated", lambda s: [*s[:7], s[6], *s[7:]], 6, "e5", "duplicated"),
    (
        "an old index again",
        lambda s: [*s[:7], rewrite(s[6], entry=FORGED), *s[7:]],
        6,
        "forged",
        "inserted",
    ),
    ("inserted", lambda s: [*s[:6], rewrite(s[6], entry=FORGED), *s[6:]], 5, "forged", "inserted"),
    ("appended", lambda s: [*s, rewrite(s[6], entry=FORGED, index=13)], 13, "forged", "inserted"),
    ("text appended", lambda s: [*s, ""], 13, "", "inserted"),
    ("tail cut", lambda s: s[:10], 9, "", "truncated"),
    ("all cut", lambda s: s[:1], 0, "", "truncated"),
    (
        "two changed",
        lambda s: [s[0], *(rewrite(x, entry=FORGED) for x in s[1:])],
        0,
        "forged",
        "altered",
    ),
]


def renumber(lines: list[str]) -> list[str]:
    return [lines[0], *(rewrite(line, index=i) for i, line in enumerate(lines[1:]))]


@pytest.mark.parametrize(
    ("attack", "index", "name", "what"), [a[1:] for a in ATTACKS], ids=[a[0] for a in ATTACKS]
)
def test_each_attack_is_named_at_its_first_bad_entry(
    attack: Attack, index: int, name: str, what: str
) -> None:
    found = fault(attack(list(LINES)))
    assert (found.index, found.id, found.what) == (index, name, what)
    assert f"entry {index}" in str(found)


def test_a_forger_who_rebuilds_every_proof_is_still_named_at_the_header_or_entry() -> None:
    rebuilt = exported(13, OTHER)
    assert fault(rebuilt).what == "header"
    assert fault([LINES[0], *(rewrite(x, entry=FORGED) for x in rebuilt[1:])]).index == 0


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 40), st.data())
def test_any_changed_letter_is_named_at_its_line(size: int, data: st.DataObject) -> None:
    lines = exported(size)
    number = data.draw(st.integers(1, size))
    at = data.draw(st.integers(0, len(lines[number]) - 1))
    letter = data.draw(st.sampled_from('09aZ"{}[],: \\=+é'))
    changed = lines[number][:at] + letter + lines[number][at + 1 :]
    lines[number] = changed
    verdict = verify_export(lines, KEY)
    if changed == exported(size)[number]:
        assert verdict.ok
    else:
        assert verdict.proven == number - 1
        assert verdict.fault is not None
        assert verdict.fault.index == number - 1


def test_a_proof_in_a_second_spelling_of_base64_is_named() -> None:
    end = LINES[1].index('="')
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    other = letters[letters.index(LINES[1][end - 1]) + 1]
    found = fault([LINES[0], LINES[1][: end - 1] + other + LINES[1][end:], *LINES[2:]])
    assert (found.index, found.what) == (0, "altered")


@pytest.mark.parametrize(
    "header",
    [
        *("", "{}", "[]", '{"checkpoint":1,"key":""}', '{"checkpoint":"","key":""}'),
        *(LINES[0].replace("13", "12", 1), LINES[0][:-1] + ',"more":1}', LINES[1]),
    ],
)
def test_a_bad_header_is_refused(header: str) -> None:
    found = fault([header, *LINES[1:]])
    assert (found.index, found.what) == (-1, "header")
    assert str(found).startswith("header: ")


def test_no_lines_at_all_are_refused() -> None:
    assert fault([]).what == "header"


def test_an_export_extends_the_checkpoints_seen_before() -> None:
    for size in range(14):
        assert verify_export(LINES, KEY, [point(size)[0]]).ok
    newer = verify_export(LINES, KEY, [point(14)[0]])
    assert newer.fault is not None
    assert newer.fault.what == "truncated"


@pytest.mark.parametrize("size", [0, 1, 7, 13])
def test_a_rewritten_log_signed_anew_is_named(size: int) -> None:
    seen = Checkpoint(NAME, size, hashlib.sha256(b"another history").digest())
    verdict = verify_export(LINES, KEY, [seen])
    assert verdict.fault is not None
    assert (verdict.fault.index, verdict.fault.what) == (max(size - 1, 0), "rewritten")


def test_two_histories_of_one_size_are_named() -> None:
    other = Checkpoint(NAME, 7, hashlib.sha256(b"another history").digest())
    verdict = verify_export(LINES, KEY, [other, point(7)[0]])
    assert verdict.fault is not None
    assert verdict.fault.what == "rewritten"
