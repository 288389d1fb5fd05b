"""Messages about values of options: what was given, what is allowed."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import pytest
import typer

from glassformer.cli.bad_values import allowed, in_words
from glassformer.cli.main import app
from toy_corpus import Outcome


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("translate runs/x --beam 0", "'--beam': got 0. Give a whole number from 1 to 1,000."),
        ("translate runs/x --beam 2000", "'--beam': got 2000. Give a whole number from 1 to 1,000."),
        ("translate runs/x --beam 2.5", "'--beam': got 2.5. Give a whole number from 1 to 1,000."),
        ("translate runs/x --beam wide", "'--beam': got 'wide'. Give a whole number from 1 to 1,000."),
        ("generate runs/x --temperature -1", "'--temperature': got -1. Give a number from 0 to 100."),
        ("generate runs/x --temperature nan", "'--temperature': got 'nan'. Give a number from 0 to 100."),
        ("vectors train x --width 99999999", "'--width': got 99999999. Give a whole number from 1 to 10,000."),
    ],
)
def test_a_value_out_of_range_is_named(command: Callable[..., Outcome], arguments: str, said: str) -> None:
    found = command(*arguments.split())
    assert found.code == 2
    assert f"Invalid value for {said}" in found.err


def test_every_range_of_every_command_is_reported_with_its_value(command: Callable[..., Outcome]) -> None:
    """No option keeps typer's message, whichever file declares it."""
    checked = 0
    for verb in typer.main.get_command(app).commands.values():  # type: ignore[attr-defined]
        for option in verb.params:
            high = getattr(option, "max", None)
            if high is None or option.param_type_name != "option":
                continue
            found = command(verb.name, option.opts[0], int(high) + 7)
            assert found.code == 2
            assert f"got {int(high) + 7}. Give a " in found.err, (verb.name, option.name, found.err)
            checked += 1
    assert checked > 30


def test_ranges_in_words() -> None:
    assert [allowed(1, 9), allowed(0.0, 0.5), allowed(None, 3), allowed(2, None), allowed(None, None)] == [
        " from 1 to 9", " from 0 to 0.5", " of at most 3", " of at least 2", "",
    ]  # fmt: skip


def test_long_values_are_cut_and_control_characters_escaped() -> None:
    option = SimpleNamespace(min=1, max=5)
    assert len(in_words("int_parsing", "7" * 500, option)) < 100
    assert "\x1b" not in in_words("int_parsing", "\x1b[2J", option)


def test_other_problems_keep_their_message() -> None:
    assert in_words("value_error", "x", SimpleNamespace()) == ""
