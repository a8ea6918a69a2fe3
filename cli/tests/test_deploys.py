"""Which files of a folder `styx deploys` reads from: git's list, else a bounded walk."""

import subprocess
from pathlib import Path

import pytest
from styx_adapters.registry import declared
from styx_cli.commands.deploys import DEEPEST, files
from styx_core.classify import classify
from styx_core.scope import Scope


def put(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("")


def test_in_a_repository_what_git_ignores_is_not_read(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    put(tmp_path, "vercel.json", "build/vercel.json", "a b/new\nline.txt")
    (tmp_path / ".gitignore").write_text("build\n")
    assert sorted(files(tmp_path)) == [".gitignore", "a b/new\nline.txt", "vercel.json"]


def test_elsewhere_it_walks_not_too_deep_and_past_what_others_made(tmp_path: Path) -> None:
    deep = "/".join("abcdefgh")
    put(tmp_path, "vercel.json", "node_modules/x/vercel.json", f"{deep}/vercel.json")
    put(tmp_path, f"{'/'.join('abcdefgh'[:DEEPEST])}/Dockerfile")
    assert files(tmp_path) == ["vercel.json", "a/b/c/d/Dockerfile"]


@pytest.mark.parametrize("provider", declared(), ids=lambda p: p.id)
def test_every_declared_deploy_is_classed_as_a_change(provider) -> None:
    tools = {tool.name: tool for tool in provider.tools}
    for deploy in provider.deploys:
        found = classify(tools[deploy.command[0]], deploy.command[1:])
        assert found.scopes & {Scope.DEPLOY, Scope.WRITE}, deploy
