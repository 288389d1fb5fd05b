"""Programs are what they declare: names, shapes, operations, code lines, order."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import glass_fixtures
import glassformer
from glassformer.errors import ModelError
from glassformer.explain.code_lines import line_in
from glassformer.explain.op_functions import Array
from glassformer.explain.ops import OPS
from glassformer.explain.programs import program_of
from glassformer.explain.programs.recorded import inputs_of, weights_of
from glassformer.nn.attention import attend
from toy_programs import TEXT, TOYS

PACKAGE = Path(glassformer.__file__).parent


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


def cut(value: Array, axes: tuple[str, ...], row: str) -> Array:
    """Without its last row, if its rows are those of this sequence."""
    if len(axes) == 1:
        return value[:-1] if axes[0] == row else value
    return value[..., :-1, :] if axes[-2] == row else value


@pytest.mark.parametrize("name", TOYS)
def test_row_wise_operations_need_no_other_rows(name: str) -> None:
    toy = TOYS[name]
    model = toy.model()
    program = program_of(model)
    weights = weights_of(program, model)
    values = {**inputs_of(program, toy.batch)}
    along = {"segments": "text", "casing": "text"}
    axes: dict[str, tuple[str, ...]] = {one: (along.get(one, one),) for one in program.sequences}
    for step in program.steps:
        given = [values[one] for one in step.inputs]
        used = [weights[one].astype(float) for one in step.weights]
        values[step.name] = OPS[step.op].function(*given, *used, **step.settings)
        axes[step.name] = step.axes
        row = step.axes[-2] if len(step.axes) > 1 else step.axes[0]
        if OPS[step.op].row_wise and row in program.sequences:
            fewer = [cut(value, axes[one], row) for value, one in zip(given, step.inputs, strict=True)]
            alone = OPS[step.op].function(*fewer, *used, **step.settings)
            np.testing.assert_allclose(alone, cut(values[step.name], step.axes, row), err_msg=step.name)


def test_an_input_is_missing() -> None:
    program = program_of(TOYS["transformer"].model())
    with pytest.raises(ModelError, match="also reads 'target'; it got source"):
        program.run({"source": np.array([1])}, {name: np.ones(1) for name in program.weights()})


def test_a_batch_without_capitals() -> None:
    program = program_of(TOYS["bert-tags"].model())
    with pytest.raises(ModelError, match="capitals"):
        inputs_of(program, TEXT)


def test_lines_are_found_in_the_source() -> None:
    line = line_in(attend, "scores = query @ key.mT")
    file, number = line.split(":")
    assert file == "nn/attention.py"
    assert "scores = query @ key.mT" in (PACKAGE / file).read_text(encoding="utf-8").splitlines()[int(number) - 1]
    with pytest.raises(ModelError, match="on 0 lines of attend"):
        line_in(attend, "no such text")
    with pytest.raises(ModelError, match="on 3 lines of attend"):
        line_in(attend, "pattern")


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
    for name, content in glass_fixtures.everything().items():
        kept = json.loads((glass_fixtures.FOLDER / f"{name}.json").read_text(encoding="utf-8"))
        same(content, kept, name)
