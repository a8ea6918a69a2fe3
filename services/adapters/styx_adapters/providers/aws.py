"""AWS accounts. Connect: a role that trusts Styx's own identity (nothing standing is stored), one
assumed with a stored key, the stored key itself, or a profile of this machine's `aws` CLI.

Issues an STS session (AssumeRoleWithWebIdentity, AssumeRole, or GetFederationToken without a role).
Narrowed by a session policy of just the granted scopes' actions in the service that the call
belongs to, and for a this-command-once grant of that operation on what it names; without a known
service only `read` can be narrowed (AWS's ReadOnlyAccess). `scoped` says whether that held. STS's
shortest session is 15 minutes, so a shorter grant's session outlives it: `deny-policy` ends it at
once where we may put an inline policy on the role (a Deny for that one session's `aws:userid`, so
that no other grant's session dies with it), else `expiry` (IAM User Guide, "Revoking IAM role
temporary credentials"). A profile that holds a session without a role is handed on as it is.
"""

import asyncio
import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from styx_core.deploys import Deploy
from styx_core.errors import ProviderFailed
from styx_core.provider import Field, Method, Provider
from styx_core.scope import Scope
from styx_core.secret_shape import SecretShape

from styx_adapters import aws_api
from styx_adapters.adapter import Config, Connected, Deps, Ended, Minted, Secret, Want
from styx_adapters.aws_api import Keys
from styx_adapters.aws_policy import (
    ServiceActions,
    denial,
    s3_resources,
    session_policy,
    still_needed,
)
from styx_adapters.aws_sts import Sts
from styx_adapters.aws_trust import PREPARE
from styx_adapters.commands.load import tool
from styx_adapters.local_login import ACCOUNT

SHORTEST = timedelta(minutes=15)
LONGEST = timedelta(hours=1)
POLICY_NAME = "StyxEndedSessions"
NOTHING = '{"Version":"2012-10-17","Statement":[{"Effect":"Deny","Action":"*","Resource":"*"}]}'
ARN = r"arn:aws[a-z-]*:iam::[0-9]{12}:role/[\w+=,.@/-]{1,512}"
URL = r"https?://[A-Za-z0-9.-]{1,253}(:[0-9]{1,5})?"

_PLACE = (
    Field("region", "region", pattern=r"[a-z]{2}(-[a-z]+)+-[0-9]", default="us-east-1",
          required=False),
    Field("endpoint", "endpoint (for an emulator)", pattern=URL, required=False),
)  # fmt: skip
_KEY = (
    Field("access_key_id", "access key id", secret=True, pattern=r"[A-Z0-9]{16,128}"),
    Field("secret_access_key", "secret access key", secret=True, pattern=r"[\x21-\x7e]{16,256}"),
)
_ROLE = Field("role_arn", "role ARN", pattern=ARN)
_DENY = Field("deny_policy", "may end sessions by an inline deny policy (yes or no)",
              pattern="yes|no", default="no", required=False)  # fmt: skip
_PROFILE = Field("account", "profile", pattern=ACCOUNT, default="default", required=False)

PROVIDER = Provider(
    id="aws",
    label="AWS",
    tools=(tool("aws"),),
    scopes=(Scope.READ, Scope.WRITE, Scope.DEPLOY, Scope.DELETE),
    narrows=(Scope.READ,),
    narrows_known=(Scope.READ, Scope.WRITE, Scope.DEPLOY, Scope.DELETE),
    env=("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_SECURITY_TOKEN"),
    strip=(
        "AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_ROLE_ARN", "AWS_WEB_IDENTITY_TOKEN_FILE",
        "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
        "AWS_CONTAINER_AUTHORIZATION_TOKEN", "AWS_ENDPOINT_URL",
    ),
    quiet={
        "AWS_PAGER": "",
        "AWS_CLI_AUTO_PROMPT": "off",
        # Config and credential files could hold aliases, plugins and other identities.
        "AWS_CONFIG_FILE": "/dev/null",
        "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
        "AWS_EC2_METADATA_DISABLED": "true",
    },
    shapes=(SecretShape("aws-key-id", ("AKIA", "ASIA"), "base64", 16, starts_word=True),),
    methods=(
        Method(
            "federation",
            "A role that trusts this Styx (OpenID Connect)",
            (
                _ROLE,
                Field("revoke_role_arn", "a second role, that may put a deny policy on the first",
                      pattern=ARN, required=False),
                *_PLACE,
            ),
            revocable="expiry",
            prepare=PREPARE,
        ),
        Method("role", "A role, assumed with a stored key", (_ROLE, _DENY, *_KEY, *_PLACE),
               revocable="expiry"),
        Method("key", "An IAM user's key, by federation token", (*_KEY, *_PLACE),
               revocable="expiry"),
        Method("cli-role", "A role, assumed with this machine's aws login",
               (_ROLE, _DENY, _PROFILE, *_PLACE), local=True, revocable="expiry"),
        Method("cli", "This machine's aws login", (_PROFILE, *_PLACE), local=True, narrows=()),
    ),
    deploys=(Deploy((*["aws", "cloudformation", "deploy", "--template-file"], "{name}",
                     "--stack-name", "{folder}"), "template.y*ml"),),
)  # fmt: skip


class AwsAdapter:
    """Sessions from STS."""

    def __init__(self, deps: Deps) -> None:
        self._deps, self._sts = deps, Sts(deps)
        self._ending = asyncio.Lock()
        self._services = ServiceActions(PROVIDER.tools[0])

    async def connect(
        self, method: str, target_id: str, config: Config, secret: Secret
    ) -> Connected:
        """Open a session once (or ask who the key is): what can't be verified isn't stored."""
        full = {**config, "target_id": target_id, "method": method}
        return Connected(dict(secret), full, await self.health(secret, full))

    async def health(self, secret: Secret, config: Config) -> str:
        """The identity that sessions will have."""
        if "role_arn" in config:
            session = await self._sts.role(
                secret, config, "styx-verify", SHORTEST, {"Policy": NOTHING}
            )
            return session.arn.rpartition("/")[0]
        keys = await self._sts.keys(secret, config)
        return str((await aws_api.call(keys, config, "sts", "get_caller_identity"))["Arn"])

    async def issue(self, secret: Secret, config: Config, want: Want) -> Minted:
        """A session for this use."""
        policy, arns, scoped = session_policy(
            self._services,
            want.scopes,
            want.surface,
            want.operation if want.once else None,
            s3_resources(want.command) if want.once else (),
        )
        narrowing: dict[str, Any] = {"Policy": policy} if policy else {}
        if arns:
            narrowing["PolicyArns"] = [{"arn": arn} for arn in arns]
        life = self._life(want.until)
        if "role_arn" in config:
            session = await self._sts.role(secret, config, want.lease_id, life, narrowing)
        else:
            keys = await self._sts.keys(secret, config)
            if keys.token:
                return self._handed_on(keys, config, want)
            session = await self._sts.federated(keys, config, want.lease_id, life, narrowing)
        expires_at = session.credentials["Expiration"]
        return Minted(
            secret={"env": _environment(session.keys(), config)},
            expires_at=expires_at,
            scoped=scoped and config.get("method") != "cli",
            revocable="deny-policy" if _deniable(config) else "expiry",
            handle={"user_id": session.user, "expires_at": expires_at.isoformat()},
        )

    async def revoke(self, secret: Secret, config: Config, handle: Mapping[str, str]) -> Ended:
        """Deny everything to this one session, where the role's policy may be changed."""
        if "user_id" not in handle:
            return Ended("none", "the session is the aws login's own; it ends with that login")
        if not _deniable(config):
            return Ended("expiry", f"the session ends by itself at {handle['expires_at']}")
        keys = await self._revoker(secret, config)
        role = config["role_arn"].rpartition("/")[2]
        async with self._ending:
            statements = await self._ended_sessions(keys, config, role)
            statements.append(denial(handle))
            document = {"Version": "2012-10-17", "Statement": statements}
            await aws_api.call(
                keys, config, "iam", "put_role_policy",
                RoleName=role, PolicyName=POLICY_NAME, PolicyDocument=json.dumps(document),
            )  # fmt: skip
        return Ended("deny-policy", "the role denies everything to this session")

    async def _revoker(self, secret: Secret, config: Config) -> Keys:
        """Who may change the role's policy."""
        if "revoke_role_arn" not in config:
            return await self._sts.keys(secret, config)
        other = {**config, "role_arn": config["revoke_role_arn"]}
        session = await self._sts.role(secret, other, "styx-revoke", SHORTEST, {})
        return session.keys()

    async def _ended_sessions(self, keys: Keys, config: Config, role: str) -> list[dict[str, Any]]:
        """The denials still needed: those of sessions that would still be alive."""
        try:
            said = await aws_api.call(
                keys, config, "iam", "get_role_policy", RoleName=role, PolicyName=POLICY_NAME
            )
        except ProviderFailed as error:
            if "NoSuchEntity" in error.detail:
                return []
            raise
        document = said["PolicyDocument"]
        read = json.loads(document) if isinstance(document, str) else document
        return still_needed(read["Statement"], self._deps.now())

    def _life(self, until: datetime | None) -> timedelta:
        """As long as the grant, within STS's own limits for a role's session."""
        if until is None:
            return LONGEST
        return min(LONGEST, max(SHORTEST, until - self._deps.now()))

    def _handed_on(self, keys: Keys, config: Config, want: Want) -> Minted:
        """A profile's session as it is: STS lets one neither federate nor narrow itself."""
        latest = self._deps.now() + LONGEST
        return Minted(
            secret={"env": _environment(keys, config)},
            expires_at=latest if want.until is None else min(want.until, latest),
            scoped=False,
            revocable="none",
            handle={},
        )


def _deniable(config: Config) -> bool:
    return "role_arn" in config and (
        config.get("deny_policy") == "yes" or "revoke_role_arn" in config
    )


def _environment(keys: Keys, config: Config) -> dict[str, str]:
    env = {
        "AWS_ACCESS_KEY_ID": keys.id,
        "AWS_SECRET_ACCESS_KEY": keys.secret,
        "AWS_SESSION_TOKEN": keys.token,
        "AWS_REGION": config["region"],
        "AWS_DEFAULT_REGION": config["region"],
    }
    return env | ({"AWS_ENDPOINT_URL": config["endpoint"]} if "endpoint" in config else {})


def adapter(deps: Deps) -> AwsAdapter:
    """The provider's code, on these edges."""
    return AwsAdapter(deps)
