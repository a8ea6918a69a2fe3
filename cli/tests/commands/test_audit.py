"""`styx audit`: the log's table, its export, and the check with a key from elsewhere."""

import json
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from styx_audit.checkpoint import Checkpoint, Verifier, signed_note
from styx_audit.entries import canonical, leaf_hash
from styx_audit.export import export
from styx_audit.merkle import Frontier

SIGNER = Ed25519PrivateKey.generate()
KEY = Verifier("log.example/styx", SIGNER.public_key().public_bytes_raw())
SIZE = 7
ENTRY = {
    "id": "evt_1",
    "at": "2026-01-05T12:00:00+00:00",
    "kind": "grant_decided",
    "actor": "owner",
    "target": "prod",
    "scopes": ["delete"],
    "command": ["aws", "s3", "rm", "s3://b/\x1b[2J"],
    "why": "as agreed",
}


def exported() -> str:
    """An export of seven entries."""
    entries: list[dict[str, object]] = [{**ENTRY, "id": f"evt_{n}"} for n in range(SIZE)]
    nodes: dict[tuple[int, int], bytes] = {}
    grown = Frontier()
    for entry in entries:
        nodes |= {(n.level, n.position): n.hash for n in grown.completed(leaf_hash(entry))}
        grown = grown.append(leaf_hash(entry))
    made = Checkpoint(KEY.name, SIZE, grown.root())
    note = signed_note(made, KEY, SIGNER.sign(made.text.encode()))
    bodies = (canonical(entry).decode() for entry in entries)
    lines = export(bodies, SIZE, note, str(KEY), lambda level, at: nodes[level, at])
    return "".join(f"{line}\n" for line in map(str.rstrip, lines))


@pytest.fixture
def log(broker: Any) -> Any:
    """A broker with a log behind it."""
    broker.answers["GET /audit/entries"] = {"entries": [{"seq": 6, "entry": ENTRY}]}
    broker.answers["GET /audit/entries/6"] = {"seq": 6, "entry": ENTRY, "proof": []}
    broker.answers["GET /audit/checkpoint"] = {"key": str(KEY), "note": "…"}
    broker.answers["GET /audit/export"] = exported()
    return broker


def test_the_log_is_a_table_or_json(styx: Any, log: Any) -> None:
    table = styx("audit", "log", "--field", "kind=grant_decided", "--text", "as", "--limit", "5")
    for shown in ("grant_decided", "owner", "prod", "delete", "aws s3 rm", "as agreed"):
        assert shown in table.out
    assert "\x1b" not in table.out
    assert log.asked[0].query == {"kind": ["grant_decided"], "text": ["as"], "limit": ["5"]}
    assert styx("audit", "log", "--json").json == [{"seq": 6, "entry": ENTRY}]
    log.answers["GET /audit/entries"] = {"entries": []}
    assert styx("audit", "log").out == "Nothing fits.\n"


def test_one_entry_and_the_key(styx: Any, log: Any) -> None:
    assert styx("audit", "show", "6").json["entry"] == ENTRY
    assert styx("audit", "key").out == f"{KEY}\n"
    assert styx("audit", "show", "7").code == 64


def test_an_export_is_written_as_it_came(styx: Any, log: Any, tmp_path: Path) -> None:
    assert styx("audit", "export").out == exported()
    file = tmp_path / "log.jsonl"
    done = styx("audit", "export", str(file))
    assert (done.code, done.out, done.err) == (0, "", f"written: {file}\n")
    assert file.read_text() == exported()


def test_an_export_that_fails_leaves_the_earlier_one(styx: Any, log: Any, tmp_path: Path) -> None:
    file = tmp_path / "log.jsonl"
    file.write_text("the earlier one")
    log.answers["GET /audit/export"] = (503, {"title": "unavailable", "detail": "Vault is sealed"})
    done = styx("audit", "export", str(file))
    assert (done.code, "Vault is sealed" in done.err) == (69, True)
    assert file.read_text() == "the earlier one"
    nowhere = styx("audit", "export", str(tmp_path / "absent" / "log"))
    assert nowhere.code == 69, "asked first"
    log.answers["GET /audit/export"] = exported()
    nowhere = styx("audit", "export", str(tmp_path / "absent" / "log"))
    assert (nowhere.code, "absent/log: No such file" in nowhere.err) == (64, True)


def test_the_running_log_is_proven(styx: Any, log: Any) -> None:
    done = styx("audit", "verify")
    assert (done.code, done.out[:46]) == (0, "All 7 entries stand as they were signed (root ")
    assert styx("audit", "verify", "--json").json == {"ok": True, "proven": 7, "fault": ""}


def test_an_export_is_checked_with_a_key_from_elsewhere(
    styx: Any, broker: Any, tmp_path: Path
) -> None:
    file = tmp_path / "log.jsonl"
    file.write_text(exported())
    without = styx("audit", "verify", str(file))
    assert (without.code, "a key from elsewhere" in without.err) == (64, True)
    assert styx("audit", "verify", str(file), "--key", str(KEY)).code == 0
    other = Verifier(KEY.name, Ed25519PrivateKey.generate().public_key().public_bytes_raw())
    wrong = styx("audit", "verify", str(file), "--key", str(other))
    assert (wrong.code, wrong.out.startswith("NOT proven after 0 entries. header")) == (1, True)
    garbage = styx("audit", "verify", str(file), "--key", "FIXTURE")
    assert (garbage.code, garbage.err.startswith("styx: --key: ")) == (64, True)
    assert broker.asked == [], "nothing of it needs a broker"


def test_the_first_entry_that_is_wrong_is_named(styx: Any, broker: Any, tmp_path: Path) -> None:
    file = tmp_path / "log.jsonl"
    file.write_text(exported().replace('"id":"evt_3"', '"id":"evt_9"'))
    done = styx("audit", "verify", str(file), "--key", str(KEY), "--json")
    assert (done.code, done.json["ok"], done.json["proven"]) == (1, False, 3)
    assert done.json["fault"].startswith("entry 3 ")


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\n", b"{}\n", json.dumps(ENTRY).encode()])
def test_a_file_that_is_no_export(styx: Any, broker: Any, tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "log.jsonl"
    file.write_bytes(content)
    done = styx("audit", "verify", str(file), "--key", str(KEY))
    assert (done.code, done.out.startswith("NOT proven after 0 entries. header")) == (1, True)
    missing = styx("audit", "verify", str(tmp_path / "absent"), "--key", str(KEY))
    assert (missing.code, "absent: No such file" in missing.err) == (64, True)
