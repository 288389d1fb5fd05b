"""Position modules: growth, limits, state."""

from __future__ import annotations

import copy
import pickle
from functools import partial

import pytest
import torch

from glassformer.errors import ModelError
from glassformer.nn.positions import FixedPositions, LearnedPositions, RotaryPositions, rotate, sinusoidal


def test_the_table_is_computed_once_and_reused() -> None:
    calls = []

    def make(length: int) -> torch.Tensor:
        calls.append(length)
        return sinusoidal(length, 5)

    positions = FixedPositions(make, length=7)
    for _ in range(3):
        positions(7)
    assert calls == [7]
    positions(8)
    positions(16)
    assert calls == [7, 16]


def test_a_fixed_table_is_no_parameter_and_not_saved() -> None:
    positions = FixedPositions(partial(sinusoidal, width=5))
    assert not positions.state_dict()
    assert not list(positions.parameters())


@pytest.mark.parametrize("start", [0, 3, 300])
def test_start_names_the_first_position(start: int) -> None:
    positions = FixedPositions(partial(sinusoidal, width=5), length=5)
    torch.testing.assert_close(positions(7, start=start), sinusoidal(start + 7, 5)[start:].float())


def test_a_table_made_longer_keeps_its_number_type() -> None:
    positions = FixedPositions(partial(sinusoidal, width=5), length=5).to(torch.bfloat16)
    assert positions(11).dtype == torch.bfloat16


def test_training_can_use_a_table_that_decoding_made_longer() -> None:
    rotary = RotaryPositions(5, length=3)
    with torch.inference_mode():
        rotary(11)
    x = torch.randn(1, 1, 11, 5, requires_grad=True)
    rotate(x, rotary(11)).sum().backward()
    assert x.grad is not None


def test_learned_positions_are_rows_of_their_matrix() -> None:
    positions = LearnedPositions(11, 5)
    assert torch.equal(positions(3, start=7), positions.weight[7:10])


def test_a_sentence_longer_than_the_learned_positions_is_refused_with_both_numbers() -> None:
    with pytest.raises(ModelError, match=r"14 tokens.*learned 11 positions.*max_length"):
        LearnedPositions(11, 5)(7, start=7)
    assert LearnedPositions(11, 5)(4, start=7).shape == (4, 5)


def test_positions_can_be_copied_and_sent_to_another_process() -> None:
    rotary = RotaryPositions(5)
    for other in (copy.deepcopy(rotary), pickle.loads(pickle.dumps(rotary))):
        assert torch.equal(other(7)[0], rotary(7)[0])
        assert other(300)[0].shape == (300, 2)


def test_a_table_that_another_thread_replaces_is_long_enough() -> None:
    class Replaced(FixedPositions):
        """Another thread, which needed less, comes last."""

        def __setattr__(self, name: str, value: object) -> None:
            super().__setattr__(name, sinusoidal(9, 5) if name == "table" else value)

    assert Replaced(partial(sinusoidal, width=5), length=5)(20).shape == (20, 5)
