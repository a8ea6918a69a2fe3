"""What bears on a call that might come, beside what decides it. Pure."""

from collections.abc import Sequence

from styx_grants.policy_index import Index
from styx_grants.policy_match import bearing
from styx_grants.policy_terms import Request, Rule


def matched(rules: Sequence[Rule], request: Request) -> tuple[str, ...]:
    """The rules that match, those that a more cautious one outweighs too; ids in order."""
    return tuple(
        sorted(
            rule.id
            for rule, scopes, _ in Index(rules).candidates(request)
            if not scopes.isdisjoint(request.scopes) and bearing(rule, request) is not None
        )
    )
