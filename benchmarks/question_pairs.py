"""Pairs of texts: does this sentence answer this question? Made from SQuAD, and learned from a pretrained encoder.

    python benchmarks/question_pairs.py --squad dev-v1.1.json.xz --model all-MiniLM-L6-v2/ [--budget 10m]
    python benchmarks/question_pairs.py --squad dev-v1.1.json.xz --only-data FOLDER

For each question, the sentence of its passage that holds the answer is a positive pair, and another sentence of the
same passage, chosen at random, a negative one: as many of both. Articles are split, so no passage of the test is in
the training data: a fifth of them is for the test. Sentences are those of the passage cut after . ? or !.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import random
import re
import tempfile
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import glassformer as gf

Pair = tuple[str, str, str]  # question, sentence, label
END = re.compile(r"(?<=[.?!])\s+(?=[\"'(A-Z0-9])")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--squad", type=Path, required=True, help="a file of SQuAD 1.1, plain or .xz")
    parser.add_argument("--model", type=Path, help="a pretrained encoder to fine-tune")
    parser.add_argument("--budget", default="10m")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--set", action="append", default=[], help="a setting of ours, as train.threads=1")
    parser.add_argument("--only-data", type=Path, help="write train.tsv and test.tsv into this folder, and stop")
    parser.add_argument("--work", type=Path, help="folder for the run; without, a temporary one")
    given = parser.parse_args()
    if given.model is None and given.only_data is None:
        parser.error("give --model, or --only-data")
    return given


def spans(passage: str) -> list[tuple[int, int]]:
    """Where each sentence of a passage begins and ends."""
    cuts = [0, *(found.end() for found in END.finditer(passage)), len(passage)]
    return [(begin, end) for begin, end in pairwise(cuts) if passage[begin:end].strip()]


def pairs_of(article: dict[str, Any], source: random.Random) -> Iterator[Pair]:
    """A positive and a negative pair of every question whose passage has another sentence without an answer."""
    for paragraph in article["paragraphs"]:
        passage = paragraph["context"]
        sentences = spans(passage)
        for question in paragraph["qas"]:
            starts = [answer["answer_start"] for answer in question["answers"]]
            answering = {i for i, (begin, end) in enumerate(sentences) if any(begin <= at < end for at in starts)}
            others = [i for i in range(len(sentences)) if i not in answering]
            right = next((i for i, (begin, end) in enumerate(sentences) if begin <= starts[0] < end), None)
            if right is not None and others:
                for place, label in ((right, "yes"), (source.choice(others), "no")):
                    begin, end = sentences[place]
                    yield " ".join(question["question"].split()), " ".join(passage[begin:end].split()), label


def made(path: Path, seed: int) -> tuple[list[Pair], list[Pair]]:
    """Training and test pairs; a fifth of the articles is for the test."""
    raw = lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()
    source = random.Random(seed)
    articles = json.loads(raw)["data"]
    source.shuffle(articles)
    cut = max(1, len(articles) // 5)
    test = [pair for article in articles[:cut] for pair in pairs_of(article, source)]
    return [pair for article in articles[cut:] for pair in pairs_of(article, source)], test


def written(path: Path, pairs: list[Pair]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("question\tsentence\tlabel\n" + "".join("\t".join(pair) + "\n" for pair in pairs), encoding="utf-8")
    return path


def main() -> None:
    given = arguments()
    train, test = made(given.squad, given.seed)
    print(f"{len(train):,} training pairs, {len(test):,} test pairs, half of them positive", flush=True)
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.only_data or given.work or Path(temporary)
        files = [written(folder / f"{name}.tsv", pairs) for name, pairs in (("train", train), ("test", test))]
        if given.only_data:
            return
        os.environ.setdefault("GLASSFORMER_CACHE", str(folder / "cache"))
        from glassformer.config import apply_assignments

        recipe = apply_assignments({"train": {"seed": given.seed}}, given.set)
        began = time.perf_counter()
        done = gf.train(
            recipe,
            task="classify",
            data=str(files[0]),
            out=folder / "run",
            budget=given.budget,
            start_from=given.model,
        )
        if not done.stopped:
            raise SystemExit("The training was interrupted: nothing is scored.")
        taken = time.perf_counter() - began
        found = gf.load(folder / "run").classify([(question, sentence) for question, sentence, _ in test], top=1)
    right = sum(guesses[0].label == label for guesses, (_, _, label) in zip(found, test, strict=True))
    accuracy = 100 * right / len(test)
    print(f"accuracy {accuracy:.2f}% on {len(test):,} pairs of other articles, after {taken:.0f} s")
    print(json.dumps({"benchmark": "question_pairs", "accuracy": accuracy, "seconds": taken, "pairs": len(test)}))


if __name__ == "__main__":
    main()
