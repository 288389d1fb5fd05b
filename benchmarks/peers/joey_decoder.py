"""JoeyNMT at the end of a wire (see wire.py), translating with our weights.

This runs in JoeyNMT's environment and imports nothing of ours but the wire.
"""

from __future__ import annotations

from typing import Any

import torch
from joeynmt.batch import Batch
from joeynmt.model import Model, build_model
from joeynmt.search import search
from joeynmt.vocabulary import Vocabulary

from peers.decoding import Ids, serve
from peers.wire import Wire

UNK, PAD, BOS, EOS = "<unk>", "<pad>", "<s>", "</s>"


def made(told: dict[str, Any]) -> tuple[Model, list[int]]:
    """Its model with our weights, and the id of ours that each of its ids is."""
    saved = torch.load(told["joey"], weights_only=True)
    torch.set_num_threads(told["threads"])
    words = [UNK, PAD, BOS, EOS, *(f"t{i}" for i in range(len(saved["order"]) - 4))]
    special = {"unk_token": UNK, "pad_token": PAD, "bos_token": BOS, "eos_token": EOS, "sep_token": None}
    special |= {"unk_id": 0, "pad_id": 1, "bos_id": 2, "eos_id": 3, "sep_id": None, "lang_tags": []}
    vocabularies = [Vocabulary(tokens=words[4:], cfg=_plain(special)) for _ in range(2)]
    half = {"type": "transformer", "dropout": 0.0, "layer_norm": "post", "activation": saved["activation"]}
    half |= {**saved["shape"], "embeddings": {"embedding_dim": saved["shape"]["hidden_size"], "scale": True}}
    settings = {"tied_embeddings": False, "tied_softmax": False, "encoder": half, "decoder": dict(half)}
    model = build_model(settings, *vocabularies)
    for side in (model.encoder, model.decoder):
        side.pe.pe = saved["weights"]["encoder.pe.pe"]
    model.load_state_dict(saved["weights"], strict=False)
    for module in model.modules():
        if isinstance(module, torch.nn.LayerNorm):
            module.eps = 1e-5
    return model.eval(), saved["order"]


def _plain(special: dict[str, Any]) -> Any:
    from types import SimpleNamespace

    return SimpleNamespace(**special)


def main() -> None:
    wire = Wire()
    model, order = made(wire.told)
    theirs = {ours: its for its, ours in enumerate(order)}

    def decode(rows: Ids, beam: int) -> Ids:
        longest = max(map(len, rows)) + 1
        ids = [[*(theirs[i] for i in row), 3, *[1] * (longest - len(row) - 1)] for row in rows]
        batch = Batch(
            src=torch.tensor(ids),
            src_length=torch.tensor([len(row) + 1 for row in rows]),
            src_prompt_mask=None,
            trg=None,
            trg_prompt_mask=None,
            indices=torch.arange(len(rows)),
            device=torch.device("cpu"),
            pad_index=1,
            eos_index=3,
            is_train=False,
        )
        found, _, _ = search(
            model=model, batch=batch, max_output_length=3 * longest + 10, beam_size=beam, beam_alpha=1.0
        )
        return [[order[i] for i in cut(row.tolist())] for row in found]

    serve(wire, decode)


def cut(row: list[int]) -> list[int]:
    """Up to the end mark."""
    ended = row.index(3) if 3 in row else len(row)
    return [i for i in row[:ended] if i != 1]


if __name__ == "__main__":
    main()
