"""Small tasks besides translation: labelled sentences that one word decides, and sentences to be continued.

`settings` are those of a training that learns them in a moment, as sections of a recipe.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

WORDS = {"pos": ("good", "great", "fine", "lovely"), "neg": ("bad", "awful", "poor", "dull")}
TRAIN = {"batch_tokens": 300, "lr": 1e-2, "warmup": 2, "valid_every": 20, "threads": 1, "device": "cpu"}
SHAPE = {"N": 1, "d": 16, "h": 2, "d_ff": 24, "dropout": 0.1}


def sentences(count: int, seed: int, *, years: bool = True) -> list[tuple[str, str]]:
    """Sentences with their labels; every second one is positive. A year in each makes them differ."""
    random = Random(seed)
    found = []
    for number in range(count):
        label = ("pos", "neg")[number % 2]
        thing, word = random.choice(("film", "book", "play", "song")), random.choice(WORDS[label])
        text = f"the {thing} was {word} in {random.choice(('may', 'june', 'july'))}"
        found.append((f"{text} {1900 + number}" if years else text, label))
    return found


def write_labelled(path: Path, *, count: int = 120, seed: int = 1, shuffled: bool = False) -> Path:
    rows = sentences(count, seed)
    labels = [label for _, label in rows]
    if shuffled:
        Random(seed).shuffle(labels)
    path.write_text("".join(f"{text}\t{label}\n" for (text, _), label in zip(rows, labels, strict=True)))
    return path


def write_scored(path: Path, *, count: int = 120, seed: int = 1, shuffled: bool = False) -> Path:
    """Pairs of sentences with a score: 5 if both are positive, 1 if both are negative, 3 if they differ."""
    rows = [first + second for first, second in zip(sentences(count, seed), sentences(count, seed + 7), strict=True)]
    random = Random(seed)
    random.shuffle(rows)
    seconds = [(b, two) for _, _, b, two in rows[1:] + rows[:1]]
    pairs = [
        (a, b, 1 + 2 * (one == "pos") + 2 * (two == "pos"))
        for (a, one, _, _), (b, two) in zip(rows, seconds, strict=True)
    ]
    scores = [score for _, _, score in pairs]
    if shuffled:
        random.shuffle(scores)
    body = "".join(f"{a}\t{b}\t{score}\n" for (a, b, _), score in zip(pairs, scores, strict=True))
    path.write_text("sentence1\tsentence2\tscore\n" + body)
    return path


def write_running(path: Path, *, count: int = 120, seed: int = 1, years: bool = True) -> Path:
    path.write_text("".join(f"{text}.\n" for text, _ in sentences(count, seed, years=years)))
    return path


NAMES = {"PER": ("Ann", "Bob", "Eve Moon", "Tom Hill"), "LOC": ("Rome", "Paris", "New York", "Bonn")}


def write_tagged(path: Path, *, count: int = 60, seed: int = 1, shuffled: bool = False) -> Path:
    """People who go to places, in BIO columns, with a document of every three sentences."""
    random, labels, rows = Random(seed), list[str](), list[list[str]]()
    for _ in range(count):
        who, where = random.choice(NAMES["PER"]).split(), random.choice(NAMES["LOC"]).split()
        rows.append([*who, random.choice(("went", "flew", "drove")), "to", *where, "."])
        labels += ["B-PER", *["I-PER"] * (len(who) - 1), "O", "O", "B-LOC", *["I-LOC"] * (len(where) - 1), "O"]
    if shuffled:
        random.shuffle(labels)
    rest = iter(labels)
    with path.open("w") as file:
        for number, words in enumerate(rows):
            file.write("-DOCSTART- O\n\n" if number % 3 == 0 else "")
            file.writelines(f"{word} {next(rest)}\n" for word in words)
            file.write("\n")
    return path


def questions(count: int, seed: int, *, impossible: float = 0.2) -> list[dict[str, str]]:
    """Questions that one word of the passage answers; some passages lack the answer. A year makes them differ."""
    random = Random(seed)
    found = []
    for number in range(count):
        name, place = random.choice(("anna", "ben", "carl", "dora")), random.choice(("paris", "rome", "bonn", "oslo"))
        passage = random.choice(("since {year} {name} lives in {place} .", "{place} is home to {name} since {year} ."))
        passage = passage.format(year=1900 + number, name=name, place=place)
        question, answer = random.choice((("who lives there ?", name), ("where is the home ?", place)))
        if random.random() < impossible:
            question, answer = "why is it so ?", ""
        found.append({"id": f"q{number}", "question": question, "passage": passage, "answer": answer})
    return found


def write_questions(path: Path, *, count: int = 120, seed: int = 1, impossible: float = 0.2) -> Path:
    rows = questions(count, seed, impossible=impossible)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def settings(model: Mapping[str, Any], train: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Sections of a recipe."""
    text = {"kind": "word", "vocab_size": 40}
    return {"text": text, "model": {**SHAPE, **model}, "train": {**TRAIN, "steps": 60, **(train or {})}}


def arguments(task: str, data: Path, out: Path, sections: Mapping[str, Mapping[str, Any]], *more: str) -> list[str]:
    """The same for the command line."""
    given = [f"{section}.{name}={value}" for section, values in sections.items() for name, value in values.items()]
    files = ["train", "--task", task, "--data", str(data), "--out", str(out)]
    return [*files, *(part for one in given for part in ("--set", one)), *more]
