"""The head of the log is signed by the key in Vault, once a size, and by no other key."""

import pytest
from log_fixture import KeyVault, made, say
from styx_audit.checkpoint import NoteError, Verifier, open_note
from styx_audit.recorder import Recorder
from styx_audit.signer import ORIGIN, Signer
from styx_core.db import Database
from styx_core.errors import Unavailable
from styx_core.testing import MemoryBus


async def grow(server: MemoryBus, db: Database, *numbers: int) -> None:
    await say(server, *(made(n) for n in numbers))
    await Recorder(server.as_service("audit"), db).once()


async def test_a_head_is_signed_once(server: MemoryBus, db: Database) -> None:
    vault = KeyVault()
    signer = Signer(vault, db)
    key = await signer.verifier()
    assert key == Verifier(ORIGIN, vault.key.public_key().public_bytes_raw())
    for size in (0, 1, 4):
        await grow(server, db, *range(size))
        for _ in range(2):
            told, note = await signer.note()
            assert (told, open_note(note, key).size) == (size, size)
    assert vault.signed == 3
    assert (await Signer(vault, db).note())[0] == 4
    assert vault.signed == 3


async def test_a_sealed_vault_leaves_what_was_signed_before(
    server: MemoryBus, db: Database
) -> None:
    vault = KeyVault(sealed=True)
    signer = Signer(vault, db)
    with pytest.raises(Unavailable, match="Vault is sealed"):
        await signer.note()
    vault.sealed = False
    signed = await signer.note()
    vault.sealed = True
    assert await signer.note() == signed
    await grow(server, db, 0)
    with pytest.raises(Unavailable, match="can't be signed"):
        await signer.note()
    vault.sealed = False
    assert (await signer.note())[0] == 1


async def test_a_rotated_key_is_learnt(server: MemoryBus, db: Database) -> None:
    vault = KeyVault()
    signer = Signer(vault, db)
    old = await signer.verifier()
    vault.rotate()
    await grow(server, db, 0)
    with pytest.raises(Unavailable, match="has just changed"):
        await signer.note()
    _, note = await signer.note()
    assert open_note(note, await signer.verifier()).size == 1
    with pytest.raises(NoteError, match="no signature by the key"):
        open_note(note, old)
