"""Masked words: what fits the gaps of a text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from glassformer.errors import ModelError, SettingsError
from glassformer.tasks.guesses import Filled, Word

if TYPE_CHECKING:
    from glassformer.tasks.embedding import TextEncoder


def filled(encoder: TextEncoder, text: str, *, top: int) -> Filled:
    """The `top` most likely words for every gap, each found while the others are masked."""
    ids, gaps = with_gaps(encoder, text)
    with torch.inference_mode():
        hidden = encoder.model.hidden(encoder.batch([ids]))[0, gaps]  # (gaps, D)
        best = encoder.model.head(hidden).softmax(-1).topk(min(top, encoder.model.config.vocabulary))
    found = [
        tuple(Word(shown(encoder, i), value, i) for value, i in zip(row, numbers, strict=True))
        for row, numbers in zip(best.values.tolist(), best.indices.tolist(), strict=True)
    ]
    first = iter([words[0].text for words in found])
    return Filled(encoder.mask.sub(lambda _: next(first), text), tuple(found))


def with_gaps(encoder: TextEncoder, text: str) -> tuple[list[int], list[int]]:
    """The ids of a text with masks in it, framed, and the places of the masks."""
    check_words(encoder)
    parts, mask = encoder.mask.split(text), encoder.marks.mask
    if len(parts) < 2:
        raise SettingsError(f"Nothing is masked in {text!r}. Write {encoder.mask_text} for each missing word.")
    assert mask is not None
    encode = encoder.tokenizer.encode
    pieces = [encode(part.rstrip()) for part in parts[:-1]]  # a mask takes the space before it
    ids = [number for piece in pieces for number in (*piece, mask)] + encode(parts[-1])
    ids = encoder.frame.single(ids)
    return ids, [place for place, number in enumerate(ids) if number == mask]


def check_words(encoder: TextEncoder) -> None:
    """An error unless the model finds masked words."""
    if getattr(encoder.model.config, "head", None) not in ("words", "pretraining") or encoder.marks.mask is None:
        raise ModelError(
            "This model cannot fill in masked words: it has no head for words. Train one with `glassformer train "
            "--task fill`, which can start from this model (--from), or use one such as BertForMaskedLM."
        )


def shown(encoder: TextEncoder, number: int) -> str:
    return encoder.tokenizer.pieces_of([number])[0].removeprefix("▁")
