"""Our weights as JoeyNMT's: the same model, so that it can decode it."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor

from glassformer.tasks.translation.translator import Translator

LONGEST = 1024
PLAIN = {
    "encoder.self_attention.out.linear": "src_src_att.output_layer",
    "decoder.self_attention.out.linear": "trg_trg_att.output_layer",
    "decoder.cross_attention.out.linear": "src_trg_att.output_layer",
    "decoder.cross_attention.query": "src_trg_att.q_layer",
    "encoder.self_attention_residual.norm": "layer_norm",
    "decoder.self_attention_residual.norm": "x_layer_norm",
    "decoder.cross_attention_residual.norm": "dec_layer_norm",
}
BOTH = {
    "feed_forward_residual.norm": "feed_forward.layer_norm",
    "feed_forward.up": "feed_forward.pwff_layer.0",
    "feed_forward.down": "feed_forward.pwff_layer.3",
}
FUSED = {
    "encoder.self_attention.qkv": ("src_src_att", "qkv"),
    "decoder.self_attention.qkv": ("trg_trg_att", "qkv"),
    "decoder.cross_attention.key_value": ("src_trg_att", "kv"),
}


def save_as_joey(translator: Translator, path: Path) -> None:
    """For models with post-norm and all embeddings tied."""
    ours, marks = translator.recipe.model, translator.target_marks
    assert (ours.norm, ours.tied) == ("post", "all"), "a shape that both have"
    known = translator.model.state_dict()
    # Its first four are unknown, pad, beginning and end.
    order = [0 if translator.target.unk_id is None else translator.target.unk_id, marks.pad, marks.bos, marks.eos]
    order += [i for i in range(len(translator.target)) if i not in order]
    embedding = known["decoder.inputs.embedding.weight"][order]
    positions = translator.model.decoder.inputs.positions
    table = positions(LONGEST).detach()[None]  # (1, longest, d)
    weights = {
        name: embedding for name in ("src_embed.lut.weight", "trg_embed.lut.weight", "decoder.output_layer.weight")
    }
    weights |= {"encoder.pe.pe": table, "decoder.pe.pe": table}
    for name, value in known.items():
        side, _, rest = name.partition(".blocks.")
        if rest:
            index, _, leaf = rest.partition(".")
            weights |= {f"{side}.layers.{index}.{new}": part for new, part in leaf_weights(side, leaf, value).items()}
    shape = {"num_layers": ours.N, "hidden_size": ours.d, "ff_size": ours.d_ff, "num_heads": ours.h}
    torch.save({"weights": weights, "order": order, "shape": shape, "activation": ours.activation}, path)


def leaf_weights(side: str, leaf: str, value: Tensor) -> dict[str, Tensor]:
    owner, _, kind = leaf.rpartition(".")
    kind = "weight" if kind == "gain" else kind
    if name := BOTH.get(owner) or PLAIN.get(f"{side}.{owner}"):
        return {f"{name}.{kind}": value}
    stem, parts = FUSED[f"{side}.{owner}"]
    return {
        f"{stem}.{letter}_layer.{kind}": part.clone()
        for letter, part in zip(parts, value.chunk(len(parts)), strict=True)
    }
