"""Sessions from AWS's STS: who asks for one, and what comes of it.

A role's session is had by Styx's own identity (AssumeRoleWithWebIdentity), by a stored key, or by
this machine's `aws` login (AssumeRole); a key without a role gets a federated one of its own user
(GetFederationToken). The narrowing is the caller's.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from styx_adapters import aws_api
from styx_adapters.adapter import Config, Deps, Secret
from styx_adapters.api import Answer
from styx_adapters.aws_api import Keys
from styx_adapters.aws_policy import document
from styx_adapters.identity import identity_token

AUDIENCE = "sts.amazonaws.com"


@dataclass(frozen=True)
class Session:
    """What STS gave, and the `aws:userid` that its calls will carry."""

    credentials: Answer
    user: str
    arn: str

    def keys(self) -> Keys:
        """What the session signs with."""
        said = self.credentials
        return Keys(said["AccessKeyId"], said["SecretAccessKey"], said["SessionToken"])


class Sts:
    """STS, as the targets' own credentials reach it."""

    def __init__(self, deps: Deps) -> None:
        self._deps = deps

    async def role(
        self,
        secret: Secret,
        config: Config,
        name: str,
        life: timedelta,
        narrowing: Mapping[str, Any],
    ) -> Session:
        """A session of the target's role."""
        asked = {
            "RoleArn": config["role_arn"],
            "RoleSessionName": name,
            "DurationSeconds": int(life.total_seconds()),
            **narrowing,
        }
        operation, keys = "assume_role", Keys()
        if config.get("method") == "federation":
            operation = "assume_role_with_web_identity"
            asked["WebIdentityToken"] = await identity_token(
                self._deps, config["target_id"], AUDIENCE
            )
        else:
            keys = await self.keys(secret, config)
        said = await aws_api.call(keys, config, "sts", operation, **asked)
        user = Answer("AWS", said["AssumedRoleUser"])
        return Session(Answer("AWS", said["Credentials"]), user["AssumedRoleId"], user["Arn"])

    async def federated(
        self,
        keys: Keys,
        config: Config,
        name: str,
        life: timedelta,
        narrowing: Mapping[str, Any],
    ) -> Session:
        """A session of the key's own user. Without any policy it may do nothing at all."""
        said = await aws_api.call(
            keys, config, "sts", "get_federation_token",
            Name=name[:32],
            DurationSeconds=int(life.total_seconds()),
            **(narrowing or {"Policy": document(["*"])}),
        )  # fmt: skip
        user = Answer("AWS", said["FederatedUser"])
        return Session(Answer("AWS", said["Credentials"]), user["FederatedUserId"], user["Arn"])

    async def keys(self, secret: Secret, config: Config) -> Keys:
        """The target's own credentials: the stored ones, or the `aws` CLI's of this machine."""
        if "account" in config:
            return await aws_api.profile_keys(self._deps.local(), config["account"])
        return Keys(secret["access_key_id"], secret["secret_access_key"])
