"""Classifies texts, or pairs of texts, with a model's class head. Shapes: B texts, T tokens, K classes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from glassformer.errors import DataError
from glassformer.tasks.guesses import Guess, likeliest
from glassformer.tasks.model import described, texts_of
from glassformer.text.framing import framed

if TYPE_CHECKING:
    from glassformer.tasks.embedding import TextBatch, TextEncoder

BATCH_TOKENS = 512
Text = str | tuple[str, ...] | list[str]  # a text, or two texts that are read together


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
    parts = [text] if isinstance(text, str) else list(text) if isinstance(text, tuple | list) else []
    if not 1 <= len(parts) <= 2 or not all(isinstance(part, str) for part in parts):
        raise DataError(f"Got {described(text)}; expected a text (str) or two texts, as (first, second).")
    return parts


def is_pair(texts: object, each: int | None) -> bool:
    """Whether this is one pair for a model of pairs, not a list of texts."""
    return each == 2 and isinstance(texts, tuple) and len(texts) == 2 and all(isinstance(one, str) for one in texts)


def inputs_of(texts: object, each: int | None) -> list[Text]:
    """The given texts or pairs as a list. `each`: how many texts belong together; None: one or two."""
    if is_pair(texts, each):
        return [texts]  # type: ignore[list-item]
    pairs = isinstance(texts, Sequence) and any(isinstance(one, tuple | list) for one in texts)
    given: list[Text] = list(texts) if pairs else [*texts_of(texts)]  # type: ignore[call-overload]
    for one in given:
        if each is not None and len(parts_of(one)) != each:
            raise DataError(
                f"Got {described(one)}, but this model was trained on pairs of texts: give (first, second), or a list "
                "of such pairs."
                if each == 2
                else f"Got {described(one)}, but this model was trained on single texts: give a text (str), or a list "
                "of texts."
            )
    return given


def with_segments(batch: TextBatch, firsts: Sequence[int]) -> TextBatch:
    """The batch with segment 1 for second texts, if there is any."""
    from glassformer.tasks.embedding import TextBatch

    places = torch.arange(batch.ids.size(1), device=batch.ids.device)
    first = torch.tensor(list(firsts), device=batch.ids.device)
    second = (places >= first[:, None]) & (places < batch.lengths[:, None])
    return TextBatch(batch.ids, batch.lengths, second.long()) if bool(second.any()) else batch
