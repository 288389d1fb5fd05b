"""A mixture of experts in training: every weight has a gradient, and the balancing loss is the published formula."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from glassformer.nn.experts import Experts, Routing, balancing_loss


def routing_of(probabilities: Tensor, per_token: int) -> Routing:
    top = probabilities.topk(per_token, dim=-1)
    return Routing(probabilities, top.indices, top.values / top.values.sum(-1, keepdim=True))


def balance_by_hand(routings: list[Routing], real: list[bool]) -> float:
    """N * sum_i f_i P_i over the real tokens of all layers (Switch Transformer, equations 4 to 6), token by token."""
    experts, tokens = routings[0].probabilities.size(1), sum(real) * len(routings)
    dispatched, mass = np.zeros(experts), np.zeros(experts)
    for routing in routings:
        for token, counts in enumerate(real):
            if counts:
                for expert in routing.chosen[token].tolist():
                    dispatched[expert] += 1
                mass += routing.probabilities[token].numpy()
    return float(experts * ((dispatched / tokens) * (mass / tokens)).sum())


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize(("experts", "per_token", "layers"), [(7, 1, 1), (5, 2, 3), (3, 3, 2)])
def test_the_balancing_loss_is_the_switch_formula_in_float64(experts: int, per_token: int, layers: int) -> None:
    routings = [routing_of(torch.randn(11, experts).softmax(-1), per_token) for _ in range(layers)]
    real = [True] * 7 + [False] * 3 + [True]
    got = balancing_loss(routings, real=torch.tensor(real))
    assert got.item() == pytest.approx(balance_by_hand(routings, real), abs=1e-13)
    whole = balancing_loss(routings)
    assert whole.item() == pytest.approx(balance_by_hand(routings, [True] * 11), abs=1e-13)


def test_in_training_experts_without_tokens_have_a_gradient_of_zero() -> None:
    """So a step updates the same weights whichever experts its tokens chose, on one rank or several."""
    experts = Experts(5, 7, experts=6, per_token=1)
    experts(torch.randn(1, 1, 5)).sum().backward()
    used = [any(bool(p.grad.any()) for p in one.parameters()) for one in experts.each]  # an error where there is none
    assert used.count(True) == 1


@torch.no_grad()
def test_without_gradients_only_chosen_experts_run() -> None:
    experts, ran = Experts(5, 7, experts=6, per_token=2), []
    for number, one in enumerate(experts.each):
        one.register_forward_hook(lambda *_, number=number: ran.append(number))
    routings: list[Routing] = []
    experts(torch.randn(1, 1, 5), routings=routings)
    assert sorted(ran) == sorted(routings[0].chosen[0].tolist())
