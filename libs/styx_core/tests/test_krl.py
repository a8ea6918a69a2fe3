"""Key revocation lists, as OpenSSH's own ssh-keygen reads them."""

import shutil
import subprocess
from pathlib import Path

import pytest
from styx_core.krl import MAGIC, revocation_list

pytestmark = pytest.mark.skipif(not shutil.which("ssh-keygen"), reason="no ssh-keygen here")


def keygen(*words: str | Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        ["ssh-keygen", *map(str, words)], text=True, capture_output=True, timeout=30
    )


@pytest.fixture(scope="module")
def ca(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A CA, another, and a certificate of each with the key id `grt_1.lse_1`."""
    folder = tmp_path_factory.mktemp("ca")
    for name in ("ca", "other", "key"):
        assert keygen("-q", "-t", "ed25519", "-N", "", "-f", folder / name).returncode == 0
    for signer, serial in (("ca", "1"), ("other", "2")):
        shutil.copy(folder / "key.pub", folder / f"by-{signer}.pub")
        done = keygen(
            *("-q", "-s", folder / signer, "-I", "grt_1.lse_1", "-n", "me", "-z", serial),
            folder / f"by-{signer}.pub",
        )
        assert done.returncode == 0, done.stderr
    return folder


def revoked(ca: Path, certificate: str, *key_ids: str) -> bool:
    """What ssh-keygen says of a certificate under a list of these key ids."""
    krl = ca / "list.krl"
    krl.write_bytes(revocation_list((ca / "ca.pub").read_text(), key_ids, 1_770_000_000))
    done = keygen("-Q", "-f", krl, ca / f"{certificate}-cert.pub")
    assert done.returncode in (0, 1), done.stderr
    return "REVOKED" in done.stdout


def test_a_listed_certificate_is_revoked_and_no_other(ca: Path) -> None:
    assert revoked(ca, "by-ca", "grt_1.lse_1")
    assert revoked(ca, "by-ca", *(f"grt_{n}.lse" for n in range(1000)), "grt_1.lse_1")
    assert not revoked(ca, "by-ca", "grt_1.lse_2", "grt_1", "")
    assert not revoked(ca, "by-ca")


def test_another_cas_certificate_of_the_same_name_is_not(ca: Path) -> None:
    assert not revoked(ca, "by-other", "grt_1.lse_1")


def test_it_is_the_same_for_the_same_names_in_any_order(ca: Path) -> None:
    line = (ca / "ca.pub").read_text()
    one, two = (revocation_list(line, ids, 7) for ids in (["a", "b"], ["b", "a", "b"]))
    assert one == two
    assert one.startswith(MAGIC)
