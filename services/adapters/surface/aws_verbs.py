"""The class of an API operation: IAM's level says whether it reads, its verb what it takes away.

Rules: an operation that vends a credential is never a read, whatever its level. Only `List` and
`Read` are read; without a level, model and verb must both say so.
"""

from typing import Any

from verbs import words

DELETES = """
abort cancel close delete deprovision deregister destroy dispose expire forget flush leave purge
release remove revoke terminate undeploy wipe erase
"""
BULK = "admin batch bulk"
READS = """
check count describe detect download estimate evaluate filter get head list lookup preview query
retrieve scan search select simulate validate view compare
"""
HANDS_OUT = "assume create exchange generate get issue retrieve"
CREDENTIALS = "credentials embed presigned token tokens"
LEADS_ON = "by for from url with"
"""What may stand behind a credential's name in a name that still hands it out."""
NOT_CREDENTIALS = "change"


def class_of(path: str, model: Any, level: str | None, mints: set[str]) -> str:
    """The class of the operation behind `path`; notes in `mints` those that vend a credential."""
    operation = path.rpartition(" ")[2]
    if vends(operation):
        mints.add(path)
        return "write"
    if level is None:
        return _unlevelled(operation, model)
    if level in ("List", "Read"):
        return "read"
    return takes_away(operation)


def vends(operation: str) -> bool:
    """Whether an operation hands out something that logs in somewhere, by its name."""
    verb, *rest = operation.split("-")
    if verb not in words(HANDS_OUT) or set(rest) & words(NOT_CREDENTIALS):
        return False
    named = [
        noun in words(CREDENTIALS) and (noun == "presigned" or after in {"", *words(LEADS_ON)})
        for noun, after in zip(rest, [*rest[1:], ""], strict=False)
    ]
    return verb == "assume" or any(named)


def takes_away(operation: str) -> str:
    """The class of a change: `delete` where the verb means that something is gone afterwards."""
    verb, *rest = operation.split("-")
    if verb in words(DELETES) or (verb in words(BULK) and rest[:1] == ["delete"]):
        return "delete"
    if "deletion" in rest and "protection" not in rest:
        return "delete" if verb == "schedule" else "write delete"
    return "write"


def _unlevelled(operation: str, model: Any) -> str:
    if takes_away(operation) != "write":
        return takes_away(operation)
    verb, *rest = operation.split("-")
    if verb in words(BULK) and rest:
        verb = rest[0]
    shape = model is not None and (
        model.http.get("method") in ("GET", "HEAD") or model._operation_model.get("readonly")
    )
    asks = model is not None and model.metadata.get("protocol") in ("json", "query", "ec2")
    return "read" if verb in words(READS) and (shape or asks) else "write"
