"""Masks: minus infinity before the softmax becomes a weight of 0."""

from __future__ import annotations

import torch
from torch import Tensor

from glassformer.explain.lessons.lesson import Lesson, Section, number_table, text_table
from glassformer.nn.attention import attend
from glassformer.nn.masks import additive, causal_mask, padding_mask
from glassformer.nn.positions import sinusoidal

WORDS = ("we", "are", "good", "friends")
PADDED = (*WORDS, "<pad>", "<pad>")
WIDTH = 16
SEED = 7


def vectors(count: int = len(WORDS)) -> Tensor:
    """Random word vectors with positions, (count, 16)."""
    generator = torch.Generator().manual_seed(SEED)
    words = torch.randn(count, WIDTH, generator=generator, dtype=torch.float64)
    return words + sinusoidal(count, WIDTH)


def causal_outputs(x: Tensor) -> Tensor:
    """Masked self-attention with Q = K = V = x."""
    return attend(x, x, x, mask=causal_mask(len(x), dtype=x.dtype))[0]


def change_per_word(changed: int) -> tuple[Tensor, Tensor]:
    """How far each word's output moves (T,) when word `changed` becomes another one: with and without the mask."""
    before, after = vectors(), vectors()
    after[changed] = -after[changed]
    masked = (causal_outputs(before) - causal_outputs(after)).norm(dim=-1)
    free = (attend(before, before, before)[0] - attend(after, after, after)[0]).norm(dim=-1)
    return masked, free


def run() -> list[Section]:
    x = vectors()
    mask = causal_mask(len(x), dtype=x.dtype)
    scores = x @ x.mT / WIDTH**0.5
    tables = [number_table(t, rows=WORDS, columns=WORDS, digits=2) for t in (mask, scores, scores + mask)]
    pattern = number_table(attend(x, x, x, mask=mask)[1], rows=WORDS, columns=WORDS, sums=True)
    return [
        Section(
            "The mask M",
            "0 where a word may look, −∞ where it may not: the future is above the diagonal.",
            (tables[0],),
        ),
        Section("Scores Q Kᵀ / √d_k", "Before the mask every word has a score for every other.", (tables[1],)),
        Section("Scores + M", "Added before the softmax.", (tables[2],)),
        Section(
            "softmax(Q Kᵀ / √d_k + M)", "e^−∞ is 0: the future gets no weight, and rows still sum to 1.", (pattern,)
        ),
        future_section(),
        padding_section(),
    ]


def future_section() -> Section:
    masked, free = change_per_word(len(WORDS) - 1)
    rows = [(word, f"{m:.3f}", f"{f:.3f}") for word, m, f in zip(WORDS, masked, free, strict=True)]
    return Section(
        "A future word changes nothing before it",
        f"The last word, “{WORDS[-1]}”, is replaced by another vector. With the mask the words before it keep their "
        "outputs exactly; this is why training can compute all positions in one pass.",
        (text_table(("how far its output moves", "masked", "unmasked"), rows),),
    )


def padding_section() -> Section:
    x = vectors(len(PADDED))
    lengths = torch.tensor([len(WORDS)])
    mask = additive(padding_mask(lengths, len(PADDED)), x.dtype)[0, 0]  # (1, K): the same for every query
    padded, pattern = attend(x, x, x, mask=mask)
    alone, _ = attend(x[: len(WORDS)], x[: len(WORDS)], x[: len(WORDS)])
    gap = (padded[: len(WORDS)] - alone).abs().max()
    return Section(
        "A padding mask",
        f"Shorter sentences in a batch are padded; the padding gets −∞ for every query. The outputs of the real words "
        f"are the same as without padding (largest difference {gap:.1e}).",
        (number_table(pattern[: len(WORDS)], rows=WORDS, columns=PADDED, sums=True),),
    )


LESSON = Lesson("mask", "Causal and padding masks", "Scores before and after −∞; a future word changes nothing.", run)
