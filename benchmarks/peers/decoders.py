"""One engine that translates at the end of a wire (see wire.py): ours, CTranslate2 or transformers.

All have the same weights and the same source ids, cut into the same batches: sentences of like length together, so that
nobody pays for padding. Tokens are those of the translations, end marks included. (JoeyNMT: joey_decoder.py)
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from peers.decoding import Engine, Ids, serve
from peers.wire import Wire


def ours(told: dict[str, Any]) -> Engine:
    os.environ.setdefault("GOMP_SPINCOUNT", "20000")  # as the command line does; read when torch is loaded

    import torch

    from glassformer.tasks.translation.loading import load
    from glassformer.training.machine import keep_freed_memory

    torch.set_num_threads(told["threads"])
    keep_freed_memory()
    translator = load(told["run"])

    def decode(rows: Ids, beam: int) -> Ids:
        return [list(found[0].ids) for found in translator.search_ids(rows, beam=beam)]

    return decode


def ctranslate2(told: dict[str, Any]) -> Engine:
    import ctranslate2

    engine = ctranslate2.Translator(
        told["exported"], device="cpu", inter_threads=1, intra_threads=told["threads"], compute_type=told["compute"]
    )
    names: list[str] = json.loads(Path(told["exported"], "shared_vocabulary.json").read_text(encoding="utf-8"))
    numbers = {name: i for i, name in enumerate(names)}

    def decode(rows: Ids, beam: int) -> Ids:
        found = engine.translate_batch(
            [[names[i] for i in row] for row in rows],
            beam_size=beam,
            max_decoding_length=3 * max(map(len, rows)) + 10,
            length_penalty=1.0,
        )
        return [[numbers[token] for token in one.hypotheses[0]] for one in found]

    return decode


def transformers(told: dict[str, Any]) -> Engine:
    import torch
    from transformers import MarianMTModel

    torch.set_num_threads(told["threads"])
    if told["allocator"]:
        from glassformer.training.machine import keep_freed_memory

        keep_freed_memory()
    model = MarianMTModel.from_pretrained(told["marian"]).eval()
    pad, eos = model.config.pad_token_id, model.config.eos_token_id

    @torch.inference_mode()
    def decode(rows: Ids, beam: int) -> Ids:
        longest = max(map(len, rows)) + 1
        ids = torch.tensor([[*row, eos, *[pad] * (longest - len(row) - 1)] for row in rows])
        found = model.generate(
            input_ids=ids,
            attention_mask=(ids != pad).long(),
            num_beams=beam,
            do_sample=False,
            length_penalty=1.0,
            max_new_tokens=3 * longest + 10,
        )
        return [[i for i in row if i not in (pad, eos)] for row in found[:, 1:].tolist()]

    return decode


ENGINES: dict[str, Callable[[dict[str, Any]], Engine]] = {
    "ours": ours,
    "ctranslate2": ctranslate2,
    "transformers": transformers,
}


def main() -> None:
    wire = Wire()
    serve(wire, ENGINES[wire.told["engine"]](wire.told))


if __name__ == "__main__":
    main()
