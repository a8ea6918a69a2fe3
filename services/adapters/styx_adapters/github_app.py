"""A GitHub App: its key in Vault's transit engine, its installation, and the tokens of its leases.

Each lease has a token of its own (GitHub REST, "Create an installation access token for an app"),
asked for with a JWT that Vault signs ("Generating a JSON Web Token (JWT) for a GitHub App": RS256,
at most ten minutes long). "Revoke an installation access token" takes the token itself, so it is
kept in memory by its lease until it ends: what another process minted can only run out.
"""

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from styx_core import vault_rsa
from styx_core.errors import Invalid, LoginExpired, ProviderFailed
from styx_core.ids import new_id
from styx_core.scope import Scope
from styx_core.vault import NoSuchSecret, VaultError
from styx_core.vault_bootstrap import TRANSIT_MOUNT

from styx_adapters.adapter import Config, Deps, Ended, Minted, Want
from styx_adapters.api import Answer
from styx_adapters.custody import credential_ref
from styx_adapters.github_api import WHO, ask, environment
from styx_adapters.github_permissions import asked, only_reads

KEY_PREFIX = f"{vault_rsa.PREFIX}github-"
NO_INSTALLATION = "installation_id: GitHub knows no such installation of this App"
NO_REPOSITORY = "repositories: GitHub refuses this installation such a repository or permission"
NO_PERMISSION = "installation_id: this installation has none of the permissions that Styx asks for"
TOKEN = "/installation/token"  # noqa: S105 (a path)


@dataclass
class _Live:
    """A token that may still be alive: where it is good, until when, and whether we ended it."""

    where: str
    token: str = field(repr=False)
    ends: datetime
    permissions: Mapping[str, str]
    ended: bool = False


class GithubApp:
    """The Apps of all targets."""

    def __init__(self, deps: Deps) -> None:
        self._deps = deps
        self._live: dict[str, _Live] = {}

    async def connect(self, target_id: str, config: Config, pem: str) -> tuple[str, str]:
        """Bring the key in and try it; its name in Vault, and what it opens.

        A key that GitHub refuses is gone from Vault again, as is one that this one replaces.
        """
        vault, key = self._deps.vault, KEY_PREFIX + new_id("key")
        try:
            await vault_rsa.bring_in(vault, key, pem)
        except vault_rsa.NotAKey as error:
            raise Invalid(f"private_key: {error}") from None
        try:
            jwt, about = await self._installation(key, config)
            await self._end(await self._mint(jwt, config, _permissions(frozenset(), about)))
        except BaseException:
            await self._drop(key)
            raise
        with contextlib.suppress(NoSuchSecret):
            before = await vault.read(credential_ref("github", target_id))
            await self._drop(str(before.get("key", "")))
        return key, _label(about)

    async def health(self, key: str, config: Config) -> str:
        """Whose installation it is."""
        return _label((await self._standing(key, config))[1])

    async def issue(self, key: str, config: Config, want: Want) -> Minted:
        """A token for this use, with the permissions of its scopes."""
        jwt, about = await self._standing(key, config)
        made = await self._mint(jwt, config, _permissions(want.scopes, about))
        now = self._deps.now()
        self._live = {lease: live for lease, live in self._live.items() if live.ends > now}
        self._live[want.lease_id] = made
        return Minted(
            secret={"env": environment(made.token, made.where)},
            expires_at=made.ends,
            scoped=want.scopes <= {Scope.READ} and only_reads(made.permissions),
            revocable="hard",
            handle={"lease_id": want.lease_id, "expires_at": made.ends.isoformat()},
        )

    async def revoke(self, handle: Mapping[str, str]) -> Ended:
        """Delete a token by itself, at the place that minted it."""
        live = self._live.get(handle["lease_id"])
        if live is None:
            return Ended("expiry", f"the token ends by itself at {handle['expires_at']}")
        await self._end(live)
        return Ended("hard", "the token is deleted")

    async def _end(self, live: _Live) -> None:
        if not live.ended:
            with contextlib.suppress(LoginExpired):  # A refused token is a dead one.
                await ask(self._deps.api, live.where, "DELETE", TOKEN, live.token)
            live.ended = True

    async def _standing(self, key: str, config: Config) -> tuple[str, Answer]:
        """As `_installation`, which was there when this target was connected."""
        try:
            return await self._installation(key, config)
        except Invalid:
            raise LoginExpired("this GitHub App is no longer installed there") from None

    async def _installation(self, key: str, config: Config) -> tuple[str, Answer]:
        """The App's own proof, and what GitHub tells it about the installation."""
        now = int(self._deps.now().timestamp())
        claims = {"iss": config["app_id"], "iat": now - 60, "exp": now + 540}
        jwt = await vault_rsa.sign_jwt(self._deps.vault, key, claims)
        wrong = {404: NO_INSTALLATION}
        about = await ask(self._deps.api, config["api"], "GET", _path(config), jwt, wrong=wrong)
        if Answer(WHO, about).get("suspended_at"):
            raise LoginExpired("this GitHub App's installation is suspended")
        return jwt, Answer(WHO, about)

    async def _mint(self, jwt: str, config: Config, permissions: Mapping[str, str]) -> _Live:
        """A token with these permissions (GitHub takes none to mean all)."""
        body: dict[str, Any] = {"permissions": dict(permissions)}
        if "repositories" in config:
            body["repositories"] = config["repositories"].split(",")
        wrong = {404: NO_INSTALLATION, 422: NO_REPOSITORY}
        path, where = f"{_path(config)}/access_tokens", config["api"]
        said = Answer(WHO, await ask(self._deps.api, where, "POST", path, jwt, body, wrong))
        ends = _instant(said["expires_at"])
        return _Live(where, str(said["token"]), ends, Answer(WHO, said["permissions"]))

    async def _drop(self, key: str) -> None:
        """Delete a key from Vault, best effort: without its name it is of no use to anybody."""
        if key.startswith(KEY_PREFIX):
            path = f"{TRANSIT_MOUNT}/keys/{key}"
            with contextlib.suppress(VaultError):
                await self._deps.vault.post(f"{path}/config", {"deletion_allowed": True})
                await self._deps.vault.remove(path)


def _path(config: Config) -> str:
    return f"/app/installations/{config['installation_id']}"


def _permissions(scopes: frozenset[Scope], about: Answer) -> dict[str, str]:
    permissions = asked(scopes, Answer(WHO, about["permissions"]))
    if not permissions:
        raise Invalid(NO_PERMISSION)
    return permissions


def _label(about: Answer) -> str:
    account = Answer(WHO, about["account"])
    return f"{account.get('login') or account['slug']} by the App {about['app_slug']}"[:200]


def _instant(value: object) -> datetime:
    try:
        return datetime.fromisoformat(str(value)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise ProviderFailed(f"{WHO} answered with a time of an unknown shape") from None
