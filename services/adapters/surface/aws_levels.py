"""IAM's access level of an API operation, from the service authorization reference as JSON.

Rules: a service's IAM prefix is the candidate of its model that shares most operations with the
reference. Nothing is guessed: an operation that isn't there has no level.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

from aws_declared import ACTIONS, PREFIXES


class Reference:
    """The reference, read a service at a time."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._prefixes: dict[str, str | None] = {}

    @cache  # noqa: B019 - one reference for the life of the generator
    def actions(self, prefix: str) -> dict[str, str]:
        """Action in lower case -> access level, for one IAM prefix."""
        file = self._folder / "actions" / f"{prefix}.json"
        if not file.exists():
            return {}
        read = json.loads(file.read_text(encoding="utf-8"))
        return {name.lower(): action["accessLevel"] for name, action in read.items()}

    def prefix(self, service: Any) -> str | None:
        """The IAM prefix of a service model, if the reference has it."""
        name = service.service_name
        if name not in self._prefixes:
            self._prefixes[name] = self._find(service)
        return self._prefixes[name]

    def _find(self, service: Any) -> str | None:
        meta = service.metadata
        names = [PREFIXES.get(service.service_name), meta.get("signingName")]
        names += [service.service_name, meta.get("endpointPrefix"), meta.get("arnNamespace")]
        wanted = {operation.lower() for operation in service.operation_names}
        best, shared = None, 0
        for name in names:
            overlap = len(wanted & self.actions(name).keys()) if name else 0
            if overlap > shared:
                best, shared = name, overlap
        return best or self._by_overlap(wanted)

    def _by_overlap(self, wanted: set[str]) -> str | None:
        every = [file.stem for file in (self._folder / "actions").glob("*.json")]
        best = max(every, key=lambda name: len(wanted & self.actions(name).keys()))
        shared = len(wanted & self.actions(best).keys())
        return best if shared > max(4, len(wanted) / 2) else None

    def action(self, prefix: str | None, model: Any) -> tuple[str | None, str]:
        """The access level of an operation, and the action that authorises it in lower case."""
        known = self.actions(prefix) if prefix else {}
        for name in names_of(prefix or "", model.name):
            if name in known:
                return known[name], name
        return None, ""


def names_of(prefix: str, operation: str) -> list[str]:
    """What IAM may call an operation, in lower case."""
    named = ACTIONS.get(f"{prefix}:{operation}", operation).lower()
    return [named, named.rstrip("0123456789").removesuffix("v")]
