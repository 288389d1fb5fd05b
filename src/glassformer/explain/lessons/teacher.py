"""Teacher forcing: the decoder reads the right words, shifted by one, and all positions are learned in one pass."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from glassformer.explain.lessons.inputs import numbered, two_texts, words_of
from glassformer.explain.lessons.lesson import Asked, Cell, Correction, Lesson, Section, matrix, table
from glassformer.explain.lessons.tiny import EOS, SOS, Pair, Tiny, tiny_model
from glassformer.nn.masks import causal_mask

TEXTS = ("I ate an apple", "Ich habe einen Apfel gegessen")
SEED = 1


def step_by_step(tiny: Tiny, pair: Pair) -> Tensor:
    """The logits (T, V) as in writing: one token after the other, by the decoding protocol."""
    found = []
    with torch.inference_mode():
        state = tiny.model.start(pair)
        for token in pair.target_in[0]:
            logits, state, _ = tiny.model.step(token[None], state)
            found.append(logits[0])
    return torch.stack(found)


def run(asked: Asked) -> list[Section]:
    source, target = (words_of(text) for text in two_texts(asked.texts, "teacher"))
    tiny = tiny_model(source, target, seed=asked.seed)
    pair = tiny.pair(source, target)
    return [shifted_section(tiny, pair, target, asked.seed), mask_section(target), same_section(tiny, pair)]


def shifted_section(tiny: Tiny, pair: Pair, target: Sequence[str], seed: int) -> Section:
    with torch.no_grad():
        losses = tiny.losses(pair)
    rows: list[tuple[Cell, ...]] = [
        (i, given, wanted, loss, float(torch.tensor(-loss).exp()))
        for i, (given, wanted, loss) in enumerate(
            zip((SOS, *target), (*target, EOS), losses.tolist(), strict=True), start=1
        )
    ]
    mean = float(losses.mean())
    return Section(
        "Shifted right",
        f"The decoder's input is the right sentence behind {SOS}; the label of each position is the next word, and "
        f"{EOS} ends it (the marks are often written <sos> and <eos>). The model here has random weights (seed "
        f"{seed}): its mean loss is {mean:.3f}, which training lowers. All {len(tiny.vocabulary)} tokens equally "
        f"likely would have the loss ln {len(tiny.vocabulary)} = {math.log(len(tiny.vocabulary)):.3f}.",
        (table("shifted", ("position", "decoder reads", "label", "loss −log P", "P of the label"), rows),),
        (
            Correction(
                "“I love food so much” is “ti amo molto il cibo”.",
                "“Ti amo” is “I love you”. It is “amo molto il cibo”; then the decoder reads <s> amo molto il cibo.",
            ),
        ),
    )


def mask_section(target: Sequence[str]) -> Section:
    names = numbered([SOS, *target, EOS])
    mask = causal_mask(len(names), dtype=torch.float64)
    return Section(
        "Why this is no cheating",
        "All words are there at once, but −∞ hides from each position what comes after it: row i is what the decoder "
        "knows when it predicts word i + 1. The last row has no label left: in training it is cut off.",
        (matrix("mask", mask, rows=names, columns=names, digits=0),),
    )


def same_section(tiny: Tiny, pair: Pair) -> Section:
    with torch.inference_mode():
        together = tiny.model(pair)[0]
    gap = float((together - step_by_step(tiny, pair)).abs().max())
    count = pair.target_in.size(1)
    rows = [("training, teacher forcing", 1, count), ("writing, step by step", count, 1)]
    return Section(
        "One pass instead of many",
        f"One pass over {count} positions gives the same logits as {count} steps (largest difference {gap:.1e}). "
        "Waiting for the model's own words would make training sequential, and early in training they would be wrong "
        "anyway.",
        (table("passes", ("", "passes", "positions in each"), rows),),
        (
            Correction(
                "The masked self-attention of the decoder computes its outputs one after the other.",
                "Only while writing, when the next word is not known yet. In training all positions are computed at "
                "once.",
            ),
        ),
    )


LESSON = Lesson(
    "teacher",
    "Teacher forcing",
    "Shifted right, masked, and all positions learned in one pass.",
    run,
    source="Vaswani et al. 2017, section 3.1; Williams and Zipser 1989",
    files=("data/batches.py:Batch", "models/decoding/encoder_decoder.py:EncoderDecoder"),
    takes={"texts": TEXTS, "seed": SEED},
    examples=('"I love food" "amo il cibo"',),
)
