"""The tree against a naive reading of RFC 6962's definitions, for every size up to 200."""

import hashlib
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from styx_audit import merkle
from styx_audit.merkle import Frontier

SIZE = 200
LEAVES = [merkle.leaf_hash(f"entry {i}".encode()) for i in range(SIZE)]


def naive_root(leaves: Sequence[bytes]) -> bytes:
    """MTH of RFC 6962, 2.1, over leaf hashes."""
    if not leaves:
        return hashlib.sha256().digest()
    if len(leaves) == 1:
        return leaves[0]
    k = 1
    while 2 * k < len(leaves):
        k *= 2
    both = naive_root(leaves[:k]) + naive_root(leaves[k:])
    return hashlib.sha256(b"\x01" + both).digest()


def naive_path(m: int, leaves: Sequence[bytes]) -> list[bytes]:
    """PATH of RFC 6962, 2.1.1."""
    if len(leaves) == 1:
        return []
    k = 1
    while 2 * k < len(leaves):
        k *= 2
    if m < k:
        return [*naive_path(m, leaves[:k]), naive_root(leaves[k:])]
    return [*naive_path(m - k, leaves[k:]), naive_root(leaves[:k])]


def naive_consistency(m: int, leaves: Sequence[bytes], whole: bool = True) -> list[bytes]:
    """PROOF and SUBPROOF of RFC 6962, 2.1.2."""
    if m == len(leaves):
        return [] if whole else [naive_root(leaves)]
    k = 1
    while 2 * k < len(leaves):
        k *= 2
    if m <= k:
        return [*naive_consistency(m, leaves[:k], whole), naive_root(leaves[k:])]
    return [*naive_consistency(m - k, leaves[k:], False), naive_root(leaves[:k])]


ROOTS = [naive_root(LEAVES[:n]) for n in range(SIZE + 1)]


def store(leaves: Sequence[bytes]) -> tuple[Frontier, dict[tuple[int, int], bytes]]:
    nodes: dict[tuple[int, int], bytes] = {}
    grown = Frontier()
    for leaf in leaves:
        for node in grown.completed(leaf):
            assert (node.level, node.position) not in nodes
            nodes[node.level, node.position] = node.hash
        grown = grown.append(leaf)
    return grown, nodes


STORED = store(LEAVES)[1]


def read(level: int, index: int) -> bytes:
    return STORED[level, index]


def test_known_roots_of_certificate_transparency() -> None:
    data = [
        *(b"", b"\x00", b"\x10", b"\x20\x21", b"\x30\x31", bytes(range(0x40, 0x44))),
        *(bytes(range(0x50, 0x58)), bytes(range(0x60, 0x70))),
    ]
    known = {
        0: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        1: "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
        2: "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
        3: "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
        7: "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
        8: "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
    }
    leaves = [merkle.leaf_hash(entry) for entry in data]
    assert {n: store(leaves[:n])[0].root().hex() for n in known} == known


def test_every_root_agrees_with_the_definition() -> None:
    grown = Frontier()
    for size in range(SIZE + 1):
        assert grown.root() == ROOTS[size]
        assert merkle.frontier(size, read) == grown
        assert merkle.root(size, read) == ROOTS[size]
        if size < SIZE:
            grown = grown.append(LEAVES[size])


@pytest.mark.parametrize("size", range(1, SIZE + 1, 7))
def test_every_inclusion_proof_agrees_and_verifies(size: int) -> None:
    for index in range(size):
        proof = merkle.inclusion_proof(index, size, read)
        assert list(proof) == naive_path(index, LEAVES[:size])
        assert merkle.verify_inclusion(LEAVES[index], index, size, proof, ROOTS[size])


@pytest.mark.parametrize("second", range(1, SIZE + 1, 7))
def test_every_consistency_proof_agrees_and_verifies(second: int) -> None:
    for first in range(1, second + 1):
        proof = merkle.consistency_proof(first, second, read)
        assert list(proof) == naive_consistency(first, LEAVES[:second])
        assert merkle.verify_consistency(first, second, ROOTS[first], ROOTS[second], proof)


def test_a_proof_reads_few_nodes() -> None:
    asked: list[tuple[int, int]] = []

    def reader(level: int, index: int) -> bytes:
        asked.append((level, index))
        return hashlib.sha256(f"{level} {index}".encode()).digest()

    for index in (0, 499_999, 999_998):
        asked.clear()
        merkle.inclusion_proof(index, 999_999, reader)
        assert len(asked) < 60
    asked.clear()
    merkle.consistency_proof(654_321, 999_999, reader)
    assert len(asked) < 60


def _mutate(proof: Sequence[bytes], at: int, how: str) -> list[bytes]:
    changed = list(proof)
    if how == "flip" and changed:
        at %= len(changed)
        changed[at] = bytes([changed[at][0] ^ 1]) + changed[at][1:]
    elif how == "drop" and changed:
        del changed[at % len(changed)]
    else:
        changed.insert(at % (len(changed) + 1), LEAVES[at % SIZE])
    return changed


MUTATIONS = st.sampled_from(["flip", "drop", "add"])


@settings(max_examples=300, deadline=None)
@given(st.integers(1, SIZE), st.data(), st.integers(0, 500), MUTATIONS)
def test_a_changed_inclusion_proof_fails(size: int, data: st.DataObject, at: int, how: str) -> None:
    index = data.draw(st.integers(0, size - 1))
    leaf, top = LEAVES[index], ROOTS[size]
    proof = merkle.inclusion_proof(index, size, read)
    assert not merkle.verify_inclusion(leaf, index, size, _mutate(proof, at, how), top)
    assert not merkle.verify_inclusion(LEAVES[index - 1], index, size, proof, top) or size == 1
    assert not merkle.verify_inclusion(leaf, index + 1, size, proof, top)
    assert not merkle.verify_inclusion(leaf, index, size, proof, ROOTS[size - 1])
    assert not merkle.verify_inclusion(leaf, -1, size, proof, top)


@settings(max_examples=300, deadline=None)
@given(st.integers(1, SIZE), st.data(), st.integers(0, 500), MUTATIONS)
def test_a_changed_consistency_proof_fails(
    second: int, data: st.DataObject, at: int, how: str
) -> None:
    first = data.draw(st.integers(1, second))
    old, new = ROOTS[first], ROOTS[second]
    proof = merkle.consistency_proof(first, second, read)
    assert not merkle.verify_consistency(first, second, old, new, _mutate(proof, at, how))
    assert not merkle.verify_consistency(first, second, ROOTS[first - 1], new, proof)
    assert not merkle.verify_consistency(first, second, old, ROOTS[second - 1], proof)
    assert not merkle.verify_consistency(0, second, old, new, proof)
    assert not merkle.verify_consistency(second + 1, second, old, new, proof)


def test_a_proof_that_stops_below_the_root_fails_even_for_the_hash_it_reaches() -> None:
    proof = merkle.inclusion_proof(3, 8, read)
    reached = naive_root(LEAVES[:4])
    assert not merkle.verify_inclusion(LEAVES[3], 3, 8, proof[:-1], reached)
    proof = merkle.consistency_proof(3, 8, read)
    assert not merkle.verify_consistency(3, 8, ROOTS[3], reached, proof[:-1])


@pytest.mark.parametrize(
    "ask",
    [
        lambda: merkle.inclusion_proof(5, 5, read),
        lambda: merkle.inclusion_proof(-1, 5, read),
        lambda: merkle.consistency_proof(0, 5, read),
        lambda: merkle.consistency_proof(6, 5, read),
        lambda: Frontier(3, (LEAVES[0],)),
        lambda: Frontier(-1, ()),
    ],
)
def test_what_has_no_answer_is_refused(ask: Callable[[], object]) -> None:
    with pytest.raises(ValueError):
        ask()
