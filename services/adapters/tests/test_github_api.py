"""What gh is told: the token for its own host alone, and no login for any other."""

import pytest
from styx_adapters.github_api import NO_LOGIN, environment, host_of

TOKEN = "ghs_FIXTURE0000000000000000000000"


@pytest.mark.parametrize(
    ("where", "host", "dotcom", "enterprise"),
    [
        ("https://api.github.com", "github.com", TOKEN, NO_LOGIN),
        ("https://API.GitHub.com", "github.com", TOKEN, NO_LOGIN),
        ("https://api.acme.ghe.com", "acme.ghe.com", TOKEN, TOKEN),
        ("https://ghe.example.com/api/v3", "ghe.example.com", NO_LOGIN, TOKEN),
        ("https://api.example.com/api/v3", "api.example.com", NO_LOGIN, TOKEN),
        ("https://api.github.com.example.com", "api.github.com.example.com", NO_LOGIN, TOKEN),
        ("http://127.0.0.1:8080/api/v3", "127.0.0.1:8080", NO_LOGIN, TOKEN),
    ],
)
def test_a_token_is_for_the_host_of_its_api(
    where: str, host: str, dotcom: str, enterprise: str
) -> None:
    assert host_of(where) == host
    assert environment(TOKEN, where) == {
        "GH_HOST": host,
        "GH_TOKEN": dotcom,
        "GH_ENTERPRISE_TOKEN": enterprise,
    }
