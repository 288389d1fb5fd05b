"""The whole encoder-decoder against a second, plain writing of figure 1, made of nothing but products and sums."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pytest
import torch
from torch import Tensor, nn

from glassformer.models.transformer import Transformer, TransformerConfig

pytestmark = pytest.mark.usefixtures("double")


@dataclass
class Batch:
    source: Tensor
    source_lengths: Tensor
    target_in: Tensor


Weights = dict[str, Tensor]


def linear(x: Tensor, w: Weights, name: str) -> Tensor:
    return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]


def norm(x: Tensor, w: Weights, name: str) -> Tensor:
    mean = x.sum(-1, keepdim=True) / x.size(-1)
    variance = ((x - mean) ** 2).sum(-1, keepdim=True) / x.size(-1)
    return (x - mean) / (variance + 1e-5) ** 0.5 * w[f"{name}.gain"] + w[f"{name}.bias"]


def heads_of(q: Tensor, k: Tensor, v: Tensor, hidden: Tensor, heads: int) -> Tensor:
    """(T, D), (K, D), (K, D), hidden (T, K): one head after the other, then side by side."""
    width = q.size(1) // heads
    mixed = []
    for i in range(heads):
        part = slice(i * width, (i + 1) * width)
        scores = q[:, part] @ k[:, part].T / math.sqrt(width)
        scores[hidden] = -math.inf
        powers = torch.exp(scores - scores.max(-1, keepdim=True).values)
        mixed.append(powers / powers.sum(-1, keepdim=True) @ v[:, part])
    return torch.cat(mixed, dim=-1)


def self_attention(x: Tensor, w: Weights, name: str, hidden: Tensor, heads: int, turn) -> Tensor:
    q, k, v = linear(x, w, f"{name}.qkv").chunk(3, dim=-1)
    return linear(heads_of(turn(q), turn(k), v, hidden, heads), w, f"{name}.out.linear")


def cross_attention(x: Tensor, memory: Tensor, w: Weights, name: str, heads: int) -> Tensor:
    k, v = linear(memory, w, f"{name}.key_value").chunk(2, dim=-1)
    nothing = torch.zeros(len(x), len(memory), dtype=torch.bool)
    return linear(heads_of(linear(x, w, f"{name}.query"), k, v, nothing, heads), w, f"{name}.out.linear")


def feed_forward(x: Tensor, w: Weights, name: str) -> Tensor:
    return linear(linear(x, w, f"{name}.up").clamp(min=0), w, f"{name}.down")


def add_and_norm(x: Tensor, f, w: Weights, name: str, kind: str) -> Tensor:
    if kind == "post":
        return norm(x + f(x), w, f"{name}.norm")
    return x + f(norm(x, w, f"{name}.norm"))


def inputs(ids: Tensor, w: Weights, side: str, positions: str) -> Tensor:
    matrix = w[f"{side}.inputs.embedding.weight"]
    d = matrix.size(1)
    x = torch.stack([matrix[i] * math.sqrt(d) for i in ids.tolist()])
    if positions == "learned":
        return x + w[f"{side}.inputs.positions.weight"][: len(ids)]
    if positions == "rotary":
        return x
    place = [(c // 2, c % 2) for c in range(d)]
    if positions == "sinusoidal-halves":
        place = [(i, 0) for i in range((d + 1) // 2)] + [(i, 1) for i in range(d // 2)]
    for t in range(len(ids)):
        for column, (i, is_cosine) in enumerate(place):
            x[t, column] += (math.cos if is_cosine else math.sin)(t / 10000 ** (2 * i / d))
    return x


def turner(positions: str, heads: int):
    """Rotary positions as the 2x2 rotation of each pair in each head; the identity for the others."""

    def turn(x: Tensor) -> Tensor:
        width = x.size(1) // heads
        result = x.clone()
        for t in range(len(x)):
            for first in (h * width + 2 * i for h in range(heads) for i in range(width // 2)):
                angle = t / 10000 ** ((first % width) / width)
                a, b = x[t, first], x[t, first + 1]
                result[t, first] = a * math.cos(angle) - b * math.sin(angle)
                result[t, first + 1] = a * math.sin(angle) + b * math.cos(angle)
        return result

    return turn if positions == "rotary" else (lambda x: x)


def figure_1(source: Tensor, target: Tensor, w: Weights, config: TransformerConfig) -> Tensor:
    """One sentence without padding: source (S,), target (T,) -> logits (T, V)."""
    turn = turner(config.positions, config.h)
    x = inputs(source, w, "encoder", config.positions)
    nothing = torch.zeros(len(source), len(source), dtype=torch.bool)
    for n in range(config.N):
        at = f"encoder.blocks.{n}"
        f = lambda y: self_attention(y, w, f"{at}.self_attention", nothing, config.h, turn)  # noqa: B023, E731
        x = add_and_norm(x, f, w, f"{at}.self_attention_residual", config.norm)
        f = lambda y: feed_forward(y, w, f"{at}.feed_forward")  # noqa: B023, E731
        x = add_and_norm(x, f, w, f"{at}.feed_forward_residual", config.norm)
    memory = norm(x, w, "encoder.final_norm") if config.norm == "pre" else x
    y = inputs(target, w, "decoder", config.positions)
    future = torch.tensor([[s > t for s in range(len(target))] for t in range(len(target))])
    for n in range(config.N_decoder or config.N):
        at = f"decoder.blocks.{n}"
        f = lambda z: self_attention(z, w, f"{at}.self_attention", future, config.h, turn)  # noqa: B023, E731
        y = add_and_norm(y, f, w, f"{at}.self_attention_residual", config.norm)
        f = lambda z: cross_attention(z, memory, w, f"{at}.cross_attention", config.h)  # noqa: B023, E731
        y = add_and_norm(y, f, w, f"{at}.cross_attention_residual", config.norm)
        f = lambda z: feed_forward(z, w, f"{at}.feed_forward")  # noqa: B023, E731
        y = add_and_norm(y, f, w, f"{at}.feed_forward_residual", config.norm)
    y = norm(y, w, "decoder.final_norm") if config.norm == "pre" else y
    return y @ w["head.weight"].T + w.get("head.bias", torch.zeros(()))


def filled(model: nn.Module) -> nn.Module:
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.4)
    return model.eval()


@pytest.mark.parametrize("positions", ["sinusoidal", "sinusoidal-halves", "learned", "rotary"])
@pytest.mark.parametrize("norm_place", ["pre", "post"])
@pytest.mark.parametrize("tied", ["all", "output", "none"])
def test_the_transformer_is_figure_1(tied: str, norm_place: str, positions: str) -> None:
    config = TransformerConfig(
        N=2, N_decoder=3, d=15, h=3, d_ff=11, dropout=0.1, norm=norm_place, tied=tied, positions=positions,
        max_length=13, output_bias=tied == "none",
    )  # fmt: skip
    sizes = {"source_vocabulary": 17 if tied == "all" else 19, "target_vocabulary": 17}
    model = filled(Transformer(config, **sizes))
    batch = Batch(torch.randint(0, 17, (2, 7)), torch.tensor([7, 5]), torch.randint(0, 17, (2, 5)))
    logits = model(batch)
    weights = {name: value.detach() for name, value in model.state_dict().items()}
    for row, length in enumerate(batch.source_lengths.tolist()):
        expected = figure_1(batch.source[row, :length], batch.target_in[row], weights, config)
        torch.testing.assert_close(logits[row], expected, rtol=0, atol=1e-10)
