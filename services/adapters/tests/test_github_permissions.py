"""The table of GitHub's permissions: no scope gets more than its row, and nothing means all."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from styx_adapters.github_permissions import CHANGES, asked, only_reads
from styx_core.scope import Scope

LEVELS = {"read": 1, "write": 2, "admin": 3}
SCOPES = st.frozensets(st.sampled_from(list(Scope)))
HAS = st.dictionaries(
    st.sampled_from([*CHANGES, "members", "organization_projects", "codespaces"]),
    st.sampled_from(list(LEVELS)),
)
EVERYTHING = dict.fromkeys(CHANGES, "write")


@given(SCOPES, HAS)
def test_never_more_than_the_installation_has(
    scopes: frozenset[Scope], has: dict[str, str]
) -> None:
    for name, level in asked(scopes, has).items():
        assert LEVELS[level] <= LEVELS[has[name]]
        assert name in CHANGES


@given(SCOPES, SCOPES, HAS)
def test_more_scopes_never_ask_for_less(
    some: frozenset[Scope], others: frozenset[Scope], has: dict[str, str]
) -> None:
    less, more = asked(some, has), asked(some | others, has)
    assert all(LEVELS[level] <= LEVELS[more[name]] for name, level in less.items())


@given(HAS)
def test_reading_asks_for_reading_alone(has: dict[str, str]) -> None:
    permissions = asked(frozenset({Scope.READ}), has)
    assert set(permissions.values()) <= {"read"}
    assert "workflows" not in permissions
    assert only_reads(permissions) == bool(permissions)


@given(SCOPES)
def test_only_delete_administers_and_only_deploy_changes_workflows(
    scopes: frozenset[Scope],
) -> None:
    permissions = asked(scopes, EVERYTHING)
    assert (permissions["administration"] == "write") == (Scope.DELETE in scopes)
    assert ("workflows" in permissions) == (Scope.DEPLOY in scopes)


@pytest.mark.parametrize("scope", [s for s in Scope if s is not Scope.READ])
def test_every_other_scope_changes_something(scope: Scope) -> None:
    assert not only_reads(asked(frozenset({scope}), EVERYTHING))


def test_what_is_not_in_the_table_is_not_known_to_only_read() -> None:
    assert only_reads({"metadata": "read"})
    assert not only_reads({"metadata": "read", "issues": "write"})
    assert not only_reads({"metadata": "read", "unheard_of": "read"})
    assert not only_reads({})
    assert asked(frozenset(Scope), {"members": "write"}) == {}
