"""The log-probabilities of given translations: every token in one pass, without a search."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from glassformer.data.batches import Batch, EncodedPairs, Ragged
from glassformer.decode.protocol import Hypothesis, make_hypothesis
from glassformer.errors import DataError
from glassformer.nn.vocabulary_loss import tokens_at_a_time
from glassformer.tasks.text_generator import batches_by_length
from glassformer.tasks.translation.translator import Translator


def score(
    translator: Translator,
    sources: Sequence[str],
    translations: Sequence[str],
    *,
    progress: Callable[[int], None] | None = None,
) -> list[Hypothesis]:
    """The given translations as search results: with the log-probability of every token and of the end mark."""
    if len(sources) != len(translations):
        raise DataError(
            f"Got {len(sources):,} sources and {len(translations):,} translations; give the same number of each."
        )
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
    """The same for ids. The empty translation has only the log-probability of the end mark.

    Translations that are not `finished` were cut: their end mark does not count.
    """
    translator.model.eval()
    ranked = translator.recipe.decode.ranked
    pairs = EncodedPairs(Ragged.of(sources), Ragged.of(targets), translator.source_marks, translator.target_marks)
    found: dict[int, Hypothesis] = {}
    lengths = pairs.lengths.sum(axis=1).tolist()  # of both sides
    for index in batches_by_length(lengths, tokens=translator.recipe.decode.batch_tokens):
        batch = pairs.batch(np.array(index)).to(translator.device)
        for at, values in zip(index, token_log_probs(translator, batch), strict=True):
            whole = finished is None or finished[at]
            found[at] = make_hypothesis(targets[at], values if whole else values[:-1], ranked=ranked, finished=whole)
        if progress is not None:
            progress(len(index))
    return [found[i] for i in range(len(pairs))]


def token_log_probs(translator: Translator, batch: Batch) -> list[list[float]]:
    """The log-probability of every target token of each sentence, including the end mark."""
    real = batch.target_mask  # (B, T)
    hidden, labels = translator.model.hidden(batch)[real], batch.target_out[real]  # (M, D), (M,)
    size = tokens_at_a_time(len(labels), len(translator.target))
    parts = [label_log_probs(translator, h, y) for h, y in zip(hidden.split(size), labels.split(size), strict=True)]
    flat = torch.cat(parts).tolist()
    ends = np.cumsum(batch.target_lengths.cpu().numpy())
    return [flat[end - length : end] for end, length in zip(ends, batch.target_lengths.tolist(), strict=True)]


def label_log_probs(translator: Translator, hidden: Tensor, labels: Tensor) -> Tensor:
    """(m,) the log-probability of each label."""
    return translator.model.head(hidden).log_softmax(dim=-1).gather(1, labels[:, None])[:, 0]
