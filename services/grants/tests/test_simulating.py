"""What bears on a call, as the plain second implementation hears it."""

import policy_reference as reference
from hypothesis import given
from policy_strategies import policies, requests
from styx_grants.policy import Policy, Request, Rule
from styx_grants.simulating import matched


@given(policies, requests)
def test_the_rules_that_match_are_those_of_the_reference(rules: list[Rule], asked: Request) -> None:
    heard = [rule.id for rule in rules if reference.voice(rule, asked) is not None]
    assert matched(rules, asked) == tuple(sorted(heard))


@given(policies, requests)
def test_what_decides_has_matched_and_the_rest_changes_nothing(
    rules: list[Rule], asked: Request
) -> None:
    said, names = Policy.compile(rules).evaluate(asked), matched(rules, asked)
    assert {*said.because} <= {*names}
    alone = Policy.compile(rule for rule in rules if rule.id in names)
    assert alone.evaluate(asked) == said
