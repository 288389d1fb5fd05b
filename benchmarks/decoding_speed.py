"""How fast a trained model translates: glassformer, CTranslate2 and `transformers`' generate, the same weights.

    python benchmarks/decoding_speed.py --run RUN --sentences FILE --work FOLDER [--rounds 5] [--engines ...] [--busy 1]

RUN is a finished run in Marian's shape, so that everyone can have its weights:

    glassformer train ... --set model.size=small --set model.norm=post --set model.positions=sinusoidal-halves

FILE has one source sentence per line, for instance test_2016_flickr.en. All engines get the same ids in the same
batches, sorted by length. Target tokens per second are counted, end tokens included, with beams of 1 and 5 and batches
of 32 sentences and of one. The engines alternate; ratios are of neighbouring turns, with median and range.
`transformers` also runs with raised allocator thresholds, and its better figure counts.

--busy N measures next to N processes that only count, as on a shared machine. They are ended at the end.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

from peers.decoding import Ids
from peers.joey_environment import joey_python
from peers.joey_weights import save_as_joey
from peers.marian_weights import save_as_marian
from peers.wire import Competitor

from glassformer.tasks.translation.exporting import export_translator
from glassformer.tasks.translation.loading import load

OURS = "ours"
JOEY = "joeynmt"  # has no cache: only on request, and on few sentences
ENGINES = (
    "ctranslate2",
    "ctranslate2, 1 thread",
    "ctranslate2 int8",
    "transformers",
    "transformers, kept memory",
    JOEY,
)
CASES = ((1, 32), (5, 32), (1, 1), (5, 1))  # beam, sentences a batch


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path, required=True)
    parser.add_argument("--sentences", type=Path, required=True, help="one per line")
    parser.add_argument("--work", type=Path, required=True, help="folder for the other engines' models; kept")
    parser.add_argument("--engines", nargs="+", default=list(ENGINES), choices=ENGINES)
    parser.add_argument("--joeynmt", type=Path, help="folder of its environment, made if it is not there")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--busy", type=int, default=0, help="processes that keep a core busy meanwhile")
    parser.add_argument("--many", type=int, default=320, help="sentences of a turn in batches of 32")
    parser.add_argument("--few", type=int, default=40, help="sentences of a turn one by one")
    return parser.parse_args()


def prepared(given: argparse.Namespace) -> Ids:
    """The models of the other engines, made if they are missing, and the sentences as ids."""
    translator = load(given.run)
    given.work.mkdir(parents=True, exist_ok=True)
    lines = given.sentences.read_text(encoding="utf-8").splitlines()
    if not (given.work / "ctranslate2").exists():
        print(export_translator(translator, given.work / "ctranslate2", sample=lines[:200]))
    wanted = any(name.startswith("transformers") for name in given.engines)
    if wanted and not (given.work / "marian").exists():
        save_as_marian(translator, given.work / "marian")
    if JOEY in given.engines and not (given.work / "joey.pt").exists():
        save_as_joey(translator, given.work / "joey.pt")
    return [row for row in translator.source.encode_batch(lines) if row]


def started(name: str, given: argparse.Namespace) -> Competitor:
    threads = 1 if name.endswith(", 1 thread") else given.threads
    told: dict[str, Any] = {"engine": name.partition(",")[0].partition(" ")[0], "threads": threads}
    told |= {"run": str(given.run), "exported": str(given.work / "ctranslate2"), "marian": str(given.work / "marian")}
    told |= {"compute": "int8" if "int8" in name else "float32", "allocator": "kept" in name}
    if name == JOEY:
        python = joey_python(given.joeynmt or given.work / "joeynmt")
        told = {"joey": str(given.work / "joey.pt"), "threads": given.threads}
        log = given.work / f"{name}.log"
        return Competitor(name, "peers.joey_decoder", told, log=log, threads=given.threads, python=python)
    return Competitor(name, "peers.decoders", told, log=given.work / f"{name}.log", threads=threads)


@contextmanager
def busy(processes: int) -> Iterator[None]:
    """This many processes that do nothing but count."""
    started = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


def turn(competitor: Competitor, rows: Ids, *, beam: int, size: int, outputs: bool = False) -> dict[str, Any]:
    return competitor.ask("decode", rows=rows, beam=beam, size=size, outputs=outputs)


def race(given: argparse.Namespace, competitors: dict[str, Competitor], rows: Ids) -> dict[str, dict[str, list[float]]]:
    """Tokens per second of every engine in every round, by case."""
    speeds: dict[str, dict[str, list[float]]] = {}
    for beam, size in CASES:
        some = rows[: given.many if size > 1 else given.few]
        for competitor in competitors.values():
            turn(competitor, some[:size], beam=beam, size=size)  # warm
        case = speeds.setdefault(f"beam {beam}, batch {size}", {name: [] for name in competitors})
        for _ in range(given.rounds):
            for name, competitor in competitors.items():
                case[name].append(turn(competitor, some, beam=beam, size=size)["tokens_per_second"])
        tell(f"beam {beam}, batch {size}", case)
    return speeds


def tell(case: str, speeds: dict[str, list[float]]) -> None:
    print(f"\n{case}: ours / the other in target tokens per second, median (least to most)")
    print(f"  {'ours':28} {statistics.median(speeds[OURS]):8,.0f} tokens/s")
    for name, values in speeds.items():
        if name != OURS:
            ratios = [own / other for own, other in zip(speeds[OURS], values, strict=True)]
            median, low, high = statistics.median(ratios), min(ratios), max(ratios)
            print(f"  {name:28} {statistics.median(values):8,.0f} tokens/s   {median:5.2f} ({low:.2f} to {high:.2f})")


def agreement(competitors: dict[str, Competitor], rows: Ids) -> dict[str, dict[str, float]]:
    """The share of sentences that each engine translates as ours does."""
    told: dict[str, dict[str, float]] = {}
    for beam in (1, 5):
        found = {
            name: turn(c, rows[:200], beam=beam, size=32, outputs=True)["found"] for name, c in competitors.items()
        }
        same = {n: sum(a == b for a, b in zip(ids, found[OURS], strict=True)) / len(ids) for n, ids in found.items()}
        told[f"beam {beam}"] = same
        print(f"beam {beam}, the same translation as ours: " + ", ".join(f"{n} {s:.1%}" for n, s in same.items()))
    return told


def main() -> None:
    given = arguments()
    rows = prepared(given)
    print(f"{given.threads} threads, {given.busy} busy processes, load {os.getloadavg()[0]:.2f} before the start")
    with ExitStack() as stack:
        names = [OURS, *given.engines]
        competitors = {n: stack.enter_context(closing(started(n, given))) for n in names}
        same = agreement(competitors, rows)
        with busy(given.busy):
            speeds = race(given, competitors, rows)
        memory = {name: competitor.ask("memory")["peak"] for name, competitor in competitors.items()}
    print(
        json.dumps(
            {"benchmark": "decoding_speed", "busy": given.busy, "speeds": speeds, "same": same, "memory": memory}
        )
    )


if __name__ == "__main__":
    main()
