"""Scopes: the four classes of what a call may do. Pure."""

from collections.abc import Iterable
from enum import StrEnum


class Scope(StrEnum):
    """What a grant lets its holder do at a target. Each stands alone: none implies another."""

    READ = "read"
    WRITE = "write"
    DEPLOY = "deploy"
    DELETE = "delete"


Scopes = frozenset[Scope]

EVERY: Scopes = frozenset(Scope)
UNREADABLE: Scopes = EVERY - {Scope.READ}
"""What a call needs that can't be understood: everything that changes something."""


def ordered(scopes: Iterable[Scope]) -> tuple[Scope, ...]:
    """The scopes in their one printed order: read, write, deploy, delete."""
    wanted = frozenset(scopes)
    return tuple(scope for scope in Scope if scope in wanted)
