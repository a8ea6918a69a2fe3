"""AWS's API through botocore, in threads: the caller's credentials and nothing of this process's.

A refusal of the credential is `LoginExpired`, whatever may pass `ProviderFailed`; both in our own
words, for botocore's may quote what was sent.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from styx_core.errors import LoginExpired, ProviderFailed

from styx_adapters.api import Answer
from styx_adapters.local_login import LocalLogin

CONNECT_SECONDS, READ_SECONDS = 3.0, 4.0
REFUSED = frozenset(
    {"InvalidClientTokenId", "SignatureDoesNotMatch", "AccessDenied", "ExpiredToken",
     "UnrecognizedClientException", "AuthFailure", "InvalidAccessKeyId", "InvalidIdentityToken",
     "ExpiredTokenException", "IDPRejectedClaim"}
)  # fmt: skip


@dataclass(frozen=True)
class Keys:
    """Credentials to sign with; `token` is there for a session's. None at all: unsigned."""

    id: str = ""
    secret: str = field(default="", repr=False)
    token: str = field(default="", repr=False)


async def call(
    keys: Keys, config: Mapping[str, str], service: str, operation: str, **arguments: Any
) -> Answer:
    """One call of one operation. Raises `LoginExpired` or `ProviderFailed`."""
    return await asyncio.to_thread(_call, keys, config, service, operation, arguments)


async def profile_keys(login: LocalLogin, name: str) -> Keys:
    """The credentials that the `aws` CLI would use under a profile, SSO's included."""
    return await asyncio.to_thread(_profile_keys, login, name)


def _call(
    keys: Keys,
    config: Mapping[str, str],
    service: str,
    operation: str,
    arguments: Mapping[str, Any],
) -> Answer:
    from botocore.exceptions import BotoCoreError, ClientError
    from botocore.parsers import ResponseParserError

    try:
        client = _client(service, keys, config["region"], config.get("endpoint"))
        return Answer("AWS", getattr(client, operation)(**arguments))
    except ClientError as error:
        code = str(error.response.get("Error", {}).get("Code", "unknown"))
        if code in REFUSED:
            raise LoginExpired(f"AWS refuses this target's credential ({code})") from None
        raise ProviderFailed(f"AWS answered {operation} with {code}") from None
    except (BotoCoreError, ResponseParserError, LookupError, TypeError, ValueError) as error:
        # The latter four are what botocore raises at a reply that isn't AWS's.
        raise ProviderFailed(f"AWS did not answer ({type(error).__name__})") from None


def _client(service: str, keys: Keys, region: str, endpoint: str | None) -> Any:
    from botocore import UNSIGNED
    from botocore.config import Config as BotoConfig

    unsigned: dict[str, Any] = {} if keys.id else {"signature_version": UNSIGNED}
    return _session().create_client(
        service,
        aws_access_key_id=keys.id or None,
        aws_secret_access_key=keys.secret or None,
        aws_session_token=keys.token or None,
        region_name=region,
        endpoint_url=endpoint,
        config=BotoConfig(
            connect_timeout=CONNECT_SECONDS,
            read_timeout=READ_SECONDS,
            retries={"total_max_attempts": 1},
            proxies={},
            **unsigned,
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


def _profile_keys(login: LocalLogin, name: str) -> Keys:
    from botocore.exceptions import BotoCoreError, ClientError, ProfileNotFound, SSOError
    from botocore.session import Session

    folder = login.home / ".aws"
    made = Session(profile=name)
    made.set_config_variable("config_file", str(login.file("AWS_CONFIG_FILE", folder / "config")))
    store = login.file("AWS_SHARED_CREDENTIALS_FILE", folder / "credentials")
    made.set_config_variable("credentials_file", str(store))
    try:
        found = made.get_credentials()
        frozen = None if found is None else found.get_frozen_credentials()
    except (ProfileNotFound, SSOError):
        frozen = None
    except (BotoCoreError, ClientError, OSError) as error:
        raise ProviderFailed(f"aws's own login can't be used ({type(error).__name__})") from None
    if frozen is None:
        raise LoginExpired(f"the aws profile {name} is logged out; run `aws sso login`")
    return Keys(str(frozen.access_key), str(frozen.secret_key), str(frozen.token or ""))
