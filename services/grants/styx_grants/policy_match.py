"""How one rule bears on one request, beyond the names and scopes they share. Pure.

A command is matched word by word, and in doubt with caution: a flag among the leading words may
hide the verb (`aws --region x s3 rm`), and a request that names no command could run any. There an
allow does not match; an ask or a deny matches when its words stand in the command in that order;
where no command is named, both ask (a deny of some commands is no deny of all).
"""

from collections.abc import Iterable

from styx_grants.policy_terms import ANY_WORD, Effect, Request, Rule, Words

_ALLOW, _ASK = Effect.ALLOW, Effect.ASK  # a look-up on the enum costs more than a comparison


def leads(pattern: Words, words: Words) -> bool:
    """Whether the words begin with the pattern; "*" is any one word but a flag."""
    start = words[: len(pattern)]
    if start == pattern:
        return True
    if ANY_WORD not in pattern or len(start) < len(pattern):
        return False
    return all(
        want == word or (want == ANY_WORD and not word.startswith("-"))
        for want, word in zip(pattern, start, strict=True)
    )


def _in_order(pattern: Words, words: Iterable[str]) -> bool:
    rest = iter(words)
    return all(any(want in (word, ANY_WORD) for word in rest) for want in pattern)


def bearing(rule: Rule, request: Request) -> Effect | None:
    """The effect with which a rule of these names and scopes counts; None if not at all.

    It counts when its hours hold and its command matches.
    """
    match = rule.match
    if match.hours is not None and not match.hours.holds(request.day, request.minute):
        return None
    pattern = match.command
    if pattern is None or leads(pattern, request.command):
        return rule.effect
    return None if request.plain >= len(pattern) else _in_doubt(rule.effect, pattern, request)


def _in_doubt(effect: Effect, pattern: Words, request: Request) -> Effect | None:
    """How a rule bears on a command whose leading words are not all there to be read."""
    if effect is _ALLOW:
        return None
    if not request.command:
        return _ASK
    return effect if _in_order(pattern, request.command) else None
