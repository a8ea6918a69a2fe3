"""A stream of entries is proven one by one by the root alone, at one hash an entry."""

import pytest
from styx_audit.merkle import Frontier, leaf_hash
from styx_audit.stream_proof import StreamProof, right_halves

SIZE = 200
LEAVES = [leaf_hash(f"entry {i}".encode()) for i in range(SIZE)]
STORED: dict[tuple[int, int], bytes] = {}
ROOTS = [Frontier().root()]
_grown = Frontier()
for _leaf in LEAVES:
    STORED |= {(node.level, node.position): node.hash for node in _grown.completed(_leaf)}
    _grown = _grown.append(_leaf)
    ROOTS.append(_grown.root())


def read(level: int, position: int) -> bytes:
    return STORED[level, position]


@pytest.mark.parametrize("size", [*range(12), 31, 32, 33, 100, 127, 200])
def test_a_stream_of_entries_is_proven_one_by_one(size: int) -> None:
    proof, brought = StreamProof(size, ROOTS[size]), 0
    for index in range(size):
        halves = right_halves(index, size, read)
        brought += len(halves)
        assert size == 1 or not proof.accept(LEAVES[index - 1], halves)
        assert not proof.accept(LEAVES[index], (*halves, LEAVES[0]))
        if halves:
            assert not proof.accept(LEAVES[index], (LEAVES[0], *halves[1:]))
            assert not proof.accept(LEAVES[index], halves[1:])
        assert proof.accept(LEAVES[index], halves)
    assert brought == max(size - 1, 0)
    assert proof.index == size
    assert not proof.accept(LEAVES[0], ())
