"""Names that promise a secret (`DB_PASSWORD`, `--api-key`, `X-Vault-Token`), and values that are
none (`$TOKEN`, `file://k.pem`, `<your-token>`). Pure: tables and two questions.
"""

import re
from functools import lru_cache
from typing import Final

MARK: Final = "[REDACTED]"
"""What stands where a secret was."""

ENDINGS: Final = (
    *("password", "passwd", "passphrase", "passcode", "passwort", "storepass", "keypass"),
    *("secret", "secretstring", "secretvalue", "secretbinary", "clientassertion"),
    *("token", "jwt", "apikey", "accesskey", "secretkey", "privatekey", "servicerolekey"),
    *("signingkey", "encryptionkey", "accountkey", "masterkey", "sharedkey", "authkey"),
    *("webhookurl", "pgpassword", "xamzsignature", "xgoogsignature", "credentials"),
)
"""A name that ends so (case and `-_.` aside) holds a secret."""

WHOLE: Final = frozenset({"pass", "pwd", "auth", "pat", "sig", "psk"})
"""Too short to be an ending: these count as the whole last part of a name (`DB_PASS`, `_auth`)."""

NEVER: Final = (
    *("nexttoken", "pagetoken", "continuationtoken", "startingtoken", "paginationtoken"),
    *("clientrequesttoken", "clienttoken", "idempotencytoken", "synctoken", "pubtoken"),
)
"""Cursors and idempotency keys are called tokens too."""

NAMING: Final = frozenset({"secret"})
"""Flags that say which secret, by name (`gcloud secrets versions access 1 --secret db`)."""

SWITCHES: Final = ("no-", "verify-", "with-")
"""What flags without a value start with (`--no-verify-jwt`, `--with-token`)."""

HEADERS: Final = frozenset({"authorization", "proxyauthorization", "cookie", "setcookie"})
"""Headers whose whole value is secret, spaces and all."""

_PROSE: Final = """
true false null nil none undefined yes no on off str string bytes text int bool any object
required optional missing expired invalid revoked wrong incorrect empty unset set not is was
are has must may can will should the a an to for from in with and or if when of by as at
flag flags option options stdin prompt value values file header env n/a error failed denied
accepted rejected unknown await new
"""
PLAIN: Final = frozenset(_PROSE.split())
"""Words of prose, code and help texts that follow such a name without being its value."""

_PARTS: Final = re.compile(r"[-_.]+")

_NO_SECRET: Final = re.compile(
    r"""<[^<>\n]{1,80}> | [*•.x]{3,80} | [\w-]{0,12}\.\.\. | YOUR[_-][A-Z_-]{1,60}
      | fileb?://\S{0,400} | op://\S{1,400}
      | \$\{?[A-Z_][A-Z0-9_]{0,80}\}? | \$\{?[a-z_]{0,40}(?:token|pass(?:word)?|secret|key|pwd)\}?
      | \$?\{\{[^{}\n]{1,120}\}\} | \$\([^()\n]{1,200}\) | %[A-Z_][A-Z0-9_]{1,80}%
      | \$env:[A-Za-z_]\w{0,80} | arn:aws[a-z-]{0,10}:\S{1,400}
      | (?:os\.environ|os\.getenv|process\.env|getenv|ENV)[.\[(]\S{0,120}""",
    re.VERBOSE,
)
_KEY_FILE: Final = re.compile(r"(?:~|\.{0,2})/\S{1,400}|[\w./~-]{1,200}\.(?:pem|key|p12|pfx|jks)")
_CLOSERS: Final = "\"'`,;:.)]}\\"
_LONGEST_REFERENCE: Final = 420
_LONGEST_TAIL: Final = 40


def is_secret_name(name: str) -> bool:
    """Whether what `name` (a variable, flag, key or header) holds is a secret."""
    return _is_secret_tail(name[-_LONGEST_TAIL:])


@lru_cache(maxsize=4096)
def _is_secret_tail(tail: str) -> bool:
    parts = _PARTS.split(tail)
    flat = "".join(parts).lower()
    if flat.endswith(NEVER) or tail in ("PWD", "OLDPWD"):
        return False
    return flat.endswith(ENDINGS) or (parts[-1].lower() in WHOLE and len(flat) > 2)


def is_secret_flag(flag: str) -> bool:
    """Whether the word after `flag` is a secret: its name says so and it takes a value."""
    name = flag.lstrip("-")
    return name not in NAMING and not name.startswith(SWITCHES) and is_secret_name(name)


def is_header(name: str) -> bool:
    """Whether `name` is an HTTP header whose whole line is secret."""
    return name.replace("-", "").lower() in HEADERS


def holds_secret(name: str, value: str) -> bool:
    """Whether `value`, found beside a secret's `name`, is one: no reference, placeholder, path of
    a key file, word of prose, or what is left of a redacted secret."""
    if value.startswith(MARK):
        return False
    if len(value) > _LONGEST_REFERENCE:
        return True
    patterns = (_NO_SECRET, _KEY_FILE) if name.lower().endswith("key") else (_NO_SECRET,)
    bare = value.rstrip(_CLOSERS)
    if bare.lower() in PLAIN or not bare:
        return False
    return not any(p.fullmatch(v) for p in patterns for v in (value, bare))
