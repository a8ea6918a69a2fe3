"""Passkeys: taken only from our origin, with their person verified, over this very payload."""

from collections.abc import Callable

import pytest
from soft_passkey import PRESENT, VERIFIED, SoftPasskey
from styx_core.contract.values import Assertion, Registration
from styx_core.errors import SignatureRefused
from styx_grants.passkeys import RelyingParty

ORIGIN = "https://styx.example"
PARTY = RelyingParty(ORIGIN)
PAYLOAD = '{"styx":"decision/v1"}'


def passkey(**over: object) -> SoftPasskey:
    return SoftPasskey(**{"origin": ORIGIN, "host": "styx.example", **over})  # type: ignore[arg-type]


def test_what_was_registered_signs() -> None:
    ours = passkey()
    kept = PARTY.register(ours.register(PAYLOAD), PAYLOAD)
    assert PARTY.check(ours.sign(PAYLOAD), PAYLOAD, kept.public_key) == 1
    assert PARTY.check(ours.sign("another"), "another", kept.public_key) == 2
    assert kept.counter == 0


def test_an_address_with_a_port_is_one_origin_and_its_host_the_party() -> None:
    party = RelyingParty("http://localhost:8700/")
    ours = SoftPasskey(origin="http://localhost:8700", host="localhost")
    kept = party.register(ours.register(PAYLOAD), PAYLOAD)
    assert party.check(ours.sign(PAYLOAD), PAYLOAD, kept.public_key) == 1
    ours.origin = "http://localhost:8701"
    with pytest.raises(SignatureRefused, match="another address"):
        party.check(ours.sign(PAYLOAD), PAYLOAD, kept.public_key)


WRONG: list[tuple[str, dict[str, object], str]] = [
    ("origin", {"origin": "https://evil.example"}, "another address"),
    ("a longer origin", {"origin": ORIGIN + ".evil.example"}, "another address"),
    ("host", {"host": "evil.example"}, "another address"),
    ("present only", {"flags": PRESENT}, "not verified"),
    ("verified only", {"flags": VERIFIED}, "not verified"),
]


@pytest.mark.parametrize(("over", "why"), [w[1:] for w in WRONG], ids=[w[0] for w in WRONG])
def test_a_passkey_of_elsewhere_or_of_nobody_is_refused(over: dict[str, object], why: str) -> None:
    with pytest.raises(SignatureRefused, match=why):
        PARTY.register(passkey(**over).register(PAYLOAD), PAYLOAD)
    ours = passkey()
    kept = PARTY.register(ours.register(PAYLOAD), PAYLOAD)
    for name, value in over.items():
        setattr(ours, name, value)
    with pytest.raises(SignatureRefused, match=why):
        PARTY.check(ours.sign(PAYLOAD), PAYLOAD, kept.public_key)


def test_another_payload_and_another_passkey_are_refused() -> None:
    ours, other = passkey(), passkey()
    kept = PARTY.register(ours.register(PAYLOAD), PAYLOAD)
    with pytest.raises(SignatureRefused, match="something else"):
        PARTY.register(ours.register("another"), PAYLOAD)
    with pytest.raises(SignatureRefused, match="something else"):
        PARTY.check(ours.sign("another"), PAYLOAD, kept.public_key)
    with pytest.raises(SignatureRefused, match="another passkey"):
        PARTY.check(other.sign(PAYLOAD), PAYLOAD, kept.public_key)
    other.id = ours.id
    with pytest.raises(SignatureRefused, match="signature is wrong"):
        PARTY.check(other.sign(PAYLOAD), PAYLOAD, kept.public_key)


def test_a_registration_is_no_assertion_and_the_other_way_round() -> None:
    ours = passkey()
    registration, assertion = ours.register(PAYLOAD), ours.sign(PAYLOAD)
    kept = PARTY.register(registration, PAYLOAD)
    crossed = assertion.model_copy(update={"client_data": registration.client_data})
    with pytest.raises(SignatureRefused):
        PARTY.check(crossed, PAYLOAD, kept.public_key)
    other = registration.model_copy(update={"client_data": assertion.client_data})
    with pytest.raises(SignatureRefused):
        PARTY.register(other, PAYLOAD)


GARBAGE = ["", "AAAA", "e30", "bnVsbA", "W10", "_" * 16_000, "oWNmbXQ"]


@pytest.mark.parametrize("garbage", GARBAGE)
@pytest.mark.parametrize("part", [*Registration.model_fields, *Assertion.model_fields])
def test_garbage_is_refused_and_breaks_nothing(part: str, garbage: str) -> None:
    ours = passkey()
    kept = PARTY.register(ours.register(PAYLOAD), PAYLOAD)
    calls: dict[str, Callable[[], object]] = {
        "register": lambda: PARTY.register(
            ours.register(PAYLOAD).model_copy(update={part: garbage}), PAYLOAD
        ),
        "check": lambda: PARTY.check(
            ours.sign(PAYLOAD).model_copy(update={part: garbage}), PAYLOAD, kept.public_key
        ),
    }
    kinds = {"register": Registration, "check": Assertion}
    for name, call in calls.items():
        if part in kinds[name].model_fields and part != "label":
            with pytest.raises(SignatureRefused):
                call()
