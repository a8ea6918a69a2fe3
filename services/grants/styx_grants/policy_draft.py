"""Rules that somebody wrote, taken only whole: the gate for what comes into force or is tried."""

from collections.abc import Sequence

from styx_core.errors import Invalid

from styx_grants import policy_toml
from styx_grants.policy_lint import dead_rules
from styx_grants.policy_terms import Rule


def accepted(toml: str) -> Sequence[Rule]:
    """The rules of a text. Raises `Invalid` naming what is wrong, a rule that can't match too."""
    try:
        rules = policy_toml.loads(toml)
    except policy_toml.PolicyTextError as error:
        raise Invalid(f"policy: {error}") from None
    for finding in dead_rules(rules):
        raise Invalid(f"policy: rule {finding[0]}: {finding[1]}")
    return rules
