"""OpenBao (or HashiCorp Vault) as Styx's services use it; the only file that imports hvac.

Rules: each service signs in with its own AppRole; the token lives in memory only, is replaced
before it ends and upon a refusal. hvac is synchronous, so calls run in threads over one pooled
session. Every call has a time-out. No text of an error holds anything that Vault or the caller
sent: it names the operation, the path and the status, never a value.
"""

import asyncio
import base64
import re
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any, ClassVar, TypeVar

import hvac
import hvac.exceptions as refused
import requests
from requests.adapters import HTTPAdapter

from styx_core.vault_bootstrap import KV_MOUNT, SSH_MOUNT, SSH_ROLE, TRANSIT_MOUNT

T = TypeVar("T")

_PATH = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*")
SLOW_SECONDS = 17.0
"""For the one call that makes Vault search for large primes; within a `Connect`'s deadline."""
_USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")
"""One principal; Vault would read a comma as two and nothing as any."""


class VaultError(Exception):
    """Vault didn't do what was asked. `retryable`: the same call may succeed later."""

    retryable: ClassVar[bool] = False


class VaultUnavailable(VaultError):
    """Vault can't be reached, took too long or has no active node."""

    retryable = True


class VaultSealed(VaultUnavailable):
    """Vault runs but is sealed; it opens once its seal key is there again."""


class VaultDenied(VaultError):
    """The role may not do this, or its role id and secret id aren't accepted."""


class VaultRefused(VaultError):
    """Vault understood who asks but not what: a value breaks the rules of the role or mount."""


class NoSuchSecret(VaultError):
    """There is nothing at that path."""


class Vault:
    """A service's way into Vault. Made in the event loop that uses it; end it with `close()`."""

    def __init__(
        self,
        url: str,
        role_id: str,
        secret_id: str,
        *,
        pool: int = 8,
        timeout: float = 5.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`pool` calls at most run at once; `timeout` is in seconds for each call."""
        session = requests.Session()
        # Neither proxies nor a netrc of whoever started us belong between a service and its Vault.
        session.trust_env = False
        for scheme in ("http://", "https://"):
            session.mount(scheme, HTTPAdapter(pool_connections=1, pool_maxsize=pool))
        # Without `token` hvac takes VAULT_TOKEN or the token file in the home folder.
        self._client = hvac.Client(
            url, token="", session=session, timeout=timeout, allow_redirects=False
        )
        self._session = session
        self._role_id = role_id
        self._secret_id = secret_id
        self._timeout = timeout
        self._clock = clock
        self._threads = ThreadPoolExecutor(pool, thread_name_prefix="vault")
        self._signing_in = asyncio.Lock()
        self._sign_ins = 0
        self._renew_at = 0.0

    async def close(self) -> None:
        """Give the token back, best effort, and drop the connections."""
        try:
            if self._sign_ins:
                await self._run("revoke", "auth/token/revoke-self", self._post, {})
        except VaultError:
            pass  # It ends by itself within its time to live.
        finally:
            self._threads.shutdown(wait=False, cancel_futures=True)
            self._session.close()

    async def read(self, path: str) -> dict[str, Any]:
        """The secret at `path` of the KV mount. Raises `NoSuchSecret`."""
        answer = await self._call("read", f"{KV_MOUNT}/data/{_checked(path)}", self._get)
        found: dict[str, Any] = answer["data"]["data"]
        return found

    async def write(self, path: str, secret: Mapping[str, Any]) -> None:
        """Put `secret` at `path`, in the place of what was there."""
        body = {"data": dict(secret)}
        await self._call("write", f"{KV_MOUNT}/data/{_checked(path)}", self._post, body)

    async def delete(self, path: str) -> None:
        """Remove `path` and every version of it; nothing happens if it isn't there."""
        await self._call("delete", f"{KV_MOUNT}/metadata/{_checked(path)}", self._client.delete)

    async def transit_sign(self, key: str, data: bytes) -> bytes:
        """The raw signature (Ed25519, RFC 8032: 64 bytes) of `data` by a key inside Vault."""
        body = {"input": base64.b64encode(data).decode()}
        answer = await self._call("sign", f"{TRANSIT_MOUNT}/sign/{_checked(key)}", self._post, body)
        return base64.b64decode(str(answer["data"]["signature"]).rpartition(":")[2])

    async def transit_public_key(self, key: str) -> bytes:
        """The raw public key (Ed25519: 32 bytes) of the key's newest version."""
        answer = await self._call("read", f"{TRANSIT_MOUNT}/keys/{_checked(key)}", self._get)
        data = answer["data"]
        return base64.b64decode(data["keys"][str(data["latest_version"])]["public_key"])

    async def ssh_sign(
        self,
        public_key: str,
        principal: str,
        ttl: timedelta,
        *,
        key_id: str = "",
        force_command: str | None = None,
        source_address: str | None = None,
        role: str = SSH_ROLE,
    ) -> str:
        """An OpenSSH user certificate for `public_key` as `principal`, valid for `ttl`.

        `key_id` is what the host's sshd logs. `force_command` is the one command that the
        certificate runs, `source_address` the CIDR list it can be used from. Raises `VaultRefused`
        for a key, an option or a `ttl` that the role doesn't allow, and `ValueError` for a
        principal that isn't one user name or an option that is there but empty.
        """
        if not _USER.fullmatch(principal):
            raise ValueError(f"not one user name: {principal!r}")
        wanted = {"force-command": force_command, "source-address": source_address}
        options = {name: value for name, value in wanted.items() if value is not None}
        for name, value in options.items():
            if not value.strip():
                raise ValueError(f"{name} is empty: that would lift the limit it stands for")
        body = {
            "public_key": public_key,
            "valid_principals": principal,
            "cert_type": "user",
            "ttl": f"{int(ttl.total_seconds())}s",
            "key_id": key_id,
            "critical_options": options,
        }
        answer = await self._call("sign", f"{SSH_MOUNT}/sign/{_checked(role)}", self._post, body)
        return str(answer["data"]["signed_key"]).strip()

    async def ssh_ca_public_key(self) -> str:
        """The CA's public key as a line for sshd's `TrustedUserCAKeys`."""
        answer = await self._call("read", f"{SSH_MOUNT}/config/ca", self._get)
        return str(answer["data"]["public_key"]).strip()

    async def transit_wrapping_key(self) -> str:
        """The public key (PEM, RSA-4096) that keys are wrapped with on their way into transit.

        Vault makes it when it is first asked for, which can take it many seconds.
        """
        path = f"{TRANSIT_MOUNT}/wrapping_key"
        answer = await self._call("read", path, self._get_slowly, seconds=SLOW_SECONDS)
        return str(answer["data"]["public_key"])

    async def get(self, path: str) -> Any:
        """The answer's `data` at any path that the service's policy lets it read."""
        return (await self.leased(path))["data"]

    async def leased(self, path: str) -> Any:
        """The same answer with the lease it came under: `data`, `lease_id`, `lease_duration`."""
        return await self._call("read", _checked(path), self._get)

    async def remove(self, path: str) -> None:
        """Delete any path that the service's policy lets it delete."""
        await self._call("delete", _checked(path), self._client.delete)

    async def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """Send `body` to any path that the service's policy lets it write; the answer, if any."""
        return await self._call("write", _checked(path), self._post, dict(body))

    def _get(self, path: str) -> Any:
        answer = self._client.read(path)
        if answer is None:
            raise refused.InvalidPath
        return answer

    def _get_slowly(self, path: str) -> Any:
        return self._client.adapter.get(f"/v1/{path}", timeout=SLOW_SECONDS)

    def _post(self, path: str, body: dict[str, Any]) -> Any:
        return self._client.write_data(path, data=body)

    async def _call(
        self,
        verb: str,
        path: str,
        request: Callable[..., Any],
        *args: Any,
        seconds: float | None = None,
    ) -> Any:
        seen = await self._signed_in()
        try:
            return await self._run(verb, path, request, *args, seconds=seconds)
        except VaultDenied:
            # The token may have died early (Vault restarted, or somebody revoked it): once anew.
            await self._signed_in(unlike=seen)
            return await self._run(verb, path, request, *args, seconds=seconds)

    async def _signed_in(self, unlike: int = -1) -> int:
        """Make sure of a live token that isn't sign-in number `unlike`; answer its number."""
        async with self._signing_in:
            if self._sign_ins == unlike or self._clock() >= self._renew_at:
                answer = await self._run("sign in", "auth/approle/login", self._sign_in)
                self._renew_at = self._clock() + answer["auth"]["lease_duration"] * 2 / 3
                self._sign_ins += 1
            return self._sign_ins

    def _sign_in(self, _path: str) -> Any:
        try:
            return self._client.auth.approle.login(self._role_id, self._secret_id)
        except refused.InvalidRequest:  # How Vault says "no such role or secret id".
            raise refused.Forbidden from None

    async def _run(
        self,
        verb: str,
        path: str,
        request: Callable[..., Any],
        *args: Any,
        seconds: float | None = None,
    ) -> Any:
        loop, most = asyncio.get_running_loop(), seconds or self._timeout
        try:
            async with asyncio.timeout(most):
                return await loop.run_in_executor(self._threads, request, path, *args)
        except TimeoutError:
            reason: VaultError = VaultUnavailable(f"Vault took over {most:g} s: {verb} {path}")
        except requests.RequestException as error:
            reason = VaultUnavailable(f"Vault can't be reached: {verb} {path} ({_kind(error)})")
        except refused.VaultError as error:
            reason = _translate(error, f"{verb} {path}")
        raise reason


def _translate(error: refused.VaultError, what: str) -> VaultError:
    """Our error for hvac's; its text may quote what was sent, so only its class is used."""
    if isinstance(error, refused.InvalidPath):
        return NoSuchSecret(f"nothing in Vault for {what}")
    if isinstance(error, refused.Forbidden | refused.Unauthorized):
        return VaultDenied(f"Vault doesn't let this role {what}")
    if isinstance(error, refused.InvalidRequest | refused.UnsupportedOperation):
        return VaultRefused(f"Vault refuses a value in: {what}")
    if isinstance(error, refused.VaultDown) and "sealed" in str(error.errors):
        return VaultSealed(f"Vault is sealed: {what}")
    return VaultUnavailable(f"Vault can't do this now: {what} ({_kind(error)})")


def _kind(error: Exception) -> str:
    return type(error).__name__


def _checked(path: str) -> str:
    """`path` if it stays below its mount; hostile names must not climb out of it."""
    if not _PATH.fullmatch(path):
        raise ValueError(f"not a path in Vault: {path!r} (words of A-Z a-z 0-9 . _ - between /)")
    return path
