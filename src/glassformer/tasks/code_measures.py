"""How well a language model writes source code: samples that parse, and lines that it completes exactly."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from glassformer.data.windows import Text, documents
from glassformer.errors import DataError, ModelError, SettingsError
from glassformer.evaluate.code import PARSERS, LineToComplete, lines_to_complete
from glassformer.evaluate.intervals import wilson
from glassformer.evaluate.score import Score
from glassformer.tasks.generation import GenerateOptions, LanguageModel
from glassformer.tasks.sampling import Sampling

SAMPLES, TEMPERATURE = 100, 0.8
MOST_NEW = 48  # tokens of a completed line
USUAL_TOKEN = 4  # characters
BEYOND = 64  # tokens before those that are read: the first ones of a cut text may differ from those of the whole text
TOGETHER = 16  # texts that are written at once
SEED = 1
Progress = Callable[[int], None]


def code_scores(
    model: object,
    examples: Sequence[Text],
    *,
    parses: str | None,
    lines: int | None,
    progress: Progress | None = None,
) -> list[Score]:
    """The measures that were asked for. `parses` names a language; `lines` is how many lines to complete."""
    if not isinstance(model, LanguageModel) or not model.continues_prompt:
        raise ModelError("Only a language model writes code. Use a run of `glassformer train --task generate`.")
    found = []
    if parses is not None:
        found.append(share_that_parses(model, parses, progress=progress))
    if lines is not None:
        found.append(share_of_completed_lines(model, whole_texts(examples), lines, progress=progress))
    return found


def share_that_parses(
    model: LanguageModel, language: str, *, samples: int = SAMPLES, progress: Progress | None = None
) -> Score:
    """Samples from the beginning of a file, as long as the model's window; the last, unfinished statement is cut."""
    if language not in PARSERS:
        raise SettingsError(f"--parses {language}: not known. Allowed: {', '.join(PARSERS)}.")
    longest: int = model.model.config.max_length
    right = 0
    for number in range(0, samples, TOGETHER):
        count = min(TOGETHER, samples - number)
        sampling = Sampling(seed=SEED + number, temperature=TEMPERATURE)
        options = GenerateOptions(max_new=max(1, longest - 1), n_best=count, sampling=sampling)
        right += sum(PARSERS[language](one.text) for one in model.continuations("", options))
        if progress is not None:
            progress(count)
    how = f"samples of {longest:,} tokens, temperature {TEMPERATURE}"
    return share_score(f"samples that parse ({language})", right, samples, how, key="parses")


def share_of_completed_lines(
    model: LanguageModel, texts: Sequence[str], count: int, *, progress: Progress | None = None
) -> Score:
    """Lines drawn at random: the text before each and its first half are given, the rest is written greedily."""
    known = lines_to_complete(texts)
    if not known:
        raise DataError("--complete-lines: no line of these files is long enough to be completed.")
    drawn = np.random.default_rng(SEED).permutation(len(known))[:count]
    chosen = [known[i] for i in sorted(drawn.tolist())]
    right = 0
    for first in range(0, len(chosen), TOGETHER):
        part = chosen[first : first + TOGETHER]
        options = GenerateOptions(max_new=MOST_NEW, stop="\n")
        rows = [row_of(model, line) for line in part]
        written = model.generator.continuations(rows, options, numbers=range(first, first + len(part)))
        right += sum(one[0].text == line.rest for one, line in zip(written, part, strict=True))
        if progress is not None:
            progress(len(part))
    return share_score("lines completed", right, len(chosen), "the second half of a line, greedy", key="lines")


def row_of(model: LanguageModel, line: LineToComplete) -> list[int]:
    """The last tokens before a line's second half, as many as leave space for it; with the begin mark if all fit.

    Only the last part of a long text is split into tokens: a little more than the model reads.
    """
    longest: int = model.model.config.max_length
    space = max(1, longest - MOST_NEW)
    most = USUAL_TOKEN * (space + BEYOND)
    ids = model.tokenizer.encode(line.given(most))
    while len(ids) < space + BEYOND and most < line.split:
        most *= 2
        ids = model.tokenizer.encode(line.given(most))
    mark = model.bundle.marks.bos
    return [mark, *ids] if mark is not None and len(ids) < space else ids[-space:]


def whole_texts(examples: Sequence[Text]) -> list[str]:
    """The pieces of each document, joined."""
    spans = documents(examples)
    return ["".join(text for text, _, _ in examples[first : last + 1]) for first, last in spans]


def share_score(name: str, right: int, count: int, how: str, *, key: str) -> Score:
    low, high = wilson(right, count)
    return Score(name, 100 * right / count, 100 * low, 100 * high, how, count, key=key, unit="texts")
