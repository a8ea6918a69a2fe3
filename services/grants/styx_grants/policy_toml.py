"""Policies as TOML: read with errors that name the bad key and what to do, written back the same.

[[rule]]
id = "staging-reads"
effect = "allow"             # allow, ask or deny
max_seconds = 3600           # optional, as are approvers, quorum and own_agent
approvers = ["role:leads"]
[rule.match]                 # optional, as is each of its keys
env = ["staging"]
scopes = ["read"]
command = ["s3", "ls"]
hours = { from = "22:00", to = "06:00", days = ["mon", "tue"] }
"""

import json
import tomllib
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from enum import Enum
from typing import Any, TypeVar

from styx_core.scope import Scope, ordered

from styx_grants.policy_terms import (
    EVERY_DAY,
    Effect,
    Env,
    Hours,
    Match,
    Origin,
    Rule,
)

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")

E = TypeVar("E", bound=Enum)
Reader = Callable[[object, str], Any]


class PolicyTextError(ValueError):
    """A policy text that can't be used: says where and what to do."""


def loads(text: str, origin: Origin = Origin.POLICY) -> tuple[Rule, ...]:
    """The rules of a policy text. Raises PolicyTextError."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PolicyTextError(f"the policy is not valid TOML: {error}") from None
    return from_document(document, origin)


def from_document(document: object, origin: Origin = Origin.POLICY) -> tuple[Rule, ...]:
    """The rules of a policy text once parsed (TOML or JSON). Raises PolicyTextError."""
    listed = _table(document, "policy", {"rule": _listed}).get("rule", [])
    rules = tuple(_rule(item, f"rule {number}", origin) for number, item in enumerate(listed, 1))
    seen: set[str] = set()
    for rule in rules:
        if rule.id in seen:
            raise PolicyTextError(f"two rules have the id {rule.id}: give each its own")
        seen.add(rule.id)
    return rules


def _rule(value: object, where: str, origin: Origin) -> Rule:
    if isinstance(value, dict) and isinstance(value.get("id"), str):
        where = f"{where} ({value['id']!r})"
    given = _table(value, where, _RULE)
    for needed in ("id", "effect"):
        if needed not in given:
            raise PolicyTextError(f"{where}: {needed} is missing; every rule needs one")
    try:
        return Rule(**given, origin=origin)
    except ValueError as error:
        raise PolicyTextError(f"{where}: {error}") from None


def _table(value: object, where: str, readers: Mapping[str, Reader]) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _wrong(value, where, "a table of keys")
    for key in value:
        if key not in readers:
            near = get_close_matches(key, readers, n=1)
            hint = f"did you mean {near[0]}?" if near else f"use {', '.join(readers)}"
            raise PolicyTextError(f"{where}: unknown key {key!r}; {hint}")
    return {key: readers[key](item, f"{where}, {key}") for key, item in value.items()}


def _wrong(value: object, where: str, wanted: str) -> PolicyTextError:
    return PolicyTextError(f"{where}: {value!r} is not {wanted}")


def _text(value: object, where: str) -> str:
    if not isinstance(value, str):
        raise _wrong(value, where, "a text in quotes")
    return value


def _whole(value: object, where: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise _wrong(value, where, "a whole number")
    return value


def _flag(value: object, where: str) -> bool:
    if not isinstance(value, bool):
        raise _wrong(value, where, "true or false")
    return value


def _listed(value: object, where: str) -> list[object]:
    if not isinstance(value, list):
        raise _wrong(value, where, "a list")
    return value


def _words(value: object, where: str) -> tuple[str, ...]:
    return tuple(_text(item, where) for item in _listed(value, where))


def _names(value: object, where: str) -> frozenset[str]:
    return frozenset(_words(value, where))


def _one_of(kind: type[E]) -> Callable[[object, str], E]:
    def read(value: object, where: str) -> E:
        for member in kind:
            if member.value == value:
                return member
        raise _wrong(value, where, f"one of {', '.join(str(each.value) for each in kind)}")

    return read


def _set_of(kind: type[E]) -> Callable[[object, str], frozenset[E]]:
    one = _one_of(kind)
    return lambda value, where: frozenset(one(item, where) for item in _listed(value, where))


def _minute(value: object, where: str) -> int:
    hour, colon, minute = _text(value, where).partition(":")
    digits = len(hour) == len(minute) == 2 and (hour + minute).isascii() and colon
    if digits and (hour + minute).isdigit() and int(minute) < 60:
        return int(hour) * 60 + int(minute)
    raise _wrong(value, where, 'a UTC time such as "09:30"')


def _days(value: object, where: str) -> frozenset[int]:
    for day in _words(value, where):
        if day not in DAYS:
            raise _wrong(day, where, f"one of {', '.join(DAYS)}")
    return frozenset(DAYS.index(day) for day in _words(value, where))


def _hours(value: object, where: str) -> Hours:
    given = _table(value, where, {"from": _minute, "to": _minute, "days": _days})
    if "from" not in given or "to" not in given:
        raise PolicyTextError(f"{where}: give both from and to")
    try:
        return Hours(given["from"], given["to"], given.get("days", EVERY_DAY))
    except ValueError as error:
        raise PolicyTextError(f"{where}: {error}") from None


def _match(value: object, where: str) -> Match:
    given = _table(value, where, _MATCH)
    try:
        return Match(**given)
    except ValueError as error:
        raise PolicyTextError(f"{where}: {error}") from None


_MATCH: dict[str, Reader] = {
    "project": _names,
    "provider": _names,
    "env": _set_of(Env),
    "target": _names,
    "scopes": _set_of(Scope),
    "agent": _names,
    "person": _names,
    "command": _words,
    "hours": _hours,
}

_RULE: dict[str, Reader] = {
    "id": _text,
    "effect": _one_of(Effect),
    "max_seconds": _whole,
    "approvers": _names,
    "quorum": _whole,
    "own_agent": _flag,
    "match": _match,
}


def dumps(rules: Iterable[Rule]) -> str:
    """The rules as text that `loads` reads back to the same rules (but for their origin)."""
    return "\n".join(_written(rule) for rule in rules)


def _written(rule: Rule) -> str:
    plain = Rule(rule.id, rule.effect)
    kept = [
        key
        for key in ("max_seconds", "approvers", "quorum", "own_agent")
        if getattr(rule, key) != getattr(plain, key)
    ]
    lines = ["[[rule]]", *(f"{key} = {_value(getattr(rule, key))}" for key in ("id", "effect"))]
    lines += [f"{key} = {_value(getattr(rule, key))}" for key in kept]
    given = [key for key in _MATCH if getattr(rule.match, key) is not None]
    if given:
        lines.append("[rule.match]")
        lines += [f"{key} = {_value(getattr(rule.match, key))}" for key in given]
    return "\n".join(lines) + "\n"


def _value(value: object) -> str:
    if isinstance(value, Hours):
        days = [DAYS[day] for day in sorted(value.days)]
        window = f'from = "{_clock(value.start)}", to = "{_clock(value.end)}"'
        return f"{{ {window}, days = {_value(days)} }}"
    if isinstance(value, frozenset):
        scopes = all(isinstance(item, Scope) for item in value)
        value = ordered(value) if scopes else sorted(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(_value(item) for item in value)}]"
    # a JSON text is a TOML basic string, except that TOML wants DEL escaped
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _clock(minute: int) -> str:
    return f"{minute // 60:02}:{minute % 60:02}"
