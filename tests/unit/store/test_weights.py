"""Weights by name."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from glassformer.errors import RunError
from glassformer.models.bert import Bert, BertConfig
from glassformer.models.transformer import Transformer, TransformerConfig
from glassformer.store.weights import load_body, load_weights, weights_of

TIED_NAMES = {"all": 1, "output": 2, "none": 3}


class Two(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(3, 5)
        self.second = nn.Linear(5, 7, bias=False)


@pytest.mark.parametrize("tied", TIED_NAMES)
def test_a_tied_matrix_is_saved_once(tied: str) -> None:
    config = TransformerConfig(size="nano", N=1, d=6, h=2, d_ff=5, tied=tied)
    weights = weights_of(Transformer(config, source_vocabulary=11, target_vocabulary=11))
    assert sum(tuple(weight.shape) == (11, 6) for weight in weights.values()) == TIED_NAMES[tied]


def test_weights_go_into_another_module_bit_by_bit() -> None:
    one, other = Two(), Two()
    load_weights(other, {name: weight.clone() for name, weight in weights_of(one).items()}, origin="here")
    for name, weight in weights_of(one).items():
        assert torch.equal(weights_of(other)[name], weight)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"second.weight": None}, "second.weight is missing"),
        ({"third.weight": torch.ones(1)}, "third.weight is unexpected"),
        ({"first.weight": torch.ones(3, 5)}, r"first.weight has shape \(3, 5\), expected \(5, 3\)"),
    ],
)
def test_a_tensor_that_does_not_fit_is_named_and_nothing_is_loaded(change: dict, told: str) -> None:
    module = Two()
    before = {name: weight.clone() for name, weight in weights_of(module).items()}
    wanted = {name: torch.zeros_like(weight) for name, weight in before.items()} | change
    with pytest.raises(RunError, match=f"^here: the weights do not fit this model: {told}"):
        load_weights(module, {name: w for name, w in wanted.items() if w is not None}, origin="here")
    assert all(torch.equal(weights_of(module)[name], weight) for name, weight in before.items())


def test_of_many_problems_three_are_shown_and_the_rest_counted() -> None:
    with pytest.raises(RunError, match=r"is missing; .*is missing; .*\(and 1 more\)"):
        load_weights(Two(), {"other": torch.ones(1)}, origin="here")


# A body with other heads


def bert(**values: object) -> Bert:
    return Bert(BertConfig(vocabulary=11, N=2, d=6, h=2, d_ff=5, max_length=7, **values))


def loaded(model: Bert, base: Bert, **how: tuple[str, ...]) -> list[str]:
    """The new parameters; all others must be the base's, and these as they were."""
    before = {name: weight.clone() for name, weight in weights_of(model).items()}
    new = load_body(model, weights_of(base), origin="base", **how)
    for name, weight in weights_of(model).items():
        assert torch.equal(weight, before[name] if name in new else weights_of(base)[name]), name
    return new


def test_a_body_is_loaded_under_a_new_head() -> None:
    assert loaded(bert(head="sentence", classes=3), bert(head="words")) == ["head.linear.weight", "head.linear.bias"]
    assert loaded(bert(head="sentence", classes=3), bert(pooler=False)) == [
        "pooler.linear.weight", "pooler.linear.bias", "head.linear.weight", "head.linear.bias"
    ]  # fmt: skip
    assert loaded(bert(), bert(head="pretraining")) == []


def test_the_same_head_is_loaded_too_unless_its_classes_are_others() -> None:
    assert loaded(bert(head="words"), bert(head="words")) == []
    assert loaded(bert(head="tokens", classes=3), bert(head="tokens", classes=3)) == []
    again = loaded(bert(head="tokens", classes=3), bert(head="tokens", classes=3), new=("head.",))
    assert again == ["head.linear.weight", "head.linear.bias"]
    assert "head.linear.weight" in loaded(bert(head="tokens", classes=3), bert(head="tokens", classes=5))


def test_a_head_that_only_looks_the_same_is_not_loaded_in_part() -> None:
    """The inner matrix of a head for words has the shape of a head for as many classes as the model is wide."""
    assert "head.linear.weight" in loaded(bert(head="tokens", classes=6), bert(head="words"))


@pytest.mark.parametrize(
    ("base", "reason"),
    [
        ({"N": 3}, r"blocks\.2\..* is unexpected.*\(and \d+ more\)"),
        ({"N": 1}, r"blocks\.1\..* is missing.*\(and \d+ more\)"),
        ({"max_length": 9}, r"inputs\.positions\.weight has shape \(9, 6\), expected \(7, 6\)"),
        ({"segments": 1}, r"inputs\.segments\.weight has shape \(1, 6\), expected \(2, 6\)"),
    ],
)
def test_another_body_is_refused_and_nothing_copied(base: dict[str, int], reason: str) -> None:
    values = {"vocabulary": 11, "N": 2, "d": 6, "h": 2, "d_ff": 5, "max_length": 7, **base}
    model = bert(head="sentence")
    before = {name: weight.clone() for name, weight in weights_of(model).items()}
    with pytest.raises(RunError, match=f"^runs/base: its body does not fit this model: .*{reason}"):
        load_body(model, weights_of(Bert(BertConfig(**values))), origin="runs/base")
    assert all(torch.equal(weight, before[name]) for name, weight in weights_of(model).items())


def test_a_model_without_names_of_heads_has_one() -> None:
    class Small(Two):
        def __init__(self, classes: int) -> None:
            super().__init__()
            self.head = nn.Linear(7, classes)

    assert load_body(Small(2), weights_of(Small(3)), origin="base") == ["head.weight", "head.bias"]
