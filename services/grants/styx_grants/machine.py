"""The grant machine: which step leads from which state to which. Pure, a table.

    pending -> active | denied | expired | cancelled
    active  -> expired | revoked | spent

Any other step is illegal and changes nothing. Leaving `active` always revokes the grant's leases. A
caller who stops waiting takes no step: the request stays pending until its own life ends.
"""

from enum import StrEnum
from typing import NamedTuple


class State(StrEnum):
    """Where a grant is in its life."""

    PENDING = "pending"
    ACTIVE = "active"
    DENIED = "denied"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    REVOKED = "revoked"
    SPENT = "spent"


class Step(StrEnum):
    """What happens to a grant."""

    APPROVE = "approve"
    DENY = "deny"
    TIME_OUT = "time_out"
    """The request's own life ended undecided."""
    CANCEL = "cancel"
    """The asker took the request back."""
    EXPIRE = "expire"
    """The granted time is over."""
    IDLE = "idle"
    """An hour went by without use."""
    TASK_END = "task_end"
    REVOKE = "revoke"
    SPEND = "spend"
    """The one command that it was for has run."""


class Effect(StrEnum):
    """What must follow a step."""

    REVOKE_LEASES = "revoke leases"


class Outcome(NamedTuple):
    """The state after a step, and what must follow."""

    state: State
    effects: tuple[Effect, ...]


TABLE: dict[tuple[State, Step], State] = {
    (State.PENDING, Step.APPROVE): State.ACTIVE,
    (State.PENDING, Step.DENY): State.DENIED,
    (State.PENDING, Step.TIME_OUT): State.EXPIRED,
    (State.PENDING, Step.CANCEL): State.CANCELLED,
    (State.PENDING, Step.TASK_END): State.CANCELLED,
    (State.ACTIVE, Step.EXPIRE): State.EXPIRED,
    (State.ACTIVE, Step.IDLE): State.EXPIRED,
    (State.ACTIVE, Step.TASK_END): State.EXPIRED,
    (State.ACTIVE, Step.REVOKE): State.REVOKED,
    (State.ACTIVE, Step.SPEND): State.SPENT,
}

FINAL = frozenset(State) - {state for state, _ in TABLE}
"""The states that nothing leaves."""


class IllegalStep(Exception):
    """A step that its state does not allow; nothing was changed."""

    def __init__(self, state: State, step: Step) -> None:
        legal = ", ".join(each for at, each in TABLE if at == state)
        super().__init__(f"a grant that is {state} cannot {step}: {legal or 'it is final'}")
        self.state = state
        self.step = step


def apply(state: State, step: Step) -> Outcome:
    """The state that the step leads to, and what must follow. Raises IllegalStep."""
    try:
        after = TABLE[state, step]
    except KeyError:
        raise IllegalStep(state, step) from None
    return Outcome(after, _effects(state, after))


def _effects(before: State, after: State) -> tuple[Effect, ...]:
    leaves = before == State.ACTIVE and after != State.ACTIVE
    return (Effect.REVOKE_LEASES,) if leaves else ()


def diagram() -> str:
    """The table as a Mermaid state diagram; one arrow for all steps between the same states."""
    arrows: dict[tuple[State, State], list[str]] = {}
    for (before, step), after in TABLE.items():
        arrows.setdefault((before, after), []).append(step)
    lines = ["stateDiagram-v2", f"    [*] --> {State.PENDING}"]
    for (before, after), steps in arrows.items():
        follow = "".join(f" / {effect}" for effect in _effects(before, after))
        lines.append(f"    {before} --> {after}: {', '.join(steps)}{follow}")
    lines += [f"    {state} --> [*]" for state in State if state in FINAL]
    return "\n".join(lines) + "\n"
