"""How long the policy engine takes to decide, beside other engines on an equal policy.

The policy grows as a team's does: one rule for all, then five for each target. Cedar knows no ask,
so an ask is a forbid there, and both must agree on what is allowed before anything is timed.
agent-os-kernel knows one condition a rule: it gets the target alone, which is less work.
"""

import importlib
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from statistics import median
from time import perf_counter, perf_counter_ns
from typing import Any

from styx_core.scope import Scope
from styx_grants.policy import Effect, Env, Hours, Match, Policy, Request, Rule
from table import Row, print_table

SIZES = (1, 100, 10_000)
SECONDS = 1.0
"""Longest that one engine is measured at one size."""

AT = datetime(2026, 1, 5, 12, tzinfo=UTC)
Decide = Callable[[], object]


def names(*each: str) -> frozenset[str]:
    """The names as a rule wants them."""
    return frozenset(each)


def rules_for(size: int) -> list[Rule]:
    """The first rules of a policy that grows target by target."""
    open_envs = frozenset({Env.STAGING, Env.PREVIEW})
    rules = [Rule("all-reads", Effect.ALLOW, Match(env=open_envs, scopes=frozenset({Scope.READ})))]
    for number in range(size // 5 + 1):
        target, project = names(f"t{number}"), names(f"p{number // 4}")
        agent, person = names(f"a{number}"), names(f"u{number}")
        changes = frozenset({Scope.WRITE, Scope.DEPLOY})
        office = Hours(9 * 60, 17 * 60)
        for kind, effect, match in (
            ("reads", Effect.ALLOW, Match(target=target, scopes=frozenset({Scope.READ}))),
            ("changes", Effect.ASK, Match(target=target, scopes=changes)),
            (
                "deletes",
                Effect.DENY,
                Match(project=project, agent=agent, scopes=frozenset({Scope.DELETE})),
            ),
            ("buckets", Effect.DENY, Match(target=target, command=("s3", "rb"))),
            ("office", Effect.ALLOW, Match(project=project, person=person, hours=office)),
        ):
            rules.append(Rule(f"{kind}-{number}", effect, match, max_seconds=3600))
    return rules[:size]


def requests_for(size: int) -> list[Request]:
    """Requests spread over the policy's targets, of every scope and with and without a denial."""
    targets = max(1, size // 5)
    spread = [number * targets // 40 for number in range(40)]
    return [
        Request(
            project=f"p{number // 4}",
            provider="aws",
            env=Env.STAGING,
            target=f"t{number}",
            scopes=frozenset({list(Scope)[place % 4]}),
            agent=f"a{number}",
            person=f"u{number}",
            command=("s3", "rb" if place % 8 == 0 else "ls", "s3://bucket"),
            at=AT,
            narrowable=True,
        )
        for place, number in enumerate(spread)
    ]


def p50(calls: Sequence[Decide]) -> float:
    """The median time of one call, in microseconds."""
    for call in calls:
        call()
    taken: list[int] = []
    end = perf_counter() + SECONDS
    while perf_counter() < end and len(taken) < 20_000:
        for call in calls:
            start = perf_counter_ns()
            call()
            taken.append(perf_counter_ns() - start)
    return median(taken) / 1000


def ours(rules: list[Rule], requests: list[Request]) -> float:
    """Styx's own engine."""
    policy = Policy.compile(rules)
    return p50([partial(policy.evaluate, request) for request in requests])


def _cedar_rule(rule: Rule) -> str:
    word = "permit" if rule.effect is Effect.ALLOW else "forbid"
    match, conditions = rule.match, []
    for field in ("project", "env", "target", "agent", "person"):
        if values := getattr(match, field):
            listed = ", ".join(f'"{value}"' for value in sorted(values))
            conditions.append(f"[{listed}].contains(context.{field})")
    if match.command:
        conditions.append(f'context.command like "{" ".join(match.command)} *"')
    if match.hours:
        window = f"context.minute >= {match.hours.start} && context.minute < {match.hours.end}"
        conditions.append(window)
    actions = ", ".join(f'Action::"{scope}"' for scope in match.scopes or Scope)
    when = f" when {{ {' && '.join(conditions)} }}" if conditions else ""
    return f"{word}(principal, action in [{actions}], resource){when};"


def _cedar_request(request: Request) -> dict[str, Any]:
    (scope,) = request.scopes
    fields = ("project", "env", "target", "agent", "person")
    context: dict[str, object] = {field: str(getattr(request, field)) for field in fields}
    context["command"] = " ".join(request.command)
    context["minute"] = request.at.hour * 60 + request.at.minute
    return {
        "principal": f'Agent::"{request.agent}"',
        "action": f'Action::"{scope}"',
        "resource": f'Target::"{request.target}"',
        "context": context,
    }


def cedar(rules: list[Rule], requests: list[Request]) -> float:
    """cedarpy on the same policy, parsed beforehand; checked to allow the same requests."""
    engine = importlib.import_module("cedarpy")
    policies = engine.PolicySet.from_str("\n".join(map(_cedar_rule, rules)))
    entities = engine.Entities.from_json_str("[]")
    asked = [_cedar_request(request) for request in requests]
    policy = Policy.compile(rules)
    for request, theirs in zip(requests, asked, strict=True):
        allowed = policy.evaluate(request).effect is Effect.ALLOW
        if engine.is_authorized(theirs, policies, entities).allowed is not allowed:
            raise SystemExit(f"cedarpy does not agree on {request}")
    return p50([partial(engine.is_authorized, one, policies, entities) for one in asked])


def agent_os(rules: list[Rule], requests: list[Request]) -> float:
    """agent-os-kernel on as many rules, each on its target alone."""
    evaluator = importlib.import_module("agent_os.policies.evaluator")
    schema = importlib.import_module("agent_os.policies.schema")
    listed = [
        schema.PolicyRule(
            name=rule.id,
            condition={"field": "target", "operator": "eq", "value": min(rule.match.target or "*")},
            action="allow" if rule.effect is Effect.ALLOW else "deny",
        )
        for rule in rules
    ]
    engine = evaluator.PolicyEvaluator([schema.PolicyDocument(rules=listed)])
    asked = [{"target": request.target, "agent": request.agent} for request in requests]
    return p50([partial(engine.evaluate, one) for one in asked])


OTHERS = {"cedarpy": cedar, "agent-os-kernel": agent_os}


def measure() -> list[Row]:
    """The rows of the policy: p50 by size, beside each other engine, and growth with size."""
    policies = {size: (rules_for(size), requests_for(size)) for size in SIZES}
    times = {size: ours(*policy) for size, policy in policies.items()}
    rows = []
    for name, other in OTHERS.items():
        floors: dict[int, float] = {}
        try:
            floors = {size: other(*policy) for size, policy in policies.items()}
        except ModuleNotFoundError:
            name = f"{name}: not installed"
        for size, taken in times.items():
            aim, ok = ("<= 10", taken <= 10) if size == 100 else ("", None)
            figure = f"policy decision p50, {size:,} rules"
            rows.append(Row(figure, taken, name, floors.get(size), "us", aim, ok))
        growth = times[10_000] / times[100]
        theirs = floors[10_000] / floors[100] if floors else None
        figure = "policy decision, growth 100 to 10,000 rules"
        rows.append(Row(figure, growth, name, theirs, "x", "<= 2", growth <= 2))
    return rows


if __name__ == "__main__":
    print_table(measure())
