"""The one form in which an audit entry is hashed: canonical JSON. Pure.

Keys sorted by code point, no spaces, UTF-8, no escapes but the needed ones. A subset of JSON in
which every value has one spelling: text, whole numbers, true, false, null, lists and maps. A float
has several spellings and is refused.
"""

from collections.abc import Mapping
from json import JSONDecoder, JSONEncoder
from typing import Final

from styx_audit import merkle

_ENCODER: Final = JSONEncoder(
    ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")
)


def canonical(entry: Mapping[str, object]) -> bytes:
    """The bytes that stand for `entry`. Raises ValueError naming what has no canonical form."""
    _check(entry, "entry")
    return encode(entry)


def encode(value: object) -> bytes:
    """Canonical JSON of a value that came from JSON itself, unchecked for Python's own types."""
    try:
        return _ENCODER.encode(value).encode()
    except UnicodeEncodeError as error:
        raise ValueError("entry: text with half a surrogate pair has no UTF-8 form") from error
    except RecursionError as error:
        raise ValueError("entry: nested too deeply") from error


def leaf_hash(entry: Mapping[str, object]) -> bytes:
    """The hash of `entry` as a leaf of the log's tree."""
    return merkle.leaf_hash(canonical(entry))


def decode(text: str) -> object:
    """A value from JSON. Raises ValueError for floats and for what isn't JSON."""
    try:
        return _DECODER.decode(text)
    except RecursionError as error:
        raise ValueError("JSON nested too deeply") from error


def _no_float(text: str) -> object:
    raise ValueError(f"{text[:40]} is no whole number: write fractions as text")


_DECODER: Final = JSONDecoder(parse_float=_no_float, parse_constant=_no_float)


def _check(value: object, where: str) -> None:
    if value is None or isinstance(value, str | int):
        return
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if not isinstance(key, str):
                raise ValueError(f"{where}: the key {key!r} is no text")
            _check(inner, f"{where}.{key}")
    elif isinstance(value, list | tuple):
        for at, inner in enumerate(value):
            _check(inner, f"{where}[{at}]")
    else:
        raise ValueError(f"{where}: a {type(value).__name__} has no canonical form: make it text")
