"""Damages models, imports and uses them in worker processes, and counts what came of it.

    python tests/fuzz/import_fuzzer.py --cases 5000 --seed 1      all of them; failures are printed
    python tests/fuzz/import_fuzzer.py --seed 1 --only 1234       one case again

A case must end in success or in a GlassformerError: no other exception, no crash, no more than SECONDS, no more than
MEMORY.
"""

from __future__ import annotations

import argparse
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SOURCE = HERE.parent.parent / "src"
sys.path[:0] = [str(HERE), str(HERE.parent), str(SOURCE)]

from import_worker import SECONDS  # noqa: E402

GOOD = ("imported", "refused")
PATIENCE = 120  # seconds that a worker may take to start


class Worker:
    """One process that runs cases; it is started again after a hang or a crash."""

    def __init__(self, seeds: Path, scratch: Path, seed: int) -> None:
        self.seeds, self.scratch, self.seed = seeds, scratch, seed
        scratch.mkdir(parents=True)
        self.process: subprocess.Popen[str] | None = None

    def run(self, number: int) -> dict[str, Any]:
        process = self.started()
        assert process.stdin is not None
        process.stdin.write(f"{number}\n")
        process.stdin.flush()
        answer = self.answer(process, SECONDS)
        if answer:
            return json.loads(answer)
        outcome = "crash" if process.poll() is not None else "hang"
        self.stop()
        return {"number": number, "outcome": outcome, "error": self.last_words()}

    def started(self) -> subprocess.Popen[str]:
        if self.process is None:
            path = os.pathsep.join([str(SOURCE), str(HERE.parent), str(HERE)])
            with (self.scratch.parent / f"{self.scratch.name}.err").open("w") as errors:
                self.process = subprocess.Popen(
                    [sys.executable, str(HERE / "import_worker.py"), *map(str, (self.seeds, self.scratch, self.seed))],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    text=True,
                    env={**os.environ, "PYTHONPATH": path, "RUST_BACKTRACE": "0"},
                )
            if self.answer(self.process, PATIENCE).strip() != "ready":
                raise RuntimeError(f"the worker did not start: {self.last_words()}")
        return self.process

    def answer(self, process: subprocess.Popen[str], seconds: float) -> str:
        """A line, or nothing where none came in time."""
        assert process.stdout is not None
        ready, _, _ = select.select([process.stdout], [], [], seconds)
        return process.stdout.readline() if ready else ""

    def last_words(self) -> str:
        return (self.scratch.parent / f"{self.scratch.name}.err").read_text(errors="replace")[-3000:]

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
        self.process = None


def results(seeds: Path, numbers: Iterable[int], *, seed: int, workers: int = 1) -> Iterator[dict[str, Any]]:
    """What came of each case."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        parts = [list(numbers)[i::workers] for i in range(workers)]
        pool = [Worker(seeds, Path(scratch) / str(i), seed) for i in range(workers)]

        def run(worker: Worker, part: list[int]) -> list[dict[str, Any]]:
            try:
                return [told(worker.run(number)) for number in part]
            finally:
                worker.stop()

        with ThreadPoolExecutor(workers) as threads:
            for found in threads.map(run, pool, parts):
                yield from found


def told(result: dict[str, Any]) -> dict[str, Any]:
    if result["outcome"] not in GOOD:
        print(json.dumps({name: value for name, value in result.items() if name != "error"}))
        print(result.get("error", ""), flush=True)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="the number of the first case")
    parser.add_argument("--only", type=int, help="run this case alone, and print what came of it")
    parser.add_argument("--workers", type=int, default=2)
    asked = parser.parse_args()
    from import_seeds import write_seeds

    place = Path(tempfile.mkdtemp())
    try:
        write_seeds(place / "seeds")
        start = time.monotonic()
        numbers = [asked.only] if asked.only is not None else range(asked.first, asked.first + asked.cases)
        found = list(results(place / "seeds", numbers, seed=asked.seed, workers=1 if asked.only else asked.workers))
        took = time.monotonic() - start
    finally:
        shutil.rmtree(place)
    if asked.only is not None:
        print(json.dumps(found, indent=1))
    counts = Counter(result["outcome"] for result in found)
    most = max(result.get("mb", 0) for result in found)
    print(f"{len(found)} cases, seed {asked.seed}, {took:.0f} s ({len(found) / took:.1f}/s): {dict(counts)}, {most} MB")
    sys.exit(any(result["outcome"] not in GOOD for result in found))


if __name__ == "__main__":
    main()
