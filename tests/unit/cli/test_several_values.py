"""Options that take several values in a row."""

from __future__ import annotations

import pytest

from glassformer.cli.multi_value import spread


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("--valid a b --out c", "--valid a --valid b --out c"),
        ("--valid a --valid b", "--valid a --valid b"),
        ("--valid 1% --out c", "--valid 1% --out c"),
        ("--valid a b recipe.toml --out c", "--valid a --valid b recipe.toml --out c"),
        ("x --set a=b y --valid a", "x --set a=b y --valid a"),
        ("--valid --out c", "--valid --out c"),
        ("--out c --valid", "--out c --valid"),
        ("--valid a -- b --valid c", "--valid a -- b --valid c"),
        ("--valid - b", "--valid - --valid b"),
        ("--valid=a b", "--valid=a b"),
        ("", ""),
    ],
)
def test_values_up_to_the_next_option_belong_to_it(given: str, meant: str) -> None:
    assert spread(given.split(), {"--valid"}) == meant.split()
