"""The Merkle tree of RFC 6962 section 2 (RFC 9162 section 2.1): hashing, growth and proofs. Pure.

A node is a complete subtree, named by (level, index): level 0 are the leaves, and node (l, i)
covers the leaves i·2^l up to (i+1)·2^l. Complete nodes never change, so they are stored once, as
they are completed, and every root and proof of any size reads only O(log n) of them.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

EMPTY_ROOT: Final = hashlib.sha256(b"").digest()

Nodes = Callable[[int, int], bytes]
"""Reads the hash of a complete node by (level, index); raises KeyError for one that isn't there."""


def leaf_hash(data: bytes) -> bytes:
    """SHA-256(0x00 || data)."""
    return hashlib.sha256(b"\x00" + data).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """SHA-256(0x01 || left || right)."""
    return hashlib.sha256(b"\x01" + left + right).digest()


class Node(NamedTuple):
    """A complete subtree's place and hash."""

    level: int
    position: int
    hash: bytes


@dataclass(frozen=True)
class Frontier:
    """All that appending needs: the tree's size and the hashes of its complete subtrees, largest
    first, one for each set bit of the size."""

    size: int = 0
    hashes: tuple[bytes, ...] = ()

    def __post_init__(self) -> None:
        if self.size < 0 or len(self.hashes) != self.size.bit_count():
            raise ValueError(
                f"a frontier of {self.size} leaves has {self.size.bit_count()} hashes, "
                f"not {len(self.hashes)}: read it again from the stored nodes"
            )

    def completed(self, leaf: bytes) -> tuple[Node, ...]:
        """The nodes that this leaf hash completes, itself first: what a store keeps for it."""
        nodes = [Node(0, self.size, leaf)]
        for left in reversed(self.hashes):
            top = nodes[-1]
            if top.position % 2 == 0:
                break
            nodes.append(Node(top.level + 1, top.position // 2, node_hash(left, top.hash)))
        return tuple(nodes)

    def append(self, leaf: bytes) -> "Frontier":
        """The frontier with one more leaf hash."""
        nodes = self.completed(leaf)
        kept = self.hashes[: len(self.hashes) + 1 - len(nodes)]
        return Frontier(self.size + 1, (*kept, nodes[-1].hash))

    def root(self) -> bytes:
        """The tree's root hash; of the empty tree SHA-256 of nothing."""
        return _fold_left(self.hashes) if self.hashes else EMPTY_ROOT


def frontier(size: int, nodes: Nodes) -> Frontier:
    """The frontier of the first `size` leaves, from stored nodes."""
    hashes, start = [], 0
    for level in reversed(range(size.bit_length())):
        if size >> level & 1:
            hashes.append(nodes(level, start >> level))
            start += 1 << level
    return Frontier(size, tuple(hashes))


def root(size: int, nodes: Nodes) -> bytes:
    """The root of the first `size` leaves."""
    return frontier(size, nodes).root()


def split(size: int) -> int:
    """The leaves in the left part of a tree of `size` > 1: the largest power of two below it."""
    return 1 << (size - 1).bit_length() - 1


def subtree(start: int, end: int, nodes: Nodes) -> bytes:
    """The hash over the leaves [start, end), a subtree of the RFC's division."""
    size = end - start
    if size & (size - 1) == 0:
        level = size.bit_length() - 1
        return nodes(level, start >> level)
    middle = start + split(size)
    return node_hash(subtree(start, middle, nodes), subtree(middle, end, nodes))


def inclusion_proof(index: int, size: int, nodes: Nodes) -> tuple[bytes, ...]:
    """PATH(index, D[size]) of RFC 6962, 2.1.1. Raises ValueError for an index outside the tree."""
    if not 0 <= index < size:
        raise ValueError(f"entry {index} isn't among the first {size}: ask for a larger tree")
    path, start, end = [], 0, size
    while end - start > 1:
        middle = start + split(end - start)
        if index < middle:
            path.append(subtree(middle, end, nodes))
            end = middle
        else:
            path.append(subtree(start, middle, nodes))
            start = middle
    return tuple(reversed(path))


def consistency_proof(first: int, second: int, nodes: Nodes) -> tuple[bytes, ...]:
    """PROOF(first, D[second]) of RFC 6962, 2.1.2. Raises ValueError unless 0 < first <= second."""
    if not 0 < first <= second:
        raise ValueError(f"no proof from {first} to {second} entries: want 0 < from <= to")
    path, start, end = [], 0, second
    while end != first:
        middle = start + split(end - start)
        if first <= middle:
            path.append(subtree(middle, end, nodes))
            end = middle
        else:
            path.append(subtree(start, middle, nodes))
            start = middle
    if start:
        path.append(subtree(start, end, nodes))
    return tuple(reversed(path))


def verify_inclusion(
    leaf: bytes, index: int, size: int, proof: Sequence[bytes], root: bytes
) -> bool:
    """Whether `leaf` is the hash of entry `index` of the tree of `size` (RFC 9162, 2.1.3.2)."""
    if not 0 <= index < size:
        return False
    here, last, node = index, size - 1, leaf
    for sibling in proof:
        if last == 0:
            return False
        if here & 1 or here == last:
            node = node_hash(sibling, node)
            while not here & 1 and here:
                here, last = here >> 1, last >> 1
        else:
            node = node_hash(node, sibling)
        here, last = here >> 1, last >> 1
    return last == 0 and node == root


def verify_consistency(
    first: int, second: int, first_root: bytes, second_root: bytes, proof: Sequence[bytes]
) -> bool:
    """Whether the tree of `second` entries extends that of `first` (RFC 9162, 2.1.4.2)."""
    if not 0 < first <= second:
        return False
    if first == second:
        return not proof and first_root == second_root
    path = [first_root, *proof] if first & (first - 1) == 0 else list(proof)
    if not path:
        return False
    here, last = first - 1, second - 1
    while here & 1:
        here, last = here >> 1, last >> 1
    return _replay(path, here, last) == (first_root, second_root)


def _replay(path: list[bytes], here: int, last: int) -> tuple[bytes, bytes] | None:
    """Both roots that a consistency proof leads to; None if its length is wrong."""
    old = new = path[0]
    for sibling in path[1:]:
        if last == 0:
            return None
        if here & 1 or here == last:
            old, new = node_hash(sibling, old), node_hash(sibling, new)
            while not here & 1 and here:
                here, last = here >> 1, last >> 1
        else:
            new = node_hash(new, sibling)
        here, last = here >> 1, last >> 1
    return (old, new) if last == 0 else None


def _fold_left(hashes: Sequence[bytes]) -> bytes:
    """The root over complete subtrees, largest first: joined from the smallest on."""
    *rest, node = hashes
    for left in reversed(rest):
        node = node_hash(left, node)
    return node
