"""`request_access`: ask ahead for scoped, expiring access to a target, and wait for the answer."""

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field, StringConstraints
from styx_core.catalog import Catalog
from styx_core.classify import Classified, classify
from styx_core.contract.grants import RequestAccess
from styx_core.digest import command_digest
from styx_core.errors import Invalid, StyxError
from styx_core.redact import redact_argv
from styx_core.scope import Scope, Scopes, ordered

from styx_mcp_gateway.outcome import Outcome, Understood, WaitSeconds, decided
from styx_mcp_gateway.tool import Arguments, Call, Text, Tool

Word = Annotated[Text, StringConstraints(max_length=8000)]


class Wanted(Arguments):
    """What is asked for, and why."""

    target: Annotated[Text, StringConstraints(min_length=1, max_length=200)] = Field(
        description="A target's name or id, from list_targets."
    )
    scopes: list[Literal["read", "write", "deploy", "delete"]] = Field(
        min_length=1,
        max_length=4,
        description="What the calls will do; each stands alone. Ask for the least that will do.",
    )
    reason: Annotated[Text, StringConstraints(min_length=1, max_length=1000)] = Field(
        description="One sentence for the person who decides: what you are about to do and why."
    )
    command: list[Word] = Field(
        default_factory=list,
        max_length=500,
        description="The command that you mean to run, word by word, if there is one.",
    )
    duration: Literal["once", "15m", "1h", "8h", "task", "always"] = Field(
        "1h",
        description="How long you need it (1h if left out); a policy or a person may give less.",
    )
    wait_s: WaitSeconds = 240


async def run(wanted: Wanted, call: Call) -> Outcome:
    """Open the request (or find the grant that covers it) and wait until it is decided."""
    catalog = call.deps.catalog
    words = tuple(wanted.command)
    meant = understood(catalog, words, frozenset(Scope(scope) for scope in wanted.scopes))
    hidden = redacted(catalog, words)
    access = await call.deps.bus.request(
        RequestAccess(
            task_id=call.task.task_id,
            target=wanted.target,
            scopes=ordered(Scope(scope) for scope in wanted.scopes),
            reason=catalog.redact(wanted.reason),
            command=hidden,
            command_digest=command_digest(call.token, words) if words else None,
            exact=hidden == words,
            surface=meant.surface if meant else None,
            operation=meant.operation if meant else None,
            understood=meant.why if meant else "",
            duration=wanted.duration,
        )
    )
    outcome = await decided(call, access, wanted.wait_s)
    if meant is None:
        return outcome
    told = Understood(scopes=[*ordered(meant.scopes)], why=meant.why)
    return outcome.model_copy(update={"understood": told})


def understood(catalog: Catalog, words: tuple[str, ...], asked: Scopes) -> Classified | None:
    """What the command would do, if Styx knows its tool. Raises `Invalid` if it does more."""
    if not words:
        return None
    try:
        tool = catalog.tool(words[0])[1]
    except StyxError:
        return None
    meant = classify(tool, words[1:])
    if not meant.scopes <= asked:
        needs = ", ".join(ordered(meant.scopes))
        raise Invalid(f"scopes: {meant.why}, so it needs {needs}; ask for just that")
    return meant


def redacted(catalog: Catalog, command: Sequence[str]) -> tuple[str, ...]:
    """The command's words without secrets, by what its tool declares if Styx knows the tool."""
    flags: tuple[str, ...] = ()
    if command:
        try:
            flags = tuple(catalog.tool(command[0])[1].secrets)
        except StyxError:
            flags = ()
    return redact_argv(command, catalog.shapes, flags)


TOOL = Tool(
    name="request_access",
    title="Request access",
    description="Ask ahead for scoped, expiring access to one of the project's targets (now: "
    "{targets}). A policy "
    "may decide at once; otherwise a person does, and this call waits. You rarely need it: the "
    "wrapped tools ({tools}) ask by themselves. Answers: `active` (just run the tool now), "
    "`denied` (with the reason, and what you can have `instead`), or `pending` (nobody has decided "
    "yet; the request stays open, and check_grant waits for its outcome).",
    arguments=Wanted,
    result=Outcome,
    per_minute=5,
    run=run,
    holds=True,
)
