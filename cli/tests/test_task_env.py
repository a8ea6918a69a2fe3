"""What an agent starts with, and what it must never find."""

from typing import Any

import pytest
from styx_cli.failure import Failure
from styx_cli.task_env import Task, agent_environment

ANSWER: dict[str, Any] = {
    "id": "tsk_1",
    "token": "FIXTURE-token",
    "project": "prj_acme",
    "tools": {"ssh": "ssh-agent", "aws": "env"},
    "strip": ["AWS_PROFILE", "STYX_TOKEN"],
    "quiet": {"AWS_PAGER": ""},
}


def test_the_agents_environment() -> None:
    person = {
        "AWS_PROFILE": "FIXTURE-own",
        "STYX_ADMIN_TOKEN": "FIXTURE-admin",
        "STYX_ADMIN_ANYTHING": "FIXTURE-too",
        "STYX_TOKEN": "FIXTURE-outer",
        "HOME": "/h",
        "PATH": "/bin",
    }
    task = Task.parse(ANSWER, "http://127.0.0.1:4100")
    assert agent_environment(person, task, "/run/bin", "/run/keyring") == {
        "HOME": "/h",
        "AWS_PAGER": "",
        "PATH": "/run/bin:/bin",
        "STYX_URL": "http://127.0.0.1:4100",
        "STYX_SESSION_ID": "tsk_1",
        "STYX_TOKEN": "FIXTURE-token",
        "STYX_KEYRING": "/run/keyring",
        "STYX_TOOLS": "aws=env ssh=ssh-agent",
    }
    assert "FIXTURE" not in repr(task)


@pytest.mark.parametrize(
    "answer",
    [
        None,
        [],
        {},
        {key: ANSWER[key] for key in ANSWER if key != "token"},
        ANSWER | {"tools": ["aws"]},
        ANSWER | {"quiet": {"A": 1}},
        ANSWER | {"strip": [3]},
    ],
)
def test_an_answer_that_is_no_task_shows_no_token(answer: object) -> None:
    with pytest.raises(Failure, match="can't be read") as caught:
        Task.parse(answer, "http://x")
    assert "FIXTURE" not in caught.value.text
