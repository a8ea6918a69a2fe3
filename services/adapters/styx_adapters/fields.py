"""What connecting may be given: checked against the provider's declaration before any use. Pure."""

import re
from collections.abc import Mapping
from typing import Any

from styx_core.errors import Invalid
from styx_core.provider import Field, Provider


def checked(
    provider: Provider,
    method_name: str,
    config: Mapping[str, str],
    secret: Mapping[str, Any],
    local_machine: bool,
) -> tuple[dict[str, str], dict[str, str]]:
    """Config and secret with defaults filled in. Raises `Invalid` naming the field."""
    method = provider.method(method_name)
    if method is None:
        known = ", ".join(m.name for m in provider.methods)
        raise Invalid(f"method: {provider.label} connects by {known}, not {method_name[:64]!r}")
    if method.local and not local_machine:
        raise Invalid(f"method: {method_name} reads a login on the adapters' own machine only")
    known_names = {field.name: field for field in method.fields}
    for name in (*config, *secret):
        if name not in known_names:
            raise Invalid(f"{name[:64]}: {method_name} takes only {', '.join(known_names)}")
    shown = {f.name: f for f in method.fields if not f.secret}
    hidden = {f.name: f for f in method.fields if f.secret}
    return _read(shown, config), _read(hidden, secret)


def _read(fields: Mapping[str, Field], given: Mapping[str, Any]) -> dict[str, str]:
    values: dict[str, str] = {}
    for name, field in fields.items():
        value = given.get(name, field.default)
        if value is None or value == "":
            if field.required:
                raise Invalid(f"{name}: {field.label} is needed")
            continue
        if not isinstance(value, str) or not re.fullmatch(field.pattern, value):
            # The value itself may be a secret or hostile: never in the message.
            raise Invalid(f"{name}: this is not a valid {field.label}")
        values[name] = value
    misplaced = set(given) - set(fields)
    if misplaced:
        raise Invalid(f"{', '.join(sorted(misplaced))}: secret fields go sealed, others openly")
    return values
