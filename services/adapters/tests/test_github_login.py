"""What gh's `hosts.yml` says, as its releases write it, and as nobody does."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from styx_adapters.github_login import Login, read_login
from styx_core.errors import LoginExpired

JANE, BOT, ACME = (f"gho_FIXTURE{name}{'0' * 24}" for name in ("jane", "bot", "acme"))
OLD = f"github.com:\n    user: jane\n    oauth_token: {JANE}\n    git_protocol: https\n"
NEW = f"""github.com:
    git_protocol: https
    users:
        jane:
            oauth_token: {JANE}
        acme-bot:
            oauth_token: {BOT}
    user: jane
    oauth_token: {JANE}
ghe.example.com:8443:
    users:
        jane:
            oauth_token: {ACME}
    user: jane
    oauth_token: {ACME}
"""
KEYRING = """github.com:
    users:
        jane:
        acme-bot:
    git_protocol: https
    user: jane
"""


@pytest.mark.parametrize(
    ("text", "host", "account", "login"),
    [
        (OLD, "github.com", "", ("jane", JANE, True)),
        (OLD, "github.com", "jane", ("jane", JANE, True)),
        (NEW, "github.com", "", ("jane", JANE, True)),
        (NEW, "github.com", "acme-bot", ("acme-bot", BOT, False)),
        (NEW, "ghe.example.com:8443", "jane", ("jane", ACME, True)),
        (KEYRING, "github.com", "", ("jane", "", True)),
        (KEYRING, "github.com", "acme-bot", ("acme-bot", "", False)),
        ("# x\n\n" + OLD.replace("jane\n", '"jane"\n'), "github.com", "", ("jane", JANE, True)),
        (f"github.com:\n  oauth_token: {JANE}\n", "github.com", "jane", ("jane", JANE, True)),
        ("github.com: {user: jane}", "github.com", "", ("", "", False)),
        ("github.com:\n    user: {x: y}\n", "github.com", "", ("", "", False)),
        ("[1, 2]", "github.com", "jane", ("jane", "", False)),
        ("{github.com: {user: jane}}", "github.com", "", ("", "", False)),
        (f"github.com:\n    user: jane\n    oauth_token: {JANE} x\n", "github.com", "",
         ("jane", "", True)),
        (OLD, "example.com", "", None),
        (OLD, "github.com", "somebody", None),
        (NEW, "github.com", "git_protocol", None),
        ("", "github.com", "", None),
        ("github.com:\n", "github.com", "jane", ("jane", "", True)),
    ],
)  # fmt: skip
def test_a_login_is_found_as_gh_finds_it(
    text: str, host: str, account: str, login: tuple[str, str, bool] | None
) -> None:
    if login is None:
        with pytest.raises(LoginExpired, match="gh auth login"):
            read_login(text, host, account)
    else:
        found = read_login(text, host, account)
        assert (found.account, found.token, found.active) == login
        assert not found.token or found.token not in repr(found)


def token_in(text: str) -> str:
    """The token for github.com, if there is any."""
    try:
        return read_login(text, "github.com", "").token
    except LoginExpired:
        return ""


@given(st.text(alphabet="github.com: \n\t-#{}'\"&*", max_size=60))
def test_whatever_is_in_the_file_is_a_login_or_none(text: str) -> None:
    assert token_in(text) == ""


def test_a_big_file_is_read_in_linear_time() -> None:
    deep = "".join(f"{' ' * depth}k:\n" for depth in range(1000))
    wide = "x" * 900_000
    for text in (deep, wide, f"k:{wide}", f"k: {wide}", "a:" * 400_000, " " * 900_000):
        assert token_in(f"{text}\n{OLD}") in ("", JANE)


def test_only_an_account_that_is_not_active_needs_gh_to_know_accounts() -> None:
    asking = ("gh", "auth", "token", "--hostname", "github.com")
    assert Login("github.com", "jane", "", active=True).command() == asking
    assert Login("github.com", "", "", active=False).command() == asking
    other = Login("github.com", "acme-bot", "", active=False)
    assert other.command() == (*asking, "--user", "acme-bot")
