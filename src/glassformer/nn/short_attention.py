"""Attention over short sentences by plain batched products, which on a CPU are faster than the fused kernel.

The fused kernel is made for long sentences. For short ones, as in translation, most of its time is overhead. These are
the same products with a hand-written backward pass, which keeps only queries, keys, values and the pattern.
Shapes: B batch, H heads, T queries, K keys, E head width.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from glassformer.nn.derivatives import first_derivative_only

LONGEST = 128  # keys; beyond, the fused kernel is as fast and needs less memory
LONGEST_LEARNED = 1024  # with a learned bias, for which the fused kernel has no gradient (1.5 to 1.8 times as fast)


def suits(q: Tensor, k: Tensor, mask: Tensor | None) -> bool:
    """Whether these products can and should replace the fused kernel: training on a CPU, short sentences."""
    return (
        q.device.type == "cpu"
        and q.dtype in (torch.float32, torch.float64)
        and len(q) == len(k)
        and k.size(2) <= (LONGEST if mask is None or not mask.requires_grad else LONGEST_LEARNED)
        and torch.is_grad_enabled()
        and not torch.is_autocast_enabled("cpu")
        and (mask is None or (mask.dtype == q.dtype and (mask.requires_grad or not sees_nothing(mask))))
    )


def sees_nothing(mask: Tensor) -> bool:
    """Whether some query sees no key at all: softmax is undefined there.

    Not asked of a learned bias, where it would cost as much as the softmax: there every query sees a key.
    """
    return bool((mask.amax(-1) == float("-inf")).any())


def short_attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, scale: float) -> Tensor:
    """softmax(scale Q K^T + M) V: q (B, H, T, E), k and v (B, H, K, E) -> (B, H, T, E)."""
    out: Tensor = _Products.apply(q, k, v, mask, scale)
    return out


class _Products(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, scale: float) -> Tensor:
        heads = q.shape[:2]
        q, k, v = (x.reshape(-1, *x.shape[2:]) for x in (q, k, v))  # (B*H, T or K, E)
        scores = q.new_empty(q.size(0), q.size(1), k.size(1))
        torch.baddbmm(scores, q, k.mT, beta=0, alpha=scale, out=scores)  # (B*H, T, K)
        if mask is not None:
            scores.view(*heads, *scores.shape[1:]).add_(mask)
        pattern = torch.softmax(scores, dim=-1, out=scores)
        ctx.save_for_backward(q, k, v, pattern)
        ctx.scale, ctx.heads, ctx.mask_shape = scale, heads, None if mask is None else mask.shape
        return torch.bmm(pattern, v).unflatten(0, heads)

    @staticmethod
    @first_derivative_only
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        q, k, v, pattern = ctx.saved_tensors
        grad = grad.reshape(q.shape)
        grad_pattern = torch.bmm(grad, v.mT)  # (B*H, T, K)
        # Gradient of softmax: dS = P * (dP - sum(dP * P)). It is the mask's too; the products' is scaled.
        grad_scores = torch._softmax_backward_data(grad_pattern, pattern, -1, pattern.dtype)
        grad_mask = None
        if ctx.needs_input_grad[3]:
            grad_mask = grad_scores.unflatten(0, ctx.heads).sum_to_size(ctx.mask_shape).clone()
        grad_scores.mul_(ctx.scale)
        grads = torch.bmm(grad_scores, k), torch.bmm(grad_scores.mT, q), torch.bmm(pattern.mT, grad)
        grad_q, grad_k, grad_v = (x.unflatten(0, ctx.heads) for x in grads)
        return grad_q, grad_k, grad_v, grad_mask, None
