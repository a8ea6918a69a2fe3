"""Shapes: a declaration too wide to be one is refused by name."""

import pytest
from styx_core.secret_shape import SecretShape, shape_pattern


@pytest.mark.parametrize(
    ("prefixes", "least"), [((), 20), (("",), 20), (("a",), 1), (("a",), 10**6)]
)
def test_a_shape_that_would_match_anything_is_refused(
    prefixes: tuple[str, ...], least: int
) -> None:
    with pytest.raises(ValueError, match="'acme'"):
        SecretShape("acme", prefixes, "hex", least)


def test_no_shapes_match_nothing() -> None:
    assert shape_pattern(()).search("anything") is None
