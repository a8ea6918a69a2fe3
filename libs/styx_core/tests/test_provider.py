"""A provider is one value: it travels as JSON whole, and says honestly what it can narrow."""

import json
from dataclasses import fields, replace
from itertools import chain, combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from styx_adapters.registry import declared, modules
from styx_core.deploys import Deploy
from styx_core.provider import Field, Method, Provider
from styx_core.scope import EVERY, Scope
from styx_core.secret_shape import SecretShape
from styx_core.tool import Tool

READ, WRITE, DEPLOY, DELETE = Scope
REAL = list(declared())
ACME = Provider(
    id="acme",
    label="Acme",
    tools=(Tool(name="acme", read=("list",)), Tool(name="acmectl", delete=("rm",))),
    methods=(
        Method("key", "A key", (Field("key", "Key", secret=True, default="FIXTURE"),)),
        Method("role", "A role", (), narrows=(READ, WRITE), prepare="trust $issuer for $target"),
        Method("whole", "A whole account", (), narrows=()),
        Method("own", "The login of this machine", (), local=True),
    ),
    scopes=tuple(Scope),
    kind="ssh-agent",
    narrows=(READ,),
    narrows_known=(DELETE,),
    narrows_surfaces=("s3", "ec2"),
    env=("ACME_TOKEN", "ACME_KEY"),
    strip=("ACME_HOST",),
    quiet={"ACME_PAGER": ""},
    shapes=(SecretShape("an Acme key", ("acme_", "acm-"), "base62", 20, starts_word=True),),
    deploys=(Deploy(("acme", "push", "{folder}"), "*/acme.toml"),),
    host_in_argv=True,
)
SCOPES = st.frozensets(st.sampled_from(list(Scope)))
SURFACE = st.sampled_from([None, "", "s3", "ec2", "iam"])
METHOD = st.sampled_from([None, "key", "role", "whole", "own", "no such method"])


def through_json(provider: Provider) -> Provider:
    """The provider as a service reads it from the catalog."""
    return Provider.from_json(provider.to_json(), {tool.name: tool for tool in provider.tools})


def name(provider: Provider) -> str:
    """For the test's own name."""
    return provider.id


def test_the_real_declarations_are_all_here_under_ids_of_their_own() -> None:
    assert len(REAL) >= len({where for _, where in modules()}) >= 6
    assert len({provider.id for provider in REAL}) == len(REAL)


def test_the_made_up_one_states_every_field() -> None:
    plain = Provider("acme", "Acme", (), (), ())
    stated = {f.name for f in fields(Provider)} - {"id", "label"}
    assert {key for key in stated if getattr(plain, key) == getattr(ACME, key)} == set()


@pytest.mark.parametrize("provider", [*REAL, ACME, replace(ACME, narrows_surfaces=())], ids=name)
def test_json_brings_back_the_same_provider(provider: Provider) -> None:
    back = through_json(provider)
    assert back == provider
    assert back.to_json() == provider.to_json()
    assert all(isinstance(scope, Scope) for scope in chain(back.scopes, back.narrows))


@pytest.mark.parametrize("provider", REAL, ids=name)
def test_its_json_names_its_tools_and_carries_none(provider: Provider) -> None:
    plain = json.loads(provider.to_json())
    assert plain["tools"] == [tool.name for tool in provider.tools]
    assert plain.keys() == {f.name for f in fields(Provider)}


def test_a_tool_that_did_not_come_along_is_missed_by_name() -> None:
    with pytest.raises(KeyError, match="acmectl"):
        Provider.from_json(ACME.to_json(), {"acme": ACME.tools[0]})


@pytest.mark.parametrize(
    ("scopes", "surface", "method", "narrows"),
    [
        ({READ}, None, None, True),
        ({DELETE}, None, None, False),
        ({DELETE}, "s3", None, True),
        ({READ, DELETE}, "ec2", "key", True),
        ({READ, DELETE}, None, "key", False),
        ({READ}, "iam", None, False),
        ({WRITE}, "s3", None, False),
        ({READ, WRITE}, None, "role", True),
        ({DELETE}, "s3", "role", False),
        ({READ, WRITE}, "iam", "role", False),
        ({READ}, "s3", "whole", False),
        ({READ}, None, "no such method", True),
        ({DELETE}, None, "no such method", False),
    ],
)
def test_what_it_says_it_can_narrow(
    scopes: set[Scope], surface: str | None, method: str | None, narrows: bool
) -> None:
    assert ACME.narrowable(frozenset(scopes), surface, method) is narrows


@given(SCOPES, SCOPES, SURFACE, METHOD)
def test_asking_for_more_never_makes_it_narrower(
    some: frozenset[Scope], more: frozenset[Scope], surface: str | None, method: str | None
) -> None:
    if ACME.narrowable(some | more, surface, method):
        assert ACME.narrowable(some, surface, method)


@given(SCOPES, SURFACE)
def test_without_a_list_of_surfaces_each_known_one_will_do(
    scopes: frozenset[Scope], surface: str | None
) -> None:
    anywhere = replace(ACME, narrows_surfaces=None)
    assert anywhere.narrowable(scopes, surface) is (
        scopes <= ({READ, DELETE} if surface else {READ})
    )


@pytest.mark.parametrize("provider", REAL, ids=name)
def test_nothing_narrows_to_a_scope_that_it_does_not_grant(provider: Provider) -> None:
    ways = (way.narrows or () for way in provider.methods)
    claimed = {*provider.narrows, *provider.narrows_known, *chain.from_iterable(ways)}
    assert claimed <= set(provider.scopes) <= EVERY
    for size in range(1, len(EVERY) + 1):
        for scopes in map(frozenset, combinations(EVERY, size)):
            if not scopes <= set(provider.scopes):
                assert not provider.narrowable(scopes, None)


@pytest.mark.parametrize("provider", [*REAL, ACME], ids=name)
def test_a_local_way_is_offered_on_the_local_machine_only(provider: Provider) -> None:
    here, elsewhere = provider.offered(True), provider.offered(False)
    assert here == provider
    assert elsewhere.methods == tuple(m for m in provider.methods if not m.local)
    assert replace(elsewhere, methods=provider.methods) == provider, "and nothing else changes"


@pytest.mark.parametrize("provider", [*REAL, ACME], ids=name)
def test_a_way_is_found_by_its_own_name(provider: Provider) -> None:
    assert [provider.method(way.name) for way in provider.methods] == list(provider.methods)
    assert provider.method("") is None
    assert provider.method(provider.methods[0].name.upper()) is None


@pytest.mark.parametrize("provider", [*REAL, ACME], ids=name)
def test_its_own_and_the_misleading_variables_are_stripped(provider: Provider) -> None:
    assert set(provider.stripped()) == {*provider.env, *provider.strip}
    assert len(provider.stripped()) == len(set(provider.stripped())), "each is named once"
