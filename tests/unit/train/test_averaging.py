import pytest
import torch
from torch import nn

from glassformer.train.averaging import MovingAverage


def linear(value: float) -> nn.Linear:
    model = nn.Linear(1, 1, bias=False)
    nn.init.constant_(model.weight, value)
    return model


def test_the_average_is_the_formula() -> None:
    model = linear(0.0)
    average, expected = MovingAverage(model, memory=0.5), 0.0
    for step, value in enumerate([1.0, 3.0, -2.0, 8.0, 8.0, 8.0]):
        nn.init.constant_(model.weight, value)
        average.update(step)
        memory = min(0.5, (1 + step) / (10 + step))
        expected = memory * expected + (1 - memory) * value
        assert average.weights["weight"].item() == pytest.approx(expected, rel=1e-6)


def test_the_model_has_the_average_only_while_it_is_in_place() -> None:
    model = linear(0.0)
    average = MovingAverage(model, memory=0.9)
    nn.init.constant_(model.weight, 2.0)
    with average.in_place():
        assert model.weight.item() == 0.0
    assert model.weight.item() == 2.0
    with pytest.raises(KeyboardInterrupt), average.in_place():
        raise KeyboardInterrupt
    assert model.weight.item() == 2.0


def test_an_average_goes_on_from_what_was_saved() -> None:
    model = linear(1.0)
    average = MovingAverage(model, memory=0.9)
    average.load({"weight": torch.tensor([[5.0]])})
    average.update(10**6)
    assert average.weights["weight"].item() == pytest.approx(0.9 * 5 + 0.1 * 1)
