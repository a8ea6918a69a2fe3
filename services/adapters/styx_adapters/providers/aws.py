"""AWS accounts. Connect: a role assumed with a stored key, or (without a role) the key itself.

Issues an STS session (AssumeRole, or GetFederationToken without a role). Narrowed by a session
policy of just the granted scopes' actions in the service that the call belongs to, and for a
this-command-once grant of that operation on what it names; without a known service only `read` can
be narrowed (AWS's ReadOnlyAccess). `scoped` says whether that held. STS's shortest session is 15
minutes, so a shorter grant's session outlives it: `deny-policy` ends it at once where the role lets
us put an inline policy (a Deny for that one session's `aws:userid`, so that no other grant's
session dies with it), else `expiry` (IAM User Guide, "Revoking IAM role temporary credentials").
"""

import asyncio
import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from styx_core.errors import LoginExpired, ProviderFailed
from styx_core.provider import Field, Method, Provider
from styx_core.scope import Scope
from styx_core.secret_shape import SecretShape

from styx_adapters.adapter import Config, Connected, Deps, Ended, Minted, Secret, Want
from styx_adapters.aws_policy import ServiceActions, document, s3_resources, session_policy
from styx_adapters.commands.load import tool

SHORTEST = timedelta(minutes=15)
LONGEST = timedelta(hours=1)
CONNECT_SECONDS, READ_SECONDS = 3.0, 4.0
POLICY_NAME = "StyxEndedSessions"
REFUSED = frozenset(
    {"InvalidClientTokenId", "SignatureDoesNotMatch", "AccessDenied", "ExpiredToken",
     "UnrecognizedClientException", "AuthFailure", "InvalidAccessKeyId"}
)  # fmt: skip
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
            "role",
            "A role, assumed with a stored key",
            (
                Field("role_arn", "role ARN", pattern=ARN),
                Field("deny_policy", "may end sessions by an inline deny policy (yes or no)",
                      pattern="yes|no", default="no", required=False),
                *_KEY,
                *_PLACE,
            ),
        ),
        Method("key", "An IAM user's key, by federation token", (*_KEY, *_PLACE)),
    ),
)  # fmt: skip


class AwsAdapter:
    """STS, through botocore in threads."""

    def __init__(self, deps: Deps) -> None:
        self._deps = deps
        self._ending = asyncio.Lock()
        self._services = ServiceActions(PROVIDER.tools[0])

    async def connect(
        self, method: str, target_id: str, config: Config, secret: Secret
    ) -> Connected:
        """Assume the role once (or ask who the key is): what can't be verified isn't stored."""
        return Connected(dict(secret), dict(config), await self.health(secret, config))

    async def health(self, secret: Secret, config: Config) -> str:
        """The identity that sessions will have."""
        role = config.get("role_arn")
        if role is None:
            return str((await self._call("sts", secret, config, "get_caller_identity"))["Arn"])
        said = await self._call(
            "sts", secret, config, "assume_role",
            RoleArn=role, RoleSessionName="styx-verify", DurationSeconds=900,
            Policy='{"Version":"2012-10-17","Statement":[{"Effect":"Deny","Action":"*",'
                   '"Resource":"*"}]}',
        )  # fmt: skip
        return str(said["AssumedRoleUser"]["Arn"]).rpartition("/")[0]

    async def issue(self, secret: Secret, config: Config, want: Want) -> Minted:
        """A session for this use."""
        policy, arns, scoped = session_policy(
            self._services,
            want.scopes,
            want.surface,
            want.operation if want.once else None,
            s3_resources(want.command) if want.once else (),
        )
        role = config.get("role_arn")
        narrowing: dict[str, Any] = {"Policy": policy} if policy else {}
        if arns:
            narrowing["PolicyArns"] = [{"arn": arn} for arn in arns]
        life = {"DurationSeconds": int(self._life(want.until).total_seconds())}
        if role is None:
            # Without any policy a federated session may do nothing at all.
            narrowing = narrowing or {"Policy": document(["*"])}
            said = await self._call(
                "sts", secret, config, "get_federation_token",
                Name=want.lease_id[:32], **narrowing, **life,
            )  # fmt: skip
            user = str(said["FederatedUser"]["FederatedUserId"])
        else:
            said = await self._call(
                "sts", secret, config, "assume_role",
                RoleArn=role, RoleSessionName=want.lease_id, **narrowing, **life,
            )  # fmt: skip
            user = str(said["AssumedRoleUser"]["AssumedRoleId"])
        deniable = role is not None and config.get("deny_policy") == "yes"
        expires_at = said["Credentials"]["Expiration"]
        return Minted(
            secret={"env": _environment(_Answer(said["Credentials"]), config)},
            expires_at=expires_at,
            scoped=scoped,
            revocable="deny-policy" if deniable else "expiry",
            handle={"user_id": user, "expires_at": expires_at.isoformat()},
        )

    async def revoke(self, secret: Secret, config: Config, handle: Mapping[str, str]) -> Ended:
        """Deny everything to this one session, where the role's policy may be changed."""
        if config.get("deny_policy") != "yes" or "role_arn" not in config:
            return Ended("expiry", f"the session ends by itself at {handle['expires_at']}")
        role = config["role_arn"].rpartition("/")[2]
        async with self._ending:
            statements = await self._ended_sessions(secret, config, role)
            statements.append(_denial(handle))
            document = {"Version": "2012-10-17", "Statement": statements}
            await self._call(
                "iam", secret, config, "put_role_policy",
                RoleName=role, PolicyName=POLICY_NAME, PolicyDocument=json.dumps(document),
            )  # fmt: skip
        return Ended("deny-policy", "the role denies everything to this session")

    async def _ended_sessions(
        self, secret: Secret, config: Config, role: str
    ) -> list[dict[str, Any]]:
        """The denials still needed: those of sessions that would still be alive."""
        try:
            said = await self._call(
                "iam", secret, config, "get_role_policy", RoleName=role, PolicyName=POLICY_NAME
            )
        except ProviderFailed as error:
            if "NoSuchEntity" in error.detail:
                return []
            raise
        document = said["PolicyDocument"]
        read = json.loads(document) if isinstance(document, str) else document
        now = int(self._deps.now().timestamp())
        return [s for s in read["Statement"] if int(s["Sid"].removeprefix("Until")[:10]) > now]

    def _life(self, until: datetime | None) -> timedelta:
        """As long as the grant, within STS's own limits for a role's session."""
        if until is None:
            return LONGEST
        return min(LONGEST, max(SHORTEST, until - self._deps.now()))

    async def _call(
        self, service: str, secret: Secret, config: Config, operation: str, **arguments: Any
    ) -> dict[str, Any]:
        """One AWS call, in a thread. Raises `LoginExpired` or `ProviderFailed`, in our words."""
        return await asyncio.to_thread(_call, service, secret, config, operation, arguments)


class _Answer(dict[str, Any]):
    """What AWS answered; a part that should be there and isn't is the provider's failure."""

    def __missing__(self, key: str) -> Any:
        raise ProviderFailed(f"AWS answered without {key}, so nothing was issued")


def _denial(handle: Mapping[str, str]) -> dict[str, Any]:
    until = int(datetime.fromisoformat(handle["expires_at"]).timestamp()) + 60
    name = handle["user_id"].rpartition("_")[2]
    return {
        "Sid": f"Until{until:010d}{name}",
        "Effect": "Deny",
        "Action": "*",
        "Resource": "*",
        "Condition": {"StringEquals": {"aws:userid": handle["user_id"]}},
    }


def _environment(credentials: Mapping[str, Any], config: Config) -> dict[str, str]:
    env = {
        "AWS_ACCESS_KEY_ID": credentials["AccessKeyId"],
        "AWS_SECRET_ACCESS_KEY": credentials["SecretAccessKey"],
        "AWS_SESSION_TOKEN": credentials["SessionToken"],
        "AWS_REGION": config["region"],
        "AWS_DEFAULT_REGION": config["region"],
    }
    return env | ({"AWS_ENDPOINT_URL": config["endpoint"]} if "endpoint" in config else {})


def _call(
    service: str, secret: Secret, config: Config, operation: str, arguments: dict[str, Any]
) -> dict[str, Any]:
    from botocore.exceptions import BotoCoreError, ClientError
    from botocore.parsers import ResponseParserError

    try:
        client = _client(
            service,
            secret["access_key_id"],
            secret["secret_access_key"],
            config["region"],
            config.get("endpoint"),
        )
        return _Answer(getattr(client, operation)(**arguments))
    except ClientError as error:
        code = str(error.response.get("Error", {}).get("Code", "unknown"))
        if code in REFUSED:
            raise LoginExpired(f"AWS refuses this target's credential ({code})") from None
        raise ProviderFailed(f"AWS answered {operation} with {code}") from None
    except (BotoCoreError, ResponseParserError, LookupError, TypeError, ValueError) as error:
        # The latter four are what botocore raises at a reply that isn't AWS's.
        raise ProviderFailed(f"AWS did not answer ({type(error).__name__})") from None


def _client(service: str, key: str, secret: str, region: str, endpoint: str | None) -> Any:
    """A client with these credentials and nothing from this process's surroundings."""
    from botocore.config import Config as BotoConfig

    return _session().create_client(
        service,
        aws_access_key_id=key,
        aws_secret_access_key=secret,
        region_name=region,
        endpoint_url=endpoint,
        config=BotoConfig(
            connect_timeout=CONNECT_SECONDS,
            read_timeout=READ_SECONDS,
            retries={"total_max_attempts": 1},
            proxies={},
        ),
    )


@cache
def _session() -> Any:
    """botocore's loader and resolver, once: they are what makes a client slow to build."""
    from botocore.session import Session

    made = Session()
    # Neither the environment nor files of whoever started us may choose an identity.
    made.set_config_variable("config_file", "/dev/null")
    made.set_config_variable("credentials_file", "/dev/null")
    return made


def adapter(deps: Deps) -> AwsAdapter:
    """The provider's code, on these edges."""
    return AwsAdapter(deps)
