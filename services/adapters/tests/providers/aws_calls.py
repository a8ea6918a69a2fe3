"""Calls of AWS with an issued environment, as an agent's own client makes them."""

from collections.abc import Mapping
from typing import Any

from botocore.config import Config as BotoConfig
from botocore.exceptions import ClientError
from botocore.session import Session

SESSION = Session()
OBJECT = {"Bucket": "releases", "Key": "app-1.0.tgz"}


def call(env: Mapping[str, str], service: str, operation: str, **arguments: Any) -> str:
    """What AWS answers to one call with this environment: `ok`, or its error's code."""
    client = SESSION.create_client(
        service,
        aws_access_key_id=env["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=env["AWS_SECRET_ACCESS_KEY"],
        aws_session_token=env["AWS_SESSION_TOKEN"],
        region_name=env["AWS_REGION"],
        endpoint_url=env["AWS_ENDPOINT_URL"],
        config=BotoConfig(retries={"total_max_attempts": 1}, s3={"addressing_style": "path"}),
    )
    try:
        getattr(client, operation)(**arguments)
    except ClientError as error:
        return str(error.response["Error"]["Code"])
    return "ok"
