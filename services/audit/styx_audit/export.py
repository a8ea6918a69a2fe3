"""The form of an audit export: JSON Lines that anyone can check offline (`verify`). Pure.

    {"checkpoint":"<signed note>","key":"<verifier key>"}
    {"entry":{…},"index":0,"proof":["<base64>",…]}
    {"entry":{…},"index":1,"proof":[]}

Every line is canonical JSON, spelled exactly so: the bytes between `"entry":` and the last
`,"index":` are the ones that the leaf hash was made of, so a reader hashes them as they stand, and
what another JSON reader would see in them (a key given twice, say) is what was signed. `proof` is
what `stream_proof` says that the entry brings. `key` is there for people; a checker takes the key
that it trusts from elsewhere.
"""

import re
from base64 import b64encode
from binascii import a2b_base64
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from styx_audit.entries import decode, encode
from styx_audit.merkle import Nodes
from styx_audit.stream_proof import right_halves

_HEAD: Final = '{"entry":'
_INDEX: Final = ',"index":'
_HASH: Final = '"[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]="'
"""32 bytes leave two bits of the last letter unused; they are zero, so a hash has one spelling."""
_TAIL: Final = re.compile(rf'(0|[1-9][0-9]{{0,18}}),"proof":\[((?:{_HASH}(?:,{_HASH})*+)?)\]\}}')


class FormatError(ValueError):
    """A line that isn't of an export; the text says what is wrong with it."""


class ExportLine(NamedTuple):
    """One entry's line: the entry's bytes, the place that it claims, and its proof."""

    data: bytes
    number: int
    proof: tuple[bytes, ...]

    @property
    def id(self) -> str:
        """What the entry calls itself; empty if nothing or if it can't be read."""
        try:
            entry = decode(self.data.decode())
        except ValueError:
            return ""
        return str(entry.get("id", "")) if isinstance(entry, dict) else ""


def export(entries: Iterable[str], size: int, note: str, key: str, nodes: Nodes) -> Iterator[str]:
    """The lines of an export of all `size` entries under the signed checkpoint `note`.

    `entries` are canonical JSON as it was stored: written as they are, so that what was changed
    in the store is changed in the export too, and found.
    """
    yield encode({"checkpoint": note, "key": key}).decode()
    for index, entry in enumerate(entries):
        hashes = ",".join(f'"{_base64(half)}"' for half in right_halves(index, size, nodes))
        yield f'{_HEAD}{entry}{_INDEX}{index},"proof":[{hashes}]}}'


def read_header(line: str) -> tuple[str, str]:
    """(signed note, verifier key) of an export's first line. Raises FormatError."""
    try:
        header = decode(line)
    except ValueError as error:
        raise FormatError("the first line isn't an export's: no JSON") from error
    if not isinstance(header, dict) or header.keys() != {"checkpoint", "key"}:
        raise FormatError("the first line isn't an export's: want exactly checkpoint and key")
    note, key = header["checkpoint"], header["key"]
    if not isinstance(note, str) or not isinstance(key, str):
        raise FormatError("the header's checkpoint and key are texts")
    return note, key


def read_line(line: str) -> ExportLine:
    """An entry's line. Raises FormatError for one that isn't spelled as an export spells it."""
    head, _, tail = line.rpartition(_INDEX)
    found = _TAIL.fullmatch(tail)
    if not found or not head.startswith(_HEAD):
        raise FormatError("not of an export's form")
    try:
        data = head[len(_HEAD) :].encode()
    except UnicodeEncodeError as error:
        raise FormatError("no UTF-8 text") from error
    hashes = found[2]
    proof = tuple([a2b_base64(text) for text in hashes.split(",")]) if hashes else ()
    return ExportLine(data, int(found[1]), proof)


def _base64(half: bytes) -> str:
    return b64encode(half).decode()
