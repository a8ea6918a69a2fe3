"""What went wrong, for people and for scripts: every command ends in one of these or well."""

from collections.abc import Mapping
from typing import Any

from styx_cli.exits import Exit


class Failure(Exception):
    """What went wrong, in a person's words, and the exit code that says it to a script."""

    def __init__(self, text: str, code: Exit, problem: Mapping[str, Any] | None = None) -> None:
        super().__init__(text)
        self.text, self.code, self.problem = text, code, dict(problem or {})
