"""A real sshd on loopback that trusts a certificate authority of its own, for tests.

`SshHost.missing()` says what a machine lacks for it. The account that may log in is the one that
runs the test. Everything, the CA's key too, lies in the folder that the caller gives.
"""

import getpass
import shutil
import socket
import subprocess
import time
from pathlib import Path

SSHD = "/usr/sbin/sshd"
PRIVILEGE_FOLDER = Path("/run/sshd")
PATIENCE = 20.0  # seconds
CONFIG = """\
ListenAddress 127.0.0.1:{port}
HostKey {folder}/host_key
TrustedUserCAKeys {folder}/ca.pub
{principals}
AuthorizedKeysFile {keys}
AuthenticationMethods publickey
PermitRootLogin yes
StrictModes no
UsePAM no
PidFile none
LogLevel VERBOSE
"""


class SshHost:
    """The server and its CA; use it as a context manager."""

    def __init__(
        self,
        folder: Path,
        ca: str | None = None,
        principal: str | None = None,
        key: str | None = None,
    ) -> None:
        """`ca`: trust this CA line instead of one made here; `principal`: admit only it; `key`:
        admit this public key as well."""
        self.folder, self.user, self.port = folder, getpass.getuser(), _free_port()
        self._ca, self._principal, self._key = ca, principal, key

    @staticmethod
    def missing() -> str:
        """What this machine lacks to run a real sshd, or an empty string."""
        if not Path(SSHD).exists() or not shutil.which("ssh-keygen") or not shutil.which("ssh"):
            return "OpenSSH (server, client, ssh-keygen) isn't installed"
        try:
            PRIVILEGE_FOLDER.mkdir(mode=0o755, exist_ok=True)
        except OSError:
            return f"{PRIVILEGE_FOLDER} doesn't exist and can't be made"
        return ""

    def __enter__(self) -> "SshHost":
        for name in ("host_key", "ca"):
            _keygen("-q", "-t", "ed25519", "-N", "", "-f", str(self.folder / name))
        config = self.folder / "sshd_config"
        config.write_text(self._config())
        log = self.folder / "sshd.log"
        self._process = subprocess.Popen([SSHD, "-D", "-f", str(config), "-E", str(log)])
        deadline = time.monotonic() + PATIENCE
        while not self._greets():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.__exit__()
                raise RuntimeError(f"sshd didn't start: {log.read_text()}")
            time.sleep(0.02)
        return self

    def _config(self) -> str:
        admits = ""
        if self._ca is not None:
            (self.folder / "ca.pub").write_text(f"{self._ca}\n")
        if self._principal is not None:
            (self.folder / "principals").write_text(f"{self._principal}\n")
            admits = f"AuthorizedPrincipalsFile {self.folder}/principals"
        keys = "none"
        if self._key is not None:
            keys = str(self.folder / "authorized_keys")
            Path(keys).write_text(f"{self._key}\n")
        return CONFIG.format(port=self.port, folder=self.folder, principals=admits, keys=keys)

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait()

    def _greets(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), 1) as connection:
                return connection.recv(4) == b"SSH-"
        except OSError:
            return False

    def certify(self, public: str, life: str = "-1m:+5m", principal: str | None = None) -> str:
        """A user certificate line over `public`; `life` is what `ssh-keygen -V` takes."""
        key = self.folder / "asked.pub"
        key.write_text(public + "\n")
        who = principal or self.user
        _keygen("-q", "-s", str(self.folder / "ca"), "-I", "t", "-n", who, "-V", life, str(key))
        return (self.folder / "asked-cert.pub").read_text().strip()

    def command(self, *words: str) -> list[str]:
        """An `ssh` argv that logs in here and runs `words`; only an agent can help it."""
        options = ["-F", "none", "-p", str(self.port), "-l", self.user]
        for option in (
            *("BatchMode=yes", "StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null"),
            *("IdentityFile=none", "PreferredAuthentications=publickey", "LogLevel=ERROR"),
        ):
            options += ["-o", option]
        return ["ssh", *options, "127.0.0.1", *words]


def _keygen(*args: str) -> None:
    subprocess.run(["ssh-keygen", *args], check=True, capture_output=True)


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
