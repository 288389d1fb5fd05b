"""The same logits and the same greedy sentences as `transformers`' MarianMTModel, tiny and random."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import torch
from torch import Tensor
from transformers import MarianConfig, MarianMTModel

from glassformer.models.transformer import Transformer, TransformerConfig

PAD, EOS = 22, 0


@dataclass
class Batch:
    source: Tensor
    source_lengths: Tensor
    target_in: Tensor


def make_marian(*, activation: str = "swish", blocks: tuple[int, int] = (2, 3), width: int = 20) -> MarianMTModel:
    config = MarianConfig(
        vocab_size=23, d_model=width, encoder_layers=blocks[0], decoder_layers=blocks[1],
        encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=13, decoder_ffn_dim=13,
        activation_function=activation, scale_embedding=True, max_position_embeddings=64, init_std=0.5,
        pad_token_id=PAD, eos_token_id=EOS, decoder_start_token_id=PAD, forced_eos_token_id=None,
        static_position_embeddings=True,
    )  # fmt: skip
    theirs = MarianMTModel(config).eval()
    with torch.no_grad():
        theirs.final_logits_bias.normal_(std=0.1)
        for name, parameter in theirs.named_parameters():
            if "embed_positions" in name:
                continue  # the table of sines and cosines
            parameter.copy_(mean_of(name) + spread_of(name) * torch.randn_like(parameter))
    return theirs


def mean_of(name: str) -> float:
    return 1.0 if name.endswith("layer_norm.weight") else 0.0


def spread_of(name: str) -> float:
    """Chosen so that greedy sentences differ from each other and do not repeat one token over and over."""
    if name.endswith("bias"):
        return 0.1
    if "q_proj" in name:
        return 1.0
    return 0.3 if "out_proj" in name or "fc2" in name or "norm" in name else 0.4


def our_weights(theirs: dict[str, Tensor]) -> dict[str, Tensor]:
    """Marian's names and cuts -> ours: q, k and v below each other in one matrix, the matrices else unchanged."""
    ours = {"head.bias": theirs["final_logits_bias"][0], "head.weight": theirs["model.shared.weight"]}
    for side in ("encoder", "decoder"):
        ours[f"{side}.inputs.embedding.weight"] = theirs["model.shared.weight"]
        for name in theirs:
            if name.startswith(f"model.{side}.layers.") and name.endswith("self_attn.q_proj.weight"):
                index = name.split(".")[3]
                ours |= block_weights(theirs, f"model.{side}.layers.{index}.", f"{side}.blocks.{index}.")
    return ours


def block_weights(theirs: dict[str, Tensor], old: str, new: str) -> dict[str, Tensor]:
    ours = {}
    for kind in ("weight", "bias"):
        parts = [theirs[f"{old}self_attn.{p}_proj.{kind}"] for p in "qkv"]
        ours[f"{new}self_attention.qkv.{kind}"] = torch.cat(parts)
        ours[f"{new}self_attention.out.linear.{kind}"] = theirs[f"{old}self_attn.out_proj.{kind}"]
        ours[f"{new}feed_forward.up.{kind}"] = theirs[f"{old}fc1.{kind}"]
        ours[f"{new}feed_forward.down.{kind}"] = theirs[f"{old}fc2.{kind}"]
        ours |= norm_weights(theirs, kind, f"{old}self_attn_layer_norm", f"{new}self_attention_residual")
        ours |= norm_weights(theirs, kind, f"{old}final_layer_norm", f"{new}feed_forward_residual")
        if f"{old}encoder_attn.q_proj.{kind}" in theirs:
            parts = [theirs[f"{old}encoder_attn.{p}_proj.{kind}"] for p in "kv"]
            ours[f"{new}cross_attention.key_value.{kind}"] = torch.cat(parts)
            ours[f"{new}cross_attention.query.{kind}"] = theirs[f"{old}encoder_attn.q_proj.{kind}"]
            ours[f"{new}cross_attention.out.linear.{kind}"] = theirs[f"{old}encoder_attn.out_proj.{kind}"]
            ours |= norm_weights(theirs, kind, f"{old}encoder_attn_layer_norm", f"{new}cross_attention_residual")
    return ours


def norm_weights(theirs: dict[str, Tensor], kind: str, old: str, new: str) -> dict[str, Tensor]:
    return {f"{new}.norm.{'gain' if kind == 'weight' else 'bias'}": theirs[f"{old}.{kind}"]}


def convert(theirs: MarianMTModel) -> Transformer:
    config = TransformerConfig(
        N=theirs.config.encoder_layers, N_decoder=theirs.config.decoder_layers, d=theirs.config.d_model, h=2, d_ff=13,
        dropout=0.1, norm="post", positions="sinusoidal-halves", tied="all", output_bias=True,
        activation={"swish": "silu"}.get(theirs.config.activation_function, theirs.config.activation_function),
    )  # fmt: skip
    ours = Transformer(config, source_vocabulary=23, target_vocabulary=23).eval()
    ours.load_state_dict(our_weights(theirs.state_dict()))
    return ours


def random_batch() -> Batch:
    lengths = torch.tensor([7, 5, 3])
    source = torch.randint(1, 22, (3, 7))
    for row, length in enumerate(lengths.tolist()):
        source[row, length - 1] = EOS
        source[row, length:] = PAD
    target = torch.cat([torch.full((3, 1), PAD), torch.randint(1, 22, (3, 10))], dim=1)
    return Batch(source, lengths, target)


VARIANTS = [{}, {"activation": "relu", "blocks": (1, 1)}, {"activation": "gelu", "blocks": (3, 1), "width": 14}]


@pytest.mark.parametrize("variant", VARIANTS)
@torch.no_grad()
def test_logits_equal_marians(variant: dict) -> None:
    theirs = make_marian(**variant)
    batch = random_batch()
    attention_mask = (batch.source != PAD).long()
    expected = theirs(batch.source, attention_mask=attention_mask, decoder_input_ids=batch.target_in).logits
    torch.testing.assert_close(convert(theirs)(batch), expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("variant", VARIANTS)
@torch.no_grad()
def test_greedy_sentences_equal_marians_generate(variant: dict) -> None:
    torch.manual_seed(3)  # a model whose sentences differ from each other
    theirs = make_marian(**variant)
    batch = random_batch()
    steps = 11
    attention_mask = (batch.source != PAD).long()
    expected = theirs.generate(
        batch.source, attention_mask=attention_mask, num_beams=1, do_sample=False, max_new_tokens=steps
    )
    ours = convert(theirs)
    state, ids, sentence = ours.start(batch), torch.full((3,), PAD), [torch.full((3,), PAD)]
    for _ in range(expected.size(1) - 1):
        logits, state, _ = ours.step(ids, state)
        ended = torch.stack([(s == EOS) for s in sentence]).any(0)
        ids = torch.where(ended, PAD, logits.argmax(-1))
        sentence.append(ids)
    assert len(set(expected.flatten().tolist())) >= 4, "more than one token over and over"
    assert len({tuple(row) for row in expected.tolist()}) == 3, "the sentences must differ"
    assert torch.equal(torch.stack(sentence, dim=1), expected)
