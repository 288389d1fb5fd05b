"""What a translation run learns from and is measured with: files read, checked and split, or a named corpus."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from glassformer import __version__
from glassformer.data.checks.cleaning import refuse_surplus
from glassformer.data.checks.doctor import record_slips
from glassformer.data.checks.findings import ICONV, Findings
from glassformer.data.checks.held import Held as HeldHashes
from glassformer.data.checks.screen import Verdict, screen
from glassformer.data.corpora import PHRASEBOOKS, corpus_card, corpus_pairs
from glassformer.data.phrasebook import Phrase, phrasebook
from glassformer.data.readers.inputs import Input, fingerprint, gather, gather_sides, languages_of, read_pairs
from glassformer.data.readers.languages import pair_in_name
from glassformer.data.readers.naming import language_of, unpacked_name
from glassformer.data.selection import CHANGED, HELD, TRAIN, HoldOut, Parts, chosen, select
from glassformer.data.settings import DataSettings
from glassformer.data.slips.watch import SlipWatch
from glassformer.errors import DataError, SettingsError
from glassformer.printable import printable, shortened
from glassformer.training.task import Listener, Material

CHECKED = 200_000  # pairs that are checked before training; doctor checks all
FILES = "files"  # key of the fingerprint of the raw files, next to those of the sentences
SURE = 200  # lines out of step; fewer may only be repeated sentences

Pair = tuple[str, str]


@dataclass(frozen=True)
class Held:
    """Held-out sentences, each with all its references."""

    sources: list[str]
    references: list[tuple[str, ...]]

    @classmethod
    def of(cls, questions: Iterable[tuple[str, tuple[str, ...]]]) -> Held:
        rows = list(questions)
        return cls([source for source, _ in rows], [references for _, references in rows])

    def first(self, count: int) -> Held:
        return Held(self.sources[:count], self.references[:count])

    def questions(self) -> list[tuple[str, tuple[str, ...]]]:
        """Each sentence with all its references."""
        return list(zip(self.sources, self.references, strict=True))

    def pairs(self) -> list[Pair]:
        """Each sentence with its first reference."""
        return [(source, options[0]) for source, options in zip(self.sources, self.references, strict=True)]


def read_material(data: DataSettings, *, seed: int, listener: Listener) -> Material:
    """The training and validation sentences."""
    if data.corpus in PHRASEBOOKS:
        return phrasebook_material(PHRASEBOOKS[data.corpus], data.corpus_size, listener)
    if data.corpus is not None:
        return named_material(data.corpus, listener)
    return file_material(data, seed=seed, listener=listener)


def target_language(data: DataSettings) -> str | None:
    """The code of the target language, if settings or file names give it."""
    return _language(data, 1)


def source_language(data: DataSettings) -> str | None:
    """The code of the source language, if settings or file names give it."""
    return _language(data, 0)


def _language(data: DataSettings, side: int) -> str | None:
    if data.languages:
        return data.languages[side]
    if data.corpus:
        return corpus_card(data.corpus).languages[side]
    if files := (data.source, data.target)[side]:
        return language_of(Path(files[0]))
    named = pair_in_name(unpacked_name(Path(data.pairs[0]))) if data.pairs else None
    return named[side] if named else None


def language_pair(data: DataSettings) -> tuple[str, str] | None:
    """The codes of both languages, source first, if settings or file names give them."""
    if data.languages:
        return data.languages[0], data.languages[1]
    if data.corpus:
        return corpus_card(data.corpus).languages[0], corpus_card(data.corpus).languages[1]
    if data.source and data.target:
        source, target = language_of(Path(data.source[0])), language_of(Path(data.target[0]))
        return (source, target) if source and target else None
    return pair_in_name(unpacked_name(Path(data.pairs[0]))) if data.pairs else None


# Named corpora


def phrasebook_material(languages: Pair, size: int, listener: Listener) -> Material:
    book = phrasebook(source=languages[0], target=languages[1], train=size, progress=listener.on_count)
    pairs = [(phrase.source, phrase.references[0]) for phrase in book.train]
    valid, test = held_phrases(book.valid), held_phrases(book.test)
    marks = _pair_fingerprints(pairs, valid)
    return Material(
        lambda: iter(pairs), len(pairs), valid.questions(), marks, test=test.questions(), facts={"gold": book}
    )


def held_phrases(phrases: Sequence[Phrase]) -> Held:
    return Held.of((phrase.source, phrase.references) for phrase in phrases)


def named_material(name: str, listener: Listener) -> Material:
    corpus = corpus_pairs(name, progress=listener.on_count)
    for reason, count in corpus.dropped.items():
        listener.on_stage(f"Left out {count:,} pairs of {name}: {reason}")
    valid, test = Held.of(corpus.valid), Held.of(corpus.test)
    marks = _pair_fingerprints(corpus.train, valid)
    train = corpus.train
    return Material(lambda: iter(train), len(train), valid.questions(), marks, test=test.questions())


def _pair_fingerprints(train: Sequence[Pair], valid: Held) -> dict[str, str]:
    return {"train": pairs_fingerprint(train), "valid": pairs_fingerprint(valid.pairs())}


def pairs_fingerprint(pairs: Iterable[Pair]) -> str:
    """sha256 of all sentences in their order."""
    digest = hashlib.sha256()
    for source, target in pairs:
        digest.update(f"{len(source)} {len(target)} {source}{target}".encode())
    return digest.hexdigest()


# Files


def file_material(data: DataSettings, *, seed: int, listener: Listener) -> Material:
    """Training files as a stream: read once to check and split them, and again whenever the sentences are needed."""
    inputs = training_inputs(data)
    seen = stamps(inputs)
    read = partial(read_pairs, inputs, columns=data.columns, languages=data.languages)
    held, remembered = held_files(data, listener)
    hold_out = None if held else HoldOut(seed=seed, share=data.valid_share)
    findings, watch = Findings(), SlipWatch(inputs, most=CHECKED)
    findings.languages = data.languages or languages_of(inputs)
    records = watch.passing(read(progress=listener.on_count))
    screened = screen(records, filters=data.filters, findings=findings, held=remembered, examine=CHECKED)
    parts = select(screened, hold_out)
    learned = int((parts == TRAIN).sum())
    refuse_unusable(findings, inputs)
    refuse_too_few(findings, learned, inputs)
    record_slips(watch, findings)
    refuse_slips(findings, listener)
    report_findings(findings, inputs, listener)
    source, target = next(chosen(read(), parts, TRAIN))
    listener.on_stage(
        f"The first pair: {shortened(printable(source), width=60)} → {shortened(printable(target), width=60)}"
    )
    if held is None:
        held = Held.of((source, (target,)) for source, target in chosen(read(), parts, HELD))
        listener.on_stage(f"{len(held.sources):,} pairs are held out for validation, {learned:,} are for training")
    files, valid = fingerprint(inputs), pairs_fingerprint(held.pairs())
    marks = {"train": decision_digest(files, data, parts), "valid": valid, FILES: files}

    def train() -> Iterator[Pair]:
        yield from chosen(read(), parts, TRAIN)
        refuse_changed(inputs, seen)

    refuse_changed(inputs, seen)
    return Material(train, learned, held.questions(), marks, facts={"findings": findings})


def decision_digest(files: str, data: DataSettings, parts: Parts) -> str:
    """All that decides which sentences are learned from: the files, how they are read, and each unit's part."""
    read = [__version__, files, data.columns, data.languages]
    return hashlib.sha256(json.dumps(read).encode() + parts.tobytes()).hexdigest()


def stamps(inputs: Sequence[Input]) -> list[tuple[int, int, int]]:
    """Changes when one of the files is written to."""
    stats = [path.stat() for one in inputs for path in one.paths]
    return [(stat.st_size, stat.st_mtime_ns, stat.st_ino) for stat in stats]


def refuse_changed(inputs: Sequence[Input], seen: Sequence[tuple[int, int, int]]) -> None:
    """Raises an error if a file changed while it was read: its sentences would be a mix of two versions."""
    if stamps(inputs) != seen:
        raise DataError(CHANGED)


def changed_files(data: DataSettings, begun: Mapping[str, str]) -> list[str]:
    """Whether the training files have changed since the run was started; missing files are ignored."""
    if data.corpus is None and FILES in begun:
        with suppress(DataError):
            if fingerprint(training_inputs(data)) != begun[FILES]:
                return ["the training files have changed"]
    return []


def training_inputs(data: DataSettings) -> list[Input]:
    """The files that the settings name."""
    sides = gather_sides(data.source, data.target) if data.source else []
    both = gather(data.pairs) if data.pairs else []
    for one in (*sides, *both):
        if Path("-") in one.paths:
            raise DataError("Training reads its data more than once, so it cannot come from stdin. Save it to a file.")
    if not sides and not both:
        raise SettingsError(
            "No training data. Give --source FILE and --target FILE, or --pairs FILE.tsv (also .csv, .jsonl, "
            ".po, .tmx), or --corpus phrasebook."
        )
    return [*sides, *both]


def held_files(data: DataSettings, listener: Listener, part: str = "validation") -> tuple[Held | None, HeldHashes]:
    """The validation sentences, if files were given, and their hashes, to find them in the training data."""
    remembered = HeldHashes()
    if not data.valid or data.valid_share is not None:
        return None, remembered
    inputs, findings = gather(data.valid), Findings()
    records = [record for record, reason in _plainly_screened(inputs, data, findings) if reason is None]
    refuse_unusable(findings, inputs)
    if not records:
        raise DataError(f"{', '.join(map(str, inputs))}: no usable sentence pair for the {part}.")
    if findings.lost:
        listener.on_stage(f"{part.capitalize()} sentences: {findings.left_out()}")
    remembered.add("validation", records)
    return Held.of((record.source, (record.target,)) for record in records), remembered


def _plainly_screened(inputs: Sequence[Input], data: DataSettings, findings: Findings) -> Iterator[Verdict]:
    return screen(read_pairs(inputs, columns=data.columns, languages=data.languages), findings=findings)


def read_questions(names: Sequence[str], data: DataSettings, listener: Listener) -> Held:
    """Sentences and references to evaluate with; `data` has columns and languages."""
    held, _ = held_files(data.model_copy(update={"valid": tuple(names), "corpus": None}), listener, "test")
    if held is None:
        got = " ".join(names) or "no file"
        raise DataError(f"Got {got}; give a source and a reference file, one file with both, or --corpus NAME.")
    return held


# What is reported about them


def refuse_unusable(findings: Findings, inputs: Sequence[Input]) -> None:
    """Raises an error for files that do not belong together or have too many unusable lines."""
    for finding in findings.stops:
        if finding.kind == "no partner":
            refuse_surplus(inputs)
        first = finding.examples[0].problem
        raise DataError(
            f"{finding.count:,} of {findings.units:,} units are unusable ({finding.help}), the first: {first}. "
            "With this many, the file is probably not what it seems. "
            + (f"{ICONV}. " if finding.kind == "encoding" else "")
            + "`glassformer doctor` shows more; `glassformer clean` makes a new file without them."
        )


def refuse_slips(findings: Findings, listener: Listener) -> None:
    """Raises an error if the two files are out of step; only warns if that is uncertain."""
    for found in findings.found_slips:
        lines = found.slip.until_source_line - found.slip.source_line
        if found.slip.is_placed and lines >= SURE:
            raise DataError(
                f"{found.source_file} and {found.target_file} are out of step: {found}. "
                "`glassformer doctor` shows more; `glassformer clean --realign` pairs the lines again."
            )
        listener.on_stage(f"Warning: the two files seem to be out of step: {found}. `glassformer doctor` shows more")


def refuse_too_few(findings: Findings, learned: int, inputs: Sequence[Input]) -> None:
    if not findings.used:
        raise DataError(f"{', '.join(map(str, inputs))}: no usable sentence pair. {findings.left_out().capitalize()}.")
    if not learned:
        raise DataError(
            f"{', '.join(map(str, inputs))}: all {findings.used:,} usable pairs have the same source, so none can be "
            "held out for validation. Give held-out sentences of your own with --valid."
        )


def report_findings(findings: Findings, inputs: Sequence[Input], listener: Listener) -> None:
    """Reports the doctor's findings briefly: what is not used, and what is worth checking."""
    if findings.lost:
        listener.on_stage(f"Units read: {findings.left_out()}")
    for part in findings.held:
        if part.sources_in_train and "overlap" not in findings.dropped:
            listener.on_stage(
                f"{part.sources_in_train:,} of {part.pairs:,} {part.name} sentences are also in the training data: "
                "scores on them are too high. The filter `overlap` leaves them out of training"
            )
    odd = [f for f in findings.ordered() if f.kind in findings.hits and f.kind not in findings.dropped]
    odd = [finding for finding in odd if finding.kind != "overlap"]
    if odd:
        found = ", ".join(f"{finding.count:,} {finding.kind}" for finding in odd)
        names = " ".join(str(path) for one in inputs for path in one.paths)
        listener.on_stage(f"Used, but worth checking: {found}. See: glassformer doctor {names}")
