"""What OpenBao holds for Styx, declared: mounts, keys, policies, roles. Pure.

OpenBao runs these requests itself at its very first start (its `initialize` stanza, "declarative
self-initialization") and throws its root token away afterwards: nobody ever holds one. Secret ids
come from environment variables, so that the rendered file holds no secret.

Rules: a role per service that has business here, and no other; a role reaches the paths of its
policy and nothing else, OpenBao's own `default` policy included.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

KV_MOUNT = "styx"
TRANSIT_MOUNT = "transit"
SSH_MOUNT = "ssh"
AUDIT_KEY = "audit"
SSH_ROLE = "agent"
DATABASE_MOUNT = "database"
SSH_MAX_TTL = 8 * 3600
"""Seconds that a certificate can live at most."""
TOKEN_TTL = 1200
"""Seconds that a service's token lives before it signs in again."""

_Policy = Mapping[str, tuple[str, ...]]

_OWN_TOKEN: _Policy = {"auth/token/revoke-self": ("update",)}

POLICIES: Mapping[str, _Policy] = {
    "adapters": {
        f"{KV_MOUNT}/data/creds/*": ("create", "read", "update", "delete"),
        f"{KV_MOUNT}/metadata/creds/*": ("read", "list", "delete"),
        f"{SSH_MOUNT}/sign/{SSH_ROLE}": ("create", "update"),
        f"{SSH_MOUNT}/config/ca": ("read",),
        f"{TRANSIT_MOUNT}/wrapping_key": ("read",),
        f"{TRANSIT_MOUNT}/keys/adapters-*": ("create", "read", "update", "delete"),
        f"{TRANSIT_MOUNT}/sign/adapters-*": ("create", "update"),
        **{
            f"{DATABASE_MOUNT}/{kind}/adapters-*": ("create", "read", "update", "delete")
            for kind in ("config", "roles", "creds")
        },
        f"sys/leases/revoke/{DATABASE_MOUNT}/creds/adapters-*": ("update",),
        **_OWN_TOKEN,
    },
    "audit": {
        f"{TRANSIT_MOUNT}/sign/{AUDIT_KEY}": ("create", "update"),
        f"{TRANSIT_MOUNT}/keys/{AUDIT_KEY}": ("read",),
        **_OWN_TOKEN,
    },
}
"""Path → capabilities, for each service with a role. A service that isn't here has no way in."""

SERVICES = tuple(POLICIES)


@dataclass(frozen=True, slots=True)
class Request:
    """One API call of the self-initialization."""

    name: str
    path: str
    data: Mapping[str, Any]


def role_id(service: str) -> str:
    """The fixed AppRole role id of a service; not a secret."""
    return f"styx-{service}"


def secret_id_variable(service: str) -> str:
    """The environment variable that OpenBao reads the service's secret id from at first start."""
    return f"STYX_BAO_SECRET_ID_{service.upper().replace('-', '_')}"


def policies() -> dict[str, str]:
    """Each service's policy in OpenBao's policy language."""
    return {
        service: "\n".join(
            block("path", path, body={"capabilities": list(capabilities)})
            for path, capabilities in paths.items()
        )
        for service, paths in POLICIES.items()
    }


def requests() -> Iterator[Request]:
    """Every call of the self-initialization, in order."""
    yield Request("kv", f"sys/mounts/{KV_MOUNT}", {"type": "kv", "options": {"version": "2"}})
    yield Request("transit", f"sys/mounts/{TRANSIT_MOUNT}", {"type": "transit"})
    yield Request("audit-key", f"{TRANSIT_MOUNT}/keys/{AUDIT_KEY}", {"type": "ed25519"})
    yield Request("database", f"sys/mounts/{DATABASE_MOUNT}", {"type": "database"})
    yield Request("ssh", f"sys/mounts/{SSH_MOUNT}", {"type": "ssh"})
    yield Request(
        "ssh-ca",
        f"{SSH_MOUNT}/config/ca",
        {"generate_signing_key": True, "key_type": "ed25519"},
    )
    yield Request("ssh-role", f"{SSH_MOUNT}/roles/{SSH_ROLE}", _ssh_role())
    yield Request("approle", "sys/auth/approle", {"type": "approle"})
    for service, policy in policies().items():
        yield from _service(service, policy)
    # A replaced or withdrawn credential must be gone, not kept as an old version. Last, because a
    # new KV v2 mount refuses requests while it sets itself up in the background.
    yield Request("kv-config", f"{KV_MOUNT}/config", {"max_versions": 1})


def initialize() -> str:
    """The `initialize` stanza for OpenBao's configuration file."""
    calls = "".join(
        block(
            "request",
            call.name,
            body={"operation": "update", "path": call.path, "data": dict(call.data)},
        )
        for call in requests()
    )
    return f'initialize "styx" {{\n{calls}}}\n'


def block(kind: str, *labels: str, body: Mapping[str, Any]) -> str:
    """A block of HCL: `kind "label" { key = value … }`."""
    head = " ".join((kind, *(json.dumps(label) for label in labels)))
    return f"{head} {_value(body)}\n"


def _value(value: Any, depth: int = 0) -> str:
    if not isinstance(value, Mapping):
        return json.dumps(value)
    pad = "  " * (depth + 1)
    lines = "".join(f"{pad}{key} = {_value(item, depth + 1)}\n" for key, item in value.items())
    return f"{{\n{lines}{'  ' * depth}}}"


def _ssh_role() -> dict[str, Any]:
    """User certificates for Ed25519 keys only; which principal is the adapter's decision."""
    return {
        "key_type": "ca",
        "algorithm_signer": "default",
        "allow_user_certificates": True,
        "allow_host_certificates": False,
        "allow_user_key_ids": True,
        "allowed_user_key_lengths": {"ed25519": 0},
        "allowed_users": "*",
        # A certificate without principals could be good for everybody: without one it gets a
        # name that no host knows.
        "default_user": "styx-nobody",
        "allowed_critical_options": "force-command,source-address",
        "allowed_extensions": "permit-pty",
        "default_extensions": {"permit-pty": ""},
        "ttl": 900,
        "max_ttl": SSH_MAX_TTL,
        "not_before_duration": 30,
    }


def _service(service: str, policy: str) -> Iterator[Request]:
    role = f"auth/approle/role/{service}"
    yield Request(f"{service}-policy", f"sys/policies/acl/{service}", {"policy": policy})
    yield Request(
        f"{service}-role",
        role,
        {
            "role_id": role_id(service),
            "token_policies": [service],
            "token_no_default_policy": True,
            "token_ttl": TOKEN_TTL,
            "token_max_ttl": TOKEN_TTL,
            "secret_id_ttl": 0,
            "secret_id_num_uses": 0,
        },
    )
    from_environment = {
        "eval_type": "string",
        "eval_source": "env",
        "env_var": secret_id_variable(service),
        "require_present": True,
    }
    yield Request(
        f"{service}-secret-id", f"{role}/custom-secret-id", {"secret_id": from_environment}
    )
