"""Scores of language models, from the losses of a validation: perplexity and bits per byte.

The losses are (N, 2): for each example, the summed loss in nats and the number of tokens. An example is a text, or a
tuple whose last element is the text that was predicted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassformer.evaluate.metric import Counts, Metric, Scale, as_counted, mean_of

LARGEST = 700.0  # nats: exp of more is infinite


def perplexity_of(summed: Counts) -> NDArray[np.float64]:
    """exp of the mean loss per token."""
    return np.exp(np.minimum(mean_of(summed), LARGEST))


def loss_and_bytes(losses: Sequence[Any], examples: Sequence[Any]) -> Counts:
    """(N, 3) Summed loss, tokens, and bytes of the text in UTF-8."""
    sizes = [len(text_of(example).encode("utf-8", "surrogatepass")) for example in examples]
    return np.column_stack([as_counted(losses, examples), np.array(sizes, dtype=np.float64)])


def text_of(example: Any) -> str:
    text: str = example if isinstance(example, str) else example[-1]
    return text


def bits_per_byte_of(summed: Counts) -> NDArray[np.float64]:
    """The summed loss in bits divided by the bytes of the text, so it does not depend on the tokenizer."""
    return summed[:, 0] / math.log(2) / np.maximum(summed[:, 2], 1)


_OPEN = Scale(high=None)
PERPLEXITY = Metric(
    "perplexity",
    "perplexity",
    perplexity_of,
    as_counted,
    higher_is_better=False,
    digits=2,
    from_losses=True,
    judges_one=True,
    scale=_OPEN,
)
BITS_PER_BYTE = Metric(
    "bits_per_byte",
    "bits per byte",
    bits_per_byte_of,
    loss_and_bytes,
    higher_is_better=False,
    digits=3,
    from_losses=True,
    judges_one=True,
    scale=_OPEN,
)
