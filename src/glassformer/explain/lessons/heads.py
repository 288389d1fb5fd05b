"""Several heads cost what one costs, and each can ask its own question; a trained model's heads, against chance."""

from __future__ import annotations

import time
from collections.abc import Sequence

import torch
from torch import Tensor

from glassformer.errors import SettingsError
from glassformer.explain.lessons.inputs import numbered, one_text, word_vectors, words_of
from glassformer.explain.lessons.lesson import Asked, Cell, Lesson, Lines, Section, Table, matrix, table
from glassformer.explain.lessons.trained_heads import trained_sections
from glassformer.models.flops import attention_flops, product_flops
from glassformer.nn.attention import SelfAttention, attend
from glassformer.nn.taps import listen

TEXT = "The man saw the astronomer with a telescope"
WIDTH, HEADS, SEED = 512, 8, 0
SENTENCES = 100  # of the phrasebook, for a trained model
REPEATS = 5  # of a timed pass; the fastest counts
MOST_TRIED = 16


def seeded_attention(width: int, *, heads: int, seed: int, kv_heads: int | None = None) -> SelfAttention:
    """A layer with random weights that depend on the seed only."""
    state = torch.get_rng_state()
    torch.manual_seed(seed)
    layer = SelfAttention(width, heads=heads, kv_heads=kv_heads, bias=False)
    torch.set_rng_state(state)
    return layer


def check_heads(width: int, heads: int) -> None:
    if width % heads:
        fitting = [h for h in range(1, 65) if width % h == 0]
        raise SettingsError(f"--width {width} is not a multiple of --heads {heads}. Heads that fit: {fitting}.")


def cost(layer: SelfAttention, tokens: int) -> tuple[int, int]:
    """Parameters, and floating-point operations of one token in a text of `tokens`."""
    products = sum(product_flops(part) for part in layer.modules())
    return sum(one.numel() for one in layer.parameters()), products + attention_flops(
        tokens, layer.heads, layer.head_width
    )


def milliseconds(layer: SelfAttention, x: Tensor) -> float:
    """The fastest of several passes."""
    times = []
    with torch.inference_mode():
        for _ in range(REPEATS):
            began = time.perf_counter()
            layer(x)
            times.append(time.perf_counter() - began)
    return 1000 * min(times)


def run(asked: Asked) -> list[Section]:
    words = words_of(one_text(asked.texts, "heads"))
    check_heads(asked.width, asked.heads)
    if asked.model is None and asked.sentences != SENTENCES:
        raise SettingsError("--sentences is how many a model reads. Name a translator: --model runs/demo")
    x = word_vectors(words, asked.width, seed=asked.seed).float()
    layer = seeded_attention(asked.width, heads=asked.heads, seed=asked.seed)
    return [
        shapes_section(len(words), asked.width, asked.heads),
        cost_section(x, asked),
        sum_section(x, layer),
        questions_section(words, x, layer),
        readings_section(),
        *([] if asked.model is None else trained_sections(asked.model, asked)),
    ]


def shapes_section(tokens: int, width: int, heads: int) -> Section:
    rows = [
        ("x", f"{tokens} × {width}", "a vector for each word"),
        ("q, k, v = x W_Q, x W_K, x W_V", f"{tokens} × {width}", "three times"),
        ("cut into heads", f"{heads} × {tokens} × {width // heads}", f"d_k = {width} / {heads} = {width // heads}"),
        ("scores of each head", f"{heads} × {tokens} × {tokens}", "q Kᵀ / √d_k"),
        ("z of each head", f"{heads} × {tokens} × {width // heads}", "pattern times v"),
        ("concat", f"{tokens} × {width}", "the heads beside each other"),
        ("times W_O", f"{tokens} × {width}", "the shape of x again"),
    ]
    return Section(
        "Cut, attend, join",
        f"Not {heads} attentions of width {width}, but {heads} of width {width // heads}.",
        (table("shapes", ("what", "shape", ""), rows),),
    )


def cost_section(x: Tensor, asked: Asked) -> Section:
    tried = [h for h in sorted({1, 2, 4, 8, 16, asked.heads}) if asked.width % h == 0 and h <= asked.width]
    counted: list[tuple[Cell, ...]] = []
    timed: list[tuple[Cell, ...]] = []
    for h in tried[:MOST_TRIED]:
        layer = seeded_attention(asked.width, heads=h, seed=asked.seed)
        counted.append((h, asked.width // h, *cost(layer, len(x))))
        timed.append((h, milliseconds(layer, x[None])))
    columns = ("heads", "width of each", "parameters", "FLOPs for one token")
    return Section(
        "Many heads cost as one",
        "The matrices have the same size whatever the number of heads, and so have all products together. The time "
        "differs a little, by how well small matrices fit this machine.",
        (
            table("cost", columns, counted),
            Table("time", ("heads", "milliseconds for this text"), tuple(timed), ".2f", timed=True),
        ),
    )


def sum_section(x: Tensor, layer: SelfAttention) -> Section:
    with torch.no_grad(), listen(layer) as heard:
        out = layer(x[None])[0]
    parts = heard["out.head_result"][0][0]  # (H, T, D)
    gap = float((parts.sum(0) - out).abs().max() / out.abs().max())
    return Section(
        "Concat and W_O are a sum over heads",
        "W_O cut into a slice for each head: the output is what head 1 adds, plus what head 2 adds, and so on.",
        (Lines("sum", (f"largest difference, relative to the output: {gap:.0e}",)),),
    )


def questions_section(words: Sequence[str], x: Tensor, layer: SelfAttention) -> Section:
    with torch.no_grad(), listen(layer) as heard:
        layer(x[None])
    pattern = heard["core.pattern"][0][0]  # (H, T, T)
    names = numbered(words)
    rows = [f"head {h}" for h in range(1, layer.heads + 1)]
    return Section(
        f"What “{words[-1]}” reads, by head",
        "Random weights, so the patterns mean nothing yet; but each head has its own, and training can give each its "
        "own question. `glassformer explain MODEL TEXT` shows the heads of a trained model.",
        (matrix("patterns", pattern[:, -1], rows=rows, columns=names, digits=2, corner=words[-1]),),
    )


def readings_section() -> Section:
    """Two readings of the telescope sentence as one head and as two: constructed with one-hot vectors."""
    words = ("saw", "astronomer", "with")
    values = torch.eye(3, dtype=torch.float64)
    wants = torch.tensor([[9.0, 0, 0], [0, 9.0, 0]], dtype=torch.float64)  # with -> saw, with -> astronomer
    apart, _ = attend(wants * 3**0.5, values, values)
    together, _ = attend(wants.sum(0, keepdim=True) * 3**0.5, values, values)
    rows = ("head 1", "head 2", "one head for both")
    return Section(
        "Two readings at once",
        "“The man saw the astronomer with a telescope”: he looked through it, or the astronomer carried it. One head "
        "has one row of weights for “with” and can only average the two; two heads keep them apart (queries chosen by "
        "hand). Head 1 asks who uses the telescope and reads the verb; head 2 asks who carries it and reads the "
        "astronomer.",
        (matrix("readings", torch.cat([apart, together]), rows=rows, columns=words, digits=2, corner="with"),),
    )


LESSON = Lesson(
    "heads",
    "Many heads cost as one",
    "Cut, attend, join: cost, time; what your model's heads read.",
    run,
    source="Vaswani et al. 2017, section 3.2.2",
    files=("nn/attention.py:SelfAttention", "nn/attention.py:HeadsOut", "models/flops.py:attention_flops"),
    takes={"texts": (TEXT,), "width": WIDTH, "heads": HEADS, "seed": SEED, "sentences": SENTENCES, "model": None},
    examples=('"it was too wide" --width 64 --heads 4', "--model runs/demo --sentences 200"),
)
