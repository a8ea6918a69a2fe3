"""Who signed: a payload and its proof, held against this service's own keys.

A terminal's key and a passkey stand for the person and may decide all; the key of a web session
only says who is signed in, and is taken where no passkey is asked for.
"""

import base64
import binascii
from datetime import datetime

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from sqlalchemy import Connection, select, update
from sqlalchemy.exc import IntegrityError
from styx_core.contract.values import Assertion, Batch, Proof, SessionSignature
from styx_core.db import into
from styx_core.errors import Forbidden, SignatureRefused
from styx_core.signing import batch_payload, challenge, verify

from styx_grants import people_rows as rows
from styx_grants.deps import Deps

REFUSED = "the signature is not this person's over this very decision; look again and decide anew"


def proven(
    c: Connection, deps: Deps, person: str, payload: str, proof: Proof, *, mfa: bool = True
) -> None:
    """Raises `SignatureRefused` unless this person signed this, `Forbidden` for a stranger."""
    if isinstance(proof, SessionSignature):
        if mfa:
            raise SignatureRefused("this needs your passkey: being signed in is not enough")
        _by_session(c, person, payload, proof, deps.now())
    elif isinstance(proof, Assertion):
        by_passkey(c, deps, _own(c, person, proof), payload, proof)
    elif isinstance(proof, Batch):
        _by_batch(c, deps, person, payload, proof)
    else:
        _by_terminal(c, deps, person, payload, proof)


def proven_once(c: Connection, deps: Deps, person: str, payload: str, proof: Proof) -> None:
    """The same for a payload with a nonce, which is taken once: nobody can play it again later."""
    proven(c, deps, person, payload, proof)
    try:
        c.execute(into(rows.SPENT), {"sha256": challenge(payload).hex(), "at": deps.now()})
    except IntegrityError:
        raise SignatureRefused("this signature was used already; sign anew") from None


def by_passkey(
    c: Connection, deps: Deps, key: rows.Record, payload: str, assertion: Assertion
) -> None:
    """Raises `SignatureRefused` unless this passkey signed this, and for one that was copied."""
    counter = deps.party.check(assertion, payload, key.public_key)
    if counter <= key.counter and (counter or key.counter):
        raise SignatureRefused(
            "this passkey's counter went back: it was copied, or its signature is used again"
        )
    _used(c, key.id, deps.now(), counter)


def _own(c: Connection, person: str, assertion: Assertion) -> rows.Record:
    key = passkey_of(c, assertion)
    if key.person != person:
        raise SignatureRefused(REFUSED)
    return key


def _by_batch(c: Connection, deps: Deps, person: str, payload: str, batch: Batch) -> None:
    """One of several decisions that a passkey signed together; its counter counts the first."""
    if challenge(payload).hex() not in batch.each:
        raise SignatureRefused(REFUSED)
    together = batch_payload(batch.each)
    key, known = _own(c, person, batch.signature), challenge(together).hex()
    if c.execute(select(rows.SPENT.c.sha256).where(rows.SPENT.c.sha256 == known)).first():
        deps.party.check(batch.signature, together, key.public_key)
        return
    by_passkey(c, deps, key, together, batch.signature)
    c.execute(into(rows.SPENT), {"sha256": known, "at": deps.now()})


def passkey_of(c: Connection, assertion: Assertion) -> rows.Record:
    """The passkey that an assertion names. Raises `SignatureRefused`."""
    query = select(rows.KEY).where(rows.KEY.c.credential_id == assertion.credential_id)
    key = c.execute(query.with_for_update()).one_or_none()
    if key is None:
        raise SignatureRefused("this passkey is not known here; sign in with another")
    return key


def text(proof: Proof) -> str:
    """A proof as evidence."""
    return proof if isinstance(proof, str) else proof.model_dump_json()


def _by_terminal(c: Connection, deps: Deps, person: str, payload: str, signature: str) -> None:
    keys = [key for key in rows.keys(c, person) if key.kind == "terminal"]
    if not keys:
        raise Forbidden(f"{person} has no key of a terminal here")
    for at, key in enumerate(keys):
        try:
            verify(key.public_key, payload, signature)
        except SignatureRefused:
            if at == len(keys) - 1:
                raise
        else:
            return _used(c, key.id, deps.now(), 0)
    return None


def _used(c: Connection, key_id: str, now: datetime, counter: int) -> None:
    c.execute(update(rows.KEY).where(rows.KEY.c.id == key_id).values(used_at=now, counter=counter))


def _by_session(
    c: Connection, person: str, payload: str, proof: SessionSignature, now: datetime
) -> None:
    query = select(rows.SESSION).where(
        rows.SESSION.c.id == proof.session, rows.SESSION.c.person == person
    )
    row = c.execute(query).one_or_none()
    if row is None or row.expires_at <= now:
        raise SignatureRefused("you are no longer signed in; sign in again")
    try:
        raw = _unpadded(proof.signature)
        if len(raw) != 64:
            raise InvalidSignature
        signature = encode_dss_signature(
            int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big")
        )
        session_key(row.public_key).verify(signature, payload.encode(), ec.ECDSA(SHA256()))
    except (InvalidSignature, binascii.Error, ValueError):
        raise SignatureRefused(REFUSED) from None


def session_key(public: str) -> ec.EllipticCurvePublicKey:
    """A web session's key from its uncompressed point, base64. Raises `ValueError`."""
    return ec.EllipticCurvePublicKey.from_encoded_point(
        ec.SECP256R1(), base64.b64decode(public, validate=True)
    )


def _unpadded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
