"""Writes `gcloud.json` from the command tree that a gcloud installation ships for completion.

gcloud names almost every command by one of a few verbs, so a command that is newer than the tree
is judged by its verb, when every word before it is the name of a group.
Run: python services/adapters/surface/gcloud.py /usr/lib/google-cloud-sdk
"""

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fold import fold, write
from styx_core.tool import Tool
from verbs import lines, words

TRACKS = ("alpha", "beta", "preview")
READ_VERBS = """
list describe get-iam-policy test-iam-permissions search lookup info version show cheat-sheet
get-ancestors get-ancestors-iam-policy get-value get-version get-server-config get-operation
get-named-set get-status get-health get-diagnostics get-nat-mapping-info get-nat-ip-info get-history
get-supported-languages get-effective get-effective-firewalls get-effective-iam-policy get-parent
"""
READ_STARTS = ("list-", "describe-", "search-", "show-")
DELETE_VERBS = "delete rm rb purge destroy drop bulk-delete batch-delete"
DELETE_STARTS = ("delete-",)
DECLARED = {
    "read": lines("""
        logging read, logging tail, storage cat, storage ls, storage du, storage hash, help
        secrets versions access, survey, pubsub subscriptions pull
        container clusters get-credentials, compute instances get-serial-port-output
        compute instances get-screenshot, projects get-ancestors, app logs read, app logs tail
        functions logs read, compute tpus tpu-vm get-guest-attributes
        compute instances get-guest-attributes
        """),
    "write": lines("""
        auth print-access-token, auth print-identity-token, config config-helper
        auth application-default print-access-token, services api-keys get-key-string
        container clusters get-credentials, container aws clusters print-access-token
        container azure clusters print-access-token, container aws clusters get-credentials
        container azure clusters get-credentials, container fleet memberships get-credentials
        redis instances get-auth-string, container hub memberships get-credentials
        compute tpus tpu-vm ssh, pubsub subscriptions pull, spanner databases execute-sql
        """),
    "deploy": lines("""
        app deploy, run deploy, run jobs deploy, run worker-pools deploy, functions deploy
        run compose up, endpoints services deploy, builds submit, builds triggers run
        deploy apply, deploy releases create, deploy releases promote, deploy rollouts approve
        deploy rollouts advance, deploy rollouts retry-job, deploy rollouts ignore-job
        deploy targets rollback, deploy targets redeploy, run services replace
        run services update, run services update-traffic, run jobs replace, run jobs execute
        run worker-pools replace, app services set-traffic, app versions start
        app versions migrate, ai endpoints deploy-model, ai index-endpoints deploy-index
        functions local deploy, deployment-manager deployments create
        deployment-manager deployments update, infra-manager deployments apply
        compute instance-groups managed rolling-action replace
        compute instance-groups managed rolling-action restart
        compute instance-groups managed rolling-action start-update
        api-gateway api-configs create, apigee apis deploy, firestore indexes composite create
        datastore indexes create, ai-platform versions create, run domain-mappings create
        composer environments update, apigee archives deploy, run services proxy-deploy
        """),
    "delete": [],
    "write delete": lines("storage mv"),
}
MINTS = lines("""
    auth login, auth print-access-token, auth print-identity-token
    auth activate-service-account, auth application-default login
    auth application-default print-access-token, config config-helper
    iam service-accounts keys create, iam service-accounts sign-blob
    iam service-accounts sign-jwt, services api-keys create, services api-keys get-key-string
    storage hmac create, storage sign-url, compute sign-url, iap oauth-clients create
    iap oauth-clients reset-secret, sql ssl client-certs create, sql ssl-certs create
    container clusters get-credentials, container aws clusters print-access-token
    container azure clusters print-access-token, compute reset-windows-password
    redis instances get-auth-string, sql generate-login-token, secrets versions access
    """)
NEWER_GROUPS = """
access-events access-summaries acl-policies addons agent-gateways agent-identity agent-registry
anywhere-caches api-hub-instances apihub application-templates auth-providers auth-tokens
authorizations automigrationconfig beyondcorp biglake bucket-operations capabilities catalogs
cloud-control-deployments cloud-controls cloudlocationfinder cmek-config collections
compliance-manager components composite-health-checks connections context curations data-objects
data-product-sharing data-source-references datalineage delta-sharing dependencies
deployment-events design-center destinations device-run discovered-api-observations
discovered-api-operations dns-threat-detectors encryption-config entraid-certs events extensions
external-apis feature-configs framework-deployments frameworks global-vm-extension-policies
health-aggregation-policies health-sources host-groups host-project-registrations hosts iceberg
image-streaming-cache indexes insights-configs intelligence-findings ipam-admin-scopes kaj-config
kaj-enrollment lineage-events mapping-rules mcp-servers memory-layers monitoring-points
multicast-domain-groups multicast-domains multicloud-data-transfer-configs
multicloud-data-transfer-supported-services namespaces network-monitoring-providers network-paths
number-registry observability org-rollout-plans org-rollouts organization-events
organization-impacts plugins processes proposal recent-queries
regional-multicast-consumer-associations regional-multicast-group-range-activations
resource-changes resource-drifts retired-resources revisions rollout-plans rollouts
rolloutsequences runs runtime-project-attachments saved-queries schema-bundles scopes
security-gateways service-bindings service-config service-health shared-templates shares
single-tenant-hsm skills slots spaces specs sub-blocks token-auth-users trace-scopes transports
tuning-jobs url-filtering vector-search web-paths wildfire-analysis worker-pools
zone-vm-extension-policies
"""
DELETING_FLAGS = (
    "storage rsync --delete-unmatched-destination-objects",
    "storage batch-operations jobs create --delete-object",
    "transfer jobs {create,update} --delete-from",
    "dns record-sets import --delete-all-existing",
    "compute sole-tenancy node-groups update --delete-nodes",
)
IDENTITY = """
--account --configuration --impersonate-service-account --access-token-file --flags-file
"""

Tree = dict[str, Any]


def leaves(node: Tree, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every command below a node, as words."""
    if not node["commands"]:
        yield path
    for word, below in node["commands"].items():
        yield from leaves(below, (*path, word))


def by_verb(path: str) -> str:
    """The class of a command by its verb; all of `topic` is help."""
    verb = path.rpartition(" ")[2]
    if verb in words(READ_VERBS) or verb.startswith(READ_STARTS) or path.startswith("topic "):
        return "read"
    if verb in words(DELETE_VERBS) or verb.startswith(DELETE_STARTS):
        return "delete"
    return "deploy" if verb == "deploy" else "write"


def classed(paths: set[str]) -> dict[str, set[str]]:
    """The paths by class."""
    declared = {path: name for name, named in DECLARED.items() for path in named}
    found: dict[str, set[str]] = {name: set() for name in ("read", "write", "deploy", "delete")}
    for path in paths | declared.keys():
        for name in declared.get(path, by_verb(path)).split():
            found[name].add(path)
    return found


def read_tree(root: Path) -> Tree:
    """The tree of an installation."""
    spec = importlib.util.spec_from_file_location("tree", root / "data/cli/gcloud_completions.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    tree: Tree = module.STATIC_COMPLETION_CLI_TREE
    return tree


def main(root: Path) -> None:
    """Read the tree and write the tool."""
    tree = read_tree(root)
    plain = {path[1:] if path[0] in TRACKS else path for path in leaves(tree)}
    paths = {" ".join(path) for path in plain}
    by_class = classed(paths)
    verbs = {
        name: fold(
            {path.rpartition(" ")[2] for path in by_class[name] & paths if by_verb(path) == name}
        )
        for name in ("read", "delete")
    }
    groups = {word for path in plain for word in path[:-1]} | words(NEWER_GROUPS)
    groups -= {path[-1] for path in plain if len(path) > 1 and path[-1] not in words(NEWER_GROUPS)}
    by_class["read"].add("")
    _write(root, tree["flags"], len(paths), by_class, verbs, groups)


def _write(
    root: Path,
    flags: Tree,
    total: int,
    by_class: dict[str, set[str]],
    verbs: dict[str, tuple[str, ...]],
    groups: set[str],
) -> None:
    write(
        Tool(
            name="gcloud",
            version=(root / "VERSION").read_text(encoding="utf-8").strip(),
            source="the command tree that gcloud ships for completion",
            total=total,
            read=fold(by_class["read"]),
            write=fold(by_class["write"]),
            deploy=fold(by_class["deploy"]),
            delete=fold(by_class["delete"]),
            skips=TRACKS,
            verbs={**verbs, "deploy": ("deploy",)},
            nouns=(fold([f"_ {word}" for word in groups])[0].removeprefix("_ "),),
            bare="read",
            values=tuple(sorted(flag for flag, kind in flags.items() if kind != "bool")),
            switches=(
                *sorted(flag for flag, kind in flags.items() if kind == "bool"),
                "-q",
                "-v",
                "--no-{log-http,user-output-enabled,quiet}",
            ),
            greedy=False,
            help_flags=("--help", "-h"),
            alone=("--version", "-v"),
            help_words=("help",),
            opaque=("docker",),
            adds={"delete": DELETING_FLAGS},
            mints=tuple(MINTS),
            identity=tuple(IDENTITY.split()),
            secrets=("--password", "--root-password", "--set-root-password"),
        )
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
