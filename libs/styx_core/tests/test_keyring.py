"""The root key file's custody, and what derives from it."""

import base64
import concurrent.futures
import os
from pathlib import Path

import nkeys
import pytest
from hypothesis import given
from hypothesis import strategies as st
from styx_core import keyring
from styx_core.keyring import KeyFileError

ROOT = bytes(range(32))
roots = st.binary(min_size=32, max_size=32)


def test_a_new_key_is_its_owners_alone_and_stays(tmp_path: Path) -> None:
    path = tmp_path / "styx.key"
    root = keyring.load_or_create(path)
    assert len(root) == 32
    assert path.stat().st_mode & 0o777 == 0o600
    assert keyring.load_or_create(path) == root
    assert [entry.name for entry in tmp_path.iterdir()] == ["styx.key"], "no draft is left"


def test_two_folders_have_two_keys(tmp_path: Path) -> None:
    assert keyring.load_or_create(tmp_path / "a") != keyring.load_or_create(tmp_path / "b")


def test_those_who_start_at_once_get_one_key(tmp_path: Path) -> None:
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        keys = set(pool.map(keyring.load_or_create, [tmp_path / "styx.key"] * 32))
    assert len(keys) == 1


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644])
def test_a_key_that_others_can_read_is_refused_with_the_remedy(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "styx.key"
    keyring.load_or_create(path)
    path.chmod(mode)
    with pytest.raises(KeyFileError, match=f"chmod 600 {path}"):
        keyring.load_or_create(path)


@pytest.mark.parametrize(
    "text", ["", "\n", "ab" * 31, "ab" * 33, "FIXTURE-no-hex", "ab" * 40_000, "\udcff" * 64]
)
def test_a_damaged_key_is_refused_unchanged_and_unquoted(tmp_path: Path, text: str) -> None:
    path = tmp_path / "styx.key"
    content = text.encode(errors="surrogateescape")
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(KeyFileError, match="doesn't hold 32 bytes") as caught:
        keyring.load_or_create(path)
    assert path.read_bytes() == content
    assert "FIXTURE" not in str(caught.value)
    assert "abab" not in str(caught.value)


def test_neither_a_link_nor_a_folder_is_a_key_file(tmp_path: Path) -> None:
    keyring.load_or_create(tmp_path / "real")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "folder").mkdir(mode=0o700)
    os.mkfifo(tmp_path / "pipe", 0o600)
    for name in ("link", "folder", "pipe"):
        with pytest.raises(KeyFileError, match=name):
            keyring.load_or_create(tmp_path / name)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_somebody_elses_key_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "styx.key"
    keyring.load_or_create(path)
    os.chown(path, 12_345, -1)
    with pytest.raises(KeyFileError, match="another user"):
        keyring.load_or_create(path)


def test_derivation_is_hkdf_sha256_and_stays_what_it_is() -> None:
    """Changing a label or the salt would lock everyone out of their own data."""
    assert keyring.derive(ROOT, "bao/seal").hex() == (
        "7de46b4ad3e4b3144d1cedac5afd658f927da577958aaab4fbc5cb2f116e7430"
    )
    assert keyring.fingerprint(ROOT) == "2eebdde0"


def test_a_root_of_the_wrong_length_derives_nothing() -> None:
    with pytest.raises(ValueError, match="31 bytes"):
        keyring.derive(ROOT[:31], "bao/seal")


@given(roots, roots, st.text(max_size=20), st.text(max_size=20))
def test_every_root_and_label_has_its_own_secret(one: bytes, two: bytes, a: str, b: str) -> None:
    assert (keyring.derive(one, a) == keyring.derive(two, b)) == ((one, a) == (two, b))


@given(roots)
def test_every_secret_differs_from_every_other(root: bytes) -> None:
    users = ("broker", "grants", "adapters", "audit")
    found = [keyring.seal_key(root), root.hex()]
    found += [keyring.secret_id(root, user) for user in users]
    found += [keyring.nats_seed(root, user) for user in users]
    assert len(set(found)) == len(found)
    assert len(base64.b64decode(keyring.seal_key(root))) == 32


@given(roots)
def test_the_nats_key_pair_belongs_together(root: bytes) -> None:
    pair = nkeys.from_seed(keyring.nats_seed(root, "grants").encode())
    public = keyring.nats_public_key(root, "grants")
    assert public.startswith("U")
    assert pair.public_key.decode() == public
    assert pair.verify(b"nonce", pair.sign(b"nonce"))
