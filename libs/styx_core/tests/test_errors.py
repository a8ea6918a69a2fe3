"""Every error has a code of its own, and comes through the wire as what it was."""

import pytest
from styx_core import errors
from styx_core.contract.base import Fault
from styx_core.errors import BY_CODE, Internal, RateLimited, StyxError, from_wire

CLASSES = [
    each
    for each in vars(errors).values()
    if isinstance(each, type) and issubclass(each, StyxError) and each is not StyxError
]


def test_every_class_has_a_code_of_its_own() -> None:
    assert len(CLASSES) > 15
    assert sorted(BY_CODE) == sorted(each.code for each in CLASSES)
    assert set(BY_CODE.values()) == set(CLASSES)


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.code)
def test_a_code_is_for_programs_and_says_what_http_may(kind: type[StyxError]) -> None:
    assert kind.code.replace("_", "").isalpha()
    assert kind.code == kind.code.lower()
    assert 400 <= kind.status < 600
    assert (kind.status in (429, 502, 503, 504)) is kind.retryable, "only what passes by itself"


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.code)
def test_an_error_comes_through_the_wire_as_it_was(kind: type[StyxError]) -> None:
    told = kind("why, and what to do next")
    fault = Fault(code=told.code, detail=told.detail, retryable=told.retryable)
    read = Fault.model_validate_json(fault.model_dump_json())
    back = from_wire(read.code, read.detail)
    assert type(back) is kind
    assert (back.detail, str(back)) == ("why, and what to do next",) * 2
    assert back.retryable is read.retryable


@pytest.mark.parametrize("code", ["", "a_code_of_tomorrow", "Internal", "__class__"])
def test_an_unknown_code_is_a_fault_that_nobody_tries_again(code: str) -> None:
    back = from_wire(code, "said by a newer service")
    assert type(back) is Internal
    assert back.detail == "said by a newer service"
    assert not back.retryable


def test_they_are_caught_by_their_root() -> None:
    with pytest.raises(StyxError) as caught:
        raise RateLimited("too many calls; try again in a minute")
    assert caught.value.code == "rate_limited"
