"""What a Google token is narrowed to, and that no command talks its way out of a boundary."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from styx_adapters.gcp_narrowing import EVERYTHING, READ_ONLY, READ_SCOPES, Narrowing, narrowing
from styx_core.scope import Scope

READ, WRITE, DELETE = Scope.READ, Scope.WRITE, Scope.DELETE
EXPRESSION = re.compile(r"[^']+(\('[^']+', ''\))?\.startsWith\('[^'\\]*'\)")
WHERE = "//storage.googleapis.com/projects/_/buckets/"


def bounded(command: str, *scopes: Scope) -> Narrowing:
    """The narrowing for one command of `gcloud storage`."""
    words = ("gcloud", "storage", *command.split(" "))
    return narrowing(frozenset(scopes), "storage", words)


def rules(found: Narrowing) -> list[dict[str, Any]]:
    """The rules of its boundary."""
    assert found.boundary is not None
    listed: list[dict[str, Any]] = json.loads(found.boundary)["accessBoundary"][
        "accessBoundaryRules"
    ]
    return listed


def shown(found: Narrowing) -> list[tuple[str, str, str]]:
    """(bucket, roles, beginning of the names) of each rule."""
    return [
        (
            rule["availableResource"].removeprefix(WHERE),
            " ".join(r.removeprefix("inRole:roles/storage.") for r in rule["availablePermissions"]),
            "".join(
                re.findall(r"objects/([^']*)'\) ", str(rule.get("availabilityCondition", {})) + " ")
            ),
        )
        for rule in rules(found)
    ]


@pytest.mark.parametrize("surface", [None, *READ_SCOPES])
def test_reading_alone_is_narrowed_where_the_api_has_a_scope_for_it(surface: str | None) -> None:
    found = narrowing(frozenset({READ}), surface)
    assert (found.holds, found.boundary) == (True, None)
    assert found.scope.rpartition(".")[2] in ("read", "readonly", "read-only", "read_only")
    for scopes in ({WRITE}, {READ, WRITE}, {DELETE}, {READ, Scope.DEPLOY}):
        assert narrowing(frozenset(scopes), surface) == Narrowing(EVERYTHING, None, holds=False)


def test_where_it_has_none_reading_is_not_said_to_be_narrowed() -> None:
    for surface in ("run", "sql", "secrets", "container", "iam", "alpha", ""):
        found = narrowing(frozenset({READ}), surface)
        assert found == Narrowing(EVERYTHING, None, holds=False)
    assert narrowing(frozenset({READ}), None).scope == READ_ONLY


CASES = [
    ("cat gs://b-1/x", {READ}, [("b-1", "objectViewer", "x")], True),
    ("ls gs://b-1", {READ}, [("b-1", "objectViewer", "")], True),
    ("du gs://b-1/logs/ -r", {READ}, [("b-1", "objectViewer", "logs/")], True),
    ("hash gs://b-1/a gs://b-2/c", {READ},
     [("b-1", "objectViewer", "a"), ("b-2", "objectViewer", "c")], True),
    ("cat gs://b-1/logs/*.gz", {READ}, [("b-1", "objectViewer", "logs/")], True),
    ("cat gs://b-1/x", {READ, WRITE}, [("b-1", "objectViewer", "x")], True),
    ("cp app.tgz gs://b-1/app", {WRITE}, [("b-1", "objectCreator objectViewer", "app")], False),
    ("cp app gs://b-1/", {READ, WRITE}, [("b-1", "objectCreator objectViewer", "")], True),
    ("cp - gs://b-1/app", {READ, WRITE}, [("b-1", "objectCreator objectViewer", "app")], True),
    ("cp gs://b-1/app .", {WRITE}, [("b-1", "objectViewer", "app")], True),
    ("cp gs://b-1/a gs://b-2/c", {WRITE},
     [("b-1", "objectViewer", "a"), ("b-2", "objectCreator objectViewer", "c")], False),
    ("mv gs://b-1/a gs://b-1/c", {WRITE, DELETE},
     [("b-1", "objectUser", "a"), ("b-1", "objectCreator objectViewer", "c")], False),
    ("mv app gs://b-1/app", {READ, WRITE, DELETE},
     [("b-1", "objectCreator objectViewer", "app")], True),
    ("rm gs://b-1/old", {DELETE}, [("b-1", "objectUser", "old")], False),
    ("rm -r gs://b-1/old/", {READ, WRITE, DELETE}, [("b-1", "objectUser", "old/")], True),
]  # fmt: skip


@pytest.mark.parametrize(("command", "scopes", "drawn", "holds"), CASES)
def test_a_boundary_is_drawn_around_what_the_command_names(
    command: str, scopes: set[Scope], drawn: list[tuple[str, str, str]], holds: bool
) -> None:
    found = bounded(command, *scopes)
    assert shown(found) == drawn
    assert found.holds is holds
    assert found.scope == EVERYTHING, "what a boundary is put around"


@pytest.mark.parametrize(
    "command",
    [
        "cat", "ls", "cat s3://b-1/x", "cat x", "cat gs://B_1/x", "cat gs://b*/x", "cat gs://b",
        "cat gs://b-1/x --project=other", "cat gs://b-1/x --account me", "cat -I", "cat gs:///x",
        "cp gs://b-1/x s3://b-2/x", "cp -I gs://b-1/x", "rsync -r . gs://b-1", "rm -r gs://b-1",
        "rm gs://b-1/", "mv gs://b-1 gs://b-2/x", "mv s3://b-1/x gs://b-1/x",
        "buckets describe gs://b-1", "sign-url gs://b-1/x",
        "cat " + " ".join(f"gs://bucket-{n}/x" for n in range(11)), "cat gs://b-1/x file",
    ],
)  # fmt: skip
def test_what_is_not_surely_all_of_it_gets_none(command: str) -> None:
    assert bounded(command, READ, WRITE, DELETE).boundary is None


def test_a_command_of_another_class_than_granted_gets_none() -> None:
    assert bounded("rm gs://b-1/x", READ) == narrowing(frozenset({READ}), "storage")
    assert bounded("cp x gs://b-1/x", READ).boundary is None
    assert bounded("mv x gs://b-1/x", WRITE).boundary is None
    for words in (("gcloud", "--project", "p", "storage", "cat", "gs://b-1/x"), ("gcloud",), ()):
        assert narrowing(frozenset({READ}), "storage", words).boundary is None
    elsewhere = ("gcloud", "storage", "cat", "gs://b-1/x")
    assert narrowing(frozenset({READ}), "compute", elsewhere).boundary is None


@given(name=st.text(min_size=1, max_size=40))
def test_no_name_gets_out_of_its_quotes(name: str) -> None:
    words = ("gcloud", "storage", "cat", f"gs://bucket/{name}")
    for rule in rules(narrowing(frozenset({READ}), "storage", words)):
        assert rule["availableResource"] == f"{WHERE}bucket"
        for part in rule.get("availabilityCondition", {}).get("expression", "").split(" || "):
            assert part == "" or re.fullmatch(
                r"[^']+(\('[^']+', ''\))?\.startsWith\('[^'\\]*'\)", part
            )


@given(name=st.from_regex(r"[A-Za-z0-9._-]{1,20}/?[A-Za-z0-9*?'\\\[]{0,8}", fullmatch=True))
def test_a_boundary_always_lets_the_command_reach_what_it_names(name: str) -> None:
    words = ("gcloud", "storage", "cat", f"gs://bucket/{name}")
    for _, _, prefix in shown(narrowing(frozenset({READ}), "storage", words)):
        assert name.startswith(prefix)
        assert prefix
