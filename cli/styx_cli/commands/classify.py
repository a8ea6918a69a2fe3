"""`styx classify`: what a command would need, worked out on this machine with no stack running.

Rules: nothing is run and nothing is sent. A line in, a line out, in order; what can't be read is
answered with an error on its own line and makes the exit code 1.
"""

import json
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Annotated, Any

import typer
from styx_core.classify import Classified, classify
from styx_core.scope import ordered
from styx_core.tool import Tool

app = typer.Typer(add_completion=False)

Tools = Callable[[str], Tool]


def installed_tools() -> Tools:
    """Where tools come from. The package is named here only until providers declare their tools
    under the entry point `styx.providers`: the CLI imports no service."""
    tools: Tools = import_module("styx_adapters.commands.load").tool
    return tools


@app.command(context_settings={"ignore_unknown_options": True, "help_option_names": ["--help"]})
def run(
    command: Annotated[
        list[str] | None, typer.Argument(help="the command: -- aws s3 rm s3://b/k")
    ] = None,
    jsonl: Annotated[bool, typer.Option("--jsonl", help='{"tool","argv"} lines on stdin')] = False,
    as_json: Annotated[bool, typer.Option("--json", help="answer as JSON")] = False,
) -> None:
    """Say which scopes a command needs, and why."""
    tools = installed_tools()
    if jsonl:
        raise typer.Exit(answer_lines(tools))
    if not command:
        raise typer.BadParameter("give a command after --, or --jsonl")
    try:
        tool = tools(command[0])
    except KeyError:
        raise typer.BadParameter("no tool of that name is known") from None
    answer = classify(tool, command[1:])
    print(json.dumps(as_answer(answer)) if as_json else explain(answer))


def explain(answer: Classified) -> str:
    """The one line a person reads."""
    return f"{' + '.join(ordered(answer.scopes))}: {answer.why}"


def as_answer(answer: Classified) -> dict[str, Any]:
    """The answer as JSON has it."""
    return {
        "scopes": list(ordered(answer.scopes)),
        "why": answer.why,
        "surface": answer.surface,
        "operation": answer.operation,
        "identitySwitch": answer.identity_switch,
        "mints": answer.mints,
    }


def answer_lines(tools: Tools) -> int:
    """Answer every line of stdin on stdout; the exit code."""
    failed = 0
    for number, line in enumerate(sys.stdin, 1):
        if line.strip():
            answer = answer_line(tools, line, number)
            failed |= "error" in answer
            sys.stdout.write(json.dumps(answer) + "\n")
    return failed


def answer_line(tools: Tools, line: str, number: int) -> dict[str, Any]:
    """The answer to one line, or what is wrong with it."""
    try:
        asked = json.loads(line)
    except ValueError:
        return {"error": f"line {number} isn't JSON"}
    if not isinstance(asked, dict) or not isinstance(asked.get("tool"), str):
        return {"error": f'line {number} needs "tool", a text'}
    argv = asked.get("argv")
    if not isinstance(argv, list) or not all(isinstance(arg, str) for arg in argv):
        return {"error": f'line {number} needs "argv", a list of texts'}
    try:
        tool = tools(asked["tool"])
    except KeyError:
        return {"error": f"line {number}: no tool of that name is known"}
    return as_answer(classify(tool, argv))
