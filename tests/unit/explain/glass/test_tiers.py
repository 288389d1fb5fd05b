"""What a page holds: every step can be derived from what is there, or is stored, or is named as left out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from glass_toys import PROGRAM, ROWS, WIDTH, subject, watched, weights

from glassformer.errors import DataError
from glassformer.explain.glass.contents import contents_of
from glassformer.explain.glass.tiers import Plan, Stored, fits_half, plan_of, stored_steps, stored_values
from glassformer.explain.glass.trace import Watched
from glassformer.explain.program import Step

LARGE = 30_000  # rows of a table that does not fit


def plan(space: int, vocabulary: int = LARGE) -> tuple[Plan, list[Watched]]:
    made = subject(weights=weights(vocabulary))
    traces = [watched(made), watched(made)]
    return plan_of(PROGRAM, made.weights, traces, space=space), traces


def available(found: Plan, trace: int) -> set[str]:
    """The steps that the page can show: stored, or derived from steps that it can show."""
    known = {"text"}
    for step in PROGRAM.steps:
        derived = {*step.weights} <= {*found.weights} and {*step.inputs} <= known
        if derived or step.name in found.values[trace].kinds:
            known.add(step.name)
    return known - {"text"}


@pytest.mark.parametrize("space", [2_000_000, 400_000, 60_000, 5_000])
def test_every_step_is_derived_or_stored(space: int) -> None:
    found, traces = plan(space)
    for number in range(len(traces)):
        assert available(found, number) == {step.name for step in PROGRAM.steps}
        assert not found.values[number].left_out


def test_the_tier_follows_the_space() -> None:
    assert (plan(2_000_000)[0].tier, plan(2_000_000)[0].precision) == ("live", "float32")
    assert (plan(400_000)[0].tier, plan(400_000)[0].precision) == ("live", "float16")
    recorded = plan(60_000)[0]
    assert (recorded.tier, recorded.precision, recorded.weights) == ("recorded", "float32", ("W", "b", "g"))
    assert recorded.values[0].kinds == {"token": "f32"}  # the rest follows from it


def test_a_live_page_has_the_tapped_values_to_compare_with() -> None:
    found, traces = plan(2_000_000)
    assert all({*one.kinds} == {*trace.trace.values} for one, trace in zip(found.values, traces, strict=True))


def test_a_weight_too_large_for_half_precision_keeps_a_page_from_rounding() -> None:
    made = subject(weights={**weights(LARGE), "g": np.full(WIDTH, 1e6, np.float32)})
    assert not fits_half(made.weights["g"])
    assert plan_of(PROGRAM, made.weights, [watched(made)], space=400_000).tier == "recorded"


def test_what_no_other_step_needs_is_left_out_first_and_named() -> None:
    made = subject()
    leaf = Step("leaf", "linear", ("token",), ("W",), ("text", "width"), ("text", WIDTH), {}, "inputs", False, "a.py:1")
    steps = [*stored_steps(PROGRAM, {"b", "g"}), "leaf"]
    program = replace(PROGRAM, steps=(*PROGRAM.steps, leaf))
    one = watched(replace(made, program=program))
    _, used = stored_values(program, steps, one, space=10**6)
    found, less = stored_values(program, steps, one, space=used - 1)
    assert (set(found.kinds.values()), found.left_out, less < used) == ({"f16"}, (), True)
    found, _ = stored_values(program, steps, one, space=less - 1)
    assert found.left_out == ("leaf",)
    with pytest.raises(DataError, match=r"need .*--max-mb, at most 64.* or give a shorter text"):
        stored_values(program, steps, one, space=10)


def test_model_and_program_are_compared() -> None:
    made = subject()
    good = watched(made)
    assert good.error < 1e-6
    values = {**good.trace.values, "bent": good.trace.values["bent"] + 1}
    bad = Watched.of(replace(good.trace, values=values), made)
    assert (bad.worst, bad.error > 0.1) == ("bent", True)
    assert bad.values["bent"].shape == (ROWS, WIDTH)
    hole = {**good.trace.values, "out": np.full((ROWS, WIDTH), np.nan, np.float32)}
    assert Watched.of(replace(good.trace, values=hole), made).error == float("inf")


def test_what_is_rounded_is_what_the_next_steps_compute_with() -> None:
    made = subject()
    one = watched(made)
    plan = Plan("recorded", ("W", "b", "g"), (Stored({"token": "f16"}),))
    (record,) = contents_of(made, [one], plan).header["traces"]
    token = one.values["token"].astype(np.float16).astype(np.float64)
    expected = (token @ made.weights["W"].T.astype(np.float64) + made.weights["b"]).ravel()
    np.testing.assert_allclose(record["proof"]["up"]["values"], expected, rtol=1e-7)
    assert np.abs(expected - one.values["up"].ravel()).max() > 1e-6
