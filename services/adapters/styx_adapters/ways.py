"""How each provider connects and what it can narrow: a table of `docs/generated/providers.md`.

Rules: read from the declarations that ship, so a table can't claim what a provider doesn't.
"""

from collections.abc import Iterable

from styx_core.provider import Method, Provider

from styx_adapters.registry import declared

HEAD = """| provider | way to connect | | what stays | narrowed for |
|---|---|---|---|---|
"""


def ways() -> str:
    """The table, in Markdown: a line for each way to connect of each provider."""
    providers = sorted(declared(), key=lambda provider: provider.id)
    return HEAD + "".join(_line(p, m) for p in providers for m in p.methods)


def _line(provider: Provider, method: Method) -> str:
    where = " (where adapters run on that machine)" if method.local else ""
    cells = (provider.id, f"`{method.name}`", method.label + where, _stays(method))
    return f"| {' | '.join((*cells, _narrowed(provider, method)))} |\n"


def _stays(method: Method) -> str:
    if method.local:
        return "the account's name"
    secret = [field.label for field in method.fields if field.secret]
    return f"in Vault: {', '.join(secret)}" if secret else "nothing standing"


def _narrowed(provider: Provider, method: Method) -> str:
    if method.narrows is not None:
        return _listed(method.narrows) or "never"
    always, known = set(provider.narrows), set(provider.narrows_known)
    said = _listed(scope for scope in provider.scopes if scope in always)
    more = _listed(scope for scope in provider.scopes if scope in known - always)
    where = "where the call's service is known"
    if provider.narrows_surfaces is not None and said:
        said += f" at {len(provider.narrows_surfaces)} of its services"
    return "; ".join(filter(None, (said, f"{more} {where}" if more else ""))) or "never"


def _listed(scopes: Iterable[str]) -> str:
    return ", ".join(scopes)
