"""Does `glassformer train --budget` end on time next to other programs, with its rate down, and how well does it learn?

    python benchmarks/budget_under_load.py --data FOLDER [--budgets 1m 4m] [--busy 0 1 2 4]
    python benchmarks/budget_under_load.py --budgets 1m

FOLDER holds train.en, train.de, val.en and val.de (plain or .gz), for instance Multi30k's; without it the built-in
phrasebook is used. For each budget and each number of busy processes (`while True: pass`, started and ended here) the
whole command is timed, from its start to its exit. The ratio is that time divided by the budget. `rate` is the learning
rate at the last recorded step divided by the highest one. Afterwards, not timed and with no other load, the run
is scored on all validation sentences (the phrasebook: on its test part) as `glassformer evaluate` does.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from glassformer.training.settings import seconds_of


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder with train and val, .en and .de; without: the phrasebook")
    parser.add_argument("--budgets", nargs="+", default=["1m"], help="as `glassformer train --budget` takes them")
    parser.add_argument("--busy", nargs="+", type=int, default=[0, 1, 2, 4], help="number of busy processes")
    parser.add_argument("--set", action="append", default=[], help="a setting, as train.threads=1")
    return parser.parse_args()


@contextmanager
def busy_processes(count: int) -> Iterator[None]:
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def data_arguments(folder: Path | None) -> list[str]:
    if folder is None:
        return ["--corpus", "phrasebook"]
    found = {name: next(iter(sorted(folder.glob(f"{name}*"))), None) for name in FILES}
    if missing := [name for name, path in found.items() if path is None]:
        raise SystemExit(f"{folder} has no {', '.join(missing)} (plain or .gz).")
    source, target, *valid = (str(found[name]) for name in FILES)
    return ["--source", source, "--target", target, "--valid", *valid]


FILES = ("train.en", "train.de", "val.en", "val.de")


def measured(budget: str, busy: int, given: Sequence[str], test: Sequence[str]) -> dict[str, Any]:
    """One run next to this many busy processes, and its scores."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        command = [sys.executable, "-m", "glassformer", "train", *given, "--budget", budget, "--out", str(out)]
        with busy_processes(busy):
            began = time.monotonic()
            status = subprocess.run(command, stderr=subprocess.DEVNULL, check=False).returncode
            seconds = time.monotonic() - began
        row = {"budget": budget, "busy": busy, "seconds": seconds, "status": status, **found_in(out, budget, seconds)}
        return row if status else {**row, "scores": scores_of(out, test)}


def scores_of(out: Path, test: Sequence[str]) -> dict[str, float]:
    command = [sys.executable, "-m", "glassformer", "evaluate", str(out), *test, "--json"]
    told = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout)
    return {score["name"]: score["value"] for score in told}


def found_in(out: Path, budget: str, seconds: float) -> dict[str, Any]:
    if not (out / "metrics.jsonl").exists():
        return {}
    records = [json.loads(line) for line in (out / "metrics.jsonl").read_text().split("\n") if line]
    rates = [record["lr"] for record in records if "lr" in record]
    plan = out / "plan.jsonl"
    changes = [json.loads(line) for line in plan.read_text().split("\n") if line] if plan.exists() else []
    return {
        "ratio": seconds / seconds_of(budget),
        "rate": rates[-1] / max(rates) if rates else None,
        "steps": max((record.get("step", 0) for record in records), default=0),
        "changes": len(changes),
        "threads": sorted({change["threads"] for change in changes}),
        "scores": {},
    }


def main() -> None:
    given = arguments()
    common = [*data_arguments(given.data), *(part for setting in given.set for part in ("--set", setting))]
    test = common[common.index("--valid") + 1 :][:2] if given.data else ["--corpus", "phrasebook"]
    rows = []
    print("ratio   seconds  budget  busy   rate  steps  changes  threads  scores", flush=True)
    for budget in given.budgets:
        for busy in given.busy:
            row = measured(budget, busy, common, test)
            rows.append(row)
            if "ratio" not in row:
                print(f"no run: {budget} with {busy} busy processes ended with status {row['status']}", flush=True)
                continue
            scores = "  ".join(f"{name} {value:.2f}" for name, value in row["scores"].items())
            rate = "-" if row["rate"] is None else f"{row['rate']:.3f}"
            print(
                f"{row['ratio']:5.3f} {row['seconds']:9.1f}  {budget:>6} {busy:>5}  {rate:>5} {row['steps']:>6} "
                f"{row['changes']:>8}  {','.join(map(str, row['threads'])):>7}  {scores}",
                flush=True,
            )
    print(json.dumps({"benchmark": "budget_under_load", "rows": rows}))


if __name__ == "__main__":
    main()
