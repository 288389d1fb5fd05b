"""Comparing runs: what differs in their settings, how they learned, and who translates the same sentences better."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sacrebleu.metrics.chrf import CHRF

from glassformer.config import value_of, walk
from glassformer.errors import DataError, SettingsError
from glassformer.evaluate.bleu_tokenizer import bleu_tokenizer
from glassformer.evaluate.score import Score
from glassformer.evaluate.significance import Difference, differences, holm
from glassformer.evaluate.translation import corpus_scores
from glassformer.explain.difference import difference_sentence
from glassformer.store.run import RunFolder
from glassformer.tasks.translation.material import (
    REPORTED,
    Held,
    Listener,
    pairs_fingerprint,
    read_material,
    read_questions,
)
from glassformer.tasks.translation.recipe import TranslationRecipe
from glassformer.tasks.translation.translator import Translator, load

MOST_DIFFERENT = 5
VALIDATION = "validation sentences"
SEEDS = (
    "The p-values are of these weights on these sentences. Another seed of the same settings gives other weights: "
    "before a setting is called better, train it with a few seeds."
)


@dataclass(frozen=True)
class Contestant:
    """A run that is compared."""

    name: str  # as it was given
    origin: str  # which of its weights
    recipe: TranslationRecipe
    about: dict[str, Any]
    records: list[dict[str, Any]]  # of its metrics, those of a step
    parameters: int
    language: str | None

    @property
    def validations(self) -> list[dict[str, Any]]:
        return [record for record in self.records if "valid_loss" in record]


@dataclass(frozen=True)
class Pairing:
    """The first run against another one; `p` is made up for the number of such pairings."""

    name: str
    differences: list[Difference]
    p: list[float]
    words: list[str]


@dataclass(frozen=True)
class Different:
    """A sentence that the runs translate differently well."""

    source: str
    references: tuple[str, ...]
    translations: list[str]  # by run
    chrf: list[float]


@dataclass(frozen=True)
class Comparison:
    """All that is found, in the order of the runs given."""

    contestants: list[Contestant]
    settings: list[tuple[str, list[Any]]]  # those that differ, with each run's value
    part: str
    sentences: int
    scores: list[list[Score]]
    pairings: list[Pairing]
    most_different: list[Different]
    notes: list[str]


def compare_runs(
    paths: Sequence[str],
    held: Held | None = None,
    *,
    part: str = "sentences",
    beam: int | None = None,
    device: str = "cpu",
    listener: Listener,
) -> Comparison:
    """Translates `held`, or what all runs have held out, with each of them."""
    check_names(paths)
    opened = [open_contestant(path, device) for path in paths]
    contestants = [one for one, _ in opened]
    if held is None:
        held, part = common_held(contestants, listener)
    language = common_language(contestants, held)
    done = 0

    def count(more: int) -> None:
        nonlocal done
        done += more
        listener.on_count(done, len(paths) * len(held.sources))

    listener.on_stage(f"Translating {len(held.sources):,} {part}")
    hypotheses = [translations(translator, held, beam=beam, progress=count) for _, translator in opened]
    return Comparison(
        contestants=contestants,
        settings=differing(contestants),
        part=part,
        sentences=len(held.sources),
        scores=[corpus_scores(texts, held.references, language=language) for texts in hypotheses],
        pairings=pairings(paths, hypotheses, held, language),
        most_different=most_different(held, hypotheses),
        notes=cautions(contestants, part),
    )


def check_names(paths: Sequence[str]) -> None:
    if len(paths) < 2:
        raise SettingsError(f"Got {len(paths)} run; give at least two: glassformer compare runs/a runs/b")
    places = [Path(path).resolve() for path in paths]
    for i, place in enumerate(places):
        if place in places[:i]:
            raise SettingsError(f"{paths[i]} is given twice; a run cannot be compared with itself.")


def open_contestant(path: str, device: str) -> tuple[Contestant, Translator]:
    translator, run = load(path, device=device), RunFolder(Path(path))
    contestant = Contestant(
        name=path,
        origin=translator.origin,
        recipe=translator.recipe,
        about=run.about(),
        records=[record for record in run.metrics() if "step" in record],
        parameters=sum(parameter.numel() for parameter in translator.model.parameters()),
        language=translator.target_language,
    )
    return contestant, translator


def translations(translator: Translator, held: Held, *, beam: int | None, progress: Callable[[int], None]) -> list[str]:
    return [options[0].text for options in translator.candidates(held.sources, beam=beam, progress=progress)]


# Whether they can be compared


def common_held(contestants: Sequence[Contestant], listener: Listener) -> tuple[Held, str]:
    """The sentences that all runs have held out, read again, and what they are."""
    first = contestants[0]
    marks = [one.about.get("data", {}).get("valid") for one in contestants]
    for one, mark in zip(contestants, marks, strict=True):
        if mark is None or mark != marks[0]:
            raise DataError(
                f"{first.name} and {one.name} have held out different sentences, so they cannot be compared on their "
                "own. Give sentences that none of them has learnt from: --test FILE FILE, or --corpus NAME."
            )
    valid, test = held_again(first.recipe, listener)
    if pairs_fingerprint(valid.pairs()) != marks[0]:
        raise DataError(
            f"The data of {first.name} have changed since it was trained, so what it held out is no longer there. "
            "Give sentences that none of the runs has learnt from: --test FILE FILE."
        )
    if test is None:
        return valid.first(REPORTED), VALIDATION
    return test, f"test sentences of {first.recipe.data.corpus}"


def held_again(recipe: TranslationRecipe, listener: Listener) -> tuple[Held, Held | None]:
    """The validation part of a run, and its test part if it has one; the other data are read only if need be."""
    data = recipe.data
    if data.valid and data.valid_share is None and data.corpus is None:
        return read_questions(data.valid, data, listener), None
    material = read_material(data, seed=recipe.train.seed, listener=listener)
    return material.valid, material.test


def common_language(contestants: Sequence[Contestant], held: Held) -> str | None:
    """The language they all translate into, as far as known; BLEU must cut the words of all in the same way."""
    first = contestants[0]
    for one in contestants[1:]:
        known = {code.split("-")[0].lower() for code in (first.language, one.language) if code}
        if len(known) > 1:
            raise DataError(
                f"{first.name} translates into {first.language} and {one.name} into {one.language}: they cannot be "
                "compared on the same sentences."
            )
        ways = [bleu_tokenizer(run.language, held.references) for run in (first, one)]
        if ways[0] != ways[1]:
            raise DataError(
                f"BLEU of {first.name} would find words by {ways[0]}, that of {one.name} by {ways[1]}: scores made in "
                "different ways cannot be compared."
            )
    return next((one.language for one in contestants if one.language), None)


def cautions(contestants: Sequence[Contestant], part: str) -> list[str]:
    """What a reader should know before believing the numbers."""
    notes = [f"{one.name} is its {one.origin}." for one in contestants if one.origin != "finished training"]
    if part == VALIDATION:
        notes.append(
            "The weights of each run were chosen by these very sentences: scores on others will be a bit lower."
        )
    if len({one.about.get("data", {}).get("train") for one in contestants}) > 1:
        notes.append("The runs learnt from different sentences; whether one has seen some of these is not checked.")
    if len(contestants) > 2:
        notes.append(f"p-values are made up for {len(contestants) - 1} comparisons (Holm).")
    return [*notes, SEEDS]


# What is found


def differing(contestants: Sequence[Contestant]) -> list[tuple[str, list[Any]]]:
    """Settings, and facts beside them, that are not the same in all runs."""
    rows: list[tuple[str, list[Any]]] = [
        (name, [value_of(one.recipe, name) for one in contestants])
        for name, _ in walk(TranslationRecipe)
        if name != "out"
    ]
    rows.append(("parameters", [one.parameters for one in contestants]))
    rows += [(name, [one.about.get(name) for one in contestants]) for name in ("glassformer", "torch")]
    learnt = [one.about.get("data", {}).get("train", "")[:8] for one in contestants]
    rows.append(("sentences learnt from", learnt))
    return [(name, values) for name, values in rows if any(value != values[0] for value in values)]


def pairings(
    names: Sequence[str], hypotheses: Sequence[Sequence[str]], held: Held, language: str | None
) -> list[Pairing]:
    """The first run against each of the others."""
    found = [differences(hypotheses[0], texts, held.references, language=language) for texts in hypotheses[1:]]
    by_metric = [holm([rows[i].p for rows in found]) for i in range(len(found[0]))]
    return [
        Pairing(
            name=name,
            differences=rows,
            p=[values[k] for values in by_metric],
            words=[difference_sentence(row, names[0], name, p=by_metric[i][k]) for i, row in enumerate(rows)],
        )
        for k, (name, rows) in enumerate(zip(names[1:], found, strict=True))
    ]


def most_different(held: Held, hypotheses: Sequence[Sequence[str]], *, most: int = MOST_DIFFERENT) -> list[Different]:
    """The sentences whose translations lie farthest apart in chrF, which can judge a single sentence."""
    chrf = CHRF()
    rows = [
        Different(source, tuple(options), list(texts), [chrf.sentence_score(text, options).score for text in texts])
        for source, options, texts in zip(held.sources, held.references, zip(*hypotheses, strict=True), strict=True)
    ]
    rows.sort(key=lambda row: min(row.chrf) - max(row.chrf))
    return [row for row in rows[:most] if max(row.chrf) > min(row.chrf)]
