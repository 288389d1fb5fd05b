"""A Transformer from scratch: from ten sentence pairs to a model that translates them, each step with its code."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch.optim import Adam

from glassformer.data.batches import Batch
from glassformer.errors import SettingsError
from glassformer.explain.lessons import scratch_steps as steps
from glassformer.explain.lessons.inputs import named_values, words_of
from glassformer.explain.lessons.lesson import Asked, Cell, Curves, Lesson, Lines, Progress, Section, Shown, table
from glassformer.models.transformer import Transformer
from glassformer.text import Tokenizer

PAIRS = (
    "I am good=ich bin gut",
    "we are friends=wir sind Freunde",
    "how are you=wie geht es dir",
    "thank you=danke dir",
    "I ate an apple=ich habe einen Apfel gegessen",
    "we ate an apple=wir haben einen Apfel gegessen",
    "I love food=ich liebe Essen",
    "we love you=wir lieben dich",
    "the cat is lovely=die Katze ist lieb",
    "the apple is good=der Apfel ist gut",
)
NEW = "we are good"  # known words in a new order; only for the built-in pairs
UPDATES, SEED, MOST_PAIRS = 100, 0, 50
SHOWN_TAPS = (
    "encoder.inputs.token",
    "encoder.inputs.position",
    "encoder.inputs.sum",
    "encoder.blocks.0.self_attention.q",
    "encoder.blocks.0.self_attention.core.pattern",
    "encoder.blocks.0.feed_forward.post",
    "memory",
    "decoder.blocks.0.cross_attention.core.pattern",
    "logits",
)


@dataclass
class Build:
    """Everything that the steps make, each when it is first needed."""

    pairs: Mapping[str, str]
    seed: int
    progress: Progress

    @cached_property
    def tokenizer(self) -> Tokenizer:
        return steps.make_tokenizer(self.pairs)

    @cached_property
    def ids(self) -> steps.Ids:
        return steps.make_ids(self.pairs, self.tokenizer)

    @cached_property
    def batch(self) -> Batch:
        return steps.make_batch(self.ids, self.tokenizer)

    def untrained(self) -> Transformer:
        state = torch.get_rng_state()
        model = steps.make_model(self.tokenizer, self.seed)
        torch.set_rng_state(state)
        return model

    @cached_property
    def trained(self) -> tuple[Transformer, list[float]]:
        model = self.untrained()
        return model, steps.train(model, self.batch, UPDATES, self.progress)


Step = tuple[str, str, Callable[..., Any] | None, Callable[[Build], tuple[Shown, ...]]]


def run(asked: Asked) -> list[Section]:
    pairs = named_values(asked.texts, "a sentence pair, like thank you=danke")
    if not 1 <= len(pairs) <= MOST_PAIRS:
        raise SettingsError(f"got {len(pairs)} sentence pairs; give 1 to {MOST_PAIRS}.")
    for text in (*pairs, *pairs.values()):
        words_of(text)
    if asked.step > len(STEPS):
        raise SettingsError(f"--step {asked.step}: there are {len(STEPS)} steps.")
    build = Build(pairs, asked.seed, asked.progress)
    wanted = [asked.step] if asked.step else range(1, len(STEPS) + 1)
    return [section(number, build) for number in wanted]


def section(number: int, build: Build) -> Section:
    title, text, code, results = STEPS[number - 1]
    shown = results(build)
    return Section(f"Step {number} of {len(STEPS)}: {title}", text, (*source_of(code), *shown))


def source_of(code: Callable[..., Any] | None) -> tuple[Lines, ...]:
    """The lines of a step, as they run."""
    return () if code is None else (Lines("code", tuple(inspect.getsource(code).rstrip().split("\n"))),)


# What each step shows


def show_pairs(build: Build) -> tuple[Shown, ...]:
    return (table("pairs", ("source", "target"), list(build.pairs.items())),)


def show_tokenizer(build: Build) -> tuple[Shown, ...]:
    pieces = [(number, build.tokenizer.token(number)) for number in range(len(build.tokenizer))]
    return (table("vocabulary", ("id", "token"), pieces[:12]), counted_line("tokens", len(build.tokenizer)))


def counted_line(what: str, count: int) -> Lines:
    return Lines(f"{what}_in_all", (f"{count:,} {what} in all",))


def show_ids(build: Build) -> tuple[Shown, ...]:
    rows: list[Sequence[Cell]] = [
        (text, " ".join(map(str, s)), " ".join(map(str, t)))
        for text, (s, t) in zip(build.pairs, build.ids, strict=True)
    ]
    return (table("ids", ("source", "its ids", "ids of the target"), rows[:5]),)


def show_batch(build: Build) -> tuple[Shown, ...]:
    batch, name = build.batch, build.tokenizer.token
    rows = [
        (what, " ".join(name(i) for i in ids[0].tolist()), " × ".join(map(str, ids.shape)))
        for what, ids in (
            ("source", batch.source),
            ("decoder input", batch.target_in),
            ("label", batch.target_out),
        )
    ]
    return (table("batch", ("", "first row", "shape"), rows),)


def show_model(build: Build) -> tuple[Shown, ...]:
    model = build.untrained()
    parts: dict[str, int] = {}
    for name, one in model.named_parameters():
        part = ".".join(name.split(".")[:4]).removesuffix(".weight").removesuffix(".gain").removesuffix(".bias")
        parts[part] = parts.get(part, 0) + one.numel()
    shown = table("parameters", ("part", "parameters"), list(parts.items()))
    return (shown, counted_line("parameters", sum(parts.values())))


def show_values(build: Build) -> tuple[Shown, ...]:
    values = steps.values_inside(build.untrained(), build.batch)
    rows = [(name, " × ".join(map(str, values[name].shape))) for name in SHOWN_TAPS]
    return (table("shapes", ("value", "shape"), rows),)


def show_loss(build: Build) -> tuple[Shown, ...]:
    with torch.no_grad():
        loss = float(steps.loss_of(build.untrained(), build.batch))
    even = float(torch.tensor(float(len(build.tokenizer))).log())
    return (table("loss", ("", "loss"), [("random weights", loss), ("all tokens equally likely", even)]),)


def show_update(build: Build) -> tuple[Shown, ...]:
    model = build.untrained()
    adam = Adam(model.parameters(), lr=0.005)
    rows = [(number, steps.update(model, build.batch, adam)) for number in (1, 2, 3)]
    return (table("updates", ("update", "loss before it"), rows),)


def show_training(build: Build) -> tuple[Shown, ...]:
    return (Curves("loss", "update", {"loss": tuple(build.trained[1])}),)


def show_translations(build: Build) -> tuple[Shown, ...]:
    model, _ = build.trained
    asked = [*build.pairs, *([NEW] if build.pairs == named_values(PAIRS, "") else [])]
    rows: list[tuple[Cell, ...]] = []
    for text in asked:
        found = steps.translate(model, build.tokenizer, text)
        wanted = build.pairs.get(text)
        rows.append((text, found, "new" if wanted is None else "right" if found == wanted else f"not {wanted}"))
    return (table("translations", ("source", "greedy translation", ""), rows),)


STEPS: tuple[Step, ...] = (
    ("sentences", "What it learns from: pairs of a source and a target sentence.", None, show_pairs),
    (
        "tokens",
        "A vocabulary: here one token for each word, and marks for padding, unknown words, start and end.",
        steps.make_tokenizer,
        show_tokenizer,
    ),
    ("ids", "The model sees numbers. A ▁ before a word is its space.", steps.make_ids, show_ids),
    (
        "a batch",
        "All pairs in one rectangle. The decoder reads the target shifted right, the label is the target with its end "
        "mark.",
        steps.make_batch,
        show_batch,
    ),
    (
        "the model",
        "The Transformer of 2017, smaller: one block on each side, width 32, two heads. One thing differs: the norms "
        "are before attention and feed-forward, and one more ends each side (pre-norm), because that trains without a "
        'slow start of the learning rate (Xiong et al. 2020). The paper has them after each addition: norm="post". '
        "All weights are random.",
        steps.make_model,
        show_model,
    ),
    (
        "a forward pass",
        "Vectors plus positions, attention, feed-forward; cross-attention; logits. B pairs, words, heads, width.",
        steps.values_inside,
        show_values,
    ),
    ("the loss", "The mean −log P of the right next token. Before training it is a guess.", steps.loss_of, show_loss),
    ("an update", "Backpropagation, and one step of Adam.", steps.update, show_update),
    ("training", "The same many times.", steps.train, show_training),
    (
        "translating",
        "Greedy search: read the source once, then write token after token. The model knows these pairs by heart; with "
        "ten pairs it cannot know more. `glassformer demo` learns a language from 60,000.",
        steps.translate,
        show_translations,
    ),
)

LESSON = Lesson(
    "from-scratch",
    "A Transformer from scratch",
    "Ten sentence pairs to a trained model, with the code.",
    run,
    source="Vaswani et al. 2017, arXiv 1706.03762",
    files=("explain/lessons/scratch_steps.py:train", "models/transformer.py:Transformer"),
    takes={"texts": PAIRS, "step": 0, "seed": SEED},
    examples=("--step 4", '"good morning=buongiorno" "thank you=grazie" "I love food=amo il cibo"'),
)
