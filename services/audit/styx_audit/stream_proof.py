"""Proving entries one after another against one signed root, each as it arrives. Pure.

An inclusion proof per entry would cost log n hashes each. Read in order, most are known already,
and what is left is one new hash an entry on average: entry i brings the right halves of the
subtrees that start at it, from the largest down. They and the entry's leaf hash must fold to the
subtree's hash, which is the signed root (for i = 0) or was brought, and proven, by an entry
before. So an entry is proven in its place the moment it is read, by nothing but the signed root.
"""

from collections.abc import Sequence

from styx_audit.merkle import Nodes, node_hash, split, subtree


def subtree_end(index: int, size: int) -> int:
    """The end of the largest subtree of the tree of `size` that starts at entry `index`."""
    return size if index == 0 else min(size, index + (index & -index))


def right_halves(index: int, size: int, nodes: Nodes) -> tuple[bytes, ...]:
    """What entry `index` brings: the right halves of the subtrees that start at it, large first."""
    halves, end = [], subtree_end(index, size)
    while end - index > 1:
        middle = index + split(end - index)
        halves.append(subtree(middle, end, nodes))
        end = middle
    return tuple(halves)


class StreamProof:
    """A reader's state: the subtree hashes still to be proven, the next one last."""

    def __init__(self, size: int, root: bytes) -> None:
        self.index = 0
        self.size = size
        self._expected = [root] if size else []

    def proves(self, leaf: bytes, halves: Sequence[bytes]) -> bool:
        """Whether `leaf` and `halves` are what was signed as the next entry."""
        if self.index >= self.size:
            return False
        if len(halves) != (subtree_end(self.index, self.size) - self.index - 1).bit_length():
            return False
        node = leaf
        for half in reversed(halves):
            node = node_hash(node, half)
        return node == self._expected[-1]

    def accept(self, leaf: bytes, halves: Sequence[bytes]) -> bool:
        """`proves`, and if so goes on to the entry after."""
        if not self.proves(leaf, halves):
            return False
        self._expected[-1:] = halves
        self.index += 1
        return True
