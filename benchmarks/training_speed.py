"""Speed of training: `glassformer train`, `transformers`' MarianMTModel and JoeyNMT.

    python benchmarks/training_speed.py --data FOLDER [--sizes tiny small] [--rounds 7] [--joeynmt FOLDER] [--quick]

FOLDER holds train.en, train.de, val.en and val.de (plain or .gz), for instance Multi30k's. All train on the same
ids (joint BPE, trained by glassformer), a model of the same size, label smoothing 0.1, dropout, AdamW, clipping, the
same number of threads. Real (not padding) source and target tokens per second of whole updates are counted, making the
batch included. The competitors:

    ours              `glassformer train` itself, paused between two updates while it is not its turn
    marian            MarianMTModel as usually run: random padded batches of 128, its smoother, default allocator
    marian, our way   the same model on our batches and with our allocator settings, in one process with ours again
    joeynmt           JoeyNMT's own loop in an environment made for it (--joeynmt FOLDER keeps it), batches by tokens

They alternate in turns of some seconds; the others wait. Ratios are of neighbouring turns, with median and range.
The matrix products of our steps are timed alone in our process, in the same rounds (peers/products.py says which);
their share is their time divided by that of the whole steps, token for token.
Peak memory is that of fresh processes on the same batches: ours, and MarianMTModel's with the default allocator.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack, closing
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from peers.corpus import Corpus, save_ids, unpacked
from peers.joey_environment import joey_python, joey_versions
from peers.joey_files import write_joey_files
from peers.wire import Competitor

from glassformer.text import Tokenizer

OURS, MARIAN, BESIDE, MARIAN_OURS, JOEY = "ours", "marian", "ours beside marian", "marian, our way", "joeynmt"
PRODUCTS = "our products alone"
PAIRS = {MARIAN: OURS, MARIAN_OURS: BESIDE, JOEY: OURS, PRODUCTS: OURS}  # who is compared with whom
RECORDED = 12  # steps whose products are timed
MEMORY_STEPS = 60

Rows = dict[str, list[dict[str, float]]]
Turns = dict[str, Callable[..., dict[str, float]]]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with train and val, .en and .de")
    parser.add_argument("--sizes", nargs="+", default=["tiny", "small"], choices=["tiny", "small"])
    parser.add_argument("--rounds", type=int, default=7, help="turns of everyone")
    parser.add_argument("--seconds", type=float, default=6.0, help="length of a turn")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--vocab-size", type=int, default=10_000)
    parser.add_argument(
        "--batch-tokens", type=int, default=4096, help="ours: both sides, padding too; joeynmt: one side"
    )
    parser.add_argument("--sentences", type=int, default=128, help="marian's batches")
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--warmup", type=int, default=400)
    parser.add_argument("--set", action="append", default=[], help="a setting of ours, as train.beta2=0.99")
    parser.add_argument("--joeynmt", type=Path, help="folder of its environment; without, a temporary one")
    parser.add_argument("--without", nargs="*", default=[], choices=["joeynmt", "memory"], help="leave out")
    parser.add_argument(
        "--losses", type=int, default=0, help="instead: this many updates of every engine, and their losses"
    )
    parser.add_argument("--work", type=Path, help="folder for runs and logs; without, a temporary one")
    parser.add_argument("--quick", action="store_true", help="a smoke test: size tiny, short turns")
    given = parser.parse_args()
    if given.quick:
        given.sizes, given.rounds, given.seconds = given.sizes[:1], 2, 1.0
    return given


class Arena:
    """The competitors of one size, the files they read, and their logs."""

    def __init__(self, given: argparse.Namespace, size: str, folder: Path, corpus: Corpus) -> None:
        self.given, self.size, self.folder, self.corpus = given, size, folder, corpus
        self.folder.mkdir(parents=True, exist_ok=True)
        self.stack = ExitStack()

    def __enter__(self) -> Arena:
        return self

    def __exit__(self, *error: Any) -> None:
        self.stack.close()

    def start(self, name: str, module: str, told: dict[str, Any], *, python: str = sys.executable) -> Competitor:
        """A competitor that is ready; it ends with the arena."""
        common = {key: getattr(self.given, key) for key in ("dropout", "lr", "warmup", "batch_tokens", "sentences")}
        told = {"size": self.size, "seed": 1, "out": str(self.folder / name), "ids": str(self.ids), **common, **told}
        log, threads = self.folder / f"{name}.log", self.given.threads
        return self.stack.enter_context(
            closing(Competitor(name, module, told, log=log, threads=threads, python=python))
        )

    def start_ours(self, name: str) -> Competitor:
        source, target = map(str, self.corpus.files("train"))
        told = {"source": source, "target": target, "valid": list(map(str, self.corpus.files("val")))}
        told |= {"vocab_size": self.given.vocab_size, "threads": self.given.threads, "assignments": self.given.set}
        return self.start(name, "peers.ours", told)

    def start_marian(self, name: str, *, batches: str) -> Competitor:
        return self.start(name, "peers.marian", {"batches": batches})

    def start_joey(self, python: str) -> Competitor:
        files = self.folder / "joeynmt-files"
        write_joey_files(files, self.corpus, ("train",), self.tokenizer)
        return self.start(JOEY, "peers.joey", {"files": str(files)}, python=python)

    @property
    def ids(self) -> Path:
        return self.folder / "ids.npz"

    @property
    def tokenizer(self) -> Tokenizer:
        """The one that ours has trained and written before its first step."""
        return Tokenizer.load(self.folder / OURS / "tokenizer.json")

    def save_ids(self) -> None:
        save_ids(self.ids, self.corpus, "train", self.tokenizer)


def contenders(arena: Arena, joey: str | None) -> Turns:
    """Everyone's way to take a turn, in the order of the turns."""
    ours = arena.start_ours(OURS)
    arena.save_ids()
    beside, marian = arena.start_ours(BESIDE), arena.start_marian(MARIAN, batches="random")
    turns: Turns = {
        OURS: partial(ours.ask, "train"),
        PRODUCTS: partial(ours.ask, "products"),
        MARIAN: partial(marian.ask, "train"),
        BESIDE: partial(beside.ask, "train"),
        MARIAN_OURS: partial(beside.ask, "marian", batches="ours"),
    }
    if joey:
        turns[JOEY] = partial(arena.start_joey(joey).ask, "train")
    if not arena.given.losses:
        ours.ask("train", seconds=2.0)  # the first steps also fetch memory
        recorded = ours.ask("record", steps=RECORDED)
        if recorded["unknown"]:
            print(f"not counted among the products: {', '.join(recorded['unknown'])}")
    return turns


def race(turns: Turns, given: argparse.Namespace) -> Rows:
    """Rounds in which everyone has a turn, forth and back, so that no one always follows the same one."""
    rows: Rows = {name: [] for name in turns}
    for take in turns.values():
        take(seconds=given.seconds / 2)  # warm-up
    for number in range(given.rounds):
        for name in list(turns) if number % 2 == 0 else reversed(turns):
            rows[name].append(turns[name](seconds=given.seconds))
    return rows


def compare_losses(turns: Turns, updates: int) -> None:
    """The training losses of everyone after the same numbers of updates: nobody is wired wrongly."""
    stretch = max(1, updates // 6)
    ends = range(stretch, updates + 1, stretch)
    losses: dict[str, list[float]] = {}
    print("smoothed training loss, the mean of each stretch that ends at update")
    print(f"  {'':20}" + "".join(f"{end:9,}" for end in ends), flush=True)
    for name, take in ((name, take) for name, take in turns.items() if name != PRODUCTS):
        losses[name] = [take(steps=stretch)["loss"] for _ in ends]
        print(f"  {name:20}" + "".join(f"{loss:9.3f}" for loss in losses[name]), flush=True)
    print(json.dumps({"benchmark": "training_speed losses", "stretch": stretch, "losses": losses}))


def measure_memory(arena: Arena) -> dict[str, dict[str, int]]:
    """Bytes of fresh processes after the same number of updates on the same batches."""
    ways = {OURS: partial(arena.start_ours, "memory of ours")}
    ways[MARIAN] = partial(arena.start_marian, "memory of marian", batches="ours")
    peaks = {}
    for name, start in ways.items():
        competitor = start()
        before = competitor.ask("forget peak")["before"]
        competitor.ask("train", steps=MEMORY_STEPS)
        after = competitor.ask("memory")
        at_start = competitor.ready["memory_at_start"]
        peaks[name] = {"peak": max(before, after["peak"]), "steps_peak": after["since"], "at_start": at_start}
        competitor.close()
    return peaks


def summary(rows: Rows) -> dict[str, dict[str, float]]:
    """Ratios of neighbouring turns, and everyone's own rate, as medians and ranges."""
    result = {}
    for name, turns in rows.items():
        rates = [turn["tokens_per_second"] for turn in turns]
        result[name] = {"tokens_per_second": statistics.median(rates), "slowest": min(rates), "fastest": max(rates)}
        if name in PAIRS:
            ours = [turn["tokens_per_second"] for turn in rows[PAIRS[name]]]
            ratios = [our / other for our, other in zip(ours, rates, strict=True)]
            result[name] |= {"ratio": statistics.median(ratios), "least": min(ratios), "most": max(ratios)}
    return result


def report(size: str, rows: Rows, peaks: dict[str, dict[str, int]]) -> dict[str, Any]:
    """The table of one size; gives it as JSON has it."""
    told = summary(rows)
    print(f"\n{size}: ours / the other in useful tokens per second, median of {len(rows[OURS])} rounds (least to most)")
    for name in (name for name in told if name in PAIRS and name != PRODUCTS):
        one = told[name]
        print(f"  {one['ratio']:6.2f}   ({one['least']:.2f} to {one['most']:.2f})   {name}")
    share = told[PRODUCTS]
    print(f"  {share['ratio']:6.1%}  ({share['least']:.1%} to {share['most']:.1%})   of a step: its products alone")
    if peaks:
        ours, marian = peaks[OURS], peaks[MARIAN]
        whole, steps = (ours[key] / marian[key] for key in ("peak", "steps_peak"))
        beyond = (ours["steps_peak"] - ours["at_start"]) / (marian["steps_peak"] - marian["at_start"])
        print(f"  {whole:6.2f}   of marian's peak memory on the same batches (the steps: {steps:.2f};")
        print(f"           beyond what the imported libraries hold: {beyond:.2f})")
    for name, one in told.items():
        rate = f"{one['tokens_per_second']:9,.0f} tokens/s ({one['slowest']:,.0f} to {one['fastest']:,.0f})"
        print(f"  {name:20}{rate}")
    for name, peak in peaks.items():
        print(f"  {name:20}" + ", ".join(f"{key} {value / 2**20:,.0f} MB" for key, value in peak.items()))
    print(f"  the products run at {statistics.median(t['gflops_per_second'] for t in rows[PRODUCTS]):.0f} Gflop/s")
    return {"size": size, "result": told, "memory": peaks, "rounds": rows}


def versions(joey: str | None) -> dict[str, Any]:
    own = {name: version(name) for name in ("glassformer", "torch", "transformers", "numpy")}
    environment = json.loads(joey_versions(joey)) if joey else None
    return {"python": platform.python_version(), **own, "joeynmt environment": environment}


def main() -> None:
    given, results = arguments(), []
    with tempfile.TemporaryDirectory() as temporary:
        work = (given.work or Path(temporary)).resolve()
        os.environ["GLASSFORMER_CACHE"] = str(work / "cache")
        corpus = unpacked(given.data, work / "text", ("train", "val"))
        joey = None if "joeynmt" in given.without else joey_python(given.joeynmt or work / "joeynmt")
        told = versions(joey)
        print(f"{given.threads} threads, load {os.getloadavg()[0]:.2f} before the start\n{json.dumps(told)}")
        for size in given.sizes:
            with Arena(given, size, work / size, corpus) as arena:
                if given.losses:
                    compare_losses(contenders(arena, joey), given.losses)
                    continue
                rows = race(contenders(arena, joey), given)
                arena.stack.close()
                peaks = {} if "memory" in given.without else measure_memory(arena)
                results.append(report(size, rows, peaks))
        if results:
            print(json.dumps({"benchmark": "training_speed", "versions": told, "sizes": results}))


if __name__ == "__main__":
    main()
