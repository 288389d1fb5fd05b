"""Scores of models that predict masked words, from the losses of a validation.

The losses are (N, 3): for each example, the summed loss in nats, the number of masked tokens, and how many of them
were predicted right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from glassformer.evaluate.metric import Counts, Metric, as_counted, percent_of
from glassformer.evaluate.perplexity import PERPLEXITY


def right_and_all(losses: Sequence[Any], examples: Sequence[Any]) -> Counts:
    """(N, 2) How many masked tokens were predicted right, and how many there were."""
    return as_counted(losses, examples)[:, [2, 1]]


MASKED_ACCURACY = Metric(
    "masked_accuracy", "masked accuracy", percent_of, right_and_all, unit="%", from_losses=True, judges_one=True
)
# exp of the mean loss of a masked token. Also called pseudo-perplexity: the other tokens of the text are seen.
MASKED_PERPLEXITY = replace(PERPLEXITY, key="masked_perplexity", label="masked perplexity")
