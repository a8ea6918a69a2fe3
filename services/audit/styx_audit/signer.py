"""Checkpoints: the head of the log, signed by the key that never leaves Vault."""

from typing import Any

import structlog
from sqlalchemy import Connection, Row
from styx_core.db import Database
from styx_core.errors import Unavailable
from styx_core.vault import Vault, VaultError
from styx_core.vault_bootstrap import AUDIT_KEY

from styx_audit import repository as repo
from styx_audit.checkpoint import Checkpoint, NoteError, Verifier, signed_note
from styx_audit.merkle import Frontier, root

log = structlog.get_logger()

ORIGIN = "styx/audit"


class Signer:
    """Signs the log's head when somebody asks for it and it has moved."""

    def __init__(self, vault: Vault, db: Database) -> None:
        self._vault, self._db = vault, db
        self._verifier: Verifier | None = None

    async def verifier(self) -> Verifier:
        """The public key that checkpoints are checked with. Raises `Unavailable`."""
        if self._verifier is None:
            try:
                key = await self._vault.transit_public_key(AUDIT_KEY)
            except VaultError as error:
                raise Unavailable("Vault is sealed or away: no key to sign with; retry") from error
            self._verifier = Verifier(ORIGIN, key)
        return self._verifier

    async def note(self) -> tuple[int, str]:
        """The size and the signed note of the newest head. Raises `Unavailable`.

        A head that doesn't extend what was signed before is never signed: the last note stands,
        and an export under it shows what was changed.
        """

        def look(c: Connection) -> tuple[Checkpoint, Row[Any] | None, bool]:
            head, newest = repo.head(c), repo.checkpoint(c)
            return Checkpoint(ORIGIN, head.size, head.root()), newest, _extends(c, head, newest)

        checkpoint, newest, extends = await self._db.read(look)
        if newest is not None and not extends:
            log.error("the log was changed: it doesn't extend its signed head", size=newest.size)
        if newest is not None and (not extends or newest.size == checkpoint.size):
            return newest.size, newest.note
        verifier = await self.verifier()
        try:
            signature = await self._vault.transit_sign(AUDIT_KEY, checkpoint.text.encode())
        except VaultError as error:
            raise Unavailable("Vault is sealed or away: the head can't be signed; retry") from error
        try:
            note = signed_note(checkpoint, verifier, signature)
        except NoteError as error:
            self._verifier = None  # the key in Vault was rotated: learn the new one
            raise Unavailable("the log's key has just changed; try again") from error
        await self._db.write(lambda c: repo.save_checkpoint(c, checkpoint.size, note))
        return checkpoint.size, note


def _extends(c: Connection, head: Frontier, newest: Row[Any] | None) -> bool:
    """Whether the log of now begins with all that its newest signed checkpoint covers."""
    if newest is None:
        return True
    if newest.size > head.size:
        return False
    then = Checkpoint(ORIGIN, newest.size, root(newest.size, lambda lv, at: repo.node(c, lv, at)))
    return bool(newest.note.startswith(f"{then.text}\n"))
