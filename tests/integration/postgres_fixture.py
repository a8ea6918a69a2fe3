"""A real PostgreSQL: a container where a Docker engine answers, else this machine's own server."""

import contextlib
import getpass
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

IMAGE = "postgres:17-alpine"
PROGRAMS = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
MISSING = "no PostgreSQL: no Docker engine answers, and no server is installed here"


@contextlib.contextmanager
def postgres() -> Iterator[str]:
    """A server's URL, as `Settings.database_url` takes it, with an empty database.

    Raises `LookupError` where there is none to be had.
    """
    with contextlib.ExitStack() as stack:
        url = _container(stack) or _local(stack)
        if url is None:
            raise LookupError(MISSING)
        yield url


def _container(stack: contextlib.ExitStack) -> str | None:
    import docker
    from docker.errors import DockerException

    try:
        client = docker.from_env(timeout=5)
        client.ping()
        client.close()
    except DockerException:
        return None
    from testcontainers.postgres import PostgresContainer

    running = stack.enter_context(PostgresContainer(IMAGE, driver="psycopg"))
    return str(running.get_connection_url())


def _local(stack: contextlib.ExitStack) -> str | None:
    """The newest installed server, on a free port, as a user that isn't root."""
    user, before = getpass.getuser(), list[str]()
    if os.geteuid() == 0:
        user = "postgres"
        before = ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups"]
    if not PROGRAMS or (before and not shutil.which("setpriv")):
        return None
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sxpg", dir="/tmp")))
    shutil.chown(folder, user)
    data, bin_ = folder / "data", PROGRAMS[-1].parent
    initdb = [*before, str(bin_ / "initdb"), "-D", str(data), "-U", "styx", "--no-sync"]
    subprocess.run([*initdb, "--auth=trust", "-E", "UTF8"], check=True, capture_output=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ("listen_addresses=127.0.0.1", f"unix_socket_directories={folder}", f"port={port}")
    words = [str(bin_ / "pg_ctl"), "-D", str(data), "-w", "-l", str(folder / "log")]
    subprocess.run(
        [*before, *words, "-o", " ".join(f"-c {each}" for each in options), "start"],
        check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    stop = [*before, str(bin_ / "pg_ctl"), "-D", str(data), "-m", "immediate", "-w", "stop"]
    stack.callback(subprocess.run, stop, check=True, stdout=subprocess.DEVNULL)
    return f"postgresql+psycopg://styx@127.0.0.1:{port}/postgres"
