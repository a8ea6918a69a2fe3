"""The exit codes: one meaning each, and a failure carries one with its words."""

import os

import pytest
from styx_broker.problems import EXIT as OF_STATUS
from styx_broker.routes_exec import DENIED, UNAVAILABLE, UNDECIDED
from styx_cli.client import EXIT_OF_STATUS, exit_code
from styx_cli.exits import MEANING, Exit
from styx_cli.failure import Failure


def test_each_code_has_its_meaning() -> None:
    assert {*MEANING} == {*Exit}
    assert len(set(MEANING.values())) == len(Exit)


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (Exit.USAGE, "EX_USAGE"),
        (Exit.UNAVAILABLE, "EX_UNAVAILABLE"),
        (Exit.UNDECIDED, "EX_TEMPFAIL"),
        (Exit.DENIED, "EX_NOPERM"),
        (Exit.CONFIG, "EX_CONFIG"),
    ],
)
def test_the_codes_are_those_of_sysexits(code: Exit, name: str) -> None:
    assert code == getattr(os, name)


def test_the_shells_own_codes() -> None:
    assert (Exit.NOT_EXECUTABLE, Exit.NOT_FOUND, Exit.INTERRUPTED) == (126, 127, 130)


def test_the_broker_says_the_same_to_a_shim() -> None:
    assert (UNAVAILABLE, UNDECIDED, DENIED) == (Exit.UNAVAILABLE, Exit.UNDECIDED, Exit.DENIED)
    for status, code in OF_STATUS.items():
        assert exit_code(status) == code, status


def test_every_status_has_a_code_and_no_error_looks_like_success() -> None:
    codes = {status: exit_code(status) for status in range(400, 600)}
    assert Exit.OK not in codes.values()
    assert {codes[status] for status in range(500, 600)} == {Exit.UNAVAILABLE}
    assert codes.items() >= EXIT_OF_STATUS.items()


def test_a_failure_is_words_and_a_code() -> None:
    failure = Failure("it is so", Exit.DENIED, {"code": "denied"})
    assert (str(failure), failure.code, failure.problem) == ("it is so", 77, {"code": "denied"})
    assert Failure("x", Exit.USAGE).problem == {}
