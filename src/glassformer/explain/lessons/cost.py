"""What attention and recurrence cost as texts grow: operations counted, steps that must wait, and time measured."""

from __future__ import annotations

import time

import torch
from torch import nn

from glassformer.explain.lessons.heads import seeded_attention
from glassformer.explain.lessons.lesson import Asked, Cell, Correction, Lesson, Section, Table, table
from glassformer.models.flops import attention_flops, product_flops

WIDTH, LENGTH, SEED = 64, 512, 0
HEADS = 1
REPEATS = 3


def lengths(longest: int) -> list[int]:
    """16, 32, 64, ... up to the longest."""
    found = []
    n = 16
    while n < longest:
        found.append(n)
        n *= 2
    return [*found, longest]


def attention_cost(n: int, d: int) -> int:
    """FLOPs of one self-attention layer with its matrices, for a text of n words."""
    layer = seeded_attention(d, heads=HEADS, seed=SEED)
    return n * (sum(product_flops(part) for part in layer.modules()) + attention_flops(n, HEADS, d))


def recurrent_cost(n: int, d: int) -> int:
    """FLOPs of one LSTM layer: four gates, each with a matrix for the input and one for the state."""
    return n * 4 * 2 * (2 * d * d)


def milliseconds(layer: nn.Module, n: int, d: int) -> float:
    x = torch.zeros(1, n, d)
    times = []
    with torch.inference_mode():
        for _ in range(REPEATS):
            began = time.perf_counter()
            layer(x)
            times.append(time.perf_counter() - began)
    return 1000 * min(times)


def run(asked: Asked) -> list[Section]:
    return [paper_section(), counted_section(asked), measured_section(asked)]


def paper_section() -> Section:
    rows = [
        ("self-attention", "n² · d", "1", "1"),
        ("recurrent", "n · d²", "n", "n"),
    ]
    columns = ("layer", "operations", "steps that must wait for each other", "path between the ends")
    return Section(
        "The table of the paper",
        "n words, width d. Recurrence reads word after word, so step n waits for n − 1 others, and what the first "
        "word said passes through n states. Attention connects every two words directly.",
        (table("orders", columns, rows),),
    )


def counted_section(asked: Asked) -> Section:
    rows: list[tuple[Cell, ...]] = []
    for n in lengths(asked.length):
        a, r = attention_cost(n, asked.width), recurrent_cost(n, asked.width)
        rows.append((n, a / 1e6, r / 1e6, a / r, 1, n))
    columns = ("words", "attention, MFLOPs", "LSTM, MFLOPs", "ratio", "attention: waits", "LSTM: waits")
    even = 2 * asked.width
    return Section(
        "Counted, with all matrices",
        "Attention: four products with d × d matrices for each word, and 4 n d for scores and mixture. LSTM: eight "
        f"products. At d = {asked.width} the two cost the same for {even} words (2d); beyond, attention costs more.",
        (table("counted", columns, rows, ".2f"),),
        (
            Correction(
                "Transformers are faster because they compute less.",
                "Per word they compute more as soon as a text is long. They are faster to train because no word waits "
                "for another: all positions are one matrix product.",
            ),
        ),
    )


def measured_section(asked: Asked) -> Section:
    attention = seeded_attention(asked.width, heads=HEADS, seed=asked.seed)
    recurrent = nn.LSTM(asked.width, asked.width, batch_first=True)
    rows = []
    every = lengths(asked.length)
    for place, n in enumerate(every):
        asked.progress(place, len(every))
        a, r = milliseconds(attention, n, asked.width), milliseconds(recurrent, n, asked.width)
        rows.append((n, a, r, r / a))
    columns = ("words", "attention, ms", "LSTM, ms", "LSTM / attention")
    return Section(
        "Measured here",
        "One layer, one text, forward only, the fastest of several passes. The LSTM is torch's own.",
        (Table("time", columns, tuple(rows), ".2f", timed=True),),
    )


LESSON = Lesson(
    "cost",
    "Attention against recurrence",
    "Operations, waiting steps and time, by the length of the text.",
    run,
    source="Vaswani et al. 2017, table 1; the LSTM: Hochreiter and Schmidhuber 1997",
    files=("nn/attention.py:ScaledDotProduct", "models/flops.py:attention_flops"),
    takes={"width": WIDTH, "length": LENGTH, "seed": SEED},
    examples=("--width 256 --length 1024",),
)
