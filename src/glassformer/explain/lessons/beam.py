"""Greedy search against beam search on a small tree, with the search that decodes real models."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from glassformer.decode.choosers import Best
from glassformer.decode.protocol import Hypothesis, by_length
from glassformer.decode.search import Search, search
from glassformer.decode.tree import Tree
from glassformer.errors import SettingsError
from glassformer.explain.lessons.inputs import one_text
from glassformer.explain.lessons.lesson import Asked, Cell, Lesson, Searcher, Section, table

# P(next word | last word). Greedy begins with the most likely word, and no continuation of it is likely.
ODDS: Mapping[str, Mapping[str, float]] = {
    "<s>": {"the": 0.5, "a": 0.4, "it": 0.1},
    "the": {"cat": 0.4, "dog": 0.35, "bird": 0.25},
    "a": {"cat": 0.9, "dog": 0.1},
    "it": {"sat": 0.6, "slept": 0.4},
    "cat": {"sat": 0.55, "slept": 0.45},
    "dog": {"sat": 0.5, "slept": 0.5},
    "bird": {"sat": 0.5, "slept": 0.5},
    "sat": {"</s>": 1.0},
    "slept": {"</s>": 1.0},
}
WORDS = ("<s>", "</s>", *dict.fromkeys(word for odds in ODDS.values() for word in odds if word != "</s>"))
LIMIT = 6
TEXT = "I ate an apple."
by_sum = partial(by_length, alpha=0.0)  # no normalisation: log P of the whole sentence


@dataclass(frozen=True)
class Toy:
    """A model by the decoding protocol whose next word depends on the last one only."""

    def start(self, batch: Any) -> None:
        """There is no past to keep."""

    def step(self, ids: Tensor, state: None, *, want_attention: bool = False) -> tuple[Tensor, None, None]:  # noqa: ARG002
        odds = [[ODDS.get(WORDS[i], {}).get(word, 0.0) for word in WORDS] for i in ids.tolist()]
        return torch.tensor(odds, dtype=torch.float64).log(), None, None

    def select(self, state: None, rows: Tensor) -> None:
        """Nothing to reorder."""


def searched(width: int) -> tuple[list[Hypothesis], Tree]:
    """The best sentences by a beam of this width, and every hypothesis that was followed."""
    tree = Tree()
    job = Search(
        model=Toy(),
        batch=None,
        limits=np.array([LIMIT]),
        bos=WORDS.index("<s>"),
        eos=WORDS.index("</s>"),
        device=torch.device("cpu"),
        chooser=Best(width),
        ranked=by_sum,
        n_best=width,
        watcher=tree,
    )
    return search(job)[0], tree


def all_sentences() -> dict[tuple[str, ...], float]:
    """Every sentence of the tree with its probability."""
    found: dict[tuple[str, ...], float] = {}
    open_: list[tuple[tuple[str, ...], float]] = [(("<s>",), 1.0)]
    while open_:
        words, p = open_.pop()
        for word, odds in ODDS[words[-1]].items():
            if word == "</s>":
                found[words[1:]] = p * odds
            else:
                open_.append(((*words, word), p * odds))
    return found


def beginnings(sentences: Iterable[tuple[str, ...]]) -> set[tuple[str, ...]]:
    """Every beginning of the sentences, with the whole ones and those that </s> ended."""
    return {(*words, "</s>")[:length] for words in sentences for length in range(1, len(words) + 2)}


def run(asked: Asked) -> list[Section]:
    if asked.model is None and asked.texts != (TEXT,):
        raise SettingsError("The small tree reads no text. For your own, name a translator: --model runs/demo")
    sections = [tree_section(), steps_section(asked.beam), winners_section(asked.beam)]
    if asked.model is not None:
        sections.append(own_section(asked.model, one_text(asked.texts, "beam"), asked.beam))
    return sections


def tree_section() -> Section:
    rows = [(last, ", ".join(f"{word} {p:g}" for word, p in odds.items())) for last, odds in ODDS.items()]
    return Section(
        "A small language",
        "The probability of each next word, given the last one. “the” is the likelier beginning, but after it no word "
        "is likely; after “a” one is nearly certain.",
        (table("odds", ("after", "comes"), rows),),
    )


def prefixes(tree: Tree) -> dict[int, tuple[str, ...]]:
    """The words of every node, by its number."""
    nodes = tree.nodes[0]
    found: dict[int, tuple[str, ...]] = {0: ()}
    for node in nodes[1:]:
        found[node.number] = (*found[node.parent], WORDS[node.token])
    return found


def steps_section(width: int) -> Section:
    """Every candidate of each step, and whether the beam kept it."""
    kept = set(prefixes(searched(width)[1]).values())
    rows: list[tuple[Cell, ...]] = []
    open_: list[tuple[tuple[str, ...], float]] = [((), 1.0)]
    step = 1
    while open_:
        following = [
            ((*words, word), p * odds)
            for words, p in open_
            for word, odds in ODDS[words[-1] if words else "<s>"].items()
        ]
        following.sort(key=lambda one: -one[1])
        rows += [(step, " ".join(words), p, "kept" if words in kept else "dropped") for words, p in following[:12]]
        open_ = [(words, p) for words, p in following if words in kept and words[-1] != "</s>"]
        step += 1
    return Section(
        f"Step by step, with a beam of {width}",
        "Each step continues every kept beginning with every word, multiplies the probabilities, and keeps the "
        f"{width} best{'' if width > 1 else ' one: this is greedy search'}. A beginning that ends leaves its place in "
        "the beam.",
        (table("steps", ("step", "beginning", "P", ""), rows, ".3f"),),
    )


def winners_section(beam: int) -> Section:
    every = all_sentences()
    best = max(every.values())
    rows: list[tuple[Cell, ...]] = []
    for width in dict.fromkeys((1, 2, beam)):
        found, tree = searched(width)
        words = [WORDS[i] for i in found[0].ids]
        p = math.exp(found[0].log_prob)
        rows.append(
            (
                f"beam {width}{' (greedy)' if width == 1 else ''}",
                " ".join(words),
                p,
                len(tree.nodes[0]) - 1,
                yes(p, best),
            )
        )
    top = max(every, key=lambda words: every[words])
    rows.append((f"all {len(every)} sentences", " ".join(top), best, len(beginnings(every)), "yes"))
    return Section(
        "Who finds the best sentence?",
        "Greedy search cannot take back its first word. A beam keeps alternatives, at the cost of more work. It is no "
        "guarantee either: only a beam as wide as everything is. A beginning is followed if it is kept; each counts, "
        "up to the one that </s> ends.",
        (table("winners", ("search", "sentence", "P", "beginnings followed", "best?"), rows, ".3f"),),
    )


def yes(p: float, best: float) -> str:
    return "yes" if math.isclose(p, best) else "no"


def own_section(model: Searcher, text: str, beam: int) -> Section:
    rows: list[tuple[Cell, ...]] = []
    for width in dict.fromkeys((1, beam, 5)):
        found: Sequence[Any] = model.candidates(text, beam=width, n_best=1)
        rows.append((f"beam {width}", found[0].text, sum(found[0].log_probs)))
    return Section(
        "Your model",
        "log P is that of the whole output. A wider beam usually finds a likelier one; whether it is a better one, "
        "`glassformer evaluate RUN --beam N` measures.",
        (table("model", ("search", "output", "log P"), rows),),
    )


LESSON = Lesson(
    "beam",
    "Greedy and beam search",
    "A small tree where greedy loses; every candidate of each step.",
    run,
    source="Graves 2012, arXiv 1211.3711; Sutskever et al. 2014, section 3.2",
    files=("decode/search.py:search", "decode/choosers.py:Best"),
    takes={"texts": (TEXT,), "beam": 2, "model": None},
    examples=("--beam 1", '"I ate an apple." --model runs/demo --beam 5'),
)
