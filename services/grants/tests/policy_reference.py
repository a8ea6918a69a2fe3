"""The policy said a second time, as plainly as it can be: the engine must agree with it.

Every rule is looked at, every law is a loop. Shares no code with the engine, only its values.
"""

from dataclasses import dataclass
from datetime import timedelta

from styx_grants.policy import Request, Rule


@dataclass(frozen=True)
class Verdict:
    """All of a Decision but its wording."""

    effect: str
    because: tuple[str, ...]
    decided_by: str
    mfa: bool = False
    max_seconds: int | None = None
    approvers: frozenset[str] | None = None
    quorum: int = 1
    own_agent: bool = True
    approvable: bool = True


def decide(rules: list[Rule], request: Request) -> Verdict:
    """What the laws say about the request."""
    voices = [(voice(rule, request), rule) for rule in rules]
    for effect in ("deny", "ask"):
        speakers = [rule for said, rule in voices if said == effect]
        if speakers and effect == "deny":
            return Verdict("deny", _ids(speakers), _author(speakers))
        if speakers:
            return _limited("ask", _ids(speakers), "user", voices, request)
    allowing = [rule for said, rule in voices if said == "allow"]
    for scope in request.scopes:
        if not any(rule.match.scopes is None or scope in rule.match.scopes for rule in allowing):
            return _limited("ask", (), "user", voices, request)
    if prod_needs_person(request):
        return _limited("ask", _ids(allowing), "user", voices, request)
    return _limited("allow", _ids(allowing), _author(allowing), voices, request)


def prod_needs_person(request: Request) -> bool:
    """The law that no rule can waive."""
    if request.env != "prod":
        return False
    changes = any(scope in ("write", "deploy", "delete") for scope in request.scopes)
    return changes or not request.narrowable


def _limited(
    effect: str,
    because: tuple[str, ...],
    by: str,
    voices: list[tuple[str | None, Rule]],
    request: Request,
) -> Verdict:
    touching = [rule for said, rule in voices if said is not None]
    times = [rule.max_seconds for rule in touching if rule.max_seconds is not None]
    sets = [rule.approvers for rule in touching if rule.approvers is not None]
    quorum = max([rule.quorum for rule in touching] + [1])
    own_agent = all(rule.own_agent for rule in touching)
    approvers = frozenset.intersection(*sets) if sets else None
    approvable = True
    if approvers is not None:
        people = [name for name in approvers if own_agent or name != request.person]
        roles = [name for name in people if name.startswith("role:")]
        approvable = bool(roles) or len(people) >= quorum
    return Verdict(
        effect,
        because,
        by,
        mfa=effect == "ask" and prod_needs_person(request),
        max_seconds=min(times) if times else None,
        approvers=approvers,
        quorum=quorum,
        own_agent=own_agent,
        approvable=approvable,
    )


def voice(rule: Rule, request: Request) -> str | None:
    """What the rule says to the request; None if it is not about it."""
    for field in ("project", "provider", "env", "target", "agent", "person"):
        names = getattr(rule.match, field)
        if names is not None and getattr(request, field) not in names:
            return None
    if rule.match.scopes is not None and not (rule.match.scopes & request.scopes):
        return None
    if not _open(rule, request):
        return None
    return _command(rule, request)


def _open(rule: Rule, request: Request) -> bool:
    """Looks for the window's opening today or yesterday that the time falls in."""
    hours = rule.match.hours
    if hours is None:
        return True
    midnight = request.at.replace(hour=0, minute=0, second=0, microsecond=0)
    length = (hours.end - hours.start) % 1440 if hours.end != hours.start else 0
    if hours.end == 1440:
        length = 1440 - hours.start
    for day in (midnight, midnight - timedelta(days=1)):
        opens = day + timedelta(minutes=hours.start)
        within = opens <= request.at < opens + timedelta(minutes=length)
        if day.weekday() in hours.days and within:
            return True
    return False


def _command(rule: Rule, request: Request) -> str | None:
    pattern, words = rule.match.command, request.command
    if pattern is None or _word_by_word(pattern, words):
        return str(rule.effect)
    if rule.effect == "allow":
        return None
    if len(words) == 0:
        return "ask"
    hidden = any(word.startswith("-") for word in words[: len(pattern)])
    return str(rule.effect) if hidden and _in_this_order(pattern, words) else None


def _word_by_word(pattern: tuple[str, ...], words: tuple[str, ...]) -> bool:
    for place, want in enumerate(pattern):
        if place >= len(words):
            return False
        star = want == "*" and not words[place].startswith("-")
        if want != words[place] and not star:
            return False
    return True


def _in_this_order(pattern: tuple[str, ...], words: tuple[str, ...]) -> bool:
    found = 0
    for word in words:
        if found < len(pattern) and pattern[found] in ("*", word):
            found += 1
    return found == len(pattern)


def _ids(rules: list[Rule]) -> tuple[str, ...]:
    return tuple(sorted(rule.id for rule in rules))


def _author(rules: list[Rule]) -> str:
    return "policy" if "policy" in {str(rule.origin) for rule in rules} else "target-policy"
