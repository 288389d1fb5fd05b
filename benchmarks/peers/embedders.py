"""One maker of sentence vectors at the end of a wire (see wire.py): ours, or sentence-transformers.

Everyone gets the same texts in the same order and gives back vectors in that order; cutting into tokens counts too.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from peers.wire import Wire, memory

Embed = Callable[[list[str]], NDArray[np.float32]]


def ours(told: dict[str, Any]) -> Embed:
    import torch

    from glassformer.tasks.embedding import TextEncoder
    from glassformer.tasks.loading import load_bundle
    from glassformer.training.machine import keep_freed_memory

    torch.set_num_threads(told["threads"])
    keep_freed_memory()
    return TextEncoder(load_bundle(told["model"])).embed


def sentence_transformers(told: dict[str, Any]) -> Embed:
    import torch
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(told["threads"])
    if told["allocator"]:
        from glassformer.training.machine import keep_freed_memory

        keep_freed_memory()
    model = SentenceTransformer(told["model"], device="cpu")
    return lambda texts: model.encode(texts, batch_size=told["batch"], show_progress_bar=False)


def main() -> None:
    wire = Wire()
    embed = {"ours": ours, "sentence-transformers": sentence_transformers}[wire.told["engine"]](wire.told)
    wire.answer(ready=True)
    for command in wire.commands():
        if command["do"] == "memory":
            wire.answer(**memory())
            continue
        began = time.perf_counter()
        vectors = embed(command["texts"])
        wire.answer(seconds=time.perf_counter() - began)
        if "out" in command:
            np.save(command["out"], vectors)


if __name__ == "__main__":
    main()
