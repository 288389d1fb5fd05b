"""One engine that continues prompts at the end of a wire (see wire.py): ours or transformers' generate.

Both read the same folder of random weights and get the same prompts; greedy, a fixed number of new tokens, no end.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from peers.decoding import Ids
from peers.wire import Wire, memory

Engine = Callable[[Ids, int], Ids]  # a batch of prompts, how many new tokens -> those


def prepare(told: dict[str, Any]) -> None:
    import torch

    torch.set_num_threads(told["threads"])
    if told["allocator"]:
        from glassformer.training.machine import keep_freed_memory

        keep_freed_memory()


def ours(told: dict[str, Any]) -> Engine:
    import numpy as np
    import torch

    from glassformer.decode import Best, Search, search
    from glassformer.hub.huggingface.folders import read_folder
    from glassformer.tasks.generation.inputs import TokenBatch

    model: Any = read_folder(told["model"]).model

    def generate(rows: Ids, new: int) -> Ids:
        task = Search(
            model=model,
            batch=TokenBatch.of(rows),
            limits=np.full(len(rows), new),
            bos=np.array([row[-1] for row in rows]),
            eos=-1,
            device=torch.device("cpu"),
            chooser=Best(1),
        )
        return [list(found[0].ids) for found in search(task)]

    return generate


def transformers(told: dict[str, Any]) -> Engine:
    import torch
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(told["model"]).eval()

    @torch.inference_mode()
    def generate(rows: Ids, new: int) -> Ids:
        ids = torch.tensor(rows)
        found = model.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            do_sample=False,
            max_new_tokens=new,
            eos_token_id=None,
            pad_token_id=0,
        )
        return found[:, ids.size(1) :].tolist()

    return generate


ENGINES: dict[str, Callable[[dict[str, Any]], Engine]] = {"ours": ours, "transformers": transformers}


def main() -> None:
    wire = Wire()
    prepare(wire.told)
    engine = ENGINES[wire.told["engine"]](wire.told)
    wire.answer(memory_at_start=memory()["now"])
    for command in wire.commands():
        if command["do"] == "memory":
            wire.answer(**memory())
            continue
        began = time.perf_counter()
        rows, size = command["rows"], command["size"]
        found = [ids for at in range(0, len(rows), size) for ids in engine(rows[at : at + size], command["new"])]
        seconds = time.perf_counter() - began
        told = {"found": found} if command.get("outputs") else {}
        wire.answer(seconds=seconds, tokens_per_second=sum(map(len, found)) / seconds, **told)


if __name__ == "__main__":
    main()
