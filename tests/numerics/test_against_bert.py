"""The same numbers as `transformers`' BERT, tiny and random, and in float64 as the formulas of the paper."""

from __future__ import annotations

import math
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
    BertConfig,
    BertForMaskedLM,
    BertForPreTraining,
    BertForQuestionAnswering,
    BertForSequenceClassification,
    BertForTokenClassification,
    BertModel,
)

from glassformer.models.bert import Bert
from glassformer.models.bert import BertConfig as OurConfig

VARIANTS: dict[str, dict[str, Any]] = {
    "three heads": {"hidden_size": 21, "num_attention_heads": 3},
    "five heads, tanh": {"hidden_size": 20, "num_attention_heads": 5, "hidden_act": "gelu_new", "layer_norm_eps": 1e-5},
    "one head, relu": {"hidden_size": 14, "num_attention_heads": 1, "hidden_act": "relu", "num_hidden_layers": 1},
    "untied": {"hidden_size": 22, "num_attention_heads": 2, "tie_word_embeddings": False, "layer_norm_eps": 0.1},
    "three segments": {"hidden_size": 24, "num_attention_heads": 3, "type_vocab_size": 3, "pad_token_id": 5},
}
each_variant = pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS.keys())


def config(**changed: Any) -> BertConfig:
    small = {"vocab_size": 43, "num_hidden_layers": 3, "intermediate_size": 17, "max_position_embeddings": 37}
    return BertConfig(**{**small, **changed})


def batch_for(theirs: Any, *lengths: int) -> Batch:
    told = theirs.config
    return random_batch(*lengths, vocabulary=told.vocab_size, pad=told.pad_token_id, segments=told.type_vocab_size)


@each_variant
@torch.no_grad()
def test_logits_hidden_states_and_pooler_are_berts(variant: dict[str, Any], tmp_path: Path) -> None:
    theirs = randomised(BertForPreTraining(config(**variant)))
    ours, batch = ours_of(theirs, tmp_path), batch_for(theirs, 37, 11, 1)
    expected = theirs(**asked(batch), output_hidden_states=True)
    torch.testing.assert_close(*real(batch, ours.model(batch), expected.prediction_logits), **CLOSE)
    states = states_of(ours.model, batch)
    assert len(states) == len(expected.hidden_states) == theirs.config.num_hidden_layers + 1
    for mine, yours in zip(states, expected.hidden_states, strict=True):
        torch.testing.assert_close(*real(batch, mine, yours), **CLOSE)
    follows = ours.model.follows(ours.model.pool(states[-1]))
    torch.testing.assert_close(follows, expected.seq_relationship_logits, **CLOSE)
    pooled = theirs.bert(**asked(batch)).pooler_output
    torch.testing.assert_close(ours.model.pool(states[-1]), pooled, **CLOSE)


@torch.no_grad()
def test_without_segments_all_tokens_are_of_the_first(tmp_path: Path) -> None:
    theirs = randomised(BertModel(config(hidden_size=21, num_attention_heads=3)))
    ours, batch = ours_of(theirs, tmp_path), random_batch(7, 5, vocabulary=43, pad=0)
    assert batch.segments is None
    torch.testing.assert_close(*real(batch, ours.model(batch), theirs(**asked(batch)).last_hidden_state), **CLOSE)


@each_variant
def test_gradients_are_berts(variant: dict[str, Any], tmp_path: Path) -> None:
    theirs = randomised(BertForMaskedLM(config(**variant)))
    assert_same_gradients(ours_of(theirs, tmp_path), theirs, batch_for(theirs, 13, 7, 2), per_token=True)


HEADS = {
    BertForSequenceClassification: ("sentence", False),
    BertForTokenClassification: ("tokens", True),
    BertForMaskedLM: ("words", True),
    BertForPreTraining: ("pretraining", True),
}


@pytest.mark.parametrize("kind", HEADS)
@torch.no_grad()
def test_every_head_there_and_back(kind: Any, tmp_path: Path) -> None:
    head, per_token = HEADS[kind]
    theirs = randomised(kind(config(hidden_size=21, num_attention_heads=3, num_labels=5)))
    ours, batch = ours_of(theirs, tmp_path / "theirs"), batch_for(theirs, 9, 4)
    assert ours.model.config.head == head
    back = written_back(ours, kind, tmp_path / "ours")
    for other in (theirs, back):
        told = other(**asked(batch))
        pair = ours.model(batch), told.prediction_logits if head == "pretraining" else told.logits
        torch.testing.assert_close(*(real(batch, *pair) if per_token else pair), **CLOSE)


@torch.no_grad()
def test_spans_there_and_back(tmp_path: Path) -> None:
    theirs = randomised(BertForQuestionAnswering(config(hidden_size=21, num_attention_heads=3)))
    ours, batch = ours_of(theirs, tmp_path / "theirs"), batch_for(theirs, 9, 4)
    for other in (theirs, written_back(ours, BertForQuestionAnswering, tmp_path / "ours")):
        told = other(**asked(batch))
        expected = torch.stack([told.start_logits, told.end_logits], dim=-1)
        torch.testing.assert_close(*real(batch, ours.model(batch), expected), **CLOSE)


@torch.no_grad()
def test_a_model_without_a_head_there_and_back(tmp_path: Path) -> None:
    theirs = randomised(BertModel(config(hidden_size=21, num_attention_heads=3)))
    ours, batch = ours_of(theirs, tmp_path / "theirs"), batch_for(theirs, 9, 4)
    back = written_back(ours, BertModel, tmp_path / "ours")
    torch.testing.assert_close(*real(batch, ours.model(batch), back(**asked(batch)).last_hidden_state), **CLOSE)
    assert all(torch.equal(value, back.state_dict()[name]) for name, value in theirs.state_dict().items())


# The formulas, sentence by sentence, without padding


def norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float) -> Tensor:
    middle = x.mean(-1, keepdim=True)
    return (x - middle) / ((x - middle).pow(2).mean(-1, keepdim=True) + eps).sqrt() * gain + bias


def gelu(x: Tensor) -> Tensor:
    return 0.5 * x * (1 + torch.erf(x / math.sqrt(2)))


def plain_hidden(weights: dict[str, Tensor], settings: OurConfig, ids: Tensor, segments: Tensor) -> Tensor:
    """One sentence, ids (T,) -> (T, D)."""

    def normed(x: Tensor, name: str) -> Tensor:
        return norm(x, weights[f"{name}.gain"], weights[f"{name}.bias"], settings.norm_eps)

    def product(x: Tensor, name: str) -> Tensor:
        return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    places = torch.arange(len(ids)) + settings.first_position
    x = weights["inputs.embedding.weight"][ids] + weights["inputs.segments.weight"][segments]
    x = normed(x + weights["inputs.positions.weight"][places], "inputs.norm")
    width = settings.d // settings.h
    for i in range(settings.N):
        block = f"blocks.{i}"
        q, k, v = product(x, f"{block}.self_attention.qkv").split(settings.d, dim=-1)
        heads = []
        for h in range(settings.h):
            part = slice(h * width, (h + 1) * width)
            scores = q[:, part] @ k[:, part].T / math.sqrt(width)
            shares = scores.exp() / scores.exp().sum(-1, keepdim=True)
            heads.append(shares @ v[:, part])
        x = x + product(torch.cat(heads, dim=-1), f"{block}.self_attention.out.linear")
        x = normed(x, f"{block}.self_attention_residual.norm")
        inner = gelu(product(x, f"{block}.feed_forward.up"))
        x = normed(x + product(inner, f"{block}.feed_forward.down"), f"{block}.feed_forward_residual.norm")
    return x


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("first", [0, 3])
@torch.no_grad()
def test_in_float64_the_numbers_are_those_of_the_formulas(first: int) -> None:
    settings = OurConfig(
        vocabulary=29, N=2, d=15, h=3, d_ff=11, max_length=13, first_position=first, segments=2, head="pretraining"
    )
    model = Bert(settings).eval()
    for parameter in model.parameters():
        parameter.copy_(0.3 * torch.randn_like(parameter))
    weights, batch = dict(model.named_parameters()), random_batch(13, 6, vocabulary=29, pad=0, segments=2)
    assert batch.segments is not None
    hidden, logits = model.hidden(batch), model(batch)
    for row, length in enumerate(batch.lengths.tolist()):
        x = plain_hidden(weights, settings, batch.ids[row, :length], batch.segments[row, :length])
        torch.testing.assert_close(hidden[row, :length], x, rtol=0, atol=1e-9)
        first_token = torch.tanh(x[0] @ weights["pooler.linear.weight"].T + weights["pooler.linear.bias"])
        torch.testing.assert_close(model.pool(hidden)[row], first_token, rtol=0, atol=1e-9)
        inner = gelu(x @ weights["head.linear.weight"].T + weights["head.linear.bias"])
        inner = norm(inner, weights["head.norm.gain"], weights["head.norm.bias"], settings.norm_eps)
        words = inner @ weights["inputs.embedding.weight"].T + weights["head.vocabulary.bias"]
        torch.testing.assert_close(logits[row, :length], words, rtol=0, atol=1e-9)
