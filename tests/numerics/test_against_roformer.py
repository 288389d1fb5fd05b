"""The same numbers as `transformers`' RoFormer, tiny and random, and in float64 as the rotation of the paper.

Its table of sines is float32 whatever the model's precision, so it is compared in float32.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from encoder_peers import (
    CLOSE,
    Batch,
    asked,
    assert_same_gradients,
    ours_of,
    random_batch,
    randomised,
    real,
    states_of,
    written_back,
)
from torch import Tensor
from transformers import (
    RoFormerConfig,
    RoFormerForMaskedLM,
    RoFormerForQuestionAnswering,
    RoFormerForSequenceClassification,
    RoFormerForTokenClassification,
    RoFormerModel,
)

from glassformer.errors import ImportingError
from glassformer.hub.huggingface.folders import read_folder
from glassformer.models.roformer import RoFormer
from glassformer.models.roformer import RoFormerConfig as OurConfig
from glassformer.nn.taps import listen

VARIANTS: dict[str, dict[str, Any]] = {
    "three heads": {"hidden_size": 18, "num_attention_heads": 3},
    "narrow tokens": {"hidden_size": 20, "num_attention_heads": 5, "embedding_size": 13, "layer_norm_eps": 1e-5},
    "wide tokens, untied": {
        **{"hidden_size": 14, "num_attention_heads": 1, "embedding_size": 19},
        **{"tie_word_embeddings": False, "hidden_act": "gelu_new"},
    },
    "relu, three segments": {"hidden_size": 24, "num_attention_heads": 2, "hidden_act": "relu", "type_vocab_size": 3},
}
each_variant = pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS.keys())


def config(**changed: Any) -> RoFormerConfig:
    small = {"vocab_size": 43, "num_hidden_layers": 3, "intermediate_size": 17, "max_position_embeddings": 301}
    return RoFormerConfig(**{**small, **changed})


def batch_for(theirs: Any, *lengths: int) -> Batch:
    return random_batch(*lengths, vocabulary=43, pad=0, segments=theirs.config.type_vocab_size)


@each_variant
@torch.no_grad()
def test_logits_and_hidden_states_are_roformers(variant: dict[str, Any], tmp_path: Path) -> None:
    theirs = randomised(RoFormerForMaskedLM(config(**variant)), spread=0.2)
    ours, batch = ours_of(theirs, tmp_path), batch_for(theirs, 301, 11, 1)
    expected = theirs(**asked(batch), output_hidden_states=True)
    torch.testing.assert_close(*real(batch, ours.model(batch), expected.logits), **CLOSE)
    for mine, yours in zip(states_of(ours.model, batch), expected.hidden_states, strict=True):
        torch.testing.assert_close(*real(batch, mine, yours), **CLOSE)


@each_variant
def test_gradients_are_roformers(variant: dict[str, Any], tmp_path: Path) -> None:
    theirs = randomised(RoFormerForMaskedLM(config(**variant)))
    assert_same_gradients(ours_of(theirs, tmp_path), theirs, batch_for(theirs, 13, 7, 2), per_token=True)


HEADS = {
    RoFormerForSequenceClassification: ("sentence", False),
    RoFormerForTokenClassification: ("tokens", True),
    RoFormerForMaskedLM: ("words", True),
}


@pytest.mark.parametrize("kind", HEADS)
@torch.no_grad()
def test_every_head_there_and_back(kind: Any, tmp_path: Path) -> None:
    head, per_token = HEADS[kind]
    theirs = randomised(kind(config(**VARIANTS["narrow tokens"], num_labels=5)))
    ours, batch = ours_of(theirs, tmp_path / "theirs"), batch_for(theirs, 9, 4)
    assert ours.model.config.head == head
    for other in (theirs, written_back(ours, kind, tmp_path / "ours")):
        pair = ours.model(batch), other(**asked(batch)).logits
        torch.testing.assert_close(*(real(batch, *pair) if per_token else pair), **CLOSE)


@torch.no_grad()
def test_spans_and_models_without_a_head_there_and_back(tmp_path: Path) -> None:
    theirs = randomised(RoFormerForQuestionAnswering(config(**VARIANTS["three heads"])))
    ours, batch = ours_of(theirs, tmp_path / "theirs"), batch_for(theirs, 9, 4)
    for other in (theirs, written_back(ours, RoFormerForQuestionAnswering, tmp_path / "ours")):
        told = other(**asked(batch))
        expected = torch.stack([told.start_logits, told.end_logits], dim=-1)
        torch.testing.assert_close(*real(batch, ours.model(batch), expected), **CLOSE)
    body = ours_of(theirs.roformer, tmp_path / "body")
    expected = written_back(body, RoFormerModel, tmp_path / "our body")(**asked(batch)).last_hidden_state
    torch.testing.assert_close(*real(batch, body.model(batch), expected), **CLOSE)


def test_turned_values_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ImportingError, match="rotary_value = True is not supported"):
        ours_of(RoFormerModel(config(hidden_size=18, num_attention_heads=3, rotary_value=True)), tmp_path)


def turned(x: Tensor) -> Tensor:
    """(T, E): pair i of the token at t is multiplied, as a complex number, with e^(i t 10000^(-2i/E)) (equation 12)."""
    length, width = x.shape
    angle = torch.arange(length)[:, None] * 10000.0 ** (-torch.arange(0, width, 2) / width)
    return torch.view_as_real(
        torch.view_as_complex(x.unflatten(-1, (-1, 2))) * torch.polar(angle * 0 + 1, angle)
    ).flatten(1)


@pytest.mark.usefixtures("double")
@torch.no_grad()
def test_in_float64_scores_are_those_of_the_rotation_and_depend_on_distance_alone() -> None:
    model = RoFormer(OurConfig(vocabulary=29, N=2, d=18, h=3, d_ff=11, max_length=300)).eval()
    for parameter in model.parameters():
        parameter.copy_(0.3 * torch.randn_like(parameter))
    batch = random_batch(290, vocabulary=29, pad=0)
    batch.ids[0, 140:150] = batch.ids[0, 0:10]
    with listen(model, lambda name: "blocks.0.self_attention" in name) as heard:
        model(batch)
    weights = dict(model.named_parameters())
    x = weights["inputs.embedding.weight"][batch.ids[0]] + weights["inputs.segments.weight"][0]
    x = (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True, unbiased=False) + 1e-12).sqrt()
    x = x * weights["inputs.norm.gain"] + weights["inputs.norm.bias"]
    name = "blocks.0.self_attention.qkv"
    q, k, _ = (x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]).split(18, dim=-1)
    scores = heard["blocks.0.self_attention.core.scores"][0][0]  # (H, T, T)
    for h in range(3):
        part = slice(6 * h, 6 * h + 6)
        torch.testing.assert_close(scores[h], turned(q[:, part]) @ turned(k[:, part]).T, rtol=0, atol=1e-9)
    torch.testing.assert_close(scores[:, 140:150, 140:150], scores[:, 0:10, 0:10], rtol=0, atol=1e-9)


def test_another_table_of_positions_is_refused(tmp_path: Path) -> None:
    config = RoFormerConfig(vocab_size=23, hidden_size=12, num_hidden_layers=1, num_attention_heads=3)
    theirs = RoFormerForMaskedLM(config)
    with torch.no_grad():
        theirs.roformer.encoder.embed_positions.weight.mul_(2)
    theirs.save_pretrained(tmp_path)
    with pytest.raises(ImportingError, match=r"embed_positions\.weight is not the expected table of sines and cosines"):
        read_folder(tmp_path)
