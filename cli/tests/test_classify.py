"""`styx classify`: one line for a person, JSON for a script, a line for a line of JSON Lines."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

STYX = (sys.executable, "-c", "from styx_cli.main import main; main()", "classify")


def styx(*args: str, feed: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*STYX, *args], input=feed, capture_output=True, text=True, timeout=60, check=False
    )


def line(tool: str, *argv: str) -> str:
    return json.dumps({"tool": tool, "argv": list(argv)}) + "\n"


def test_a_command_explains_itself_in_one_line() -> None:
    ran = styx("--", "aws", "s3", "rm", "s3://b/k")
    assert (ran.returncode, ran.stdout) == (0, "delete: `aws s3 rm` deletes\n")


def test_the_commands_own_flags_are_left_to_it() -> None:
    ran = styx("--json", "--", "gh", "pr", "close", "1", "--help")
    assert json.loads(ran.stdout)["scopes"] == ["read"]


def test_json_says_all_that_is_known() -> None:
    answer = json.loads(
        styx("--json", "--", "aws", "--profile", "p", "s3api", "head-object").stdout
    )
    assert answer == {
        "scopes": ["read"],
        "why": "`aws s3api head-object` only reads",
        "surface": "s3",
        "operation": "s3:getobject",
        "identitySwitch": True,
        "mints": False,
    }


def test_a_line_in_a_line_out_in_order() -> None:
    ran = styx("--jsonl", feed=line("gh", "pr", "list") + "\n" + line("ssh", "h", "rm", "x"))
    answers = [json.loads(text) for text in ran.stdout.splitlines()]
    assert ran.returncode == 0
    assert [answer["scopes"] for answer in answers] == [["read"], ["write", "delete"]]
    assert all(answer["why"] for answer in answers)


@pytest.mark.parametrize(
    "bad",
    ["FIXTURE nope", "[]", "{}", '{"tool":"aws"}', '{"tool":"aws","argv":[1]}', line("FIXTURE")],
)
def test_a_malformed_line_is_answered_in_its_place(bad: str) -> None:
    ran = styx("--jsonl", feed=line("gh", "pr") + bad.strip() + "\n" + line("gh", "pr"))
    first, answer, last = [json.loads(text) for text in ran.stdout.splitlines()]
    assert ran.returncode == 1
    assert answer.keys() == {"error"}
    assert "line 2" in answer["error"]
    assert "FIXTURE" not in ran.stdout + ran.stderr
    assert first == last


@pytest.mark.parametrize("args", [(), ("--", "FIXTURE-tool", "x")])
def test_bad_usage_exits_2_and_repeats_nothing(args: tuple[str, ...]) -> None:
    ran = styx(*args)
    assert ran.returncode == 2
    assert "FIXTURE" not in ran.stdout + ran.stderr


def test_classifying_imports_no_provider_library(tmp_path: Path) -> None:
    code = (
        "import sys; from styx_adapters.commands.load import tool;"
        "from styx_core.classify import classify; classify(tool('aws'), ['s3', 'ls']);"
        "print([name for name in ('botocore', 'awscli', 'nats', 'hvac') if name in sys.modules])"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        cwd=tmp_path,
    )
    assert ran.stdout.strip() == "[]"
