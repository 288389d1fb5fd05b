"""Attention inside a recurrence: each state of a decoder asks which parts of a memory it needs next.

The whole recurrence over a known target is computed by one function with its own gradient. While something listens at
its taps, the plain formulas run instead, position by position; taps get the values of all positions together.
Shapes: B texts, S source tokens, T target tokens, D width of the target's vectors, M of the memory's, H units, A width
of the alignment model.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from glassformer.nn.attention import Projections
from glassformer.nn.attentive_states import attentive_states
from glassformer.nn.recurrent import GRU, gated
from glassformer.nn.taps import Tap, WithTaps

Read = tuple[Tensor, Tensor]  # keys (B, S, A) and values (B, S, M) of a memory


class AdditiveScores(nn.Module):
    """e_ij = v^T tanh(W s_{i-1} + U h_j), a_ij = softmax_j(e_ij), c_i = sum_j a_ij h_j (Bahdanau et al. 2014, arXiv
    1409.0473, equations 5 and 6, appendix A.1.2)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.v = nn.Parameter(torch.empty(width))
        nn.init.uniform_(self.v, -(width**-0.5), width**-0.5)
        self.scores, self.pattern, self.z = Tap(), Tap(), Tap()  # e, a, c

    def forward(self, query: Tensor, read: Read, mask: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        """W s (B, A), the memory, and 0 or -inf for its tokens (B, S) -> e (B, S), a (B, S), c (B, M)."""
        keys, values = read
        e = torch.tanh(keys + query[:, None]) @ self.v
        a = torch.softmax(e if mask is None else e + mask, dim=-1)
        return e, a, (a[:, None] @ values)[:, 0]


class AdditiveAttention(nn.Module):
    """The alignment model with its matrices W (`query`) and U (`key`)."""

    def __init__(self, units: int, memory_width: int, width: int) -> None:
        super().__init__()
        self.query = Projections(units, [width], bias=False)
        self.key = Projections(memory_width, [width], bias=True)
        self.core = AdditiveScores(width)

    def read(self, memory: Tensor) -> Read:
        """Memory (B, S, M) -> U h_j (B, S, A), which does not change while the target is written, and the memory."""
        return self.key(memory), memory


class AttentivePooling(nn.Module):
    """One vector for a text, whose question is learned: e_j = v^T tanh(U h_j + b), a = softmax(e), sum_j a_j h_j.

    Yang et al. 2016, "Hierarchical Attention Networks for Document Classification", equations 5 to 7.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.key = Projections(width, [width], bias=True)
        self.v = nn.Parameter(torch.empty(width))
        nn.init.uniform_(self.v, -(width**-0.5), width**-0.5)
        self.scores, self.weights = Tap(), Tap()

    def forward(self, hidden: Tensor, lengths: Tensor) -> Tensor:
        """(B, T, D) with padding at the end -> (B, D)."""
        e = torch.tanh(self.key(hidden)) @ self.v  # (B, T)
        padding = torch.arange(hidden.size(1), device=hidden.device) >= lengths[:, None]
        a = self.weights(torch.softmax(self.scores(e.masked_fill(padding, -torch.inf)), dim=-1))
        return (a[:, None] @ hidden)[:, 0]  # (B, 1, T) @ (B, T, D)


class AttentiveGRU(WithTaps):
    """A gated unit (nn/recurrent.py) whose input is the last target token and what attention read for the last state:

    r, z = sigmoid(W y_{i-1} + C c_i + U s_{i-1} + b), and likewise for the candidate (appendix A.2.2).
    """

    def __init__(self, width: int, units: int, *, memory_width: int, alignment_width: int) -> None:
        super().__init__()
        self.cross_attention = AdditiveAttention(units, memory_width, alignment_width)
        self.context = Projections(memory_width, 3 * [units], bias=False)
        self.gru = GRU(width, units)

    def step(self, given: Tensor, state: Tensor, read: Read, mask: Tensor | None) -> tuple[Tensor, ...]:
        """The formula for one position: W y + b (B, 3H) and the last state (B, H) -> e, a, c, r, z, n, s."""
        attention = self.cross_attention
        e, a, c = attention.core(attention.query(state), read, mask)
        return e, a, c, *gated(given + self.context(c), self.gru.recurrent(state), state)

    def forward(self, y: Tensor, *, start: Tensor, read: Read, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """y (B, T, D) and the first state (B, H) -> states s (B, T, H) and what was read for them, c (B, T, M)."""
        run = self.plain if self.heard or torch.is_autocast_enabled(y.device.type) else self.fused
        return run(y, start, read, mask)

    def fused(self, y: Tensor, start: Tensor, read: Read, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        attention, gru = self.cross_attention, self.gru
        given = gru.input(y.transpose(0, 1))  # (T, B, 3H)
        matrices = (attention.query.weight, self.context.weight, gru.recurrent.weight, gru.recurrent.bias)
        states, contexts = attentive_states(given, start, *read, mask, attention.core.v, *matrices)
        return states.transpose(0, 1), contexts.transpose(0, 1)

    def plain(self, y: Tensor, start: Tensor, read: Read, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        core, gru, state, seen = self.cross_attention.core, self.gru, start, []
        given = gru.input(y)
        for i in range(y.size(1)):
            seen.append(self.step(given[:, i], state, read, mask))
            state = seen[-1][-1]
        e, a, c, *units = (torch.stack(value, dim=1) for value in zip(*seen, strict=True))
        core.scores(e[:, None])  # as one head: (B, 1, T, S)
        core.pattern(a[:, None])
        c = core.z(c[:, None])[:, 0]
        taps = (gru.reset_gate, gru.update_gate, gru.candidate, gru.hidden)
        return [tap(value) for tap, value in zip(taps, units, strict=True)][-1], c
