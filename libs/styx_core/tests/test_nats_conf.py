"""The server's configuration: what each user gets, and who is refused before a server sees it."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from styx_core.keyring import nats_public_key
from styx_core.nats_conf import (
    FORBIDDEN,
    MAKE_STREAMS,
    NatsUser,
    bootstrap_user,
    overlaps,
    problems,
    render,
)

ROOT = b"FIXTURE-root-key-of-32-bytes-...."[:32]
KEY = nats_public_key(ROOT, "one")
OTHER = nats_public_key(ROOT, "two")


def rendered(*users: NatsUser, **options: Any) -> dict[str, Any]:
    named = {f"user{index}": user for index, user in enumerate(users)}
    config: dict[str, Any] = json.loads(render("127.0.0.1", 4222, "/data/js", named, **options))
    return config


def test_a_user_gets_exactly_its_lists() -> None:
    user = NatsUser(KEY, ("a.b", "c.>"), ("_INBOX_x.>",), allow_responses=True)
    assert rendered(user)["authorization"]["users"] == [
        {
            "nkey": KEY,
            "permissions": {
                "publish": {"allow": ["a.b", "c.>"]},
                "subscribe": {"allow": ["_INBOX_x.>"]},
                "allow_responses": True,
            },
        }
    ]


def test_an_empty_list_is_nothing_rather_than_everything() -> None:
    permissions = rendered(NatsUser(KEY))["authorization"]["users"][0]["permissions"]
    assert permissions == {"publish": {"deny": [">"]}, "subscribe": {"deny": [">"]}}


def test_each_message_is_on_disk_before_its_acknowledgement_unless_told_otherwise() -> None:
    assert rendered(NatsUser(KEY))["jetstream"]["sync_interval"] == "always"
    assert "sync_interval" not in rendered(NatsUser(KEY), sync_always=False)["jetstream"]


def test_statistics_only_where_a_port_is_named() -> None:
    assert "http" not in rendered(NatsUser(KEY))
    assert rendered(NatsUser(KEY), monitor=8222)["http"] == "127.0.0.1:8222"


def test_a_server_without_users_is_refused() -> None:
    with pytest.raises(ValueError, match="without users"):
        render("127.0.0.1", 4222, "/data/js", {})


@pytest.mark.parametrize("nkey", ["", "SUSECRET", KEY[:-1], "A" + KEY[1:]])
def test_what_is_no_user_key_is_refused_by_the_users_name(nkey: str) -> None:
    with pytest.raises(ValueError, match="user0 has no user nkey"):
        rendered(NatsUser(nkey))


def test_two_users_never_share_a_key() -> None:
    with pytest.raises(ValueError, match="user0 and user1 have the same key"):
        rendered(NatsUser(KEY), NatsUser(KEY))


@pytest.mark.parametrize("law", FORBIDDEN + MAKE_STREAMS)
@pytest.mark.parametrize("reach", [str, lambda law: law.replace("*", "EVENTS"), lambda _: ">"])
def test_no_service_may_touch_what_a_stream_is(law: str, reach: Any) -> None:
    with pytest.raises(ValueError, match="user0 may not publish"):
        rendered(NatsUser(KEY, publish=(reach(law),)))


@pytest.mark.parametrize("law", FORBIDDEN)
def test_not_even_the_bootstrap_user_may_take_from_a_stream(law: str) -> None:
    assert list(problems({"b": NatsUser(KEY, publish=(law,), makes_streams=True)}))


def test_the_bootstrap_user_makes_streams_and_says_nothing_else() -> None:
    user = bootstrap_user(KEY, "_INBOX_b")
    assert rendered(user, NatsUser(OTHER, publish=("styx.v1.>",)))
    assert all(subject.startswith("$JS.API.") for subject in user.publish)
    assert set(MAKE_STREAMS) <= set(user.publish)
    assert user.subscribe == ("_INBOX_b.>",)


words = st.lists(st.sampled_from("ab"), min_size=1, max_size=4)
patterns = st.tuples(
    st.lists(st.sampled_from(["a", "b", "*"]), max_size=3), st.sampled_from(["a", "b", "*", ">"])
).map(lambda parts: [*parts[0], parts[1]])


def matches(pattern: list[str], subject: list[str]) -> bool:
    """NATS's matching rule, said the long way round."""
    if not pattern or not subject:
        return pattern == subject
    if pattern[0] == ">":
        return True
    return pattern[0] in ("*", subject[0]) and matches(pattern[1:], subject[1:])


@given(patterns, patterns, words)
def test_patterns_that_match_one_subject_overlap(
    one: list[str], other: list[str], subject: list[str]
) -> None:
    if matches(one, subject) and matches(other, subject):
        assert overlaps(".".join(one), ".".join(other))


@given(patterns, patterns)
def test_patterns_that_overlap_match_one_subject(one: list[str], other: list[str]) -> None:
    """The witness: each word of either side, where the other has a wildcard."""
    if overlaps(".".join(one), ".".join(other)):
        length = max(len(one), len(other))
        padded = [side + [">"] * (length - len(side)) for side in (one, other)]
        witness = [
            next((word for word in pair if word not in ("*", ">")), "a")
            for pair in zip(*padded, strict=True)
        ]
        assert matches(one, witness)
        assert matches(other, witness)
