"""What is exported can be checked by anyone, and what was changed in the store is named."""

from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from log_fixture import KeyVault, forge, made, say
from styx_audit.export import FormatError, read_header, read_line
from styx_audit.recorder import Recorder
from styx_audit.routes import Deps, build
from styx_audit.signer import Signer
from styx_audit.verify import Verdict, check
from styx_core.db import Database
from styx_core.testing import MemoryBus

SIZE = 13


class Log:
    """A log of thirteen entries and its HTTP face."""

    def __init__(self, server: MemoryBus, db: Database) -> None:
        self.server, self.recorder = server, Recorder(server.as_service("audit"), db)
        self.signer = Signer(KeyVault(), db)  # type: ignore[arg-type]
        app = build(Deps(server.as_service("audit"), db, self.signer))
        self.transport = httpx.ASGITransport(app, raise_app_exceptions=False)

    async def grow(self, *numbers: int) -> None:
        await say(self.server, *(made(n) for n in numbers))
        await self.recorder.once()

    async def lines(self) -> list[str]:
        async with httpx.AsyncClient(transport=self.transport, base_url="http://socket") as http:
            return (await http.get("/audit/export")).text.splitlines()

    async def verdict(self) -> Verdict:
        return check(await self.lines(), str(await self.signer.verifier()))


@pytest.fixture
async def log(server: MemoryBus, db: Database) -> Log:
    made_log = Log(server, db)
    await made_log.grow(*range(SIZE))
    return made_log


async def test_a_true_export_is_proven_whole(log: Log) -> None:
    verdict = await log.verdict()
    assert verdict.ok
    assert verdict.proven == SIZE
    lines = await log.lines()
    assert [read_line(line).id for line in lines[1:]] == [made(n).id for n in range(SIZE)]
    assert read_header(lines[0])[1] == str(await log.signer.verifier())


async def test_an_empty_log_is_proven_too(server: MemoryBus, db: Database) -> None:
    verdict = await Log(server, db).verdict()
    assert (verdict.ok, verdict.proven) == (True, 0)


async def test_an_export_holds_what_its_checkpoint_signs_and_no_more(log: Log) -> None:
    before = await log.lines()
    await log.grow(13, 14)
    after = await log.lines()
    assert (len(before), len(after)) == (SIZE + 1, SIZE + 3)
    key = str(await log.signer.verifier())
    assert check(before, key).ok
    assert check(after, key).ok
    assert check([after[0], *before[1:]], key).fault is not None


TAMPERED = [
    ("actor changed", "UPDATE entry SET body = replace(body, 'person-1', 'person-2') "
     "WHERE seq = 7", 7, "altered"),
    ("first changed", "UPDATE entry SET body = '{}' WHERE seq = 0", 0, "altered"),
    ("last changed", "UPDATE entry SET body = body || ' ' WHERE seq = 12", 12, "altered"),
    ("no JSON any more", "UPDATE entry SET body = 'gone' WHERE seq = 5", 5, "altered"),
    ("a fraction in it", "UPDATE entry SET body = '{\"id\":1.5}' WHERE seq = 5", 5, "altered"),
    ("two lines of it", "UPDATE entry SET body = body || char(10) WHERE seq = 5", 5, "altered"),
    ("one deleted", "DELETE FROM entry WHERE seq = 6", 6, "altered"),
    ("the last deleted", "DELETE FROM entry WHERE seq = 12", 12, "truncated"),
    ("two swapped", "UPDATE entry SET seq = CASE seq WHEN 3 THEN 103 ELSE 104 END "
     "WHERE seq IN (3, 4); UPDATE entry SET seq = 107 - seq WHERE seq > 100", 3, "altered"),
    ("a leaf rewritten", "UPDATE node SET hash = zeroblob(32) WHERE level = 0 AND position = 9",
     8, "altered"),
    ("the note rewritten", "UPDATE checkpoint SET note = replace(note, '13', '12')",
     -1, "header"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "change", "index", "what"), TAMPERED, ids=lambda v: str(v)[:20])
async def test_a_change_behind_the_logs_back_is_found_and_the_entry_named(
    log: Log, path: Path, name: str, change: str, index: int, what: str
) -> None:
    assert (await log.verdict()).ok  # signed before the change
    forge(path, *change.split("; "))
    fault = (await log.verdict()).fault  # signed anew, where the signer lets itself be fooled
    assert fault is not None, name
    assert (fault.index, fault.what) == (index, what)


@pytest.mark.parametrize("gone", [1, 3, 13])
async def test_a_log_cut_short_that_grew_again_is_never_signed(
    log: Log, path: Path, gone: int
) -> None:
    await log.verdict()
    keep = SIZE - gone
    forge(
        path,
        f"DELETE FROM entry WHERE seq >= {keep}",
        f"DELETE FROM node WHERE (position + 1) << level > {keep}",
    )
    log.recorder = Recorder(log.server.as_service("audit"), log.recorder._db)
    await log.grow(*range(20, 20 + gone + 2))
    verdict = await log.verdict()
    assert verdict.fault is not None
    assert verdict.checkpoint is not None
    assert verdict.checkpoint.size == SIZE
    assert verdict.fault.index <= keep


async def test_a_log_that_was_rebuilt_whole_is_not_the_one_that_was_signed(
    log: Log, path: Path
) -> None:
    known = check(await log.lines(), str(await log.signer.verifier())).checkpoint
    assert known is not None
    forge(
        path,
        "UPDATE entry SET body = replace(body, 'prod', 'preview')",
        "DELETE FROM checkpoint",
    )
    fault = (await log.verdict()).fault
    assert fault is not None
    assert fault.index == 0


Edit = Callable[[str], str]


@pytest.mark.parametrize(
    "edit",
    [
        lambda line: line.replace(',"index":', ', "index":'),
        lambda line: line.replace('"proof":[', '"proof":["AAAA",'),
        lambda line: line.replace('{"entry":', '{"Entry":'),
        lambda line: line + " ",
        lambda line: line[:-1],
        lambda line: "",
    ],
)
async def test_a_line_has_one_spelling(log: Log, edit: Edit) -> None:
    line = (await log.lines())[4]
    assert read_line(line).number == 3
    with pytest.raises(FormatError):
        read_line(edit(line))


@pytest.mark.parametrize("header", ["", "{}", "[]", '{"checkpoint":1,"key":"k"}', '{"key":"k"}'])
def test_a_header_says_exactly_checkpoint_and_key(header: str) -> None:
    with pytest.raises(FormatError):
        read_header(header)
