"""The key/value cache: nothing is computed twice. Work and time with and without it, on a real decoder."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from glassformer.explain.lessons.lesson import Asked, Cell, Lesson, Lines, Section, Table, table
from glassformer.models.flops import attention_flops, product_flops
from glassformer.models.gpt import Gpt, GptConfig

VOCABULARY, LENGTH, MOST, SEED = 97, 48, 256, 0
FIRST = 1  # the token every text starts with
REPEATS = 3  # of a timed run; the fastest counts
COUNTED = (1, 8, 32, 128, 1024)


@dataclass(frozen=True)
class Texts:
    """What the model reads."""

    ids: Tensor  # (1, T)
    lengths: Tensor  # (1,)


def small_gpt(seed: int) -> Gpt:
    state = torch.get_rng_state()
    torch.manual_seed(seed)
    config = GptConfig.model_validate({"size": "nano", "vocabulary": VOCABULARY, "max_length": MOST})
    model = Gpt(config).eval()
    torch.set_rng_state(state)
    return model


def batch_of(ids: list[int]) -> Texts:
    return Texts(torch.tensor([ids]), torch.tensor([len(ids)]))


def written_again(model: Gpt, length: int) -> tuple[list[int], int]:
    """Greedy, reading the whole text again for each token: the tokens, and how many positions were computed."""
    ids, positions = [FIRST], 0
    for _ in range(length):
        logits = model(batch_of(ids))[0, -1]
        positions += len(ids)
        ids.append(int(logits.argmax()))
    return ids[1:], positions


def written_cached(model: Gpt, length: int) -> tuple[list[int], int]:
    """The same by the decoding protocol: each step reads one token and keeps its keys and values."""
    state, token, ids = model.start(batch_of([FIRST])), FIRST, []
    for _ in range(length):
        logits, state, _ = model.step(torch.tensor([token]), state)
        token = int(logits[0].argmax())
        ids.append(token)
    return ids, length


def flops(model: Gpt, tokens: int, *, cached: bool) -> int:
    """Operations of writing this many tokens."""
    config = model.config
    per_token = sum(product_flops(part) for part in model.modules())
    total = 0
    for t in range(1, tokens + 1):
        queries = 1 if cached else t
        total += queries * (per_token + config.N * attention_flops(t, config.h, config.d // config.h))
    return total


def run(asked: Asked) -> list[Section]:
    model = small_gpt(asked.seed)
    length = min(asked.length, MOST - 1)
    measured = measured_section(model, length, asked.length)
    return [idea_section(), counted_section(model), measured, memory_section(model, length)]


def idea_section() -> Section:
    rows = [
        (1, "w1", "w1", "w1"),
        (2, "w1 w2", "w1 w2", "w2"),
        (3, "w1 w2 w3", "w1 w2 w3", "w3"),
        (4, "w1 w2 w3 w4", "w1 w2 w3 w4", "w4"),
    ]
    columns = ("step", "text so far", "computed without a cache", "with a cache")
    return Section(
        "What is computed again",
        "A decoder's word only looks back, so its keys and values never change when more words follow. They are kept; "
        "each step computes the query, key and value of one new word. Queries of earlier words are not needed again.",
        (table("idea", columns, rows),),
    )


def counted_section(model: Gpt) -> Section:
    rows: list[tuple[Cell, ...]] = []
    for n in COUNTED:
        with_, without = flops(model, n, cached=True), flops(model, n, cached=False)
        rows.append((n, n * (n + 1) // 2, n, without / 1e6, with_ / 1e6, without / with_))
    columns = ("tokens written", "positions, without", "with", "MFLOPs, without", "with", "ratio")
    return Section(
        "Counted",
        f"n(n+1)/2 positions become n. For a GPT with {model.config.N} blocks of width {model.config.d}.",
        (table("counted", columns, rows, ".1f"),),
    )


def timed(write: Callable[[Gpt, int], tuple[list[int], int]], model: Gpt, length: int) -> tuple[list[int], int, float]:
    """The tokens, the positions that were computed, and the seconds of the fastest of several runs."""
    write(model, 2)  # the first pass prepares things
    times = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        ids, positions = write(model, length)
        times.append(time.perf_counter() - began)
    return ids, positions, min(times)


def measured_section(model: Gpt, length: int, asked: int) -> Section:
    with torch.inference_mode():
        again, cached = (timed(write, model, length) for write in (written_again, written_cached))
    rows = [("without", again[1]), ("with", cached[1])]
    times = (("without", 1000 * again[2]), ("with", 1000 * cached[2]))
    same = sum(a == b for a, b in zip(again[0], cached[0], strict=True))
    fewer = f" Not {asked:,}: this small model reads at most {MOST}." if asked > length else ""
    return Section(
        "Measured",
        f"Both ways write {length} tokens, greedily; {same} of {length} tokens are the same. The time is that of "
        f"the fastest of {REPEATS} runs.{fewer}",
        (
            table("positions", ("cache", "positions computed"), rows),
            Table("time", ("cache", "milliseconds"), times, ".1f", timed=True),
        ),
    )


def memory_section(model: Gpt, length: int) -> Section:
    config = model.config
    size = 2 * config.N * config.d * 4
    said = (
        f"2 (key and value) × {config.N} blocks × {config.d} numbers × 4 bytes = {size:,} bytes for each token",
        f"{length} tokens: {size * length / 1024:,.0f} kB",
    )
    return Section(
        "What it costs",
        "Memory, for each token of each text. The lesson grouped shows how to need less.",
        (Lines("memory", said),),
    )


LESSON = Lesson(
    "cache",
    "The key/value cache",
    "Writing with and without it: positions, operations, time.",
    run,
    source="Shazeer 2019, arXiv 1911.02150, section 2.3",
    files=("nn/cache.py:KVCache", "models/decoding/decoder_only.py:DecoderOnly"),
    takes={"length": LENGTH, "seed": SEED},
    examples=("--length 200",),
)
