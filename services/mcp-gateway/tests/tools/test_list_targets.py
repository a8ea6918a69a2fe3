"""Targets as the task sees them: what is declared, and nothing of their config."""

from typing import Any

from styx_core.contract.grants import ListTargets


async def test_they_are_listed_as_this_task_sees_them(desk: Any, task: Any) -> None:
    made = await desk("list_targets", {})
    (target,) = made.fields["targets"]
    assert set(target) == {"id", "name", "provider", "env", "lockState", "scopes"}
    assert desk.grants.asked == [ListTargets(task_id=task.task_id)]


async def test_a_project_without_targets_has_an_empty_list(desk: Any) -> None:
    desk.grants.targets = []
    assert (await desk("list_targets", {})).fields == {"targets": []}
