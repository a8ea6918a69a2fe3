"""What every provider must hold to: its test inherits `Conformance` and gives a `case`."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from styx_core.contract.adapters import Connect, Connection
from styx_core.errors import Invalid, LoginExpired, ProviderFailed
from styx_core.ids import new_id
from styx_core.provider import Provider
from styx_core.revocable import ORDER
from styx_core.scope import Scope
from styx_core.seal import OpeningKey, connect_info, seal

from styx_adapters.adapter import Adapter, Installed, Want
from styx_adapters.custody import credential_ref
from styx_adapters.fields import checked
from styx_adapters.handlers import State, connect
from styx_adapters.leases import Leases
from styx_adapters.testing import MemoryVault

HOSTILE = (
    *("\n", "\0", "a\nb", "--option", "-oProxyCommand=id", "; id", "$(id)", "`id`", "a b"),
    *("../../etc/passwd", "http://a@b/", "http://a/?b#c", "file:///etc/passwd", "'", '"', "é"),
    *("x" * 5000, "%00", "\\", "\u202e", "{}", "*"),
)


def now() -> datetime:
    """The wall clock: real providers have theirs."""
    return datetime.now(UTC)


@dataclass(frozen=True)
class Case:
    """A provider with its code on real parts, and what a target of it is connected with."""

    provider: Provider
    adapter: Adapter
    method: str
    config: dict[str, str]
    secret: dict[str, str]
    want: Want
    shortest: timedelta
    """The provider's own shortest life of a credential."""
    refused: dict[str, dict[str, str]]
    """`config` and `secret` that it refuses, beside the others."""
    silent: dict[str, str]
    """Config of a place that takes the call and never answers."""
    unkept: tuple[str, ...] = ()
    """Secret fields that Vault's entry must not hold: they live where nothing takes them out."""
    hands_on: bool = False
    """The provider can mint nothing: what is issued is the target's own credential, unscoped."""
    local_machine: bool = False

    def state(self) -> State:
        """A service with this provider alone, and an empty Vault."""
        installed = {self.provider.id: Installed(self.provider, self.adapter)}
        vault: Any = MemoryVault()
        leases = Leases(now)
        return State(vault, installed, {}, OpeningKey.make(), leases, self.local_machine, now)

    async def connected(
        self,
        state: State,
        target: str,
        config: dict[str, str] | None = None,
        secret: dict[str, str] | None = None,
    ) -> Connection:
        """Connect a target as the broker asks for it."""
        box = seal(secret or self.secret, state.key.public, connect_info(target))
        return await connect(
            Connect(
                target_id=target,
                provider=self.provider.id,
                method=self.method,
                config=config or self.config,
                box=box,
            ),
            state,
        )


def held(state: State) -> dict[str, dict[str, Any]]:
    """What is in its Vault."""
    vault: Any = state.vault
    found: dict[str, dict[str, Any]] = vault.held
    return found


def values(value: object) -> Iterator[str]:
    """Every text in a value."""
    if isinstance(value, dict):
        for each in value.values():
            yield from values(each)
    elif isinstance(value, str):
        yield value


class Conformance:
    """The tests; `case` is a fixture of the module that inherits them. `target` is its target."""

    target = new_id("tgt")

    async def standing(self, case: Case) -> tuple[Connection, dict[str, Any]]:
        """A connected target, and what Vault holds of it."""
        state = case.state()
        shown = await case.connected(state, self.target)
        return shown, held(state)[shown.credential_ref]

    def check(self, case: Case, config: dict[str, str]) -> None:
        """What the handlers check before any use of what was given."""
        checked(case.provider, case.method, config, case.secret, case.local_machine)

    async def test_connecting_stores_one_entry_and_shows_no_secret(self, case: Case) -> None:
        state = case.state()
        shown = await case.connected(state, self.target)
        ref = credential_ref(case.provider.id, self.target)
        assert list(held(state)) == [ref]
        assert shown.credential_ref == ref
        kept = {value for name, value in case.secret.items() if name not in case.unkept}
        assert kept == set(case.secret.values()) & set(values(held(state)[ref]))
        for secret in case.secret.values():
            assert secret not in shown.model_dump_json()
        assert case.config.items() <= shown.config.items()
        assert shown.label

    async def test_what_cannot_be_verified_is_not_stored(self, case: Case) -> None:
        state = case.state()
        config = case.config | case.refused.get("config", {})
        secret = case.secret | case.refused.get("secret", {})
        with pytest.raises(LoginExpired) as told:
            await case.connected(state, self.target, config, secret)
        assert not any(each in told.value.detail for each in secret.values())
        with pytest.raises(ProviderFailed):
            await case.connected(state, self.target, case.config | case.silent)
        assert held(state) == {}

    async def test_only_a_refusal_means_that_the_login_expired(self, case: Case) -> None:
        shown, stored = await self.standing(case)
        assert await case.adapter.health(stored, shown.config)
        config = shown.config | case.refused.get("config", {})
        with pytest.raises(LoginExpired):
            await case.adapter.health({**stored, **case.refused.get("secret", {})}, config)
        with pytest.raises(ProviderFailed):
            await case.adapter.health(stored, shown.config | case.silent)

    async def test_what_is_issued_is_what_was_declared(self, case: Case) -> None:
        shown, stored = await self.standing(case)
        minted = await case.adapter.issue(stored, shown.config, case.want)
        assert set(minted.secret) <= {"env", "certificate", "identity"}
        assert (minted.secret.keys() == {"env"}) == (case.provider.kind == "env")
        hidden = {n for n, v in minted.secret["env"].items() if v not in shown.config.values()}
        assert hidden <= set(case.provider.env)
        standing = set(case.secret.values())
        if case.hands_on:
            assert not minted.scoped
        else:
            assert standing.isdisjoint(values(minted.secret)), "the target's own credential"
        assert standing.isdisjoint(minted.handle.values())
        assert not set(values(minted.secret)) & set(minted.handle.values())
        told = repr(minted)
        assert not any(secret in told for secret in values(minted.secret) if len(secret) > 12)

    @pytest.mark.parametrize("seconds", [2, 60, 600, 3600, 8 * 3600, None])
    async def test_a_credential_outlives_its_grant_only_by_the_providers_minimum(
        self, case: Case, seconds: int | None
    ) -> None:
        shown, stored = await self.standing(case)
        began = now()
        until = None if seconds is None else began + timedelta(seconds=seconds)
        want = replace(case.want, until=until, lease_id=new_id("lse"))
        minted = await case.adapter.issue(stored, shown.config, want)
        latest = max(until or began + timedelta(hours=1), now() + case.shortest)
        assert began < minted.expires_at <= latest + timedelta(seconds=1)
        assert minted.expires_at.utcoffset() == timedelta(0)

    @pytest.mark.parametrize("scopes", [{s} for s in Scope] + [set(Scope)], ids=str)
    async def test_scoped_is_said_only_where_the_declaration_can_narrow(
        self, case: Case, scopes: set[Scope]
    ) -> None:
        shown, stored = await self.standing(case)
        for surface in (None, case.want.surface):
            want = replace(
                case.want, scopes=frozenset(scopes), surface=surface, lease_id=new_id("lse")
            )
            minted = await case.adapter.issue(stored, shown.config, want)
            can = case.provider.narrowable(want.scopes, surface, case.method)
            assert can or not minted.scoped

    async def test_a_revoke_says_what_it_could_do(self, case: Case) -> None:
        shown, stored = await self.standing(case)
        minted = await case.adapter.issue(stored, shown.config, case.want)
        ended = await case.adapter.revoke(stored, shown.config, minted.handle)
        assert ended.outcome == minted.revocable
        way = case.provider.method(case.method)
        assert way is not None
        assert ORDER.index(minted.revocable) >= ORDER.index(way.revocable), "promised too much"

    async def test_a_hostile_value_goes_no_further_than_its_field(self, case: Case) -> None:
        for name in case.config:
            for value in HOSTILE:
                config = case.config | {name: value}
                with pytest.raises(Invalid, match=rf"^{name}: ") as told:
                    self.check(case, config)
                assert value not in told.value.detail.removeprefix(f"{name}: this is") or (
                    len(value) < 3
                )

    async def test_an_unknown_field_is_named(self, case: Case) -> None:
        with pytest.raises(Invalid, match=r"^frob: .* takes only "):
            checked(
                case.provider,
                case.method,
                {**case.config, "frob": "1"},
                case.secret,
                case.local_machine,
            )
        for name in case.secret:
            openly = {**case.config, name: case.secret[name]}
            with pytest.raises(Invalid, match=name) as told:
                self.check(case, openly)
            assert case.secret[name] not in told.value.detail
