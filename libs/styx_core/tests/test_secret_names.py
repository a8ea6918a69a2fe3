"""Names that promise a secret, and values that are none."""

from styx_core.secret_names import holds_secret, is_secret_flag, is_secret_name


def test_names() -> None:
    assert all(map(is_secret_name, ("DB_PASS", "X-Vault-Token", "_auth", "SecretAccessKey")))
    assert not any(map(is_secret_name, ("compass", "PWD", "tokens", "NextToken", "apikey_name")))
    assert holds_secret("password", "x" * 1000)
    assert not holds_secret("private_key", "/run/keys/id.pem")
    assert holds_secret("password", "/run/keys/id.pem")


def test_flags_that_take_no_secret_value() -> None:
    assert is_secret_flag("--client-secret")
    assert not any(map(is_secret_flag, ("--secret", "--no-verify-jwt", "--with-token", "--quiet")))
