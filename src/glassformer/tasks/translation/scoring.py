"""How likely a translator finds translations that are given: every token in one pass, nothing is searched."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from glassformer.data.batches import Batch, EncodedPairs, Ragged
from glassformer.decode.protocol import Hypothesis, make_hypothesis
from glassformer.errors import DataError
from glassformer.nn.vocabulary_loss import tokens_at_a_time
from glassformer.tasks.translation.translator import Translator


def score(
    translator: Translator,
    sources: Sequence[str],
    translations: Sequence[str],
    *,
    progress: Callable[[int], None] | None = None,
) -> list[Hypothesis]:
    """Each translation as if it had been found: the log-probability of every token and of its end."""
    if len(sources) != len(translations):
        raise DataError(f"{len(sources):,} sources and {len(translations):,} translations: they must be as many.")
    rows = translator.source.encode_batch([text.strip() for text in sources])
    given = translator.target.encode_batch([text.strip() for text in translations])
    return score_ids(translator, rows, given, progress=progress)


@torch.inference_mode()
def score_ids(
    translator: Translator,
    sources: Sequence[Sequence[int]],
    targets: Sequence[Sequence[int]],
    *,
    finished: Sequence[bool] | None = None,
    progress: Callable[[int], None] | None = None,
) -> list[Hypothesis]:
    """The same for ids. The empty translation has the probability of its end alone.

    Those that are not `finished` were cut, and their end is not counted.
    """
    translator.model.eval()
    ranked = translator.recipe.decode.ranked
    pairs = EncodedPairs(Ragged.of(sources), Ragged.of(targets), translator.source_marks, translator.target_marks)
    found: dict[int, Hypothesis] = {}
    for index in batches_of(pairs, tokens=translator.recipe.decode.batch_tokens):
        batch = pairs.batch(index).to(translator.device)
        for at, chances in zip(index.tolist(), token_log_probs(translator, batch), strict=True):
            whole = finished is None or finished[at]
            found[at] = make_hypothesis(targets[at], chances if whole else chances[:-1], ranked=ranked, finished=whole)
        if progress is not None:
            progress(len(index))
    return [found[i] for i in range(len(pairs))]


def batches_of(pairs: EncodedPairs, *, tokens: int) -> Iterator[np.ndarray]:
    """Places of pairs alike in length together, by a budget of tokens of both sides."""
    lengths = pairs.lengths.sum(axis=1)
    order = np.argsort(-lengths, kind="stable")
    while len(order):
        size = max(1, tokens // int(lengths[order[0]]))
        yield order[:size]
        order = order[size:]


def token_log_probs(translator: Translator, batch: Batch) -> list[list[float]]:
    """Of each sentence, the log-probability of every target token, end mark included."""
    real = batch.target_mask  # (B, T)
    hidden, labels = translator.model.hidden(batch)[real], batch.target_out[real]  # (M, D), (M,)
    size = tokens_at_a_time(len(labels), len(translator.target))
    parts = [chances(translator, h, y) for h, y in zip(hidden.split(size), labels.split(size), strict=True)]
    flat = torch.cat(parts).tolist()
    ends = np.cumsum(batch.target_lengths.cpu().numpy())
    return [flat[end - length : end] for end, length in zip(ends, batch.target_lengths.tolist(), strict=True)]


def chances(translator: Translator, hidden: Tensor, labels: Tensor) -> Tensor:
    """(m,) the log-probability of each label."""
    return translator.model.head(hidden).log_softmax(dim=-1).gather(1, labels[:, None])[:, 0]
