"""Speed of fine-tuning a BERT classifier: `glassformer train --from`, a well-written loop, and transformers' Trainer.

    python benchmarks/fine_tuning_speed.py --model all-MiniLM-L6-v2/ --texts train.tsv [--rounds 7] [--quick]

train.tsv has a header and the columns text and label. The competitors (peers/fine_tuners.py) make updates of the same
number of texts, 32 unless said; ours cuts its batches by tokens, so it gets that many tokens on average. They alternate
in turns of some seconds; the others wait. Examples per second of neighbouring turns give the ratios, with median
and range. `transformers` and `accelerate` must be installed.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from peers.wire import Competitor

OURS, LOOP, TRAINER = "ours", "loop", "trainer"
Rows = dict[str, list[float]]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True, help="folder of a BERT model")
    parser.add_argument("--texts", type=Path, required=True, help="a .tsv with the columns text and label")
    parser.add_argument("--rounds", type=int, default=7, help="turns of everyone")
    parser.add_argument("--seconds", type=float, default=8.0, help="length of a turn")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--each", type=int, default=32, help="texts of an update")
    parser.add_argument("--lr", type=float, default=5e-5)
    parser.add_argument("--without", nargs="*", default=[], choices=[LOOP, TRAINER], help="leave out")
    parser.add_argument("--quick", action="store_true", help="a smoke test: short turns")
    given = parser.parse_args()
    if given.quick:
        given.rounds, given.seconds = 2, 3.0
    return given


def mean_tokens(model: Path, texts: Path) -> float:
    """Tokens of a text on average, special ones included."""
    from transformers import AutoTokenizer

    lines = [line.partition("\t")[0] for line in texts.read_text().splitlines()[1:]]
    rows = AutoTokenizer.from_pretrained(model)(lines)["input_ids"]
    return statistics.mean(map(len, rows))


def fine_tuning_speed(given: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Examples per second of everyone, and the ratios of ours to the others."""
    tokens = round(given.each * mean_tokens(given.model, given.texts))
    told = {"model": str(given.model.resolve()), "texts": str(given.texts.resolve()), "lr": given.lr}
    told |= {"threads": given.threads, "texts_each": given.each, "batch_tokens": tokens}
    names = [name for name in (OURS, LOOP, TRAINER) if name not in given.without]
    with ExitStack() as stack:
        racing = {
            name: stack.enter_context(
                closing(
                    Competitor(
                        name,
                        "peers.fine_tuners",
                        {**told, "engine": name, "out": str(folder / name)},
                        log=folder / f"{name}.log",
                        threads=given.threads,
                    )
                )
            )
            for name in names
        }
        return summary(race(racing, given))


def race(racing: dict[str, Competitor], given: argparse.Namespace) -> Rows:
    """Rounds in which everyone has a turn, forth and back, so that no one always follows the same one."""
    rates: Rows = {name: [] for name in racing}
    for one in racing.values():
        one.ask("train", seconds=given.seconds / 2)  # warm-up
    for number in range(given.rounds):
        for name in list(racing) if number % 2 == 0 else reversed(racing):
            rates[name].append(racing[name].ask("train", seconds=given.seconds)["targets_per_second"])
    return rates


def summary(rates: Rows) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, own in rates.items():
        ratios = [our / other for our, other in zip(rates[OURS], own, strict=True)]
        found[name] = {"examples_per_second": statistics.median(own), "slowest": min(own), "fastest": max(own)}
        found[name] |= {"ratio": statistics.median(ratios), "least": min(ratios), "most": max(ratios), "turns": own}
    return found


def main() -> None:
    given = arguments()
    with tempfile.TemporaryDirectory() as temporary:
        os.environ["GLASSFORMER_CACHE"] = str(Path(temporary) / "cache")
        print(f"{given.threads} threads, load {os.getloadavg()[0]:.2f} before the start", flush=True)
        found = fine_tuning_speed(given, Path(temporary))
    print(f"ours / the other in examples per second, median of {given.rounds} rounds (least to most)")
    for name, one in found.items():
        rate = f"{one['examples_per_second']:7.1f} examples/s ({one['slowest']:.1f} to {one['fastest']:.1f})"
        print(f"  {one['ratio']:5.2f}  ({one['least']:.2f} to {one['most']:.2f})  {rate}  {name}")
    print(json.dumps({"benchmark": "fine_tuning_speed", "threads": given.threads, "result": found}))


if __name__ == "__main__":
    main()
