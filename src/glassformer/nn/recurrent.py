"""Recurrent layers: each token changes a state, which the next token continues.

Both layers compute all positions of a text by torch's fused kernels. While something listens at their taps, the plain
formulas run, position by position; the taps then get the values of all positions together, after the last one.
Shapes: B texts, T tokens, D width of the input, H units.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from glassformer.nn.attention import Projections
from glassformer.nn.dropout import Dropout
from glassformer.nn.embedding import Embedding
from glassformer.nn.taps import Tap, WithTaps

CLOSED = 50.0  # added before a sigmoid, it makes a gate 0 or 1 up to 1e-20

Cell = tuple[Tensor, Tensor]  # hidden state and cell, both (B, H)


def orthogonal_each(linear: Projections) -> None:
    """The usual first weights of recurrent matrices: each keeps the length of the state (Saxe et al. 2014)."""
    for part in linear.weight.split(linear.rows):
        nn.init.orthogonal_(part)


class TokenInputs(nn.Module):
    """Token vectors, then dropout. There are no positions: the order is the order of reading."""

    def __init__(self, embedding: Embedding, *, dropout: float) -> None:
        super().__init__()
        self.embedding = embedding
        self.dropout = Dropout(dropout)
        self.token = Tap()

    def forward(self, ids: Tensor) -> Tensor:
        """ids (B, T) -> (B, T, D); in memory a position's vectors lie together, as the layers read them."""
        return self.dropout(self.token(self.embedding(ids.t()).transpose(0, 1)))


class LSTM(WithTaps):
    """One layer of long short-term memory (Hochreiter and Schmidhuber 1997; with the forget gate of Gers et al. 2000):

    i, f, o = sigmoid(W x_t + U h_{t-1} + b), g = tanh(W_g x_t + U_g h_{t-1} + b_g),
    c_t = f * c_{t-1} + i * g, h_t = o * tanh(c_t).
    """

    def __init__(self, width: int, units: int) -> None:
        super().__init__()
        rows = 4 * [units]  # input gate, forget gate, candidate, output gate, as torch orders them
        self.units = units
        self.input = Projections(width, rows, bias=True)
        self.recurrent = Projections(units, rows, bias=False)
        orthogonal_each(self.recurrent)
        nn.init.ones_(self.input.bias.data[units : 2 * units])  # remember at first (Jozefowicz et al. 2015)
        self.input_gate, self.forget_gate, self.output_gate = Tap(), Tap(), Tap()
        self.candidate, self.cell, self.hidden = Tap(), Tap(), Tap()

    def step(self, given: Tensor, before: Cell) -> tuple[Tensor, ...]:
        """The formula for one position: W x + b (B, 4H) and the last state -> i, f, g, o, c, h, each (B, H)."""
        h, c = before
        i, f, g, o = (given + self.recurrent(h)).chunk(4, dim=-1)
        i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
        c = f * c + i * g
        return i, f, g, o, c, o * c.tanh()

    def forward(self, x: Tensor, *, start: Cell | None = None, lengths: Tensor | None = None) -> tuple[Tensor, Cell]:
        """x (B, T, D) -> hidden states (B, T, H) and the state after the last token.

        With `lengths` (B,), padding at the end does not change the state; the hidden states there mean nothing.
        """
        start = nothing_before(x, self.units) if start is None else start
        run = self.plain if self.heard else self.fused
        hidden, (last, cell) = run(x, start, lengths)
        return hidden, (last if lengths is None else at_end(hidden, lengths, start[0]), cell)

    def fused(self, x: Tensor, start: Cell, lengths: Tensor | None) -> tuple[Tensor, Cell]:
        w, bias = self.input.weight, self.input.bias
        if lengths is not None:
            x, w = with_closed_gates(x, w, lengths)
        weights = [w, self.recurrent.weight, bias, torch.zeros_like(bias)]
        before = [one[None].contiguous() for one in start]
        trained = torch.is_grad_enabled()
        hidden, h, c = torch._VF.lstm(x.transpose(0, 1), before, weights, True, 1, 0.0, trained, False, False)
        return hidden.transpose(0, 1), (h[0], c[0])

    def plain(self, x: Tensor, start: Cell, lengths: Tensor | None) -> tuple[Tensor, Cell]:
        given, (h, c), seen = self.input(x), start, []
        for t in range(x.size(1)):
            *gates, cell, hidden = self.step(given[:, t], (h, c))
            if lengths is not None:
                cell = torch.where((t < lengths)[:, None], cell, c)
            h, c = hidden, cell
            seen.append((*gates, c, h))
        taps = (self.input_gate, self.forget_gate, self.candidate, self.output_gate, self.cell, self.hidden)
        values = [tap(torch.stack(value, dim=1)) for tap, value in zip(taps, zip(*seen, strict=True), strict=True)]
        return values[-1], (h, c)


class GRU(WithTaps):
    """One layer of gated units (Cho et al. 2014, arXiv 1406.1078v1):

    r, z = sigmoid(W x_t + U h_{t-1} + b), n = tanh(W_n x_t + b_n + r * (U_n h_{t-1} + b'_n)),
    h_t = (1 - z) * n + z * h_{t-1}.

    The reset gate acts after the product with U_n, as in cuDNN and torch; later versions of the paper have it before.
    """

    def __init__(self, width: int, units: int) -> None:
        super().__init__()
        rows = 3 * [units]  # reset gate, update gate, candidate, as torch orders them
        self.units = units
        self.input = Projections(width, rows, bias=True)
        self.recurrent = Projections(units, rows, bias=True)
        orthogonal_each(self.recurrent)
        self.reset_gate, self.update_gate, self.candidate, self.hidden = Tap(), Tap(), Tap(), Tap()

    def step(self, given: Tensor, before: Tensor) -> tuple[Tensor, ...]:
        """The formula for one position: W x + b (B, 3H) and the last state (B, H) -> r, z, n, h, each (B, H)."""
        return gated(given, self.recurrent(before), before)

    def forward(
        self, x: Tensor, *, start: Tensor | None = None, lengths: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """x (B, T, D) -> hidden states (B, T, H) and the last one of each text (B, H)."""
        start = nothing_before(x, self.units)[0] if start is None else start
        hidden = self.plain(x, start) if self.heard else self.fused(x, start)
        return hidden, hidden[:, -1] if lengths is None else at_end(hidden, lengths, start)

    def fused(self, x: Tensor, start: Tensor) -> Tensor:
        weights = [self.input.weight, self.recurrent.weight, self.input.bias, self.recurrent.bias]
        trained = torch.is_grad_enabled()
        before = start[None].contiguous()
        hidden: Tensor = torch._VF.gru(x.transpose(0, 1), before, weights, True, 1, 0.0, trained, False, False)[0]
        return hidden.transpose(0, 1)

    def plain(self, x: Tensor, start: Tensor) -> Tensor:
        given, h, seen = self.input(x), start, []
        for t in range(x.size(1)):
            seen.append(self.step(given[:, t], h))
            h = seen[-1][-1]
        taps = (self.reset_gate, self.update_gate, self.candidate, self.hidden)
        return [tap(torch.stack(value, dim=1)) for tap, value in zip(taps, zip(*seen, strict=True), strict=True)][-1]


def gated(given: Tensor, recalled: Tensor, before: Tensor) -> tuple[Tensor, ...]:
    """A gated unit from W x + b and U h + b', both (B, 3H), and h (B, H)."""
    r, z, n = given.chunk(3, dim=-1)
    r_h, z_h, n_h = recalled.chunk(3, dim=-1)
    r, z = (r + r_h).sigmoid(), (z + z_h).sigmoid()
    n = (n + r * n_h).tanh()
    return r, z, n, n + z * (before - n)


class BothWays(nn.Module):
    """Two layers, one of which reads each text from its end to its beginning (Schuster and Paliwal 1997)."""

    def __init__(self, forward: LSTM | GRU, backward: LSTM | GRU) -> None:
        super().__init__()
        self.forwards, self.backwards = forward, backward

    def forward(self, x: Tensor, *, lengths: Tensor | None) -> Tensor:
        """x (B, T, D) -> (B, T, 2H): both hidden states of each token side by side. Padding changes nothing."""
        ahead, _ = self.forwards(x)
        back, _ = self.backwards(reversed_texts(x, lengths))
        return torch.cat([ahead, reversed_texts(back, lengths)], dim=-1)


# Texts of different lengths


def nothing_before(x: Tensor, units: int) -> Cell:
    zeros = x.new_zeros(x.size(0), units)
    return zeros, zeros


def padded_lengths(lengths: Tensor, size: int) -> Tensor | None:
    """The lengths (B,), or None if nothing is padded: then everything is simpler."""
    return None if bool((lengths == size).all()) else lengths


def reversed_texts(x: Tensor, lengths: Tensor | None) -> Tensor:
    """x (B, T, ...) with the tokens of each text in reverse; padding stays at the end."""
    if lengths is None:
        return x.flip(1)
    places = torch.arange(x.size(1), device=x.device)
    mirrored = lengths[:, None] - 1 - places  # (B, T)
    index = torch.where(mirrored < 0, places, mirrored)
    return x[torch.arange(x.size(0), device=x.device)[:, None], index]


def at_end(hidden: Tensor, lengths: Tensor, start: Tensor) -> Tensor:
    """(B, T, H) -> (B, H) of the last token of each text; of an empty one, the state before it."""
    last = hidden[torch.arange(hidden.size(0), device=hidden.device), (lengths - 1).clamp(min=0)]
    return torch.where((lengths > 0)[:, None], last, start)


def with_closed_gates(x: Tensor, weight: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """x with a column that is 1 at padding, and a weight whose column closes the input gate there and opens the forget
    gate: the cell stays as it is, inside the fused kernel too."""
    padding = (torch.arange(x.size(1), device=x.device) >= lengths[:, None])[:, :, None]  # (B, T, 1)
    units = weight.size(0) // 4
    column = weight.new_zeros(weight.size(0), 1)
    column[:units], column[units : 2 * units] = -CLOSED, CLOSED
    marked = torch.cat([x.masked_fill(padding, 0.0), padding.to(x.dtype)], dim=-1)
    return marked, torch.cat([weight, column], dim=-1)
