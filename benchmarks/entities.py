"""Named entities: `glassformer train --task tag --from` against a fine-tuning script of transformers, in the same time.

    python benchmarks/entities.py --data FOLDER --model all-MiniLM-L6-v2/ [--splits 3] [--threads 2] [--quick]

FOLDER has wikigold/wikigold.conll.txt.xz (Balasuriya et al. 2009). A fifth of its documents is held out, others in each
split. The script (peers/tagger.py) trains 3 epochs at 5e-5, and again for the same time at --rate; ours gets its time,
start and reading included, as its budget. Everyone starts from the same weights and learns from the same sentences.
Entity F1 (micro, exact spans, as seqeval by default) of the held-out documents, mean and values of the splits.
`transformers` must be installed. Nobody chooses anything by the held-out documents.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from glassformer.evaluate.entities import SPAN_METRICS
from glassformer.evaluate.metric import measured

BENCHMARKS = Path(__file__).resolve().parent
FILE = "wikigold/wikigold.conll.txt.xz"
PLAIN, FASTER, OURS = "transformers, 3 epochs at 5e-5", "transformers, same time", "glassformer"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help=f"folder with {FILE}")
    parser.add_argument("--model", type=Path, required=True, help="folder of a BERT model")
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rate", type=float, default=3e-4, help="of the script that trains for the same time")
    parser.add_argument("--python", default=sys.executable, help="interpreter that has transformers")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="other settings for ours")
    parser.add_argument("--only", nargs="*", choices=[PLAIN, FASTER, OURS], help="without the first, --seconds counts")
    parser.add_argument("--seconds", type=float, default=240.0)
    parser.add_argument("--quick", action="store_true", help="a smoke test: one split, a few seconds")
    given = parser.parse_args()
    if given.quick:
        given.splits, given.only, given.seconds = 1, [FASTER, OURS], 20.0
    given.only = given.only or [PLAIN, FASTER, OURS]
    return given


def documents(path: Path) -> list[str]:
    with lzma.open(path, "rt", encoding="utf-8") as file:
        parts = file.read().split("-DOCSTART- O")
    return [part.strip("\n") for part in parts if part.strip()]


def write(path: Path, parts: list[str]) -> Path:
    path.write_text("".join(f"-DOCSTART- O\n\n{part}\n\n" for part in parts), encoding="utf-8")
    return path


def split(parts: list[str], seed: int, folder: Path) -> tuple[Path, Path]:
    """Files to train on and to test on: a fifth of the documents."""
    shuffled = random.Random(seed).sample(parts, len(parts))
    held = len(parts) // 5
    return write(folder / f"train{seed}.conll", shuffled[held:]), write(folder / f"test{seed}.conll", shuffled[:held])


def scored(found: dict[str, Any]) -> dict[str, float]:
    examples = [(labels,) for labels in found["true"]]
    scores = {key: one.total for key, one in measured(SPAN_METRICS, found["predicted"], examples).items()}
    return {**scores, "seconds": found["seconds"], "epochs": found["epochs"]}


def of_script(given: argparse.Namespace, files: tuple[Path, Path], **told: Any) -> dict[str, float]:
    told |= {"model": str(given.model.resolve()), "train": str(files[0]), "test": str(files[1])}
    told |= {"threads": given.threads, "epochs": 3}
    path = os.pathsep.join([str(BENCHMARKS), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": str(given.threads)}
    done = subprocess.run(
        [given.python, "-m", "peers.tagger", json.dumps(told)],
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
        check=True,
    )
    return scored(json.loads(done.stdout.splitlines()[-1]))


def of_ours(given: argparse.Namespace, files: tuple[Path, Path], seconds: float, out: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "glassformer"]
    train = ["train", "--task", "tag", "--data", str(files[0]), "--from", str(given.model), "--out", str(out)]
    options = ["--budget", f"{seconds:.0f}s", "--set", f"train.threads={given.threads}"]
    began = time.perf_counter()
    chosen = [part for one in given.set for part in ("--set", one)]
    subprocess.run([*command, *train, *options, *chosen], check=True)
    took = time.perf_counter() - began
    done = subprocess.run([*command, "evaluate", str(out), str(files[1]), "--json"], stdout=subprocess.PIPE, check=True)
    return {score["key"]: score["value"] for score in json.loads(done.stdout)} | {"seconds": took}


def main() -> None:
    given = arguments()
    path = given.data / FILE
    if not path.is_file():
        raise SystemExit(f"There is no {path}. Name the folder with --data.")
    parts, rows = documents(path), dict[str, list[dict[str, float]]]()
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(1, given.splits + 1):
            files, seconds = split(parts, seed, Path(folder)), given.seconds
            if PLAIN in given.only:
                rows.setdefault(PLAIN, []).append(of_script(given, files, lr=5e-5, seed=seed))
                seconds = rows[PLAIN][-1]["seconds"]
            if FASTER in given.only:
                rows.setdefault(FASTER, []).append(of_script(given, files, lr=given.rate, seconds=seconds, seed=seed))
            if OURS in given.only:
                rows.setdefault(OURS, []).append(of_ours(given, files, seconds, Path(folder) / f"run{seed}"))
            for name, found in rows.items():
                print(f"split {seed}  {name:<32} F1 {found[-1]['f1']:.1f}  {found[-1]['seconds']:.0f} s", flush=True)
    print()
    for name, found in rows.items():
        values = [one["f1"] for one in found]
        shown = " ".join(f"{value:.1f}" for value in values)
        print(f"{name:<32} entity F1 {statistics.mean(values):.1f} ({shown})")


if __name__ == "__main__":
    main()
