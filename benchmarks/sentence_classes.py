"""Quality of classifiers of short texts: `glassformer train` from scratch and from a pretrained encoder, and TF-IDF.

    python benchmarks/sentence_classes.py --data FOLDER [--model all-MiniLM-L6-v2/] [--splits 5] [--work FOLDER]

FOLDER holds one text file per class, such as rt-polarity.pos and rt-polarity.neg (plain or compressed; UTF-8 or
Latin-1). For each seed, a random tenth of the texts is the test set; everyone learns from the rest and is scored once
on the test set. What `glassformer train` holds out for its own validations comes from the training texts. The peers are
logistic regression on TF-IDF of words and pairs of words (scikit-learn), with its usual settings, and with --loop a
well-written loop around the classifier of `transformers` from the same weights (peers/fine_tuners.py): 3 epochs in
batches of 32 with the rate that ours uses.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import glassformer as gf

Rows = list[tuple[str, str]]
SCRATCH, TUNED, PEER = "from scratch", "fine-tuned", "TF-IDF + logistic regression"
LOOP = "loop over transformers"
EPOCHS, EACH, RATE = 3, 32, 1e-4  # of the loop


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with one text file per class")
    parser.add_argument("--model", type=Path, help="a pretrained encoder to fine-tune; without, only from scratch")
    parser.add_argument("--splits", type=int, default=5, help="random splits")
    parser.add_argument("--first", type=int, default=1, help="seed of the first split")
    parser.add_argument("--scratch-budget", default="5m")
    parser.add_argument("--tuned-budget", default="10m")
    parser.add_argument("--loop", action="store_true", help="fine-tune the classifier of transformers too")
    parser.add_argument("--set", action="append", default=[], help="a setting of ours, as train.threads=1")
    parser.add_argument("--without", nargs="*", default=[], choices=["scratch", "tuned"], help="leave out")
    parser.add_argument("--work", type=Path, help="folder for the runs; without, a temporary one")
    return parser.parse_args()


def read(folder: Path) -> Rows:
    """All texts with their class, the suffix of the file's name; repeated texts once."""
    rows: dict[tuple[str, str], None] = {}
    for path in sorted(folder.iterdir()):
        packed = path.suffix == ".xz"
        raw = lzma.decompress(path.read_bytes()) if packed else path.read_bytes()
        label = (path.with_suffix("") if packed else path).suffix.removeprefix(".")
        if label not in ("", "md", "txt"):
            rows |= {(" ".join(line.split()), label): None for line in decoded(raw).split("\n") if line.strip()}
    return list(rows)


def decoded(raw: bytes) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def split(rows: Rows, seed: int) -> tuple[Rows, Rows]:
    """Training and test rows: a random tenth is for the test."""
    order = random.Random(seed).sample(rows, len(rows))
    return order[len(rows) // 10 :], order[: len(rows) // 10]


def written(path: Path, rows: Rows) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("text\tlabel\n" + "".join(f"{text}\t{label}\n" for text, label in rows), encoding="utf-8")
    return path


def ours(
    train: Rows, test: Rows, *, folder: Path, seed: int, budget: str, given: argparse.Namespace, start: Any
) -> float:
    """The accuracy of a run with this budget on the test rows."""
    from glassformer.config import apply_assignments

    recipe = apply_assignments({"train": {"seed": seed}}, given.set)
    data = {"files": str(written(folder / "train.tsv", train)), "columns": "text,label"}
    out = folder / "run"
    if not gf.train(recipe, task="classify", data=data, out=out, budget=budget, start_from=start).stopped:
        raise SystemExit("The training was interrupted: nothing is scored.")
    found = gf.load(out).classify([text for text, _ in test], top=1)
    return accuracy([guesses[0].label for guesses in found], test)


def tf_idf(train: Rows, test: Rows) -> float:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, token_pattern=r"\S+")
    model = make_pipeline(words, LogisticRegression(C=10, max_iter=1000))
    model.fit([text for text, _ in train], [label for _, label in train])
    return accuracy(list(model.predict([text for text, _ in test])), test)


def loop(train: Rows, test: Rows, *, folder: Path, seed: int, model: Path) -> float:
    """The accuracy of the classifier of `transformers`, fine-tuned by a plain loop."""
    import torch
    from peers.fine_tuners import grouped, padded, rows_of, stepped, their_model

    told = {"model": str(model), "threads": os.cpu_count(), "lr": RATE, "seed": seed}
    rows, classes = rows_of(told | {"texts": str(written(folder / "train.tsv", train))})
    found = their_model(told, classes)
    batches, steps = grouped(rows, EACH), EPOCHS * -(-len(rows) // EACH)
    step = stepped(found, lr=RATE, steps=steps)
    for _ in range(steps):
        step(next(batches))
    tests, _ = rows_of(told | {"texts": str(written(folder / "test.tsv", test))})
    right = 0
    with torch.inference_mode():
        found.eval()
        for start in range(0, len(tests), EACH):
            batch = padded(tests[start : start + EACH])
            right += int((found(**batch).logits.argmax(-1) == batch["labels"]).sum())
    return 100 * right / len(tests)


def accuracy(predicted: list[str], test: Rows) -> float:
    return 100 * sum(found == label for found, (_, label) in zip(predicted, test, strict=True)) / len(test)


def contenders(given: argparse.Namespace, work: Path) -> dict[str, Callable[[Rows, Rows, int], float]]:
    """Everyone's way from a split to an accuracy."""
    found: dict[str, Callable[[Rows, Rows, int], float]] = {PEER: lambda train, test, _: tf_idf(train, test)}
    cases = {SCRATCH: ("scratch", given.scratch_budget, None), TUNED: ("tuned", given.tuned_budget, given.model)}
    for name, (short, budget, start) in cases.items():
        if short not in given.without and (start is not None or name == SCRATCH):
            found[name] = lambda train, test, seed, short=short, budget=budget, start=start: ours(
                train, test, folder=work / f"{short}-{seed}", seed=seed, budget=budget, given=given, start=start
            )
    if given.loop and given.model is not None:
        found[LOOP] = lambda train, test, seed: loop(
            train, test, folder=work / f"loop-{seed}", seed=seed, model=given.model
        )
    return found


def main() -> None:
    given = arguments()
    scores: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as temporary:
        work = given.work or Path(temporary)
        os.environ.setdefault("GLASSFORMER_CACHE", str(work / "cache"))
        rows = read(given.data)
        print(f"{len(rows):,} different texts, load {os.getloadavg()[0]:.2f} before the start", flush=True)
        for seed in range(given.first, given.first + given.splits):
            train, test = split(rows, seed)
            for name, learn in contenders(given, work).items():
                began = time.perf_counter()
                scores.setdefault(name, []).append(learn(train, test, seed))
                taken = time.perf_counter() - began
                print(f"split {seed}  {name:30} {scores[name][-1]:5.2f}%  {taken:6.1f} s", flush=True)
    for name, found in scores.items():
        error = statistics.stdev(found) / len(found) ** 0.5 if len(found) > 1 else float("nan")
        print(f"{name:30} {statistics.mean(found):5.2f}% (standard error {error:.2f}, {len(found)} splits)")
    print(json.dumps({"benchmark": "sentence_classes", "accuracy": scores, "set": given.set}))
    sys.stdout.flush()


if __name__ == "__main__":
    main()
