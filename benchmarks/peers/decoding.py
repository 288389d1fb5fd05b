"""What every decoding competitor does at the end of its wire (see wire.py): cut batches, decode, count."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from peers.wire import Wire, memory

Ids = list[list[int]]
Engine = Callable[[Ids, int], Ids]  # a batch and a beam -> the ids of the best translations


def serve(wire: Wire, engine: Engine) -> None:
    """Answers until nobody asks any more."""
    wire.answer(memory_at_start=memory()["now"])
    for command in wire.commands():
        if command["do"] == "memory":
            wire.answer(**memory())
            continue
        result = timed(engine, batches_of(command["rows"], command["size"]), command["beam"])
        if not command.get("outputs"):
            result.pop("found")
        wire.answer(**result)


def batches_of(rows: Ids, size: int) -> list[Ids]:
    order = sorted(range(len(rows)), key=lambda i: len(rows[i]))
    return [[rows[i] for i in order[start : start + size]] for start in range(0, len(order), size)]


def timed(engine: Engine, batches: Sequence[Ids], beam: int) -> dict[str, Any]:
    began = time.perf_counter()
    found = [ids for batch in batches for ids in engine(batch, beam)]
    seconds = time.perf_counter() - began
    tokens = sum(len(ids) + 1 for ids in found)
    return {"seconds": seconds, "tokens": tokens, "tokens_per_second": tokens / seconds, "found": found}
