"""GitHub's REST API, and how `gh` is led to the same place with what was issued.

A bad token gets 401. A 403 is a limit on calls, or an account that is suspended or asked from a
wrong address (GitHub REST, "Rate limits for the REST API", "Troubleshooting the REST API"): none of
them is cured by another login, so it counts as a failure that may pass.

gh takes GH_TOKEN for github.com, GH_ENTERPRISE_TOKEN for an Enterprise Server, and (since 2.6x)
GH_TOKEN for a tenant at ghe.com, which older releases take for a server. Without a token for a host
it looks in its own config and then in the system's keyring, also for a host that only `-R` or a git
remote names. So both are always set, and the one that isn't meant is no login at all.
"""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from styx_core.errors import Invalid, ProviderFailed

from styx_adapters.api import Api

WHO = "GitHub"
NO_LOGIN = "styx-no-login-here"
LIMITED = "GitHub answered with HTTP 403: a limit on calls, or the account is suspended"
HEADERS = {"accept": "application/vnd.github+json", "x-github-api-version": "2022-11-28"}


async def ask(
    api: Api,
    where: str,
    method: str,
    path: str,
    token: str,
    body: Mapping[str, Any] | None = None,
    wrong: Mapping[int, str] | None = None,
) -> Any:
    """As `Api.call`, at the API `where`, with GitHub's meaning of a 403."""
    told = {403: LIMITED, **(wrong or {})}
    try:
        return await api.call(
            WHO, method, where + path, token=token, body=body, headers=HEADERS, wrong=told
        )
    except Invalid as error:
        if error.detail == LIMITED:
            raise ProviderFailed(LIMITED) from None
        raise


def host_of(where: str) -> str:
    """What gh calls the host of this API: it derives the API's address from the host."""
    place = urlsplit(where).netloc.lower()
    if place == "api.github.com" or (place.startswith("api.") and place.endswith(".ghe.com")):
        return place.removeprefix("api.")
    return place


def environment(token: str, where: str) -> dict[str, str]:
    """What makes gh use this token at this API, and no other login anywhere."""
    host = host_of(where)
    dotcom, tenant = host == "github.com", host.endswith(".ghe.com")
    return {
        "GH_HOST": host,
        "GH_TOKEN": token if dotcom or tenant else NO_LOGIN,
        "GH_ENTERPRISE_TOKEN": NO_LOGIN if dotcom else token,
    }
