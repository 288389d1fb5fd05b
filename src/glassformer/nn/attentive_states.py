"""The recurrence of a decoder with additive attention, all positions in one function with its own gradient.

The formulas are those of `AttentiveGRU.step` (nn/additive.py). Autograd would keep tanh(W s + U h), B x S x A values
for each of T positions; here they are computed again in the backward pass, and the gradients of all matrices are single
products over all positions.
Shapes: B texts, S source tokens, T target tokens, M width of the memory, H units, A width of the alignment model.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from glassformer.nn.derivatives import first_derivative_only


def attentive_states(
    given: Tensor,
    start: Tensor,
    keys: Tensor,
    values: Tensor,
    mask: Tensor | None,
    v: Tensor,
    query: Tensor,
    context: Tensor,
    recurrent: Tensor,
    bias: Tensor,
) -> tuple[Tensor, Tensor]:
    """Target parts W y + b (T, B, 3H), first state (B, H), keys (B, S, A), values (B, S, M), mask (B, S) of 0 and -inf,
    v (A,), the matrices of query (A, H), context (3H, M) and recurrence (3H, H) with its bias (3H,).

    -> states (T, B, H), contexts (T, B, M).
    """
    weight = torch.cat([query, recurrent])  # both are multiplied with the last state
    states: Tensor
    contexts: Tensor
    states, contexts = _AttentiveStates.apply(given, start, keys, values, mask, v, weight, context, bias)
    return states, contexts


class _AttentiveStates(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        given: Tensor,
        start: Tensor,
        keys: Tensor,
        values: Tensor,
        mask: Tensor | None,
        v: Tensor,
        weight: Tensor,
        context: Tensor,
        bias: Tensor,
    ) -> tuple[Tensor, Tensor]:
        (steps, batch, _), units = given.shape, start.size(1)
        states = given.new_empty(steps + 1, batch, units)
        states[0] = start
        patterns = given.new_empty(steps, batch, keys.size(1))
        contexts = given.new_empty(steps, batch, values.size(2))
        queries = given.new_empty(steps, batch, keys.size(2))
        gates = given.new_empty(steps, batch, 4 * units)  # r, z, n, and U_n s + b'_n
        for t in range(steps):
            recalled = states[t] @ weight.t()  # (B, A + 3H)
            queries[t] = recalled[:, : keys.size(2)]
            tanh = torch.add(keys, queries[t][:, None]).tanh_()  # (B, S, A)
            e = tanh @ v
            torch.softmax(e if mask is None else e.add_(mask), dim=-1, out=patterns[t])
            torch.bmm(patterns[t][:, None], values, out=contexts[t][:, None])
            recalled = recalled[:, keys.size(2) :].add_(bias)  # (B, 3H)
            unit(torch.addmm(given[t], contexts[t], context.t()), recalled, states[t], gates[t], states[t + 1])
        ctx.save_for_backward(states, patterns, contexts, queries, gates, keys, values, v, weight, context)
        return states[1:], contexts

    @staticmethod
    @first_derivative_only
    def backward(ctx: Any, grad_states: Tensor, grad_contexts: Tensor) -> tuple[Tensor | None, ...]:
        states, patterns, contexts, queries, gates, keys, values, v, weight, context = ctx.saved_tensors
        (steps, batch, units), width = grad_states.shape, keys.size(2)
        grad_given = gates.new_empty(steps, batch, 3 * units)
        grad_recalled = gates.new_empty(steps, batch, width + 3 * units)
        grad_read = torch.empty_like(contexts)
        grad_keys, grad_v = torch.zeros_like(keys), torch.zeros_like(v)
        grad_state = torch.zeros_like(states[0])
        for t in range(steps - 1, -1, -1):
            grad_state = grad_state + grad_states[t]
            recalled = grad_recalled[t]
            grad_state = unit_backward(grad_state, states[t], gates[t], grad_given[t], recalled[:, width:])
            torch.addmm(grad_contexts[t], grad_given[t], context, out=grad_read[t])
            grad_a = torch.bmm(values, grad_read[t][:, :, None])[:, :, 0]  # (B, S)
            grad_e = patterns[t] * (grad_a - (patterns[t] * grad_a).sum(dim=-1, keepdim=True))
            tanh = torch.add(keys, queries[t][:, None]).tanh_()  # (B, S, A)
            grad_v += tanh.flatten(0, 1).t() @ grad_e.flatten()
            inner = torch.addcmul(v, tanh.square_(), v, value=-1).mul_(grad_e[:, :, None])  # (B, S, A)
            grad_keys += inner
            torch.sum(inner, dim=1, out=recalled[:, :width])
            grad_state = torch.addmm(grad_state, recalled, weight)
        before, flat = states[:-1].flatten(0, 1), grad_recalled.flatten(0, 1)
        grad_values = torch.bmm(patterns.permute(1, 2, 0), grad_read.transpose(0, 1))
        grad_context = grad_given.flatten(0, 1).t() @ contexts.flatten(0, 1)
        grad_bias = flat[:, width:].sum(0)
        read = (grad_keys, grad_values, None, grad_v)
        return grad_given, grad_state, *read, flat.t() @ before, grad_context, grad_bias


def unit(given: Tensor, recalled: Tensor, before: Tensor, gates: Tensor, after: Tensor) -> None:
    """A gated unit: W x + b and U s + b' (B, 3H) and the state (B, H) -> its gates and the next state, in place."""
    units = before.size(1)
    r, z, n, n_recalled = gates.split(units, dim=1)
    both = torch.add(given[:, : 2 * units], recalled[:, : 2 * units], out=gates[:, : 2 * units])
    both.sigmoid_()
    n_recalled.copy_(recalled[:, 2 * units :])
    torch.addcmul(given[:, 2 * units :], r, n_recalled, out=n).tanh_()
    torch.lerp(n, before, z, out=after)


def unit_backward(grad: Tensor, before: Tensor, gates: Tensor, grad_given: Tensor, grad_recalled: Tensor) -> Tensor:
    """The gradient of the next state (B, H) -> those of both inputs, in place, and the direct one of the state."""
    units = before.size(1)
    r, z, n, n_recalled = gates.split(units, dim=1)
    grad_n = torch.mul(grad * (1 - z), 1 - n * n, out=grad_given[:, 2 * units :])
    torch.mul(grad_n * n_recalled, r * (1 - r), out=grad_given[:, :units])
    torch.mul(grad * (before - n), z * (1 - z), out=grad_given[:, units : 2 * units])
    grad_recalled[:, : 2 * units] = grad_given[:, : 2 * units]
    torch.mul(grad_n, r, out=grad_recalled[:, 2 * units :])
    return grad * z
