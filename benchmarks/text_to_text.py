"""Summaries and several tasks in one model, in a given time.

    python benchmarks/text_to_text.py --data FOLDER [--minutes 10] [--threads 2] [--only PART...] [--set NAME=VALUE...]

FOLDER has scitldr-a/{train,dev,test}.jsonl.xz (Cachola et al. 2020), squad/dev-v1.1.json.xz (Rajpurkar et al. 2016)
and wikitext-2/wiki.train.tokens.xz.

    summaries  ROUGE of the test part of SciTLDR, beside the first and the longest sentence: a T5 from scratch; a T5
               pre-trained here by span corruption on the training abstracts and WikiText-2 for the same time, then
               trained on the summaries
    tasks      one model of three tasks (the phrasebook's translations, SciTLDR, questions of SQuAD with their passages)
               for three times the minutes, against three models of one task; the passages of held-out questions are
               not in the training part. The aim: each task within 2 points of its own model
    speed      tokens per second of training a T5, against `transformers` on the same batches (peers/t5.py)

Every number is one run: other seeds give other numbers.
"""

from __future__ import annotations

import argparse
import json
import lzma
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import glassformer as gf

PARTS = ("summaries", "tasks", "speed")
TRANSLATE, SUMMARIZE, QUESTION = "translate English to German", "summarize", "question"
PHRASES, HELD = 12_000, 300
MOST_WORDS = 150  # of a passage
WEIGHTS = {
    TRANSLATE: 20,
    SUMMARIZE: 4,
}  # in the model of all tasks. Translations are seven times as short as questions: with
# these they have about two thirds of the tokens. Chosen on the held-out parts: with weight 1 BLEU is 35 after 6 minutes


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with scitldr-a, squad and wikitext-2")
    parser.add_argument("--minutes", type=float, default=10.0, help="of each run")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", nargs="*", choices=PARTS, default=PARTS)
    parser.add_argument("--set", nargs="*", default=[], metavar="NAME=VALUE", help="settings of every run")
    parser.add_argument("--out", type=Path, help="keep the runs in this new folder")
    parser.add_argument("--quick", action="store_true", help="a smoke test: runs of half a minute")
    given = parser.parse_args()
    if given.quick:
        given.minutes = 0.5
    return given


class Runs:
    """Trains and evaluates by the command line, as a user would."""

    def __init__(self, folder: Path, given: argparse.Namespace) -> None:
        self.folder, self.given = folder, given

    def train(self, name: str, task: str, *more: str, times: float = 1.0) -> Path:
        out = self.folder / name
        budget = f"{60 * times * self.given.minutes:.0f}s"
        given = ["--task", task] if "." not in task else [task]
        command = [sys.executable, "-m", "glassformer", "train", *given, "--budget", budget, "--out", str(out)]
        for setting in (f"train.threads={self.given.threads}", *self.given.set):
            command += ["--set", setting]
        subprocess.run([*command, *more], check=True)
        return out

    def scores(self, run: Path, *files: str) -> tuple[dict[str, float], dict[str, Any]]:
        """The scores by key, and those of simple methods by name."""
        command = [sys.executable, "-m", "glassformer", "evaluate", str(run), *files, "--json"]
        done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
        rows = json.loads(done.stdout)
        own = {row["key"]: row["value"] for row in rows if "key" in row}
        return own, {row["baseline"]: row for row in rows if "baseline" in row}


def summaries(runs: Runs, data: Path) -> None:
    train, dev, test = (str(data / f"scitldr-a/{part}.jsonl.xz") for part in ("train", "dev", "test"))
    files = ["--data", train, "--valid", dev]
    texts = runs.folder / "abstracts.txt"
    with lzma.open(train, "rt", encoding="utf-8") as rows:
        texts.write_text("".join(f"{' '.join(json.loads(row)['source'])}\n\n" for row in rows), encoding="utf-8")
    scratch = runs.train("scratch", "summarise", *files)
    wiki = str(data / "wikitext-2/wiki.train.tokens.xz")
    start = runs.train("pretrained", "infill", "--data", str(texts), wiki)
    tuned = runs.train("tuned", "summarise", *files, "--from", str(start))
    found = {"from scratch": runs.scores(scratch, test), "from a T5 pre-trained here": runs.scores(tuned, test)}
    beside = next(iter(found.values()))[1]
    for name, (scores, _) in found.items():
        show(name, scores)
    for name, scores in beside.items():
        show(name, scores)


def show(name: str, scores: dict[str, Any]) -> None:
    print(f"{name:<32} " + "  ".join(f"{key} {scores[key]:.1f}" for key in ("rouge1", "rouge2", "rougeL")), flush=True)


# One model of three tasks


def write_tasks(folder: Path, data: Path) -> dict[str, tuple[str, str]]:
    """Training and held-out files of each task."""
    scitldr = (str(data / "scitldr-a/train.jsonl.xz"), str(data / "scitldr-a/dev.jsonl.xz"))
    return {TRANSLATE: phrases(folder), SUMMARIZE: scitldr, QUESTION: questions(folder, data)}


def phrases(folder: Path) -> tuple[str, str]:
    book = gf.phrasebook()
    parts = {"train": book.train[:PHRASES], "valid": book.valid[:HELD]}
    return write_rows(folder, "phrases", {
        name: [{"source": one.source, "target": list(one.references[:1])} for one in part]
        for name, part in parts.items()
    })  # fmt: skip


def questions(folder: Path, data: Path) -> tuple[str, str]:
    """A question and its passage, shortened around the answer; every tenth article is held out."""
    with lzma.open(data / "squad/dev-v1.1.json.xz", "rt", encoding="utf-8") as file:
        content = json.load(file)
    parts: dict[str, list[dict[str, Any]]] = {"train": [], "valid": []}
    for number, article in enumerate(content["data"]):
        own = parts["valid" if number % 10 == 0 else "train"]
        own += [row for passage in article["paragraphs"] for row in rows_of(passage)]
    parts["valid"] = parts["valid"][:: max(1, len(parts["valid"]) // HELD)]
    return write_rows(folder, "questions", parts)


def rows_of(passage: dict[str, Any]) -> list[dict[str, Any]]:
    words = passage["context"].split()[:MOST_WORDS]
    context = " ".join(words)
    found = []
    for one in passage["qas"]:
        answers = list(dict.fromkeys(answer["text"] for answer in one["answers"]))
        if answers[0] in context:
            found.append({"source": f"{one['question']} context: {context}", "target": answers})
    return found


def write_rows(folder: Path, name: str, parts: dict[str, list[dict[str, Any]]]) -> tuple[str, str]:
    for part, rows in parts.items():
        kept = [{**row, "target": row["target"][:1]} for row in rows] if part == "train" else rows
        text = "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in kept)
        (folder / f"{name}.{part}.jsonl").write_text(text, encoding="utf-8")
    return str(folder / f"{name}.train.jsonl"), str(folder / f"{name}.valid.jsonl")


def given_as(tasks: dict[str, tuple[str, str]]) -> list[str]:
    train, valid = ([f"{name}={files[at]}" for name, files in tasks.items()] for at in (0, 1))
    return ["--data", *train, "--valid", *valid]


def recipe_of(folder: Path, tasks: dict[str, tuple[str, str]]) -> str:
    """A recipe file with the files and the weight of each task."""
    tables = []
    for name, (train, valid) in tasks.items():
        weight = WEIGHTS.get(name, 1)
        rows = {"files": str(Path(train).resolve()), "valid": str(Path(valid).resolve()), "weight": weight}
        lines = (f"{key} = {json.dumps(value)}" for key, value in rows.items())
        tables.append("\n".join([f'[data.tasks."{name}"]', *lines]))
    (folder / "tasks.toml").write_text('task = "rewrite"\n\n' + "\n\n".join(tables) + "\n", encoding="utf-8")
    return str(folder / "tasks.toml")


def tasks(runs: Runs, data: Path) -> None:
    files = write_tasks(runs.folder, data)
    together = runs.train("together", recipe_of(runs.folder, files), times=len(files))
    for number, (name, own) in enumerate(files.items()):
        alone = runs.train(f"alone{number}", "rewrite", *given_as({name: own}))
        held = f"{name}={own[1]}"
        pair = [runs.scores(run, held)[0]["mean_score"] for run in (together, alone)]
        verdict = "within 2 points" if pair[0] >= pair[1] - 2 else "NOT within 2 points"
        print(f"{name:<32} together {pair[0]:.1f}  alone {pair[1]:.1f}  {verdict}", flush=True)


def speed(runs: Runs, data: Path) -> None:
    from peers.t5 import measure

    train, dev = (data / f"scitldr-a/{part}.jsonl.xz" for part in ("train", "dev"))
    few = {"rounds": 2, "seconds": 2.0} if runs.given.quick else {}
    found = measure(train, dev, runs.folder / "speed", threads=runs.given.threads, **few)
    ours, theirs = (found[name]["tokens_per_second"] for name in ("ours", "transformers"))
    print(f"training T5: {found['ratio']:.2f} times transformers ({found['least']:.2f} to {found['most']:.2f}), ")
    print(f"{ours:,.0f} and {theirs:,.0f} tokens a second", flush=True)


def main() -> None:
    given = arguments()
    if not (given.data / "scitldr-a").is_dir():
        raise SystemExit(f"There is no {given.data / 'scitldr-a'}. Name the folder with --data.")
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.out or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for part in given.only:
            {"summaries": summaries, "tasks": tasks, "speed": speed}[part](Runs(folder, given), given.data)


if __name__ == "__main__":
    main()
