"""How fast the audit log appends and an export is checked, beside bare SHA-256 of the same bytes.

Processor time, since the work is all computing and the machine may be shared.
"""

import hashlib
from time import process_time

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from styx_audit.checkpoint import Checkpoint, Verifier, signed_note
from styx_audit.entries import canonical
from styx_audit.export import export
from styx_audit.merkle import Frontier, leaf_hash
from styx_audit.verify import verify_export
from table import Row, print_table

ENTRIES = 100_000
AIM = 50_000


def _entry(number: int) -> dict[str, object]:
    return {
        "id": f"01J{number:023d}",
        "at": "2026-01-01T00:00:00.000000Z",
        "kind": "decided",
        "actor": "agent-7",
        "target": "prod/aws",
        "scopes": ["delete"],
        "command": ["aws", "s3", "rm", f"s3://bucket/{number}"],
        "decision": "allow",
    }


def measure(entries: int = ENTRIES) -> list[Row]:
    """Entries a second: growing the tree with its nodes, and verifying an export."""
    rows = [_entry(number) for number in range(entries)]
    data = [canonical(row) for row in rows]
    start = process_time()
    for item in data:
        hashlib.sha256(item).digest()
    floor = entries / (process_time() - start)

    nodes: dict[tuple[int, int], bytes] = {}
    grown = Frontier()
    start = process_time()
    for item in data:
        leaf = leaf_hash(item)
        for node in grown.completed(leaf):
            nodes[node.level, node.position] = node.hash
        grown = grown.append(leaf)
    append = entries / (process_time() - start)

    signer = Ed25519PrivateKey.generate()
    key = Verifier("bench", signer.public_key().public_bytes_raw())
    point = Checkpoint("bench", entries, grown.root())
    note = signed_note(point, key, signer.sign(point.text.encode()))
    bodies = (item.decode() for item in data)
    lines = list(export(bodies, entries, note, str(key), lambda level, i: nodes[level, i]))
    start = process_time()
    verdict = verify_export(lines, key)
    verify = entries / (process_time() - start)
    grows, holds = append >= 10_000, verdict.ok and verify >= AIM
    name, unit = "SHA-256", "entries/s"
    return [
        Row("Merkle tree append, CPU", append, name, floor, unit, ">= 10,000", grows),
        Row("Merkle tree verify, CPU", verify, name, floor, unit, f">= {AIM:,}", holds),
    ]


if __name__ == "__main__":
    print_table(measure())
