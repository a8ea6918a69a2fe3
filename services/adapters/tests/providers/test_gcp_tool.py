"""The real `gcloud` (Google Cloud SDK 528 here) with nothing but what was issued for its call."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from conformance import now
from gcp_case import DEPLOYER, PROVIDER, TARGET, Played, google_cloud, once, wanted
from styx_adapters.adapter import Want
from styx_adapters.providers import gcp
from styx_core.classify import classify
from styx_core.scope import Scope

pytestmark = pytest.mark.skipif(shutil.which("gcloud") is None, reason="needs Google's gcloud")

READ, DELETE = Scope.READ, Scope.DELETE
HOSTILE = """
[core]
account = mallory@example.com
project = elsewhere
[auth]
impersonate_service_account = mallory@acme-prod.iam.gserviceaccount.com
[api_endpoint_overrides]
storage = http://127.0.0.1:1/storage/v1/
cloudresourcemanager = http://127.0.0.1:1/
"""


@pytest.fixture(scope="module")
def played() -> Iterator[Played]:
    with google_cloud() as made:
        yield made


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home whose own configuration leads to another account, project and place."""
    folder = tmp_path / ".config/gcloud/configurations"
    folder.mkdir(parents=True)
    (folder / "config_default").write_text(HOSTILE)
    (tmp_path / "app.tgz").write_text("two")
    return tmp_path


async def environment(played: Played, want: Want) -> dict[str, str]:
    """What is issued for a use."""
    config = {
        "project": "acme-prod", "endpoint": played.url, "provider": PROVIDER,
        "service_account": DEPLOYER, "target_id": TARGET,
    }  # fmt: skip
    return dict((await played.adapter().issue({}, config, want)).secret["env"])


def run(played: Played, home: Path, env: dict[str, str], command: str) -> tuple[bool, str]:
    """Whether gcloud did it, and what it said."""
    places = {"STORAGE": "/storage/v1/", "COMPUTE": "/compute/v1/", "CLOUDRESOURCEMANAGER": "/"}
    overrides = {
        f"CLOUDSDK_API_ENDPOINT_OVERRIDES_{name}": played.url + path
        for name, path in places.items()
    }
    assert set(overrides) <= set(gcp.PROVIDER.strip), "an agent may not set these itself"
    done = subprocess.run(
        ["gcloud", *command.split()],
        env={"PATH": os.environ["PATH"], "HOME": str(home), **gcp.PROVIDER.quiet,
             **env, **overrides},
        cwd=home, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    return done.returncode == 0, done.stdout + done.stderr


CALLS = [
    ("storage", "storage cat gs://releases/app-1.0.tgz", "storage rm gs://releases/app-1.0.tgz"),
    ("compute", "compute networks list --format=value(name)",
     "compute networks create evil --subnet-mode=custom"),
    ("projects", "projects describe acme-prod", "projects delete acme-prod"),
]  # fmt: skip


@pytest.mark.parametrize(("surface", "read", "write"), CALLS)
async def test_a_token_for_reading_reads_and_no_more(
    played: Played, home: Path, surface: str, read: str, write: str
) -> None:
    tool = gcp.PROVIDER.tools[0]
    assert classify(tool, read.split()).surface == surface
    env = await environment(played, wanted(READ, surface=surface))
    done, said = run(played, home, env, read)
    assert done, said
    done, said = run(played, home, env, write)
    assert not done
    assert "insufficient authentication scopes" in said
    assert "evil" not in played.cloud.services.networks
    assert "app-1.0.tgz" in played.cloud.services.buckets["releases"]


BOUNDED = [
    "ls gs://releases/",
    "cat gs://releases/app-1.0.tgz",
    "cp app.tgz gs://releases/new/app.tgz",
    "cp -r gs://releases/old/ .",
    "cp gs://releases/app-1.0.tgz gs://releases/copy.tgz",
    "mv gs://releases/old/a.txt gs://releases/moved.txt",
    "rm -r gs://releases/old/",
]


@pytest.mark.parametrize("command", BOUNDED)
async def test_a_command_works_inside_the_boundary_that_is_drawn_for_it(
    played: Played, home: Path, command: str
) -> None:
    played.cloud.services.buckets["releases"] |= {"old/a.txt": b"a", "old/b.txt": b"b"}
    scopes = classify(gcp.PROVIDER.tools[0], ["storage", *command.split()]).scopes
    env = await environment(played, once(*scopes, command=command))
    given = played.cloud.tokens[env["CLOUDSDK_AUTH_ACCESS_TOKEN"]]
    assert given.boundary is not None
    done, said = run(played, home, env, f"storage {command}")
    assert done, said


async def test_outside_its_boundary_a_token_does_nothing(played: Played, home: Path) -> None:
    env = await environment(played, once(DELETE, command="rm gs://releases/old-2"))
    for command in ("storage rm gs://releases/app-1.0.tgz", "storage cat gs://private/keys"):
        done, said = run(played, home, env, command)
        assert not done
        assert "PERMISSION_DENIED" in said
    assert "app-1.0.tgz" in played.cloud.services.buckets["releases"]


async def test_when_the_grant_is_over_gcloud_is_refused(
    played: Played, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    until = now() + timedelta(seconds=90)
    env = await environment(played, wanted(READ, until=until))
    monkeypatch.setattr(played.cloud, "now", lambda: until)
    done, said = run(played, home, env, "storage cat gs://releases/app-1.0.tgz")
    assert not done
    assert "401" in said or "invalid authentication credentials" in said
