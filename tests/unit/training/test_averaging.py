"""Averages of weights: their formulas, and that the model's own weights are not touched."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from glassformer.training.averaging import AverageWeights, Share, mean_of_last, moving


def linear(value: float) -> nn.Linear:
    model = nn.Linear(1, 1, bias=False)
    nn.init.constant_(model.weight, value)
    return model


def averaged(share: Share, values: list[float]) -> list[float]:
    """What the average is after each update, when the weight takes these values."""
    model = linear(0.0)
    average, found = AverageWeights(model, share), []
    for done, value in enumerate(values, start=1):
        nn.init.constant_(model.weight, value)
        average.update(done)
        found.append(average.weights["weight"].item())
    return found


def test_a_moving_average_is_the_formula() -> None:
    values, expected, average = [1.0, 3.0, -2.0, 8.0, 8.0, 8.0], [], 0.0
    for n, value in enumerate(values):
        memory = min(0.3, (1 + n) / (10 + n))
        average = memory * average + (1 - memory) * value
        expected.append(average)
    assert averaged(moving(0.3), values) == pytest.approx(expected, rel=1e-6)


def test_the_mean_of_the_last_validations() -> None:
    values = [float(step) ** 2 for step in range(1, 11)]
    found = averaged(mean_of_last(3, steps=10, every=4), values)  # validations after 4, 8 and 10
    assert found[:4] == [1, 4, 9, 16]
    assert found[4:7] == [16, 16, 16]
    assert found[7] == pytest.approx((16 + 64) / 2)
    assert found[9] == pytest.approx((16 + 64 + 100) / 3)


@pytest.mark.parametrize(("steps", "every", "last"), [(10, 5, [5, 10]), (10, 3, [9, 10]), (10, 10, [10]), (3, 7, [3])])
def test_which_validations_are_the_last(steps: int, every: int, last: list[int]) -> None:
    share = mean_of_last(2, steps=steps, every=every)
    assert [share(step) for step in last] == [1 / number for number in range(1, len(last) + 1)]
    assert all(share(step) == 1 for step in range(1, last[0]))
    assert all(share(step) == 0 for step in range(last[0], steps) if step not in last)


def test_the_model_has_the_average_only_while_it_is_in_place() -> None:
    model = linear(0.0)
    average = AverageWeights(model, moving(0.9))
    nn.init.constant_(model.weight, 2.0)
    with average.in_place():
        assert model.weight.item() == 0.0
    assert model.weight.item() == 2.0
    with pytest.raises(KeyboardInterrupt), average.in_place():
        raise KeyboardInterrupt
    assert model.weight.item() == 2.0


def test_an_average_resumes_from_what_was_saved() -> None:
    model = linear(1.0)
    average = AverageWeights(model, moving(0.9))
    average.load({"weight": torch.tensor([[5.0]])})
    average.update(10**6)
    assert average.weights["weight"].item() == pytest.approx(0.9 * 5 + 0.1 * 1)
