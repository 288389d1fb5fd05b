"""Cross-attention: each word of the output asks all words of the input."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from glassformer.explain.lessons.inputs import numbered, two_texts, word_vectors, words_of
from glassformer.explain.lessons.lesson import Asked, Correction, Lesson, Section, matrix, table
from glassformer.nn.attention import CrossAttention
from glassformer.nn.positions import sinusoidal
from glassformer.nn.taps import listen

SOURCE, TARGET = "I like eating ice-cream", "मुझे आइसक्रीम खाना पसंद है"
ALIGNED = (0, 3, 2, 1, 1)  # the English word behind each Hindi word
WIDTH, SEED = 32, 4
NOISE = 0.3


def layer_of(width: int, seed: int) -> CrossAttention:
    """One head. W_Q and W_K are the same rotation, so that a query finds the key of a similar vector."""
    generator = torch.Generator().manual_seed(seed)
    turn = torch.linalg.qr(torch.randn(width, width, generator=generator)).Q
    layer = CrossAttention(width, heads=1, bias=False)
    with torch.no_grad():
        layer.query.weight.copy_(turn)
        layer.key_value.weight.copy_(torch.cat([turn, torch.eye(width)]))
        layer.out.linear.weight.copy_(torch.eye(width))
    return layer


def decoder_vectors(memory: Tensor, target: Sequence[str], aligned: Sequence[int] | None, seed: int) -> Tensor:
    """(T, D): near the source vector that each word translates, if that is known; otherwise random with position."""
    noise = word_vectors(target, memory.size(1), seed=seed + 1).float()
    if aligned is None:
        return noise + sinusoidal(len(target), memory.size(1)).float()
    return memory[list(aligned)] + NOISE * noise


def read(memory: Tensor, x: Tensor, seed: int) -> tuple[Tensor, Tensor]:
    """The outputs (T, D) and the pattern (T, S)."""
    layer = layer_of(memory.size(1), seed)
    with torch.no_grad(), listen(layer) as heard:
        out = layer(x[None], layer.read(memory[None]))
    return out[0], heard["core.pattern"][0][0, 0]


def run(asked: Asked) -> list[Section]:
    source, target = (words_of(text) for text in two_texts(asked.texts, "cross"))
    known = asked.texts == (SOURCE, TARGET)
    memory = word_vectors(source, asked.width, seed=asked.seed).float()
    out, pattern = read(memory, decoder_vectors(memory, target, ALIGNED if known else None, asked.seed), asked.seed)
    return [
        shapes_section(len(source), len(target), asked.width),
        pattern_section(source, target, pattern, known=known),
        compared_section(len(source), len(target), out),
    ]


def shapes_section(s: int, t: int, width: int) -> Section:
    rows = [
        ("encoder output", f"{s} × {width}", "computed once; every decoder block reads this same one"),
        ("K, V", f"{s} × {width}", "from the encoder output"),
        ("decoder so far", f"{t} × {width}", "one row for each word of the output"),
        ("Q", f"{t} × {width}", "from the decoder"),
        ("Q Kᵀ", f"{t} × {s}", "a row for each output word, a column for each input word"),
        ("output", f"{t} × {width}", "as many rows as the output has words"),
    ]
    return Section(
        "Two sequences meet",
        "The queries come from the sentence that is being written, keys and values from the one that was read.",
        (table("shapes", ("what", "shape", ""), rows),),
    )


def pattern_section(source: Sequence[str], target: Sequence[str], pattern: Tensor, *, known: bool) -> Section:
    said = (
        "Chosen, not learned: each Hindi word starts near the vector of the English word that it translates, so that "
        "its query finds it. पसंद है (“like”) reads like, though it is at the other end. Training finds such vectors."
        if known
        else "The vectors of your words are random, so this pattern has the right shape and no meaning. With a trained "
        "model: glassformer explain MODEL TEXT."
    )
    return Section(
        f"The {len(target)} × {len(source)} pattern",
        said,
        (matrix("pattern", pattern, rows=numbered(target), columns=numbered(source), sums=True, shaded=True),),
    )


def compared_section(s: int, t: int, out: Tensor) -> Section:
    rows = [
        ("self, encoder", "input", "input", f"{s} × {s}", "none", s),
        ("self, decoder", "output", "output", f"{t} × {t}", "causal", t),
        ("cross", "output", "input", f"{t} × {s}", "none", len(out)),
    ]
    columns = ("attention", "Q from", "K, V from", "scores", "mask", "outputs")
    return Section(
        "Self- and cross-attention side by side",
        "The formula is the same. The same layer lets a caption read an image: its keys are then patches.",
        (table("compared", columns, rows),),
        (
            Correction(
                "o_i = Σ w_ij v_j for j up to i − 1, with the softmax over j up to i",
                "Both end at i: a word of the decoder also reads itself. The shift to the right already keeps the "
                "answer out: position i holds word i − 1.",
            ),
            Correction(
                "Attention was introduced in 2016, between two LSTMs.",
                "Bahdanau, Cho and Bengio published it in 2014 (arXiv 1409.0473), between recurrent networks with "
                "gated units. Their scores come from a small network; products of queries and keys came after them.",
            ),
        ),
    )


LESSON = Lesson(
    "cross",
    "Cross-attention",
    "Output words ask input words: eating ice-cream, in Hindi.",
    run,
    source="Vaswani et al. 2017, section 3.2.3",
    files=("nn/attention.py:CrossAttention",),
    takes={"texts": (SOURCE, TARGET), "width": WIDTH, "seed": SEED},
    examples=('"I ate an apple" "Ich habe einen Apfel gegessen"',),
)
