"""A model's program computes what the model computes, at every tap."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import glass_fixtures
import glassformer
from glassformer.explain.ops import OPS
from glassformer.explain.programs import program_of
from glassformer.explain.programs.recorded import EXPERT, inputs_of, tapped_values, weights_of
from glassformer.explain.tap_values import recorded_pass
from toy_programs import TOYS

PACKAGE = Path(glassformer.__file__).parent
CLOSE = 1e-10


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("name", TOYS)
def test_every_tap_is_one_step_with_the_same_numbers(name: str) -> None:
    toy = TOYS[name]
    model = toy.model()
    program = program_of(model)
    _, recorded = recorded_pass(model, toy.batch)
    tapped = [step.name for step in program.steps if step.tapped]
    assert sorted(name for name in tapped if name in recorded or not EXPERT.fullmatch(name)) == sorted(recorded)
    inputs = inputs_of(program, toy.batch)
    values = program.run(inputs, weights_of(program, model))
    for step, expected in tapped_values(program, recorded, inputs).items():
        np.testing.assert_allclose(values[step], expected, rtol=CLOSE, atol=CLOSE, err_msg=step)


@pytest.mark.parametrize("name", TOYS)
def test_steps_are_what_they_declare(name: str) -> None:
    toy = TOYS[name]
    model = toy.model()
    program = program_of(model)
    inputs = inputs_of(program, toy.batch)
    values = program.run(inputs, weights_of(program, model))
    known = set(program.sequences)
    for step in program.steps:
        assert step.name not in known, "one name, one step"
        assert known.issuperset(step.inputs), "computed before it is used"
        known.add(step.name)
        shape = tuple(size if isinstance(size, int) else len(inputs[size]) for size in step.shape)
        assert values[step.name].shape == shape, step.name
        assert len(step.axes) == len(step.shape)
        assert OPS[step.op].arity in (None, len(step.inputs))
        assert step.part, step.name
        file, line = step.code.split(":")
        assert (PACKAGE / file).read_text(encoding="utf-8").splitlines()[int(line) - 1].strip()
    assert set(program.outputs.values()) <= known
    assert set(program.causal) <= set(program.sequences)
    assert set(program.weights()) <= set(model.state_dict())


def test_every_operation_is_explained_and_used() -> None:
    used = {step.op for name in glass_fixtures.CHOSEN for step in program_of(TOYS[name].model()).steps}
    assert used == set(OPS)
    for op in OPS.values():
        assert op.formula
        assert op.sentence.endswith(".")
        assert op.sentence.count(". ") == 0, "one sentence"


def test_a_program_is_json() -> None:
    program = program_of(TOYS["transformer"].model())
    read = json.loads(json.dumps(program.to_dict()))
    assert read["steps"][0]["name"] == "encoder.inputs.token"
    assert len(read["steps"]) == len(program.steps)
    assert read["causal"] == ["target"]


@pytest.mark.parametrize("name", TOYS)
def test_later_rows_change_nothing_before_them(name: str) -> None:
    toy = TOYS[name]
    model = toy.model()
    program = program_of(model)
    inputs, weights = inputs_of(program, toy.batch), weights_of(program, model)
    for sequence in program.causal:
        before = program.run(inputs, weights)
        changed = {**inputs, sequence: np.append(inputs[sequence][:-1], 0)}
        after = program.run(changed, weights)
        for step in program.steps:
            if step.shape[-2:-1] == (sequence,) and sequence != step.shape[-1]:
                np.testing.assert_array_equal(before[step.name][..., :-1, :], after[step.name][..., :-1, :])


def same(found: object, kept: object, where: str = "") -> None:
    """Equal, except for the last digits of numbers."""
    if isinstance(found, dict):
        assert isinstance(kept, dict)
        assert found.keys() == kept.keys(), where
        for name, value in found.items():
            same(value, kept[name], f"{where}/{name}")
    elif isinstance(found, list) and found and isinstance(found[0], float):
        np.testing.assert_allclose(np.array(found, float), np.array(kept, float), rtol=1e-6, atol=1e-9, err_msg=where)
    else:
        assert found == kept, where


def test_the_files_for_the_engine_are_up_to_date() -> None:
    found = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in glass_fixtures.FOLDER.glob("*.json")}
    same(glass_fixtures.everything(), found)
