"""Classifies texts, or pairs of texts, with a model's class head. Shapes: B texts, T tokens, K classes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from glassformer.errors import DataError
from glassformer.tasks.guesses import Guess, likeliest
from glassformer.tasks.model import described
from glassformer.text.framing import framed

if TYPE_CHECKING:
    from glassformer.tasks.embedding import TextBatch, TextEncoder

BATCH_TOKENS = 512
Text = str | tuple[str, ...] | list[str]  # a text, or two that are read together


def classes_of(
    encoder: TextEncoder,
    texts: Sequence[Text],
    to_probabilities: Callable[[Tensor], Tensor],
    *,
    top: int,
    progress: Callable[[int], None] | None = None,
    cut: list[int] | None = None,
) -> list[list[Guess]]:
    """The most likely classes of each text, most likely first. The numbers of shortened texts are added to `cut`."""
    from glassformer.tasks.embedding import by_length

    rows, results = framed_texts(encoder, texts, cut), [list[Guess]() for _ in texts]
    for part in by_length([ids for ids, _ in rows], BATCH_TOKENS):
        with torch.inference_mode():
            batch = with_segments(encoder.batch([rows[i][0] for i in part]), [rows[i][1] for i in part])
            found = to_probabilities(encoder.model(batch).float())  # (B, K)
        for i, guesses in zip(part, likeliest(found, encoder.extras.get("labels", []), top=top), strict=True):
            results[i] = guesses
        if progress is not None:
            progress(len(part))
    return results


def framed_texts(encoder: TextEncoder, texts: Sequence[Text], cut: list[int] | None) -> list[tuple[list[int], int]]:
    """The ids of each text with its special tokens, and how many of them belong to the first of two texts."""
    found = []
    for number, text in enumerate(texts):
        parts = [encoder.prepared(one) for one in parts_of(text)]
        ids, first, was_cut = framed(encoder.frame, encoder.tokenizer.encode_batch(parts), most=encoder.max_length)
        if was_cut and cut is not None:
            cut.append(number)
        found.append((ids or [encoder.something], first))
    return found


def parts_of(text: Text) -> list[str]:
    parts = [text] if isinstance(text, str) else list(text)
    if not 1 <= len(parts) <= 2 or not all(isinstance(part, str) for part in parts):
        raise DataError(f"Got {described(text)}; expected a text (str) or two texts, as (first, second).")
    return parts


def with_segments(batch: TextBatch, firsts: Sequence[int]) -> TextBatch:
    """The batch with segment 1 for second texts, if there is any."""
    from glassformer.tasks.embedding import TextBatch

    places = torch.arange(batch.ids.size(1), device=batch.ids.device)
    first = torch.tensor(list(firsts), device=batch.ids.device)
    second = (places >= first[:, None]) & (places < batch.lengths[:, None])
    return TextBatch(batch.ids, batch.lengths, second.long()) if bool(second.any()) else batch
