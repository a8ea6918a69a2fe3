"""Google Cloud projects. Connect: a workload identity provider that trusts Styx's own identity
(nothing standing is stored), a service account's key (in Vault's transit: signed with there, taken
out never), or this machine's `gcloud` login; each makes tokens of one service account.

Issues an access token of that service account (`generateAccessToken`) that lives as long as the
grant, an hour at most. Narrowed for `read` alone, by a read-only OAuth scope, where the service has
one (`gcp_narrowing`); without a known service by `cloud-platform.read-only`, which any other
service refuses. At all other surfaces, and for anything that changes, the scope is `cloud-platform`
and `scoped` false: only what the service account itself may do then binds it. A this-command-once
grant of `gcloud storage` that names its buckets gets a credential access boundary around just those
names (buckets with uniform access only), `scoped` where its roles allow nothing beyond the scopes.

Revoke: Google ends such tokens by `expiry` and in no other way (its revocation endpoint knows
tokens of people's consent only). `cli` hands the login's own token on, for five minutes at a time,
`scoped` never; revoking that would log the person out, so it isn't tried: `none`.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta

from styx_core.deploys import Deploy
from styx_core.errors import LoginExpired
from styx_core.provider import Field, Method, Provider
from styx_core.scope import Scope

from styx_adapters.adapter import Config, Connected, Deps, Ended, Minted, Secret, Want
from styx_adapters.api import URL
from styx_adapters.commands.load import tool
from styx_adapters.gcp_api import EMAIL_SCOPE, TOKEN, GoogleTokens
from styx_adapters.gcp_env import STRIP
from styx_adapters.gcp_key import EMAIL, KeyFile, ServiceAccountKeys
from styx_adapters.gcp_narrowing import READ_SCOPES, narrowing
from styx_adapters.gcp_trust import PREPARE
from styx_adapters.identity import identity_token, subject
from styx_adapters.local_login import ACCOUNT

LONGEST = timedelta(hours=1)
LOGIN_LEFT = timedelta(minutes=5)
"""gcloud renews a token that has less life than this before it prints it."""
VERIFY_SECONDS = 60
KEEP = ("CLOUDSDK_CONFIG", "CLOUDSDK_PYTHON")

PROJECT = r"[a-z][a-z0-9-]{4,28}[a-z0-9]"
RESOURCE = (
    r"projects/[0-9]{1,20}/locations/global/workloadIdentityPools/[a-z0-9-]{4,32}"
    r"/providers/[a-z0-9-]{4,32}"
)
KEY = r"\s*\{[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f]{1,16000}\}\s*"

_PROJECT = Field("project", "project id", pattern=PROJECT)
_AS = Field("service_account", "service account (its e-mail)", pattern=EMAIL)
_PLACE = Field("endpoint", "endpoint (for an emulator)", pattern=URL, required=False)
_ACCOUNT = Field("account", "gcloud account (its e-mail)", pattern=ACCOUNT)

PROVIDER = Provider(
    id="gcp",
    label="Google Cloud",
    tools=(tool("gcloud"),),
    scopes=(Scope.READ, Scope.WRITE, Scope.DEPLOY, Scope.DELETE),
    narrows=(Scope.READ,),
    narrows_surfaces=tuple(READ_SCOPES),
    env=("CLOUDSDK_AUTH_ACCESS_TOKEN", "GOOGLE_OAUTH_ACCESS_TOKEN"),
    strip=STRIP,
    quiet={
        # A configuration could hold another account, an impersonation or other endpoints.
        "CLOUDSDK_ACTIVE_CONFIG_NAME": "NONE",
        "CLOUDSDK_COMPONENT_MANAGER_DISABLE_UPDATE_CHECK": "1",
        "CLOUDSDK_CORE_CHECK_GCE_METADATA": "0",
        "CLOUDSDK_CORE_DISABLE_PROMPTS": "1",
        "CLOUDSDK_CORE_DISABLE_USAGE_REPORTING": "1",
        "CLOUDSDK_SURVEY_DISABLE_PROMPTS": "1",
    },
    deploys=(
        Deploy((*["gcloud", "app", "deploy"], "{name}"), "app.yaml"),
        Deploy((*["gcloud", "builds", "submit", "--config"], "{name}"), "cloudbuild.yaml"),
    ),
    methods=(
        Method(
            "federation",
            "A workload identity provider that trusts this Styx (OpenID Connect)",
            (
                _PROJECT,
                Field("provider", "workload identity provider (its resource name)",
                      pattern=RESOURCE),
                _AS,
                _PLACE,
            ),
            revocable="expiry",
            prepare=PREPARE,
        ),
        Method(
            "service-account",
            "A service account, by a stored key",
            (
                _PROJECT,
                Field("service_account", "service account, if not the key's own", pattern=EMAIL,
                      required=False),
                Field("key", "key file (JSON)", secret=True, pattern=KEY),
                _PLACE,
            ),
            revocable="expiry",
        ),
        Method("cli-service-account", "A service account, by this machine's gcloud login",
               (_PROJECT, _ACCOUNT, _AS, _PLACE), local=True, revocable="expiry"),
        Method("cli", "This machine's gcloud login", (_PROJECT, _ACCOUNT, _PLACE), local=True,
               narrows=()),
    ),
)  # fmt: skip


class GcpAdapter:
    """Access tokens of a target's service account."""

    def __init__(self, deps: Deps) -> None:
        self._deps = deps
        self._keys = ServiceAccountKeys(deps)

    async def connect(
        self, method: str, target_id: str, config: Config, secret: Secret
    ) -> Connected:
        """Make a harmless token once: what can't be verified isn't stored."""
        full = {**config, "method": method}
        if method == "federation":
            full["subject"] = subject(target_id)
            full["target_id"] = target_id
        if method != "service-account":
            return Connected({}, full, await self.health({}, full))
        file = KeyFile.read(secret["key"])
        full.setdefault("service_account", file.email)
        async with self._keys.brought_in(target_id, file) as kept:
            return Connected(kept, full, await self.health(kept, full))

    async def health(self, secret: Secret, config: Config) -> str:
        """Whose tokens are issued, and in which project."""
        google = GoogleTokens(self._deps.api, config)
        source = await self._source(google, secret, config)
        who = config.get("service_account")
        if who is not None:
            await google.generated(source, who, EMAIL_SCOPE, VERIFY_SECONDS)
        else:
            who = await google.email(source)
            if who.lower() != config["account"].lower():
                raise LoginExpired("this machine's gcloud login gives a token of another account")
        return f"{who} in {config['project']}"

    async def issue(self, secret: Secret, config: Config, want: Want) -> Minted:
        """A token for this use."""
        google = GoogleTokens(self._deps.api, config)
        source = await self._source(google, secret, config)
        if "service_account" not in config:
            return self._handed_on(source, config, want.until)
        narrowed = narrowing(want.scopes, want.surface, want.command if want.once else ())
        token, ends = await google.generated(
            source, config["service_account"], narrowed.scope, self._seconds(want.until)
        )
        if narrowed.boundary is not None:
            token = await google.downscoped(token, narrowed.boundary)
        return Minted(
            secret={"env": _environment(token, config)},
            expires_at=ends,
            scoped=narrowed.holds,
            revocable="expiry",
            handle={"lease_id": want.lease_id, "expires_at": ends.isoformat()},
        )

    async def revoke(self, secret: Secret, config: Config, handle: Mapping[str, str]) -> Ended:
        """Google has no way to end one of these tokens early."""
        if "expires_at" not in handle:
            return Ended("none", "the token is the gcloud login's own; it ends with that login")
        return Ended("expiry", f"the token ends by itself at {handle['expires_at']}")

    async def _source(self, google: GoogleTokens, secret: Secret, config: Config) -> str:
        """The token that makes others: by Styx's own identity, the stored key, or the login."""
        if "account" in config:
            return await self._login(google, config["account"])
        if "provider" in config:
            audience = f"//iam.googleapis.com/{config['provider']}"
            identity = await identity_token(self._deps, config["target_id"], audience)
            return await google.federated(identity, audience)
        return await google.asserted(await self._keys.assertion(secret))

    async def _login(self, google: GoogleTokens, account: str) -> str:
        """What gcloud prints; that it couldn't reach Google is no refusal."""
        argv = ("gcloud", "auth", "print-access-token", f"--account={account}", "--quiet")
        try:
            token = await self._deps.local().ask("gcloud", argv, KEEP)
        except LoginExpired:
            await google.reachable()
            raise
        if not TOKEN.fullmatch(token):
            raise LoginExpired("gcloud prints no token for this account; log in with it anew")
        return token

    def _seconds(self, until: datetime | None) -> int:
        left = LONGEST if until is None else min(LONGEST, until - self._deps.now())
        return max(1, int(left.total_seconds()))

    def _handed_on(self, token: str, config: Config, until: datetime | None) -> Minted:
        """The login's own token. It lives longer: the next use asks gcloud for it again."""
        latest = self._deps.now() + LOGIN_LEFT
        return Minted(
            secret={"env": _environment(token, config)},
            expires_at=latest if until is None else min(until, latest),
            scoped=False,
            revocable="none",
            handle={},
        )


def _environment(token: str, config: Config) -> dict[str, str]:
    names = dict.fromkeys(PROVIDER.env, token)
    project = dict.fromkeys(("CLOUDSDK_CORE_PROJECT", "GOOGLE_CLOUD_PROJECT"), config["project"])
    return names | project


def adapter(deps: Deps) -> GcpAdapter:
    """The provider's code, on these edges."""
    return GcpAdapter(deps)
