"""`styx provider new NAME`: the two files that a provider is, ready to be filled in.

In a checkout of Styx they go where its own providers are; anywhere else into this folder, with
what a package of one's own must declare.
"""

import keyword
import re
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Annotated

import typer

from styx_cli.client import plain_errors
from styx_cli.exits import Exit
from styx_cli.failure import Failure

app = typer.Typer(add_completion=False)

SHIPPED = Path("services/adapters/styx_adapters/providers")
NAME = re.compile(r"[a-z][a-z0-9]{1,30}")
LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9 +.-]{0,39}")
NEXT = """Next, in {made}:
  say how it connects, what it issues, what narrows that, and what a revoke can do
  name the tool's verbs by class; what you don't name is a write at least
Then: pytest {test}"""
PACKAGE = """In your package's pyproject.toml, so that Styx finds it:
  [project.entry-points."styx.providers"]
  {name} = "styx_{name}\""""


@app.callback()
def provider() -> None:
    """Make a provider of your own."""


@app.command()
def new(
    name: str,
    label: Annotated[str | None, typer.Option(help="what people call it")] = None,
    folder: Annotated[Path, typer.Option(help="where; default: here")] = Path(),
) -> None:
    """Write a provider's file and its test; neither may be there yet."""
    with plain_errors():
        shown = label or name.capitalize()
        if not LABEL.fullmatch(shown):
            raise Failure("--label: 1 to 40 letters, digits, spaces, + . or -", Exit.USAGE)
        made, test, module = places(name, folder)
        for place, template in ((made, "provider.py.txt"), (test, "test_provider.py.txt")):
            place.parent.mkdir(parents=True, exist_ok=True)
            with place.open("x") as file:
                file.write(filled(template, name, shown, module))
            print(f"written: {place}")
        print(NEXT.format(made=made, test=test))
        if not (folder / SHIPPED).is_dir():
            print(PACKAGE.format(name=name))


def places(name: str, folder: Path) -> tuple[Path, Path, str]:
    """The provider's file, its test's, and its module. Raises `Failure`."""
    if not NAME.fullmatch(name) or keyword.iskeyword(name):
        raise Failure(
            f"{name[:40]!r}: a provider's name is 2 to 31 lower-case letters and digits, "
            "a letter first (acme, netlify, …)",
            Exit.USAGE,
        )
    if (folder / SHIPPED).is_dir():
        made = folder / SHIPPED / f"{name}.py"
        test = folder / "services/adapters/tests/providers" / f"test_{name}.py"
        module = f"styx_adapters.providers.{name}"
    else:
        made, test = folder / f"styx_{name}.py", folder / "tests" / f"test_styx_{name}.py"
        module = f"styx_{name}"
    for place in (made, test):
        if place.exists():
            raise Failure(f"{place} is there already; nothing was written", Exit.USAGE)
    return made, test, module


def filled(template: str, name: str, label: str, module: str) -> str:
    """A template with the provider's names in it."""
    text = (files("styx_cli") / "templates" / template).read_text()
    return Template(text).substitute(
        name=name, label=label, upper=name.upper(), cls=name.capitalize(), module=module
    )
