"""Checking an export offline, with the log's public key alone, and naming the first bad entry.

What is trusted: the verifier key that the caller brings, and SHA-256. The header's checkpoint must
be signed by that key; it says how many entries there are and their root. Each line is then proven
in its place by `stream_proof`: by the signed root and the lines before it. So without the signing
key nobody can make a changed line pass, nor make an unchanged line before it fail, whatever else
of the file they rewrite: **the index that is named is proven**.

What is only likely is the word for it (`what`), read from what the lines claim of themselves: who
deletes an entry and renumbers the rest is told "altered" at the right index. And a checkpoint can
be older than the log: entries after its size are not in the export, so compare its size with a
newer checkpoint, or pass `known`, checkpoints seen before, which the export must extend.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from styx_audit.checkpoint import Checkpoint, NoteError, Verifier, open_note, parse_verifier
from styx_audit.export import ExportLine, FormatError, read_header, read_line
from styx_audit.merkle import Frontier, leaf_hash
from styx_audit.stream_proof import StreamProof

What = Literal[
    "altered",
    "missing",
    "out of order",
    "duplicated",
    "inserted",
    "truncated",
    "header",
    "rewritten",
]


@dataclass(frozen=True)
class Fault:
    """The first thing wrong: at which entry (`index` -1: the header), its id as far as known."""

    index: int
    id: str
    what: What
    detail: str

    def __str__(self) -> str:
        name = f"entry {self.index}" if self.index >= 0 else "header"
        return f"{name}{f' (id {self.id})' if self.id else ''}: {self.what}: {self.detail}"


@dataclass(frozen=True)
class Verdict:
    """How many entries are proven, of the signed checkpoint's, and the first fault, if any."""

    proven: int
    checkpoint: Checkpoint | None
    fault: Fault | None = None

    @property
    def ok(self) -> bool:
        """Whether every entry that the checkpoint signs is there, unchanged and in its place."""
        return self.fault is None


def verify_export(lines: Iterable[str], key: Verifier, known: Iterable[Checkpoint] = ()) -> Verdict:
    """The verdict on an export's lines (with or without their line ends)."""
    rest = (line.rstrip("\r\n") for line in lines)
    try:
        note, _ = read_header(next(rest, ""))
        checkpoint = open_note(note, key)
    except (FormatError, NoteError) as error:
        return Verdict(0, None, Fault(-1, "", "header", str(error)))
    roots: dict[int, set[bytes]] = {}
    for old in known:
        roots.setdefault(old.size, set()).add(old.root)
    if newer := [size for size in roots if size > checkpoint.size]:
        detail = f"it signs {checkpoint.size} entries; {max(newer)} have been seen before"
        return Verdict(0, checkpoint, Fault(-1, "", "truncated", detail))
    return _Reading(rest, checkpoint, roots).verdict()


def check(lines: Iterable[str], key: str) -> Verdict:
    """As `verify_export`, for a key in its text form. Raises NoteError for one that can't be."""
    return verify_export(lines, parse_verifier(key))


class _Reading:
    """One pass over the entries' lines."""

    def __init__(
        self, lines: Iterator[str], checkpoint: Checkpoint, roots: dict[int, set[bytes]]
    ) -> None:
        self._lines = lines
        self._checkpoint = checkpoint
        self._roots = roots
        self._proof = StreamProof(checkpoint.size, checkpoint.root)
        self._frontier = Frontier()
        self._seen = bytearray()

    def verdict(self) -> Verdict:
        fault = self._rewritten()
        for line in self._lines:
            if fault := fault or self._take(line):
                break
        proven, size = self._proof.index, self._checkpoint.size
        if not fault and proven < size:
            fault = Fault(proven, "", "truncated", f"entries {proven} to {size - 1} are gone")
        return Verdict(proven, self._checkpoint, fault)

    def _take(self, line: str) -> Fault | None:
        """Proves the next line, or says what is wrong with it."""
        try:
            row = read_line(line)
        except FormatError as error:
            return self._unreadable(str(error))
        leaf = leaf_hash(row.data)
        if row.number != self._proof.index or not self._proof.accept(leaf, row.proof):
            return self._misplaced(row, leaf)
        self._seen += leaf
        if self._roots:
            self._frontier = self._frontier.append(leaf)
            return self._rewritten()
        return None

    def _rewritten(self) -> Fault | None:
        size = self._frontier.size
        whole = {self._frontier.root()}
        if self._roots.get(size, whole) == whole:
            return None
        detail = f"the first {size} entries aren't those of a checkpoint seen before"
        return Fault(max(size - 1, 0), "", "rewritten", detail)

    def _unreadable(self, why: str) -> Fault:
        at = self._proof.index
        if at >= self._checkpoint.size:
            return Fault(at, "", "inserted", "a line after the last signed entry")
        return Fault(at, "", "altered", f"its line is {why}")

    def _misplaced(self, row: ExportLine, leaf: bytes) -> Fault:
        """What to call a line that isn't the next signed entry."""
        at = self._proof.index
        if 0 <= row.number < at:
            if self._seen[32 * row.number : 32 * row.number + 32] == leaf:
                return Fault(at, row.id, "duplicated", f"entry {row.number} stands here again")
            return Fault(at, row.id, "inserted", f"another line claims to be entry {row.number}")
        if at >= self._checkpoint.size:
            return Fault(at, row.id, "inserted", "a line after the last signed entry")
        later = self._find_later(at)
        if row.number == at:
            if later:
                return Fault(at, row.id, "inserted", "the signed entry stands further on")
            return Fault(at, row.id, "altered", "it or its proof isn't what was signed")
        if later:
            return Fault(at, later.id, "out of order", f"entry {row.number} stands in its place")
        return Fault(at, "", "missing", f"entry {row.number} stands in its place")

    def _find_later(self, index: int) -> ExportLine | None:
        """The true entry `index`, if it stands in one of the lines to come."""
        for line in self._lines:
            try:
                row = read_line(line)
            except FormatError:
                continue
            if row.number == index and self._proof.proves(leaf_hash(row.data), row.proof):
                return row
        return None
