"""The forecast of `train` compared with the real run: minutes and memory, on your own data.

    python benchmarks/forecast.py train.en train.de --set model.size=tiny --set train.epochs=2
    python benchmarks/forecast.py --corpus phrasebook --set train.epochs=1

Files are given as `glassformer train` takes them (two aligned files, or --pairs FILE, or --corpus NAME). The forecast
is made in one process; then the run takes place in another, and its clock starts with its first step.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time


def main() -> None:
    arguments = sys.argv[1:]
    if not arguments or arguments[0] in ("-h", "--help"):
        raise SystemExit(__doc__)
    if not arguments[0].startswith("-"):
        arguments = ["--source", arguments[0], "--target", arguments[1], *arguments[2:]]
    train = [sys.executable, "-m", "glassformer", "train", *arguments]
    told = subprocess.run([*train, "--forecast", "--json"], capture_output=True, check=True)
    forecast = json.loads(told.stdout)
    with tempfile.TemporaryDirectory() as folder:
        seconds, memory = run([*train, "--set", "train.patience=0", "--out", f"{folder}/run"])
    print(f"ratio {forecast['seconds'] / seconds:.2f} (seconds, forecast / real)")
    print(f"ratio {forecast['memory'] / memory:.2f} (memory, forecast / real)")
    print(f"  forecast {forecast['seconds']:8.1f} s   {forecast['memory'] / 2**20:8,.0f} MB")
    print(f"  real     {seconds:8.1f} s   {memory / 2**20:8,.0f} MB")
    print(json.dumps({"benchmark": "forecast", "forecast": forecast, "seconds": seconds, "memory": memory}))


def run(command: list[str]) -> tuple[float, int]:
    """Seconds from the plan, which is printed right before the first step, to the end; peak memory in bytes."""
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    began = time.perf_counter()
    for line in process.stderr:
        if "Estimate: " in line:
            began = time.perf_counter()
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"training ended with status {status}")
    return time.perf_counter() - began, 1024 * used.ru_maxrss


if __name__ == "__main__":
    main()
