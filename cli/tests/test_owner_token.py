"""The owner's token: its form, and that nothing sent tells of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from styx_cli.failure import Failure
from styx_cli.owner_token import PREFIX, new_secret, raw
from styx_core import signing


def test_a_new_token_reads_back_as_256_bits() -> None:
    assert len(raw(new_secret())) == 32
    assert new_secret() != new_secret()


@given(st.text(max_size=60))
def test_a_text_that_is_no_token_is_refused_without_being_shown(text: str) -> None:
    with pytest.raises(Failure) as refused:
        raw(text)
    assert len(text) < 8 or text not in refused.value.text


def test_what_is_sent_derives_from_the_token_and_never_holds_it() -> None:
    secret = new_secret()
    known = raw(secret)
    sent = signing.bearer(known), signing.public_key(signing.signing_key(known))
    assert all(secret.removeprefix(PREFIX)[:12] not in each for each in sent)
    assert signing.bearer(known) == signing.bearer(raw(secret))


def test_a_truncated_token_is_named_as_what_it_should_be() -> None:
    with pytest.raises(Failure, match="styx login"):
        raw(new_secret()[:-4])
