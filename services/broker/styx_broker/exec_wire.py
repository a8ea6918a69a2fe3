"""The two forms of `POST /v1/exec`: JSON for programs, NUL-separated bytes for the shim. Pure.

The shim imports no JSON. Its body is `tool NUL cwd NUL public-key NUL arg…`, raw bytes as the
system gave them; its answer is NUL-terminated `name=value` fields that arrive as things happen,
with `verdict=` last.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated

from pydantic import Field, StringConstraints, ValidationError
from styx_core.contract.base import Message
from styx_core.errors import Invalid

SHIM_TYPE = "application/x-styx-exec"
MOST_BYTES = 4 * 1024 * 1024
MOST_WORDS = 20_000

Word = Annotated[str, StringConstraints(max_length=131_072)]


class ExecRequest(Message):
    """One call that an agent made."""

    tool: str = Field(max_length=64)
    argv: tuple[Word, ...] = Field(max_length=MOST_WORDS)
    cwd: str = Field("", max_length=4096)
    public_key: str | None = Field(None, max_length=1000, description="for SSH: `ssh-ed25519 …`")
    target: str | None = Field(None, max_length=128)


def parse_json(body: bytes) -> ExecRequest:
    """A program's body. Raises `Invalid` naming the part that is wrong."""
    try:
        return ExecRequest.model_validate_json(body, strict=True)
    except ValidationError as error:
        raise named(error) from None


def named(error: ValidationError) -> Invalid:
    """Where a value is wrong and why, but not the value: it may be a secret."""
    first = error.errors(include_input=False)[0]
    return Invalid(f"{'.'.join(map(str, first['loc']))[:100] or 'body'}: {first['msg']}")


def parse_shim(body: bytes, target: str | None) -> ExecRequest:
    """The shim's body. Raises `Invalid` naming the word that can't be read."""
    words = body.split(b"\0")
    if len(words) < 3:
        raise Invalid("body: tool, cwd and public key are needed before the arguments")
    read = [_text(word, place) for place, word in enumerate(words)]
    if len(read) - 3 > MOST_WORDS:
        raise Invalid(f"argv: {len(read) - 3} words; Styx reads at most {MOST_WORDS}")
    tool, cwd, public_key, *argv = read
    try:
        return ExecRequest(
            tool=tool, cwd=cwd, public_key=public_key or None, argv=tuple(argv), target=target
        )
    except ValidationError as error:
        raise named(error) from None


def _text(word: bytes, place: int) -> str:
    try:
        return word.decode()
    except UnicodeDecodeError:
        what = ("tool", "cwd", "public key")[place] if place < 3 else f"argument {place - 2}"
        raise Invalid(f"{what} is not UTF-8, so Styx can't tell what it would do") from None


def readable(request: ExecRequest) -> None:
    """Raises `Invalid` for words that no program can be given."""
    for place, word in enumerate(request.argv, 1):
        if "\0" in word:
            raise Invalid(f"argument {place} holds a NUL byte")


def field(name: str, value: str) -> bytes:
    """One field of the shim's answer; a NUL in a value can't end it early."""
    return f"{name}={value}".replace("\0", "\ufffd").encode(errors="replace") + b"\0"


def run_fields(
    exec_id: str,
    env: Mapping[str, str],
    unset: Sequence[str],
    certificate: str | None,
    identity: str | None = None,
) -> Iterator[bytes]:
    """The verdict that lets a call run."""
    yield field("exec", exec_id)
    for name in unset:
        yield field("unset", name)
    for name, value in env.items():
        yield field("set", f"{name}={value}")
    if certificate is not None:
        yield field("cert", certificate)
    if identity is not None:
        yield field("identity", identity)
    yield field("verdict", "run")


def refuse_fields(exit_code: int, text: str) -> Iterator[bytes]:
    """The verdict that stops a call."""
    yield field("say", text)
    yield field("exit", str(exit_code))
    yield field("verdict", "refuse")
