"""How far a gradient reaches: the norm of the gradient of an output with respect to each input, by their distance.

The output is the state from which the first target token is written; the inputs are the vectors of the source tokens.
In a recurrent model the gradient passes all tokens that are read in between, and each of them multiplies it. Distance 0
is the token that is read last: with a reversed source, the first of the sentence.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from glassformer.data.batches import EncodedPairs, Ragged
from glassformer.nn.taps import Tap, listen, listening

DIRECTIONS = 4  # random directions of the state whose gradients are averaged
SMALLEST = 1e-30


def random_pairs(translator: Any, *, texts: int, source: int, target: int, seed: int = 0) -> EncodedPairs:
    """Texts of random tokens with this many tokens on each side, end marks included."""
    random = np.random.default_rng(seed)
    sides = ((translator.source, source), (translator.target, target))
    rows = [random.integers(4, max(5, len(side)), (texts, size - 1)).tolist() for side, size in sides]
    return EncodedPairs(Ragged.of(rows[0]), Ragged.of(rows[1]), translator.source_marks, translator.target_marks)


@contextmanager
def inputs_kept(model: nn.Module) -> Iterator[list[Tensor]]:
    """While open, keeps the vectors of the source tokens (B, S, D) in the order in which they are read."""
    kept: list[Tensor] = []

    def keep(value: Tensor) -> Tensor:
        kept.append(value.detach().requires_grad_())
        return kept[-1]

    tap = cast(Tap, model.get_submodule("encoder.inputs.token"))
    with listening([(tap, keep)]):
        yield kept


def gradient_by_distance(translator: Any, *, tokens: int, texts: int = 16) -> NDArray[np.float64]:
    """(tokens,) the geometric mean over texts of the gradient's norm, at distances 0, 1, 2, ..."""
    model = translator.model.eval()
    batch = random_pairs(translator, texts=texts, source=tokens, target=2).batch(np.arange(texts)).to(translator.device)
    random = torch.Generator().manual_seed(0)
    norms = []
    for _ in range(DIRECTIONS):
        with inputs_kept(model) as inputs:
            state = model.hidden(batch)[:, 0]  # (B, D)
        direction = torch.randn(state.shape, generator=random).to(state)
        (gradient,) = torch.autograd.grad((state * direction).sum(), inputs[:1])
        norms.append(gradient.norm(dim=-1))  # (B, S)
    mean = torch.stack(norms).clamp_min(SMALLEST).log().mean(dim=(0, 1))
    return cast(NDArray[np.float64], mean.exp().flip(0).double().cpu().numpy())


def factor_per_token(norms: NDArray[np.float64]) -> float:
    """By what a gradient is multiplied for each further token, on average: the slope of a line through the logs."""
    return float(np.exp(np.polyfit(np.arange(len(norms)), np.log(norms), 1)[0]))


# What cannot be computed at the same time


def longest_chain(translator: Any, *, tokens: int) -> int:
    """How many operations must follow one another in a training pass over sentences of this many tokens.

    Computed from the graph of the plain formulas: with the taps heard, no fused kernel hides its steps.
    """
    model = translator.model.eval()
    batch = random_pairs(translator, texts=2, source=tokens, target=tokens).batch(np.arange(2)).to(translator.device)
    with listen(model):
        return depth_of(model.hidden(batch).sum())


def depth_of(value: Tensor) -> int:
    """The longest path through the graph that computed a value."""
    depth: dict[Any, int] = {}
    waiting: list[tuple[Any, bool]] = [(value.grad_fn, False)]
    while waiting:
        node, is_ready = waiting.pop()
        if node is None or node in depth:
            continue
        below = [one for one, _ in node.next_functions if one is not None]
        if is_ready:
            depth[node] = 1 + max((depth[one] for one in below), default=0)
        else:
            waiting.append((node, True))
            waiting.extend((one, False) for one in below if one not in depth)
    return depth.get(value.grad_fn, 0)
