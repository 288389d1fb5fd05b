"""The cost of a token late in a long output: nothing may be computed twice.

    python benchmarks/cost_of_a_token.py --run RUN [--beam 1] [--tokens 2000]

One sentence, whose end is forbidden until the given number of tokens. Reports milliseconds per token (the median of
each section), the ratio to the first section, and the memory of the process. Only attention grows with the output.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch

from glassformer.decode import steps
from glassformer.decode.rows import Completed
from glassformer.decode.rules import MinLength
from glassformer.tasks.translation.constraints import Request, Sentences
from glassformer.tasks.translation.loading import load
from glassformer.training.machine import keep_freed_memory

STRETCHES = 8


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path, required=True)
    parser.add_argument("--text", default="A man in an orange hat starring at something.")
    parser.add_argument("--beam", type=int, default=1)
    parser.add_argument("--tokens", type=int, default=2000)
    parser.add_argument("--threads", type=int, default=2)
    return parser.parse_args()


def seconds_of_each(given: argparse.Namespace) -> list[float]:
    translator = load(given.run)
    row, request = translator.source.encode(given.text), Request(translator.recipe.decode, beam=given.beam)
    limits = np.array([given.tokens])
    task = translator.task(Sentences.of_ids([row]), request, limits=limits)
    task = replace(task, rules=[MinLength(limits, task.eos)])
    moments = [time.perf_counter()]
    for _ in steps(task, [Completed()]):
        moments.append(time.perf_counter())
    return [after - before for before, after in pairwise(moments)][1:]  # the first one also reads the sentence


def main() -> None:
    given = arguments()
    torch.set_num_threads(given.threads)
    keep_freed_memory()
    seconds = seconds_of_each(given)
    size = len(seconds) // STRETCHES
    medians = [1000 * statistics.median(seconds[i * size : (i + 1) * size]) for i in range(STRETCHES)]
    for i, median in enumerate(medians):
        print(f"tokens {i * size + 1:5} to {(i + 1) * size:5}: {median:6.2f} ms per token, {median / medians[0]:.2f}")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak memory {peak:.0f} MB")
    print(json.dumps({"benchmark": "cost_of_a_token", "beam": given.beam, "milliseconds": medians, "peak": peak}))


if __name__ == "__main__":
    main()
