"""The environment that a task's agent starts with: shims first, and nobody's own credentials.

Pure: which names are stripped and quieted comes from the broker, which has it from the providers'
declarations.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from styx_cli.exits import Exit
from styx_cli.failure import Failure

# Names that begin so belong to the person at the terminal, never to an agent.
PERSONS_OWN = "STYX_ADMIN"


@dataclass(frozen=True, slots=True)
class Task:
    """A task as `POST /v1/tasks` answers it."""

    id: str
    token: str
    project: str
    url: str
    tools: Mapping[str, str]
    strip: tuple[str, ...]
    quiet: Mapping[str, str]

    def __repr__(self) -> str:
        return f"Task({self.id})"

    @classmethod
    def parse(cls, answer: Any, url: str) -> "Task":
        """Check the broker's answer; `url` is the broker's address where it names none.

        Raises `Failure` naming what is wrong, without showing the answer: it holds a token.
        """
        try:
            return cls(
                id=_text(answer["id"]),
                token=_text(answer["token"]),
                project=_text(answer["project"]),
                url=_text(answer.get("url") or url),
                tools={_text(tool): _text(kind) for tool, kind in answer["tools"].items()},
                strip=tuple(_text(name) for name in answer.get("strip") or ()),
                quiet={_text(k): _text(v) for k, v in (answer.get("quiet") or {}).items()},
            )
        except (KeyError, TypeError, AttributeError) as wrong:
            what = f"{type(wrong).__name__}: {wrong}" if isinstance(wrong, KeyError) else "a type"
            raise Failure(
                f"Styx's answer about the new task can't be read ({what}).\n"
                "The styx command and the broker may be of different versions: see `styx doctor`.",
                Exit.UNAVAILABLE,
            ) from None


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def agent_environment(
    environ: Mapping[str, str], task: Task, shims: str, keyring: str
) -> dict[str, str]:
    """`environ` for the agent: stripped, quieted, with `shims` first on PATH and the task's own."""
    gone = set(task.strip)
    kept = {
        name: value
        for name, value in environ.items()
        if name not in gone and not name.startswith(PERSONS_OWN)
    }
    return kept | {
        **task.quiet,
        "PATH": f"{shims}:{environ.get('PATH') or '/usr/local/bin:/usr/bin:/bin'}",
        "STYX_URL": task.url,
        "STYX_SESSION_ID": task.id,
        "STYX_TOKEN": task.token,
        "STYX_KEYRING": keyring,
        "STYX_TOOLS": " ".join(f"{tool}={kind}" for tool, kind in sorted(task.tools.items())),
    }
