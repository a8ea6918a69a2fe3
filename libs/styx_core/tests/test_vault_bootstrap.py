"""The declaration of what OpenBao holds: least policy, no secret in the text."""

import fnmatch
import re

import pytest
from styx_core import keyring, vault_bootstrap
from styx_core.vault_bootstrap import POLICIES, Request, block, initialize, policies, requests


def called(name: str) -> Request:
    return next(request for request in requests() if request.name == name)


def allowed(service: str, path: str) -> set[str]:
    """What the service's policy lets it do at `path` (`*` as a prefix match, as OpenBao has it)."""
    return {
        capability
        for pattern, capabilities in POLICIES[service].items()
        if fnmatch.fnmatchcase(path, pattern)
        for capability in capabilities
    }


def test_only_adapters_and_audit_have_a_role() -> None:
    made = {r.path.split("/")[3] for r in requests() if r.path.startswith("auth/approle/role/")}
    assert made == set(POLICIES) == {"adapters", "audit"}


def test_adapters_reach_credentials_and_audit_does_not() -> None:
    path = "styx/data/creds/aws-prod"
    assert allowed("adapters", path) == {"create", "read", "update", "delete"}
    assert allowed("audit", path) == set()


@pytest.mark.parametrize("service", POLICIES)
@pytest.mark.parametrize(
    "path",
    [
        "sys/mounts",
        "sys/policies/acl/adapters",
        "sys/seal",
        "auth/approle/role/adapters/secret-id",
        "auth/token/create",
        "styx/config",
        "styx/data/other",
        "ssh/roles/agent",
        "ssh/issue/agent",
        "transit/export/signing-key/audit",
        "transit/keys/audit/config",
        "transit/keys/adapters/rotate",
        "identity/entity",
    ],
)
def test_no_service_reaches_what_makes_the_rules(service: str, path: str) -> None:
    assert allowed(service, path) == set()


def test_each_service_signs_with_its_own_transit_keys_only() -> None:
    assert "update" in allowed("audit", "transit/sign/audit")
    assert "update" in allowed("adapters", "transit/sign/adapters-github")
    assert not allowed("adapters", "transit/sign/audit")
    assert not allowed("audit", "transit/sign/adapters-github")


def test_no_capability_is_sudo_or_root() -> None:
    granted = {c for policy in POLICIES.values() for kinds in policy.values() for c in kinds}
    assert granted == {"create", "read", "update", "delete", "list"}


def test_policies_are_hcl_of_the_declaration() -> None:
    text = policies()["audit"]
    assert 'path "transit/sign/audit" {' in text
    assert text.count("path ") == len(POLICIES["audit"])


def test_roles_leave_out_the_default_policy_and_end_their_tokens() -> None:
    for service in POLICIES:
        role = called(f"{service}-role").data
        assert role["token_policies"] == [service]
        assert role["token_no_default_policy"] is True
        assert 0 < role["token_max_ttl"] <= 3600


def test_the_ssh_role_is_ed25519_user_certificates_for_eight_hours_at_most() -> None:
    role = called("ssh-role").data
    assert role["allowed_user_key_lengths"] == {"ed25519": 0}
    assert (role["allow_user_certificates"], role["allow_host_certificates"]) == (True, False)
    assert role["max_ttl"] == 8 * 3600
    assert set(role["allowed_critical_options"].split(",")) == {"force-command", "source-address"}
    assert role["allowed_extensions"] == "permit-pty"
    assert called("ssh-ca").data["key_type"] == "ed25519"


def test_secret_ids_come_from_the_environment_and_must_be_there() -> None:
    for service in POLICIES:
        secret = called(f"{service}-secret-id").data["secret_id"]
        assert secret["eval_source"] == "env"
        assert secret["env_var"] == vault_bootstrap.secret_id_variable(service)
        assert secret["require_present"] is True
    root = b"FIXTURE-root-key-of-32-bytes-...."[:32]
    assert all(keyring.secret_id(root, service) not in initialize() for service in POLICIES)


def test_names_are_unique_and_of_openbaos_form() -> None:
    names = [request.name for request in requests()]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]*", name) for name in names)


def test_a_block_is_hcl_with_strings_escaped() -> None:
    text = block("path", 'a"b', body={"list": ["x"], "deep": {"on": True, "n": 1}})
    assert text == (
        'path "a\\"b" {\n  list = ["x"]\n  deep = {\n    on = true\n    n = 1\n  }\n}\n'
    )
