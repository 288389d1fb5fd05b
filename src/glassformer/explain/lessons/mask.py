"""Masks: minus infinity before the softmax becomes a weight of 0."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from glassformer.errors import SettingsError
from glassformer.explain.lessons.inputs import numbered, one_text, words_of
from glassformer.explain.lessons.lesson import Asked, Lab, Lesson, Section, Table, matrix, table
from glassformer.nn.attention import attend
from glassformer.nn.masks import additive, causal_mask, padding_mask, window_mask
from glassformer.nn.positions import sinusoidal

WORDS = ("we", "are", "good", "friends")
WIDTH = 16
SEED = 7
WINDOW = 2
MOST_IN_A_LAB, PADS = 10, 3  # words, and places that padding can have
MASKS = ("causal", "none", "window", "padding")
# The pattern of YOUR CAT IS A LOVELY CAT as it is often printed; its values are random.
CAT = ("YOUR", "CAT", "IS", "A", "LOVELY", "CAT")
CAT_PATTERN = (
    (0.268, 0.119, 0.134, 0.148, 0.179, 0.152),
    (0.124, 0.278, 0.201, 0.128, 0.154, 0.115),
    (0.147, 0.132, 0.262, 0.097, 0.218, 0.145),
    (0.210, 0.128, 0.206, 0.212, 0.119, 0.125),
    (0.146, 0.158, 0.152, 0.143, 0.227, 0.174),
    (0.195, 0.114, 0.203, 0.103, 0.157, 0.229),
)


def vectors(count: int = len(WORDS), *, seed: int = SEED, width: int = WIDTH) -> Tensor:
    """Random word vectors with positions, (T, D)."""
    generator = torch.Generator().manual_seed(seed)
    words = torch.randn(count, width, generator=generator, dtype=torch.float64)
    return words + sinusoidal(count, width)


def mask_named(name: str, count: int) -> Tensor:
    """M (T, T): 0 where a word may look, -inf where it may not."""
    double = torch.float64
    if name == "causal":
        return causal_mask(count, dtype=double)
    if name == "none":
        return torch.zeros(count, count, dtype=double)
    if name == "window":
        return causal_mask(count, dtype=double) + additive(window_mask(count, WINDOW), double)
    if name == "padding":  # the last quarter of the words, at least one, is padding
        real = torch.tensor([max(1, count - max(1, count // 4))])
        return additive(padding_mask(real, count), double)[0, 0].expand(count, count)
    raise SettingsError(f"--mask {name} is unknown. Masks: {', '.join(MASKS)}.")


def outputs(x: Tensor, mask: Tensor) -> Tensor:
    """Masked self-attention with Q = K = V = x."""
    return attend(x, x, x, mask=mask)[0]


def change_per_word(changed: int, x: Tensor | None = None, *, mask: str = "causal") -> tuple[Tensor, Tensor]:
    """How far each word's output moves (T,) when word `changed` becomes another one: with and without the mask."""
    before = vectors() if x is None else x
    after = before.clone()
    after[changed] = -after[changed]
    m, free = mask_named(mask, len(before)), mask_named("none", len(before))
    masked, unmasked = ((outputs(before, one) - outputs(after, one)).norm(dim=-1) for one in (m, free))
    return masked, unmasked


def renormalised(pattern: Tensor) -> Tensor:
    """A pattern after the causal mask: the future's weights removed, and each row divided by what is left.

    This is the same as -inf before the softmax, since softmax(s) restricted and divided is softmax(s + M).
    """
    past = pattern.tril()
    return past / past.sum(-1, keepdim=True)


def run(asked: Asked) -> list[Section]:
    words = words_of(one_text(asked.texts, "mask"))
    names = numbered(words)
    x = vectors(len(words), seed=asked.seed, width=asked.width)
    mask = mask_named(asked.mask, len(words))
    scores = x @ x.mT / asked.width**0.5
    return [
        *formula_sections(names, mask, scores),
        change_section(names, x, asked.mask),
        *([cat_section(), padding_section(words, asked)] if asked.mask == "causal" else []),
    ]


def formula_sections(names: Sequence[str], mask: Tensor, scores: Tensor) -> list[Section]:
    def square(key: str, values: Tensor) -> tuple[Table]:
        return (matrix(key, values, rows=names, columns=names, digits=2),)

    pattern = torch.softmax(scores + mask, -1)
    return [
        Section("The mask M", "0 where a word may look, −∞ where it may not.", square("mask", mask)),
        Section(
            "Scores Q Kᵀ / √d_k", "Before the mask every word has a score for every other.", square("scores", scores)
        ),
        Section("Scores + M", "Added before the softmax.", square("masked", scores + mask)),
        Section(
            "softmax(Q Kᵀ / √d_k + M)",
            "e^−∞ is 0: what is hidden gets no weight, and rows still sum to 1.",
            (matrix("pattern", pattern, rows=names, columns=names, sums=True),),
        ),
    ]


def change_section(names: Sequence[str], x: Tensor, mask: str) -> Section:
    masked, free = change_per_word(len(names) - 1, x, mask=mask)
    rows = list(zip(names, masked.tolist(), free.tolist(), strict=True))
    causal = (
        "With the causal mask the words before it keep their outputs exactly; this is why training can compute all "
        "positions in one pass."
    )
    return Section(
        "A future word changes nothing before it" if mask == "causal" else "What changes if the last word changes",
        f"The last word, “{names[-1]}”, is replaced by another vector. {causal if mask == 'causal' else ''}".strip(),
        (table("moved", ("how far its output moves", "masked", "unmasked"), rows),),
    )


def cat_section() -> Section:
    names = numbered(CAT)
    masked = renormalised(torch.tensor(CAT_PATTERN, dtype=torch.float64))
    return Section(
        "A 6 × 6 matrix, masked",
        "YOUR CAT IS A LOVELY CAT with weights that are often printed for it (they are random numbers). The future's "
        "weights are removed and each row is divided by the rest, which is what −∞ before the softmax does.",
        (matrix("cat", masked, rows=names, columns=names, sums=True),),
    )


def padding_section(words: Sequence[str], asked: Asked) -> Section:
    real = len(words)
    x = vectors(real + 2, seed=asked.seed, width=asked.width)
    mask = additive(padding_mask(torch.tensor([real]), len(x)), x.dtype)[0, 0]  # (1, K): the same for every query
    padded, pattern = attend(x, x, x, mask=mask)
    alone, _ = attend(x[:real], x[:real], x[:real])
    gap = (padded[:real] - alone).abs().max()
    columns = [*numbered(words), "<pad>", "<pad> 2"]
    return Section(
        "A padding mask",
        f"Shorter sentences in a batch are padded; the padding gets −∞ for every query. The outputs of the real words "
        f"are the same as without padding (largest difference {gap:.1e}).",
        (matrix("padded", pattern[:real], rows=numbered(words), columns=columns, sums=True),),
    )


def lab(asked: Asked) -> Lab:
    words = words_of(one_text(asked.texts, "mask"))[:MOST_IN_A_LAB]
    count = len(words)
    every = vectors(count + PADS, seed=asked.seed, width=asked.width)
    x, padding = vectors(count, seed=asked.seed, width=asked.width), every[count:]
    hidden = additive(padding_mask(torch.tensor([count]), count + PADS), x.dtype)[0, 0]
    padded = torch.cat([x, padding])
    right = {"scores": x @ x.mT / asked.width**0.5, "shares padding": attend(padded, padded, padded, mask=hidden)[1]}
    for name in ("causal", "none", "window"):
        right[f"shares {name}"] = attend(x, x, x, mask=mask_named(name, count))[1]
        right[f"moved {name}"] = change_per_word(count - 1, x, mask=name)[0]
    settings = {"words": list(words), "mask": asked.mask, "window": WINDOW}
    return Lab("mask", settings, {"vectors": x, "padding": padding}, right)


LESSON = Lesson(
    "mask",
    "Causal and padding masks",
    "Scores before and after −∞; the future changes nothing.",
    run,
    source="Vaswani et al. 2017, section 3.2.3",
    files=("nn/masks.py:causal_mask", "nn/masks.py:padding_mask", "nn/attention.py:attend"),
    takes={"texts": (" ".join(WORDS),), "mask": "causal", "width": WIDTH, "seed": SEED},
    examples=('"I ate an apple" --mask none', '"I ate an apple" --mask window'),
    lab=lab,
)
