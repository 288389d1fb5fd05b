"""Masked words: what fits the gaps of a text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch

from glassformer.errors import ModelError, SettingsError
from glassformer.tasks.guesses import Filled, Word

if TYPE_CHECKING:
    from glassformer.tasks.embedding import TextEncoder


def filled(encoder: TextEncoder, texts: Sequence[str], *, top: int) -> list[Filled]:
    """The `top` most likely words for every gap of each text, each found while the other gaps are masked."""
    from glassformer.tasks.embedding import BATCH_TOKENS, by_length  # it imports this file

    each = [with_gaps(encoder, text) for text in texts]
    words: dict[int, list[tuple[Word, ...]]] = {}
    for part in by_length([ids for ids, _ in each], BATCH_TOKENS):
        found = iter(words_at(encoder, [each[i] for i in part], top=top))
        words |= {i: [next(found) for _ in each[i][1]] for i in part}
    return [with_best(encoder, text, words[i]) for i, text in enumerate(texts)]


@torch.inference_mode()
def words_at(encoder: TextEncoder, each: Sequence[tuple[list[int], list[int]]], *, top: int) -> list[tuple[Word, ...]]:
    """The most likely words at the gaps of some rows, one after another."""
    batch = encoder.batch([ids for ids, _ in each])
    size = batch.ids.size(1)
    places = torch.tensor([i * size + place for i, (_, gaps) in enumerate(each) for place in gaps])
    hidden = encoder.model.hidden_at(batch, places.to(encoder.device))  # (gaps, D)
    best = encoder.model.head(hidden).softmax(-1).topk(min(top, encoder.model.config.vocabulary))
    return [
        tuple(Word(shown(encoder, i), value, i) for value, i in zip(row, numbers, strict=True))
        for row, numbers in zip(best.values.tolist(), best.indices.tolist(), strict=True)
    ]


def with_best(encoder: TextEncoder, text: str, found: Sequence[tuple[Word, ...]]) -> Filled:
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
