"""Checkpoints and signed notes: the format to the letter, and no altered note opens."""

import base64
import hashlib

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given, settings
from hypothesis import strategies as st
from styx_audit.checkpoint import (
    Checkpoint,
    NoteError,
    Verifier,
    open_note,
    parse_checkpoint,
    parse_verifier,
    signed_note,
)

NAME = "log.example/styx"
SIGNER = Ed25519PrivateKey.from_private_bytes(hashlib.sha256(b"FIXTURE").digest())
KEY = Verifier(NAME, SIGNER.public_key().public_bytes_raw())
OTHER_SIGNER = Ed25519PrivateKey.from_private_bytes(hashlib.sha256(b"FIXTURE 2").digest())
OTHER = Verifier(NAME, OTHER_SIGNER.public_key().public_bytes_raw())
POINT = Checkpoint(NAME, 42, hashlib.sha256(b"root").digest())
NOTE = signed_note(POINT, KEY, SIGNER.sign(POINT.text.encode()))


def test_the_note_to_the_letter() -> None:
    root = base64.b64encode(POINT.root).decode()
    key_id = hashlib.sha256(NAME.encode() + b"\n\x01" + KEY.public_key).digest()[:4]
    signature = base64.b64encode(key_id + SIGNER.sign(POINT.text.encode())).decode()
    wanted = f"{NAME}\n42\n{root}\n\n\u2014 {NAME} {signature}\n"
    assert wanted == NOTE


def test_a_note_opens_to_its_checkpoint() -> None:
    assert open_note(NOTE, KEY) == POINT


def test_extension_lines_are_signed_and_kept() -> None:
    point = Checkpoint(NAME, 0, bytes(32), ("extra one", "two"))
    assert open_note(signed_note(point, KEY, SIGNER.sign(point.text.encode())), KEY) == point


def test_a_verifier_key_round_trips() -> None:
    encoded = base64.b64encode(b"\x01" + KEY.public_key).decode()
    assert str(KEY) == f"{NAME}+{KEY.key_id.hex()}+{encoded}"
    assert parse_verifier(f"{KEY}\n") == KEY


def test_a_published_verifier_key_has_the_published_hash() -> None:
    line = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
    assert str(parse_verifier(line)) == line, "the example key of Go's package sumdb/note"


def test_signatures_by_others_are_passed_over() -> None:
    witness = Verifier("witness", OTHER.public_key)
    by_witness = signed_note(POINT, witness, OTHER_SIGNER.sign(POINT.text.encode()))
    both = NOTE + by_witness.rpartition("\n\n")[2]
    assert open_note(both, KEY) == open_note(both, witness) == POINT
    with pytest.raises(NoteError, match="no signature by"):
        open_note(by_witness, KEY)


def test_a_note_by_another_key_of_that_name_does_not_open() -> None:
    forged = signed_note(POINT, OTHER, OTHER_SIGNER.sign(POINT.text.encode()))
    with pytest.raises(NoteError, match="no signature by"):
        open_note(forged, KEY)


def test_a_forged_signature_under_the_true_key_id_is_refused() -> None:
    raw = base64.b64encode(KEY.key_id + OTHER_SIGNER.sign(POINT.text.encode())).decode()
    with pytest.raises(NoteError, match="altered"):
        open_note(f"{POINT.text}\n\u2014 {NAME} {raw}\n", KEY)
    with pytest.raises(NoteError, match="isn't one by"):
        signed_note(POINT, KEY, OTHER_SIGNER.sign(POINT.text.encode()))


def test_base64_in_a_second_spelling_is_refused() -> None:
    assert NOTE.endswith("=\n")
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    other = letters[letters.index(NOTE[-3]) + 1]
    with pytest.raises(NoteError, match="one plain form"):
        open_note(f"{NOTE[:-3]}{other}=\n", KEY)


@settings(max_examples=300)
@given(st.integers(0, len(NOTE) - 1), st.sampled_from("\n aA0=+\u2014\x00"))
def test_no_altered_note_opens(at: int, letter: str) -> None:
    for altered in (NOTE[:at] + letter + NOTE[at + 1 :], NOTE[:at] + NOTE[at + 1 :]):
        if altered != NOTE:
            with pytest.raises(NoteError):
                open_note(altered, KEY)


ROOT = base64.b64encode(bytes(32)).decode()


@pytest.mark.parametrize(
    "text",
    [
        *("", "o\n1\n", f"o\n01\n{ROOT}\n", f"o\n-1\n{ROOT}\n", f"o\n1\n{ROOT}", f"\n1\n{ROOT}\n"),
        *(f"o\n1\n{ROOT[:-4]}\n", f"o\n1\n{ROOT[:-1]}\n", "o\n1\n!!!!\n", f"o\n1 \n{ROOT}\n"),
    ],
)
def test_a_malformed_checkpoint_is_refused(text: str) -> None:
    with pytest.raises(NoteError):
        parse_checkpoint(text)


@pytest.mark.parametrize(
    "line",
    [
        *("", "name", str(KEY).replace("+", "-"), f"x{KEY}", str(KEY)[:-8]),
        *(f"{NAME}+00000000+{str(KEY).split('+', 2)[2]}", f"a b+00000000+{ROOT}"),
    ],
)
def test_a_malformed_verifier_key_is_refused(line: str) -> None:
    with pytest.raises(NoteError):
        parse_verifier(line)
