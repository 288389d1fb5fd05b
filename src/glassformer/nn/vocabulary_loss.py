"""Output layer and cross-entropy in one: the logits of all tokens are never in memory at once.

M tokens, D width, V vocabulary. For a few hundred tokens at a time the logits are computed, reduced to the loss, turned
into their own gradient in place, and used for the gradients of hidden states and weights. So the largest tensor of a
training step is written once and read while it is still in the cache; the backward pass only scales.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from glassformer.nn.derivatives import first_derivative_only
from glassformer.nn.linear import fewer_rows, linear, product, suits, usual_rows

LOGITS_AT_A_TIME = 1 << 22  # 16 MB in float32
RARE = 69.0  # log(1e30)


def tokens_at_a_time(tokens: int, vocabulary: int) -> int:
    size = LOGITS_AT_A_TIME // vocabulary
    return max(1, min(tokens, fewer_rows(size) or size))


def linear_cross_entropy(
    hidden: Tensor, weight: Tensor, labels: Tensor, *, bias: Tensor | None = None, label_smoothing: float = 0.0
) -> Tensor:
    """The sum over M tokens of the cross-entropy of softmax(hidden W^T + b) against (1 - e) * one-hot + e / V.

    hidden (M, D), weight (V, D), labels (M,), bias (V,). Equal to `F.cross_entropy(F.linear(...), reduction="sum")`.
    (`F.linear_cross_entropy` of torch 2.13 also works in chunks, but not with label smoothing.)
    """
    loss: Tensor = _LinearCrossEntropy.apply(hidden, weight, bias, labels, label_smoothing)
    return loss


class _LinearCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, weight: Tensor, bias: Tensor | None, labels: Tensor, smoothing: float
    ) -> Tensor:
        vocabulary = weight.size(0)
        size = tokens_at_a_time(hidden.size(0), vocabulary)
        losses = hidden.new_empty(hidden.size(0), 1)
        flipped = suits(hidden, weight)  # then the gradient is summed as (D, V): only h is transposed for it
        grad_hidden = torch.empty_like(hidden)
        grad_weight = weight.new_zeros(weight.shape[::-1] if flipped else weight.shape)
        grad_bias = None if bias is None else torch.zeros_like(bias)
        weight_sum = weight.sum(0)  # gives the sum of a token's logits, for label smoothing
        bias_sum = 0.0 if bias is None else bias.sum()
        for start in range(0, hidden.size(0), size):
            h, y = hidden[start : start + size], labels[start : start + size, None]  # (m, D), (m, 1)
            z = linear(h, weight, bias)  # (m, V)
            right = z.gather(1, y)
            p = torch.softmax(z, dim=1, out=z)
            normaliser = right - p.gather(1, y).log()  # log(sum(exp(z))) is z - log(p) of any token
            rare = normaliser[:, 0] > right[:, 0] + RARE  # p has lost its precision, or is 0
            if bool(rare.any()):
                normaliser[rare] = F.linear(h[rare], weight, bias).logsumexp(dim=1, keepdim=True)
            mean = (h @ weight_sum + bias_sum)[:, None] / vocabulary
            losses[start : start + size] = normaliser - (1 - smoothing) * right - smoothing * mean
            grad = p.scatter_add_(1, y, torch.full_like(right, smoothing - 1))  # except for - smoothing / V, see below
            grad_hidden[start : start + size] = linear(grad, weight.t())
            if flipped and len(h) == usual_rows(len(h)):
                grad_weight += product(h.t().contiguous(), grad.t())
            elif flipped:
                grad_weight.addmm_(h.mT, grad)
            else:
                grad_weight.addmm_(grad.mT, h)
            if grad_bias is not None:
                grad_bias += grad.sum(0)
        grad_weight = grad_weight.t().contiguous() if flipped else grad_weight
        grad_hidden -= smoothing / vocabulary * weight_sum
        grad_weight -= smoothing / vocabulary * hidden.sum(0)
        if grad_bias is not None:
            grad_bias -= smoothing / vocabulary * hidden.size(0)
        ctx.save_for_backward(grad_hidden, grad_weight, grad_bias)
        return losses.sum()

    @staticmethod
    @first_derivative_only
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        return *(None if saved is None else saved * grad for saved in ctx.saved_tensors), None, None
