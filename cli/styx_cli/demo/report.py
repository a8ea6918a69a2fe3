"""What the demo must have shown, and the story's table."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from styx_cli import show

Say = Callable[[str], None]


class Checks:
    """Everything the demo claims, each as it was seen."""

    def __init__(self) -> None:
        self._seen: list[tuple[str, bool]] = []

    def expect(self, what: str, holds: bool) -> None:
        """One claim."""
        self._seen.append((what, holds))

    def hear(self, line: dict[str, Any], told: Say) -> None:
        """What the agent reports, held against what must be."""
        step = line["step"]
        said = STEPS.get(step)
        if said is None:
            return
        what, holds = said
        fine = holds(line)
        self.expect(what, fine)
        told(f"{what}" if fine else f"NOT SO: {what}: {line}")

    def ok(self) -> bool:
        """Whether all of it held."""
        return bool(self._seen) and all(holds for _, holds in self._seen)

    def show(self) -> None:
        """Every claim, and whether it held."""
        print()
        for what, holds in self._seen:
            print(f"  {'✓' if holds else '✗ NOT SO:'} {what}")


STEPS: dict[str, tuple[str, Callable[[dict[str, Any]], bool]]] = {
    "start": ("the agent's environment holds no credential", lambda line: line["held"] == []),
    "read": (
        "request_access: read on staging is active at once, by policy",
        lambda line: line.get("status") == "active" and line.get("decidedBy") == "policy",
    ),
    "ls": (
        "aws s3 ls ran through the shim",
        lambda line: line["exit"] == 0 and "app-1.0.tgz" in line["out"],
    ),
    "delete": (
        "request_access: delete on prod waited and is active, by a person",
        lambda line: line.get("status") == "active" and line.get("decidedBy") == "user",
    ),
    "rm": ("aws s3 rm ran on prod through the shim", lambda line: line["exit"] == 0),
    "kept": (
        "the credential is a session of its own (get_credential)",
        lambda line: "AWS_SESSION_TOKEN" in line["names"],
    ),
    "ssh": ("ssh ran one command with a certificate for it alone", lambda line: line["exit"] == 0),
    "dead": (
        "the kept credential is refused after the revoke",
        lambda line: line["exit"] != 0 and "AccessDenied" in line["err"],
    ),
    "spent": ("the staging grant still works: one's end is not another's",
              lambda line: line["exit"] == 0),
}  # fmt: skip


def story_table(grants: list[dict[str, Any]]) -> None:
    """Who asked what, who decided and why, what was issued, how long it lived."""
    columns = ("who", "asked", "on", "decided by", "because", "issued", "lived")
    show.table(columns, (_row(grant) for grant in reversed(grants)), "Nothing was asked.")


def _row(grant: dict[str, Any]) -> tuple[object, ...]:
    asked = show.command(grant["command"]) or ", ".join(grant["scopes"])
    because = ", ".join(grant["because"]) or grant["why"]
    return (
        grant["agent"],
        short(asked),
        f"{grant['target']} ({grant['env']})",
        grant["decided_person"] or grant["decided_by"],
        because,
        f"{grant['leases']} × {grant['revocable']}" if grant["leases"] else "·",
        _lived(grant),
    )


def short(asked: str) -> str:
    """A command's two ends, where it is long."""
    return asked if len(asked) < 48 else f"{asked[:12]}… {asked[-33:]}"


def _lived(grant: dict[str, Any]) -> str:
    if not (grant["decided_at"] and grant["ended_at"]):
        return "·"
    began, ended = (datetime.fromisoformat(grant[n]) for n in ("decided_at", "ended_at"))
    return f"{(ended - began).total_seconds():.1f} s ({grant['state']})"
