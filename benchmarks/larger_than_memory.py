"""Memory of a run on a corpus and on one ten times as large: they should be the same.

    python benchmarks/larger_than_memory.py [--pairs 100000]

Two pairs of text files are generated, of N and of 10 N lines. `glassformer train` runs on each in a process of its own
(vocabulary, tokens, 50 steps, one validation, the report). Reports the peak memory of the process, the part of it
that is not a file mapping, the size of the token cache on disk, and the seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

WORDS = 20_000
TRAIN = [
    "--set",
    "model.size=nano",
    "--set",
    "train.steps=50",
    "--set",
    "train.valid_every=50",
    "--valid",
    "200.en",
    "200.de",
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=100_000, help="size of the smaller corpus")
    arguments = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        generate(folder, "200", 200)
        for pairs in (arguments.pairs, 10 * arguments.pairs):
            generate(folder, str(pairs), pairs)
            rows.append(measure(folder, pairs))
            print(json.dumps(rows[-1]), flush=True)
    small, large = rows
    print(f"ratio {large['peak_mb'] / small['peak_mb']:.3f} (peak memory, ten times the pairs)")
    for row in rows:
        print(f"  {row['pairs']:,} pairs: {row['peak_mb']:,.0f} MB")
    growth = (large["peak_mb"] - small["peak_mb"]) * 2**20 / (large["pairs"] - small["pairs"])
    print(f"  {growth:.1f} bytes of memory for each further pair; {large['cache_bytes_per_pair']:.1f} bytes on disk")


def generate(folder: Path, name: str, pairs: int) -> None:
    """Lines of 3 to 25 words, with natural frequencies: the n-th word is 1/n as frequent as the first."""
    random = np.random.default_rng(pairs)
    words = np.array(["".join(chr(97 + int(c)) for c in random.integers(0, 26, size=3 + i % 7)) for i in range(WORDS)])
    shares = 1 / np.arange(1, WORDS + 1)
    for side in ("en", "de"):
        with (folder / f"{name}.{side}").open("w") as file:
            for start in range(0, pairs, 10_000):
                lengths = random.integers(3, 26, size=min(10_000, pairs - start))
                drawn = words[random.choice(WORDS, size=int(lengths.sum()), p=shares / shares.sum())]
                for line in np.split(drawn, np.cumsum(lengths)[:-1]):
                    file.write(" ".join(line) + "\n")


def measure(folder: Path, pairs: int) -> dict[str, float]:
    """One run as a user would start it; its memory is read ten times a second."""
    cache = folder / f"cache-{pairs}"
    files = ["--source", f"{pairs}.en", "--target", f"{pairs}.de", "--out", f"run-{pairs}"]
    command = [sys.executable, "-m", "glassformer", "train", *files, *TRAIN]
    environment = {**os.environ, "GLASSFORMER_CACHE": str(cache)}
    began = time.perf_counter()
    process = subprocess.Popen(command, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True)
    peaks = {"VmHWM": 0, "RssAnon": 0}
    watcher = threading.Thread(target=watch, args=(process, peaks))
    watcher.start()
    _, told = process.communicate()
    watcher.join()
    if process.returncode:
        raise SystemExit(told)
    size = sum(path.stat().st_size for path in cache.rglob("*") if path.is_file())
    return {
        "pairs": pairs,
        "peak_mb": peaks["VmHWM"] / 1024,
        "peak_anonymous_mb": peaks["RssAnon"] / 1024,
        "cache_bytes_per_pair": size / pairs,
        "seconds": time.perf_counter() - began,
    }


def watch(process: subprocess.Popen[str], peaks: dict[str, int]) -> None:
    while process.poll() is None:
        try:
            lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
        except OSError:
            return
        for line in lines:
            name, _, value = line.partition(":")
            if name in peaks:
                peaks[name] = max(peaks[name], int(value.split()[0]))
        time.sleep(0.1)


if __name__ == "__main__":
    main()
