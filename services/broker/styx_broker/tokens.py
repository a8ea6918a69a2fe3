"""Tokens: made from the system's randomness, kept as SHA-256 only, compared in constant time."""

import hashlib
import hmac
import secrets


def new_token(kind: str, stem: str = "") -> str:
    """A token with 256 random bits after its stem, and a prefix that secret scanners can know."""
    return f"styx_{kind}_{stem}{secrets.token_urlsafe(32)}"


def fingerprint(token: str) -> str:
    """What is kept of a token: with 256 random bits behind it, it can't be turned back."""
    return hashlib.sha256(token.encode()).hexdigest()


def same(left: str, right: str) -> bool:
    """Whether two fingerprints are equal, in constant time."""
    return hmac.compare_digest(left.encode(), right.encode())
