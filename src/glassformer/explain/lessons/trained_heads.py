"""What the heads of a trained translator read: which class of English word and which place, against chance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from torch import Tensor

from glassformer.data.phrasebook import phrasebook, words
from glassformer.data.phrasebook.word_classes import CLASSES, classes_of
from glassformer.errors import SettingsError
from glassformer.evaluate.alignment import spans_of_words, words_of_pieces
from glassformer.explain.explanation import Attention, Explanation
from glassformer.explain.head_roles import PLACES, Best, Roles, asking, best_roles, class_masks, place_masks, roles_of
from glassformer.explain.lessons.lesson import Asked, Progress, Section, table
from glassformer.text import Tokenizer

TRAINING = 8_000  # sentences that decide which words are usual; what is held out does not depend on their number
MOST_PIECES, MOST_UNKNOWN = 3.0, 0.1  # pieces per word, and the share of unknown words
STACKS = {"encoder": "the encoder", "cross": "cross-attention"}
WARNING = (
    "Reading a label is not being for it: a head that reads the word before reads articles whenever a noun asks, and a "
    "full stop is always near the end mark. What a head is worth is what is lost without it: "
    "`glassformer explain MODEL TEXT --html page.html` removes each."
)


class Translates(Protocol):
    """A translator whose attention can be read."""

    source: Tokenizer
    target: Tokenizer

    def explain(self, texts: str, *, beam: int) -> Explanation: ...


@dataclass(frozen=True)
class Sentence:
    """A sentence, cut into pieces as the model reads it. The last piece is the end mark, which is of no word."""

    words: tuple[str, ...]
    classes: tuple[str, ...]
    pieces: tuple[int | None, ...]  # the word of each piece


def trained_sections(model: Any, asked: Asked) -> list[Section]:
    """The sections of a lesson about a learner's own model."""
    check_reader(model)
    return sections(model, held_out(asked.sentences, asked.seed, asked.progress), asked.progress)


def held_out(count: int, seed: int, progress: Progress) -> list[str]:
    """English sentences with a combination of words that no training part has, whatever its size or seed."""
    book = phrasebook(
        train=TRAINING, valid=0, test=count, seed=seed, progress=lambda done, all_: progress(done, 2 * all_)
    )
    return [phrase.source for phrase in book.test]


def check_reader(model: Any) -> None:
    if not all(hasattr(model, name) for name in ("explain", "source", "source_language")):
        raise SettingsError("The model is not a translator. Give the run folder of one, for instance runs/demo.")
    language = model.source_language
    if language not in (None, "en"):
        raise SettingsError(
            f"The model translates from {language}; only English words are labelled. Give a model that translates from "
            "English: glassformer train --corpus phrasebook --out runs/english"
        )


def sections(model: Translates, texts: Sequence[str], progress: Progress) -> list[Section]:
    """What every head reads in these sentences, and while it writes their translations."""
    read = [sentence_of(model.source, text) for text in texts]
    check_known(model.source, texts, read)
    labels = [label for label in CLASSES if any(label in one.classes for one in read)]
    found: dict[tuple[str, str], list[Roles]] = {}
    for place, (text, sentence) in enumerate(zip(texts, read, strict=True)):
        explained = model.explain(text, beam=1)
        for attention in explained.attentions:
            if attention.name in STACKS:
                asks = asking_in(attention, sentence, model, explained.answer)
                classes, places = roles_in(attention, sentence, asks, labels, end=model.source.eos_id)
                found.setdefault((attention.name, "classes"), []).append(classes)
                found.setdefault((attention.name, "places"), []).append(places)
        progress(len(texts) + place + 1, 2 * len(texts))
    if not found:
        raise SettingsError("The model has no attention over the words of the source, so no head reads a word.")
    names = {"classes": labels, "encoder": PLACES, "cross": PLACES[-2:]}
    best = {
        (stack, what): best_roles(roles, names["classes" if what == "classes" else stack])
        for (stack, what), roles in found.items()
    }
    return [section(stack, best, len(texts)) for stack in STACKS if (stack, "classes") in best]


def sentence_of(tokenizer: Tokenizer, text: str) -> Sentence:
    normal = tokenizer.normalize(text)
    split = words(normal)
    pieces = words_of_pieces(tokenizer.offsets(normal), spans_of_words(normal, split))
    return Sentence(tuple(split), classes_of(split), (*pieces, None))


def check_known(tokenizer: Tokenizer, texts: Sequence[str], read: Sequence[Sentence]) -> None:
    """An error if the model's tokenizer was plainly trained on other words."""
    unknown: dict[str, None] = {}
    for text, sentence in zip(texts, read, strict=True):
        for number, word in zip(tokenizer.encode(text), sentence.pieces, strict=False):
            if number == tokenizer.unk_id and word is not None:
                unknown[sentence.words[word]] = None
    count = sum(len(one.words) for one in read)
    if len(unknown) > MOST_UNKNOWN * len({word for one in read for word in one.words}):
        raise SettingsError(
            f"The model does not know many words of the phrasebook: {', '.join(list(unknown)[:5])} ... Give a model "
            "that was trained on its English: glassformer train --corpus phrasebook --out runs/english"
        )
    if sum(len(one.pieces) for one in read) > MOST_PIECES * count:
        raise SettingsError(
            f"The model cuts the phrasebook's words into more than {MOST_PIECES:g} pieces each, so it was not trained "
            "on them. Give one that was: glassformer train --corpus phrasebook --out runs/english"
        )


def asking_in(attention: Attention, sentence: Sentence, model: Translates, answer: str) -> Tensor:
    """(W, T): the words that ask. If an output's pieces cannot be found in its text, each piece asks."""
    if attention.name == "encoder":
        return asking(sentence.pieces)
    written = attention.queries.ids
    pieces: Sequence[int | None] = range(len(written))
    if tuple(model.target.encode(answer)) == written[: len(written) - (written[-1] == model.target.eos_id)] and answer:
        found = sentence_of(model.target, answer).pieces
        pieces = found if len(found) == len(written) else found[:-1]
    return asking(pieces)


def roles_in(
    attention: Attention, sentence: Sentence, asks: Tensor, labels: Sequence[str], *, end: int | None
) -> tuple[Roles, Roles]:
    """The classes and the places that the heads read."""
    keys, patterns = sentence.pieces, attention.patterns.cpu()
    if patterns.size(-1) != len(keys):
        raise SettingsError("The model adds tokens to its source that belong to no word; its heads cannot be labelled.")
    if attention.keys.ids[-1] != end:  # a model that reads from the last word to the first
        patterns = patterns.flip(-1, -2) if attention.name == "encoder" else patterns.flip(-1)
    classes = ["" if word is None else sentence.classes[word] for word in keys]
    places = place_masks(keys, len(asks), own=attention.name == "encoder")
    return roles_of(patterns, asks, class_masks(classes, labels, len(asks))), roles_of(patterns, asks, places)


def section(stack: str, best: Mapping[tuple[str, str], Sequence[Best]], count: int) -> Section:
    reader = STACKS[stack]
    shown = [
        table(
            f"{stack}_{what}",
            ("head", "reads most, against chance", "sentences", "share", "chance", "times", "from", "to"),
            [
                (named(one), one.role, one.sentences, one.share, one.even, one.ratio, one.low, one.high)
                for one in best[stack, what]
            ],
            "",
            "",
            "",
            ".1%",
            ".1%",
            ".2f",
            ".2f",
            ".2f",
        )
        for what in ("classes", "places")
    ]
    said = " ".join(standing_out(best[stack, what]) for what in ("classes", "places"))
    text = (
        f"{count} sentences of the phrasebook, which no training part of it has. Share: of the head's attention, in "
        "sentences that have such a word. Chance: what even attention to all pieces would give. Times: share / chance, "
        "with a 95% interval over the sentences; since each head shows its best of many, some of it is luck. "
        f"{said} {WARNING}"
    )
    return Section(f"Your model: which words {reader} reads", text, tuple(shown))


def standing_out(heads: Sequence[Best]) -> str:
    top = max(heads, key=lambda one: one.low)
    if top.low <= 1:
        return "No head reads one of these clearly more than chance."
    return (
        f"The clearest: head {named(top)} has {top.share:.0%} of its attention on “{top.role}”, {top.ratio:.1f} times "
        f"chance ({top.low:.1f} to {top.high:.1f})."
    )


def named(head: Best) -> str:
    """Block and head, counted from 1."""
    return f"{head.block + 1}.{head.head + 1}"
