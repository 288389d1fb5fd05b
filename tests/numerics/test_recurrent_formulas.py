"""Recurrent layers against torch.nn with the same weights, and against the papers' formulas, in float64."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from glassformer.nn.additive import AttentiveGRU
from glassformer.nn.recurrent import GRU, LSTM, BothWays
from glassformer.nn.taps import listen

pytestmark = pytest.mark.usefixtures("double")

B, T, S, D, H, M, A = 3, 5, 4, 7, 11, 6, 13
LENGTHS = torch.tensor([5, 2, 3])
REAL = torch.arange(T) < LENGTHS[:, None]


def filled(module: nn.Module) -> nn.Module:
    torch.manual_seed(1)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_(std=0.5)
    return module.eval()


def close(got: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(got, expected, rtol=0, atol=1e-10)


def of_torch(ours: LSTM | GRU) -> nn.RNNBase:
    theirs = (nn.LSTM if isinstance(ours, LSTM) else nn.GRU)(D, H, batch_first=True)
    recalled = ours.recurrent.bias
    with torch.no_grad():
        theirs.weight_ih_l0.copy_(ours.input.weight)
        theirs.weight_hh_l0.copy_(ours.recurrent.weight)
        theirs.bias_ih_l0.copy_(ours.input.bias)
        theirs.bias_hh_l0.copy_(torch.zeros_like(theirs.bias_hh_l0) if recalled is None else recalled)
    return theirs


@pytest.mark.parametrize("heard", [False, True])
def test_lstm_equals_torch(heard: bool) -> None:
    ours, x = filled(LSTM(D, H)), torch.randn(B, T, D)
    start = torch.randn(B, H), torch.randn(B, H)
    expected, (h, c) = of_torch(ours)(x, (start[0][None], start[1][None]))
    hidden, last = run(ours, x, heard, start=start)
    close(hidden, expected)
    close(last[0], h[0])
    close(last[1], c[0])


@pytest.mark.parametrize("heard", [False, True])
def test_gru_equals_torch(heard: bool) -> None:
    ours, x, start = filled(GRU(D, H)), torch.randn(B, T, D), torch.randn(B, H)
    expected, h = of_torch(ours)(x, start[None])
    hidden, last = run(ours, x, heard, start=start)
    close(hidden, expected)
    close(last, h[0])


def run(layer: LSTM | GRU, x: Tensor, heard: bool, **given: object) -> tuple:
    if not heard:
        return layer(x, **given)
    with listen(layer):
        return layer(x, **given)


def test_lstm_by_the_paper() -> None:
    layer, x = filled(LSTM(D, H)), torch.randn(1, T, D)
    w, u, b = layer.input.weight, layer.recurrent.weight, layer.input.bias
    h, c = torch.zeros(H), torch.zeros(H)
    for t in range(T):
        a = w @ x[0, t] + u @ h + b
        i, f, o = 1 / (1 + (-a[:H]).exp()), 1 / (1 + (-a[H : 2 * H]).exp()), 1 / (1 + (-a[3 * H :]).exp())
        c = f * c + i * a[2 * H : 3 * H].tanh()
        h = o * c.tanh()
    close(layer(x)[1][0][0], h)
    close(layer(x)[1][1][0], c)


@pytest.mark.parametrize("heard", [False, True])
@pytest.mark.parametrize("kind", [LSTM, GRU])
def test_padding_changes_nothing(kind: type, heard: bool) -> None:
    layer, x = filled(kind(D, H)), torch.randn(B, T, D)
    hidden, last = run(layer, x, heard, lengths=LENGTHS)
    for b, length in enumerate(LENGTHS.tolist()):
        alone, end = layer(x[b : b + 1, :length])
        close(hidden[b, :length], alone[0])
        for ours, theirs in zip(last if kind is LSTM else [last], end if kind is LSTM else [end], strict=True):
            close(ours[b], theirs[0])


def test_a_text_without_tokens_leaves_the_state() -> None:
    layer, x = filled(LSTM(D, H)), torch.randn(2, T, D)
    start = torch.randn(2, H), torch.randn(2, H)
    _, (h, c) = layer(x, start=start, lengths=torch.tensor([0, T]))
    close(h[0], start[0][0])
    close(c[0], start[1][0])


def test_both_ways_equals_torch() -> None:
    ahead, back = LSTM(D, H), LSTM(D, H)
    layer, x = filled(BothWays(ahead, back)), torch.randn(B, T, D)
    hidden = layer(x, lengths=LENGTHS)
    for b, length in enumerate(LENGTHS.tolist()):
        own = x[b : b + 1, :length]
        close(hidden[b, :length, :H], of_torch(ahead)(own)[0][0])
        close(hidden[b, :length, H:], of_torch(back)(own.flip(1))[0][0].flip(0))


def test_taps_give_gates_of_every_token() -> None:
    layer = filled(LSTM(D, H))
    with listen(layer) as heard:
        hidden, _ = layer(torch.randn(B, T, D))
    assert {name: tuple(values[0].shape) for name, values in heard.items()} == dict.fromkeys(
        ["input_gate", "forget_gate", "candidate", "output_gate", "cell", "hidden"], (B, T, H)
    )
    close(heard["hidden"][0], heard["output_gate"][0] * heard["cell"][0].tanh())
    close(hidden, heard["hidden"][0])


# Additive attention


def attentive() -> tuple[AttentiveGRU, list[Tensor], Tensor]:
    layer = filled(AttentiveGRU(D, H, memory_width=M, alignment_width=A))
    mask = torch.zeros(2, S)
    mask[1, 3] = float("-inf")
    return layer, [torch.randn(2, T, D), torch.randn(2, H), torch.randn(2, S, M)], mask


def states(layer: AttentiveGRU, given: list[Tensor], mask: Tensor | None) -> tuple[Tensor, Tensor]:
    y, start, memory = given
    return layer(y, start=start, read=layer.cross_attention.read(memory), mask=mask)


def test_additive_attention_by_the_paper() -> None:
    """e_ij = v^T tanh(W s_{i-1} + U h_j), for the first target token."""
    layer, given, mask = attentive()
    (_, s, h), attention = given, layer.cross_attention
    with listen(layer) as heard:
        states(layer, given, mask)
    for b in range(2):
        e = torch.stack(
            [
                attention.core.v
                @ (attention.query.weight @ s[b] + attention.key.weight @ h[b, j] + attention.key.bias).tanh()
                for j in range(S)
            ]
        )
        a = (e + mask[b]).exp() / (e + mask[b]).exp().sum()
        close(heard["cross_attention.core.scores"][0][b, 0, 0], e)
        close(heard["cross_attention.core.pattern"][0][b, 0, 0], a)
        close(heard["cross_attention.core.z"][0][b, 0, 0], sum(a[j] * h[b, j] for j in range(S)))


@pytest.mark.parametrize("masked", [False, True])
def test_the_fused_recurrence_equals_the_formula(masked: bool) -> None:
    layer, given, mask = attentive()
    mask = mask if masked else None
    given = [one.requires_grad_() for one in given]
    wanted = [*given, *layer.parameters()]
    found = []
    for run_ in (layer.fused, layer.plain):
        y, start, memory = given
        both = run_(y, start, layer.cross_attention.read(memory), mask)
        loss = both[0].sin().sum() + both[1].cos().sum()
        found.append([*both, *torch.autograd.grad(loss, wanted)])
    for ours, theirs in zip(*found, strict=True):
        close(ours, theirs)


def test_gradients_of_the_fused_recurrence() -> None:
    layer, given, mask = attentive()
    small = [one[:, :2].detach().requires_grad_() if i != 1 else one.requires_grad_() for i, one in enumerate(given)]
    assert torch.autograd.gradcheck(lambda *x: states(layer, list(x), mask[:, 2:]), small)


@pytest.mark.parametrize("kind", [LSTM, GRU])
def test_gradients_through_padding(kind: type) -> None:
    layer, x = filled(kind(3, 2)), torch.randn(2, 3, 3, requires_grad=True)
    lengths = torch.tensor([3, 1])
    end = (lambda y: layer(y, lengths=lengths)[1][1]) if kind is LSTM else (lambda y: layer(y, lengths=lengths)[1])
    assert torch.autograd.gradcheck(end, x)
