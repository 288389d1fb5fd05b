"""A mixture of experts: many feed-forward networks, each token is computed by a few of them.

Shapes: M tokens, D width, X experts, k experts per token.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from glassformer.nn.feed_forward import FeedForward
from glassformer.nn.linear import Linear
from glassformer.nn.taps import Tap


class Routing(NamedTuple):
    """Where tokens were sent."""

    probabilities: Tensor  # (M, X) of all experts; they sum to 1
    chosen: Tensor  # (M, k) the most probable experts, in that order
    weights: Tensor  # (M, k) their probabilities, scaled to sum to 1


class Router(nn.Module):
    """Chooses the k most probable experts of each token: softmax over all, the k largest, scaled to sum to 1."""

    def __init__(self, width: int, experts: int, *, per_token: int) -> None:
        super().__init__()
        self.linear = Linear(width, experts, bias=False)
        self.per_token = per_token
        self.scores, self.probabilities, self.chosen, self.weights = Tap(), Tap(), Tap(), Tap()

    def forward(self, x: Tensor) -> Routing:
        """(M, D) -> where each token goes."""
        scores = self.scores(self.linear(x))  # (M, X)
        digits = torch.promote_types(scores.dtype, torch.float32)  # in lower precision, rounding would decide near ties
        probabilities = self.probabilities(scores.softmax(dim=-1, dtype=digits))
        top = probabilities.topk(self.per_token, dim=-1)
        weights = top.values / top.values.sum(dim=-1, keepdim=True)
        return Routing(probabilities, self.chosen(top.indices), self.weights(weights.to(x.dtype)))


class Experts(nn.Module):
    """sum_e g_e(x) f_e(x) over the k experts that a router chooses for each token (Shazeer et al. 2017, arXiv
    1701.06538; Jiang et al. 2024, arXiv 2401.04088)."""

    def __init__(self, width: int, inner: int, *, experts: int, per_token: int, activation: str = "silu") -> None:
        super().__init__()
        self.router = Router(width, experts, per_token=per_token)
        make = (FeedForward(width, inner, activation=activation, gated=True, bias=False) for _ in range(experts))
        self.each = nn.ModuleList(make)

    def forward(self, x: Tensor, *, routings: list[Routing] | None = None) -> Tensor:
        """(B, T, D) -> (B, T, D). Appends where the tokens went to `routings`, if given.

        In training every expert runs, even without tokens, so that all weights have a gradient in every step.
        """
        tokens = x.flatten(0, -2)  # (M, D)
        routing = self.router(tokens)
        if routings is not None:
            routings.append(routing)
        mixed = torch.zeros_like(tokens)
        needed = range(len(self.each)) if torch.is_grad_enabled() else routing.chosen.unique().tolist()
        for number in needed:
            token, place = (routing.chosen == number).nonzero(as_tuple=True)
            found = self.each[number](tokens[token]) * routing.weights[token, place, None]
            mixed.index_add_(0, token, found)
        return mixed.view(x.shape)


def balancing_loss(routings: Sequence[Routing], *, real: Tensor | None = None) -> Tensor:
    """X * sum_e share_e * probability_e over the tokens of all layers: smallest if all experts are used equally (Fedus
    et al. 2021, arXiv 2101.03961, equations 4 to 6; here each token counts in k shares, so they sum to k).

    real (M,): False for padding, which does not count.
    """
    probabilities, chosen = (torch.cat([one[i] for one in routings]) for i in (0, 1))  # (L*M, X), (L*M, k)
    if real is not None:
        kept = real.repeat(len(routings))
        probabilities, chosen = probabilities[kept], chosen[kept]
    experts = probabilities.size(-1)
    share = torch.bincount(chosen.flatten(), minlength=experts).to(probabilities.dtype) / len(chosen)
    return experts * (share * probabilities.mean(dim=0)).sum()
