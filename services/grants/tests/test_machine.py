"""The grant machine: its table, its illegal steps, its diagram."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from styx_grants.machine import FINAL, TABLE, Effect, IllegalStep, State, Step, apply, diagram

LEGAL = {
    "pending": {
        "approve": "active",
        "deny": "denied",
        "time_out": "expired",
        "cancel": "cancelled",
        "task_end": "cancelled",
    },
    "active": {
        "expire": "expired",
        "idle": "expired",
        "task_end": "expired",
        "revoke": "revoked",
        "spend": "spent",
    },
}


@pytest.mark.parametrize("step", Step)
@pytest.mark.parametrize("state", State)
def test_every_state_and_step(state: State, step: Step) -> None:
    after = LEGAL.get(state, {}).get(step)
    if after is not None:
        assert apply(state, step).state == after
        return
    with pytest.raises(IllegalStep, match=f"a grant that is {state} cannot {step}") as caught:
        apply(state, step)
    assert (caught.value.state, caught.value.step) == (state, step)


@given(st.lists(st.sampled_from(Step), max_size=12))
def test_leases_are_revoked_exactly_when_active_is_left(steps: list[Step]) -> None:
    state = State.PENDING
    for step in steps:
        try:
            after, effects = apply(state, step)
        except IllegalStep:
            continue
        left = state is State.ACTIVE
        assert effects == ((Effect.REVOKE_LEASES,) if left else ())
        state = after


def test_the_first_decider_wins() -> None:
    denied = apply(State.PENDING, Step.DENY).state
    with pytest.raises(IllegalStep, match="denied cannot approve: it is final"):
        apply(denied, Step.APPROVE)
    with pytest.raises(IllegalStep, match="active cannot deny: expire, idle"):
        apply(State.ACTIVE, Step.DENY)


def test_final_states() -> None:
    assert set(State) - set(FINAL) == {State.PENDING, State.ACTIVE}


def test_the_diagram_says_what_the_table_says() -> None:
    drawn = diagram()
    assert drawn.startswith("stateDiagram-v2\n    [*] --> pending\n")
    arrows = {}
    for line in drawn.splitlines():
        if ": " in line:
            ends, label = line.split(": ")
            before, after = ends.split(" --> ")
            steps = label.removesuffix(" / revoke leases").split(", ")
            arrows.update({(before.strip(), step): after for step in steps})
            assert label.endswith("/ revoke leases") is (before.strip() == "active")
    assert arrows == {(str(at), str(step)): str(after) for (at, step), after in TABLE.items()}
    assert all(f"    {state} --> [*]" in drawn for state in FINAL)
