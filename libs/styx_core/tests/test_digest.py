"""The digest of a command: the same for the same words under one token, and for nothing else."""

import hashlib

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from styx_core.digest import command_digest

WORDS = st.lists(st.text(max_size=6), max_size=4)
TOKEN = "FIXTURE-token"


@given(WORDS, WORDS)
@example(["a", "b"], ["a\0b"])
@example(["a", ""], ["a"])
@example([], [""])
@example(["1:a"], ["1", "a"])
def test_other_words_have_another_digest(one: list[str], other: list[str]) -> None:
    same = command_digest(TOKEN, one) == command_digest(TOKEN, other)
    assert same is (one == other)


@given(st.text(min_size=1), st.text(min_size=1), WORDS)
@example("a", "a\0b", ["b"])
def test_another_task_has_another_digest(token: str, other: str, words: list[str]) -> None:
    if token != other:
        assert command_digest(token, words) != command_digest(other, words)


def test_a_word_does_not_pass_for_the_token() -> None:
    assert command_digest("a", ["b", "c"]) != command_digest("a\0b", ["c"])


@pytest.mark.parametrize("word", ["FIXTURE\udcff", "\ud800", "é", "🜁"])
def test_words_that_are_no_text_have_one_too(word: str) -> None:
    digest = command_digest(TOKEN, ["aws", word])
    assert len(digest) == 64
    assert digest != command_digest(TOKEN, ["aws", word + "x"])


def test_it_needs_the_token_to_be_tried_out() -> None:
    words = ["gh", "auth", "login", "--with-token", "FIXTURE-guessable"]
    known = "\0".join(words).encode()
    assert command_digest(TOKEN, words) != hashlib.sha256(known).hexdigest()
    assert command_digest(TOKEN, words) != command_digest("", words)


def test_an_oauth_client_s_tokens_stand_for_one_task() -> None:
    stem, other = "s" * 43, "o" * 43
    first, second = (command_digest(f"styx_oat_{stem}{rest * 43}", ["aws"]) for rest in "ab")
    assert first == second != command_digest(f"styx_oat_{other}{'a' * 43}", ["aws"])
