"""The table of ways to connect says of each what its declaration says, and nothing better."""

from pathlib import Path

import pytest
from adapter_fixture import ACME
from styx_adapters import providers
from styx_adapters.registry import declared
from styx_adapters.ways import ways


def lines() -> dict[tuple[str, str], list[str]]:
    rows = [[c.strip() for c in line.strip("|").split("|")] for line in ways().splitlines()[2:]]
    return {(row[0], row[1].strip("`")): row[2:] for row in rows}


def test_every_way_of_every_provider_has_a_line() -> None:
    assert lines().keys() == {(p.id, m.name) for p in declared() for m in p.methods}


@pytest.mark.parametrize(
    ("way", "stays", "narrowed"),
    [
        (
            ("aws", "federation"),
            "nothing standing",
            "read; write, deploy, delete where the call's ",
        ),
        (("aws", "key"), "in Vault: access key id, secret access key", "read; "),
        (("aws", "cli"), "the account's name", "never"),
        (("ssh", "ca"), "nothing standing", "never"),
        (("supabase", "token"), "in Vault: access token", "never"),
        (("supabase", "database"), "in Vault: administrator's password", "read"),
    ],
)
def test_it_says_what_stays_and_what_is_narrowed(
    way: tuple[str, str], stays: str, narrowed: str
) -> None:
    _, kept, said = lines()[way]
    assert kept == stays
    assert said.startswith(narrowed)


def test_a_further_provider_is_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "acmeways.py").write_text(ACME.format(name="acmeways", label="ACME"))
    monkeypatch.setattr(providers, "__path__", [*providers.__path__, str(tmp_path)])
    assert lines()["acmeways", "token"] == ["A token", "in Vault: token", "read"]
