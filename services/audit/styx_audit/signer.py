"""Checkpoints: the head of the log, signed by the key that never leaves Vault."""

from sqlalchemy import Connection
from styx_core.db import Database
from styx_core.errors import Unavailable
from styx_core.vault import Vault, VaultError
from styx_core.vault_bootstrap import AUDIT_KEY

from styx_audit import repository as repo
from styx_audit.checkpoint import Checkpoint, Verifier, signed_note

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
        """The size and the signed note of the newest head. Raises `Unavailable`."""

        def look(c: Connection) -> tuple[Checkpoint, int, str]:
            head, newest = repo.head(c), repo.checkpoint(c)
            size, note = (newest.size, newest.note) if newest is not None else (-1, "")
            return Checkpoint(ORIGIN, head.size, head.root()), size, note

        checkpoint, size, note = await self._db.read(look)
        if size == checkpoint.size:
            return size, note
        verifier = await self.verifier()
        try:
            signature = await self._vault.transit_sign(AUDIT_KEY, checkpoint.text.encode())
        except VaultError as error:
            raise Unavailable("Vault is sealed or away: the head can't be signed; retry") from error
        note = signed_note(checkpoint, verifier, signature)
        await self._db.write(lambda c: repo.save_checkpoint(c, checkpoint.size, note))
        return checkpoint.size, note
