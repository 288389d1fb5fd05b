"""Initial token vectors from the labels, so that a classifier of texts starts as naive Bayes.

How much more often a token occurs in the texts of a class than in others is a good first guess of what it says about
that class. One number of each token vector per class holds it, the class head reads these numbers, and the mean over
the tokens adds them up. Blocks with small random weights change little of it, so the model starts near naive Bayes
(McCallum and Nigam 1998) and learns what the order of the words adds. A Transformer that starts at random needs far
more texts to come that far.
Shapes: V tokens, K classes, D width.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from glassformer.data.columns import Pools

MOST_TEXTS = 500_000  # more do not change the result
SMOOTHING = 1.0  # added to every count
NOISE = 0.05  # standard deviation of the other numbers of a vector
LOUD = 3.0  # how much larger than these a log ratio of 1 is
HEAD = 2.0  # the weight with which the head reads the number of its class
QUIET = 0.1  # factor of the matrices with which blocks add to the vectors
FEWEST_OTHERS = 4  # the width must be at least this many times the number of classes


def fits(width: int, classes: int) -> bool:
    """Whether enough of a vector is left for what has to be learned."""
    return classes * FEWEST_OTHERS <= width


def label_ratios(examples: Pools, *, vocabulary: int, classes: int, seed: int) -> Tensor:
    """(V, K): the log of how often a token occurs in the texts of each class, less the mean over the classes."""
    counts = np.full((vocabulary, classes), SMOOTHING)
    seen = 0
    for pool in examples.pools(seed=seed, epoch=0):
        texts, labels = pool.columns["text"], pool.columns["label"].flat.astype(np.int64)
        text = np.repeat(np.arange(len(texts)), texts.lengths)
        once = np.unique(texts.flat.astype(np.int64) * len(texts) + text)  # each token counts once per text
        token, place = np.divmod(once, max(1, len(texts)))
        np.add.at(counts, (token, labels[place]), 1.0)
        seen += len(texts)
        if seen >= MOST_TEXTS:
            break
    return torch.from_numpy(centred(counts)).float()


def centred(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    logs = np.log(counts / counts.sum(axis=0, keepdims=True))
    found: NDArray[np.float64] = logs - logs.mean(axis=1, keepdims=True)
    return found


@torch.no_grad()
def start_as_naive_bayes(model: Any, ratios: Tensor, *, seed: int) -> None:
    """Sets the token vectors (V, D) and the class head (K, D): the first K numbers of a vector are for the classes."""
    classes, embedding, head = ratios.size(1), model.inputs.embedding.weight, model.head.linear.weight
    noise = torch.randn(embedding.shape, generator=torch.Generator().manual_seed(seed)) * NOISE
    embedding.copy_(noise)
    embedding[: len(ratios), :classes] = (LOUD * NOISE * ratios).to(embedding)
    head.zero_()
    head[:, :classes] = (HEAD * torch.eye(classes)).to(head)
    for block in model.blocks:  # what they add at first
        block.self_attention.out.linear.weight.mul_(QUIET)
        block.feed_forward.down.weight.mul_(QUIET)
