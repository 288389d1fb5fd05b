"""The searches that the page's engine is tested with are those that Python makes now."""

from __future__ import annotations

import json
from typing import Any

import pytest
from glass_search_cases import FILE, made

STALE = "run `python tests/unit/explain/glass_search_cases.py`"


def close(one: Any, other: Any) -> bool:
    """Equal, except for rounding."""
    if isinstance(one, float) and isinstance(other, float):
        return one == pytest.approx(other, abs=1e-5)
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(close(value, other[name]) for name, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(close, one, other))
    return bool(one == other)


def test_the_recorded_searches_are_current() -> None:
    stored, now = json.loads(FILE.read_text(encoding="utf-8")), json.loads(json.dumps(made()))
    for name, cases in now.items():
        for number, case in enumerate(cases):
            assert close(stored[name][number], case), f"{name} {number}: {STALE}"
        assert len(stored[name]) == len(cases), STALE
