"""OpenBao's configuration and its store, without the server."""

from pathlib import Path

import pytest
from styx_cli.engines import bao
from styx_core import keyring, vault_bootstrap

ROOT = b"FIXTURE-root-key-of-32-bytes-...."[:32]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "logs").mkdir()
    return tmp_path


def make(data: Path) -> str:
    bao.child(Path("/no/bao"), data, ROOT, 8200, 8201)
    return (data / "bao" / "bao.hcl").read_text()


def test_the_configuration_holds_no_secret_and_listens_on_loopback_only(data: Path) -> None:
    text = make(data)
    secrets = [keyring.seal_key(ROOT), ROOT.hex()]
    secrets += [keyring.secret_id(ROOT, service) for service in vault_bootstrap.SERVICES]
    assert not [secret for secret in secrets if secret in text]
    assert f'current_key = "env://{bao.SEAL_VARIABLE}"' in text
    assert 'address = "127.0.0.1:8200"' in text
    assert "0.0.0.0" not in text
    assert vault_bootstrap.initialize() in text


def test_a_store_whose_first_start_was_broken_off_gives_way(data: Path) -> None:
    make(data)
    store = data / "bao" / "store"
    (store / "half").touch()
    make(data)
    assert list(store.iterdir()) == []
    assert len(list((data / "bao").glob("unfinished-*/store/half"))) == 1, "moved, not deleted"


def test_a_store_that_was_opened_once_stays(data: Path) -> None:
    make(data)
    (data / "bao" / "initialised").touch()
    (data / "bao" / "store" / "vault.db").touch()
    make(data)
    assert (data / "bao" / "store" / "vault.db").exists()


async def test_another_server_on_the_port_is_not_ours(data: Path) -> None:
    assert not await bao.is_active(1, "styx-0")
