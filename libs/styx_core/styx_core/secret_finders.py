"""Where secrets stand in a text: each finder yields half-open spans, overlapping or not.

Every finder is linear in the text. Two rules keep it so: a pattern starts a long run only at the
run's edge (look-behind) or gives up within a fixed number of letters, and what has been read as a
value without a bound is always hidden, so it is never read twice.
"""

import base64
import binascii
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from typing import Final
from urllib.parse import unquote

from styx_core.secret_names import holds_secret, is_header, is_secret_flag, is_secret_name
from styx_core.secret_shape import LEFT_EDGE

Span = tuple[int, int]
Finder = Callable[[str], Iterator[Span]]

STRUCTURED: Final = re.compile(
    r"(?=[eMNO\d])"
    + LEFT_EDGE
    + r"""(?:
      (?:eyJ[\w-]{8,}+(?:\.[\w-]*+){2,4} | \d{8,10}:AA[\w-]{32,}+
      | [MNO][A-Za-z0-9][\w-]{20,28}\.[\w-]{6}\.[\w-]{27,}+ )[\w-]*+
    )""",
    re.VERBOSE | re.ASCII,
)
"""JSON web tokens (RFC 7519, 7516), Telegram and Discord bot tokens."""

INTRODUCED: Final = re.compile(
    r"""\b(?:Bearer|Basic|FlyV1)[ \t]{1,8}(?=[a-z._~+/=-]{0,64}[0-9A-Z])([\w.~+/=,-]{16,}+)
      | (?<![\w-])-t[ =](?=[a-z0-9]{0,23}[A-Z])([A-Za-z0-9]{24})(?![\w.-])
      | (?i:\blogin\s{1,8}\S{1,200}\s{1,8}password\s{1,8}(\S++))
      | (?i:\b(?:password|identified\s{1,8}by)\s{1,8}'([^'\n]++))
      | (?i:<[\w:.-]{0,40}(?:password|token|secret|apikey)>([^<\n]++)</)""",
    re.VERBOSE | re.ASCII,
)
"""What a word before it makes secret: bearer tokens, `-t` tokens, .netrc, SQL, XML."""

_USERINFO: Final = re.compile(r"://[^\s/:@\"'<>]{0,256}:(?:([^\s/\"'<>]++)|(?=/))", re.ASCII)
_SLASHED: Final = re.compile(r"[^\s@\"'<>]{1,400}@")
_NAME: Final = re.compile(r"(?<![\w.-])([\w.-]++)(\\*[\"']?\]?)([ \t]{0,8}[:=]>?[ \t]{0,8})")
_FLAG: Final = re.compile(r"(?<![\w.-])(--?[A-Za-z][\w-]*+)\\?[\"']?,?(?:\s|\\\n){1,16}")
_OPENING: Final = re.compile(r"\\*[\"']")
_QUOTED: Final = {
    '"': re.compile(r'(?:[^"\\\n]|\\.)*+'),
    "'": re.compile(r"(?:[^'\\\n]|\\.)*+"),
}
_BARE: Final = re.compile(
    r"(?:\$?\{\{[^{}\n]{1,120}\}\}|\$\([^()\n]{1,200}\)|<[^<>\n]{1,80}>|\S)++"
)
_BARE_TAIL: Final = re.compile(r"\\*[\"'`][\])},;]*$")
_QUERY_VALUE: Final = re.compile(r"[^\s&#\"'<>]*+")
_SCHEME: Final = re.compile(r"(?i:bearer|basic|token|digest|negotiate|apikey)[ \t]{1,8}")
_LINE: Final = {'"': re.compile(r'[^"\r\n]*+'), "'": re.compile(r"[^'\r\n]*+")}
_REST: Final = re.compile(r"[^\r\n]*+")


def structured(text: str) -> Iterator[Span]:
    """Tokens known by their parts."""
    return (found.span() for found in STRUCTURED.finditer(text))


def introduced(text: str) -> Iterator[Span]:
    """Secrets known by the word before them."""
    for found in INTRODUCED.finditer(text):
        start, end = found.span(found.lastindex or 0)
        if holds_secret("", text[start:end]):
            yield start, end


def passwords_in_urls(text: str) -> Iterator[Span]:
    """`scheme://user:password@`: to the last @ of the authority; a password with a bare slash in
    it (no port could hold it) goes on to the @ behind it."""
    for found in _USERINFO.finditer(text):
        authority = found[1] or ""
        start = found.end() - len(authority)
        if (last := authority.rfind("@")) > 0:
            yield start, start + last
        elif not authority.isdigit() and "@" not in authority:
            behind = _SLASHED.match(text, found.end())
            if behind:
                yield start, behind.end() - 1


def assigned(text: str) -> Iterator[Span]:
    """The value after `name=`, `name: ` or `"name": ` when the name promises a secret."""
    done = 0
    for found in _NAME.finditer(text):
        if found.start() < done:
            continue
        start, end = _promised(text, found)
        if end > start and holds_secret(found[1], text[start:end]):
            done = end
            yield start, end


def _promised(text: str, found: re.Match[str]) -> Span:
    """The value of a name that promises a secret; empty for any other name."""
    name, quote, joint = found.groups()
    before = text[max(found.start() - 1, 0) : found.start()]
    if is_header(name):
        return _header_value(text, found.end(), before)
    if is_secret_name(name) and not _is_path_part(before, quote, joint):
        return _value(text, found.end(), in_query=before in ("?", "&"))
    return found.end(), found.end()


def flagged(text: str) -> Iterator[Span]:
    """The word after `--password` and its like, unless it is a flag itself or an operator."""
    done = 0
    for found in _FLAG.finditer(text):
        at = found.end()
        if found.start() < done or not is_secret_flag(found[1]):
            continue
        if text.startswith(("--", "|", ">", "<(", "<<", "< ", "&&", ";"), at):
            continue
        start, end = _value(text, at)
        if holds_secret(found[1], text[start:end]):
            done = end
            yield start, end


def _is_path_part(before: str, quote: str, joint: str) -> bool:
    """Whether `name:` is a piece of an ARN, URN or image name instead of a key."""
    return joint == ":" and not quote and before in (":", "/", "@")


def _value(text: str, at: int, *, in_query: bool = False) -> Span:
    """The value that starts at `at`: within its quotes, to the end of the query's part, or bare.
    An unclosed quote holds to the end of its line."""
    if in_query:
        found = _QUERY_VALUE.match(text, at)
    elif opening := _OPENING.match(text, at):
        found = _QUOTED[opening[0][-1]].match(text, opening.end())
        if found and len(opening[0]) > 1:
            return found.start(), found.end() - (found[0].endswith("\\"))
    else:
        found = _BARE.match(text, at)
        if found:
            tail = _BARE_TAIL.search(text, max(found.start() + 1, found.end() - 12), found.end())
            return found.start(), tail.start() if tail else found.end()
    return found.span() if found else (at, at)


def _header_value(text: str, at: int, before: str) -> Span:
    """A header's whole value behind its scheme: to the quote that the header stands in, or the
    end of the line."""
    if _OPENING.match(text, at):
        start, end = _value(text, at)
    else:
        rest = _LINE.get(before, _REST).match(text, at)
        start, end = rest.span() if rest else (at, at)
    scheme = _SCHEME.match(text, start, end)
    return (scheme.end() if scheme else start), end


_PEM: Final = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_PEM_END: Final = re.compile(r"-----END [A-Z0-9 ]{0,60}-----")
_PEM_LINES: Final = re.compile(
    r"(?:(?:\s|\\+[nrt]|[\"'+,>|])*+(?:[\w-]{2,30}: [^\n]{0,200}|[A-Za-z0-9+/=]{12,}+[\w-]*+))++"
)


def private_keys(text: str) -> Iterator[Span]:
    """PEM private keys (RFC 7468), also cut off, indented or with escaped line ends."""
    for found in _PEM.finditer(text):
        dashes = text.find("-----", found.end())
        closing = _PEM_END.match(text, dashes) if dashes >= 0 else None
        if closing:
            yield found.start(), closing.end()
        elif lines := _PEM_LINES.match(text, found.end()):
            yield found.start(), lines.end()


_HEX_RUN: Final = re.compile(r"(?<![0-9a-fA-F])(?:[0-9a-fA-F]{2}){24,}+(?![0-9a-fA-F])")
_BASE64_RUN: Final = re.compile(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{24,}+=*+")
_PERCENT_RUN: Final = re.compile(r"(?<![\w.%~-])[\w.~-]*+%[0-9A-Fa-f]{2}[\w.%~-]{8,}+")


def disguised(shapes: re.Pattern[str]) -> Finder:
    """A finder of tokens of `shapes` that stand reversed or in hex, base64 or percent code."""
    decoders = ((_HEX_RUN, _from_hex), (_BASE64_RUN, _from_base64), (_PERCENT_RUN, unquote))

    def find(text: str) -> Iterator[Span]:
        for run, decode in decoders:
            for found in run.finditer(text):
                if shapes.search(decode(found[0])):
                    yield found.span()
        size = len(text)
        for found in shapes.finditer(text[::-1]):
            yield size - found.end(), size - found.start()

    return find


def _from_hex(run: str) -> str:
    return bytes.fromhex(run).decode("latin-1")


def _from_base64(run: str) -> str:
    plain = run.rstrip("=").replace("-", "+").replace("_", "/")
    plain = plain[: len(plain) - (len(plain) % 4 == 1)]
    try:
        return base64.b64decode(plain + "=" * (-len(plain) % 4)).decode("latin-1")
    except binascii.Error:
        return ""


INVISIBLE: Final = re.compile(
    r"(?:\x1b\[[0-9;?]{0,32}[A-Za-z]|\\\r?\n"
    r"|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff])++"
)
"""What a terminal doesn't show: escape sequences, control and format letters, continued lines."""


def seen_through(text: str, finders: Iterable[Finder]) -> Iterator[Span]:
    """What `finders` find in the text as a reader sees it, as spans of the text itself."""
    ends, shifts, pieces, kept, shift = [0], [0], [], 0, 0
    for gap in INVISIBLE.finditer(text):
        pieces.append(text[kept : gap.start()])
        kept = gap.end()
        ends.append(gap.start() - shift)
        shift += len(gap[0])
        shifts.append(shift)
    seen = "".join((*pieces, text[kept:]))
    for finder in finders:
        for start, end in finder(seen):
            first = start + shifts[bisect_right(ends, start) - 1]
            yield first, end + shifts[bisect_left(ends, end) - 1]
