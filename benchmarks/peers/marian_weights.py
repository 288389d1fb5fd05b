"""Our weights as a MarianMTModel: the same model, so that `transformers` can decode it."""

from __future__ import annotations

from pathlib import Path

from torch import Tensor
from transformers import MarianConfig, MarianMTModel

from glassformer.tasks.translation.translator import Translator


def save_as_marian(translator: Translator, folder: Path) -> None:
    """For models with post-norm, sinusoidal-halves positions, relu or silu, and all embeddings tied."""
    ours, marks = translator.recipe.model, translator.target_marks
    assert (ours.norm, ours.positions, ours.tied) == ("post", "sinusoidal-halves", "all"), "Marian's shape"
    config = MarianConfig(
        vocab_size=len(translator.target),
        d_model=ours.d,
        encoder_layers=ours.N,
        decoder_layers=ours.N_decoder or ours.N,
        encoder_attention_heads=ours.h,
        decoder_attention_heads=ours.h,
        encoder_ffn_dim=ours.d_ff,
        decoder_ffn_dim=ours.d_ff,
        activation_function={"silu": "swish"}.get(ours.activation, ours.activation),
        scale_embedding=True,
        max_position_embeddings=1024,
        pad_token_id=marks.pad,
        bos_token_id=marks.bos,
        eos_token_id=marks.eos,
        decoder_start_token_id=marks.bos,
        forced_eos_token_id=None,
    )
    model = MarianMTModel(config)
    missing, unexpected = model.load_state_dict(marian_weights(translator.model.state_dict()), strict=False)
    assert not unexpected, unexpected
    assert all("embed_" in name or "final_logits" in name or "lm_head" in name for name in missing), missing
    model.save_pretrained(folder)


def marian_weights(ours: dict[str, Tensor]) -> dict[str, Tensor]:
    """Their names -> our numbers, the fused projections cut apart."""
    theirs = {"model.shared.weight": ours["decoder.inputs.embedding.weight"]}
    for name, value in ours.items():
        side, _, rest = name.partition(".blocks.")
        if not rest:
            continue
        index, _, leaf = rest.partition(".")
        theirs |= {f"model.{side}.layers.{index}.{new}": part for new, part in leaf_weights(leaf, value).items()}
    return theirs


def leaf_weights(leaf: str, value: Tensor) -> dict[str, Tensor]:
    owner, _, kind = leaf.rpartition(".")
    if owner.endswith(".norm"):
        norm = {"self_attention": "self_attn", "cross_attention": "encoder_attn", "feed_forward": "final"}
        stem = norm[owner.removesuffix("_residual.norm")]
        return {f"{stem}_layer_norm.{'weight' if kind == 'gain' else 'bias'}": value}
    plain = {
        "self_attention.out.linear": "self_attn.out_proj",
        "cross_attention.out.linear": "encoder_attn.out_proj",
        "cross_attention.query": "encoder_attn.q_proj",
        "feed_forward.up": "fc1",
        "feed_forward.down": "fc2",
    }
    if owner in plain:
        return {f"{plain[owner]}.{kind}": value}
    stem, parts = ("self_attn", "qkv") if owner == "self_attention.qkv" else ("encoder_attn", "kv")
    return {
        f"{stem}.{letter}_proj.{kind}": part.clone()
        for letter, part in zip(parts, value.chunk(len(parts)), strict=True)
    }
