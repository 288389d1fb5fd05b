"""The same numbers as `transformers`' RoBERTa, tiny and random: our BERT with other settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from encoder_peers import (
    CLOSE,
    asked,
    assert_same_gradients,
    ours_of,
    random_batch,
    randomised,
    real,
    states_of,
    written_back,
)
from transformers import (
    RobertaConfig,
    RobertaForMaskedLM,
    RobertaForQuestionAnswering,
    RobertaForSequenceClassification,
    RobertaForTokenClassification,
    RobertaModel,
)

VARIANTS: dict[str, dict[str, Any]] = {
    "as published": {"hidden_size": 21, "num_attention_heads": 3, "type_vocab_size": 1, "layer_norm_eps": 1e-5},
    "another padding": {"hidden_size": 20, "num_attention_heads": 5, "pad_token_id": 6, "hidden_act": "relu"},
    "untied": {"hidden_size": 22, "num_attention_heads": 2, "tie_word_embeddings": False, "hidden_act": "gelu_new"},
}
each_variant = pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS.keys())


def config(**changed: Any) -> RobertaConfig:
    small = {"vocab_size": 43, "num_hidden_layers": 3, "intermediate_size": 17, "max_position_embeddings": 37}
    return RobertaConfig(**{**small, **changed})


@each_variant
@torch.no_grad()
def test_logits_and_hidden_states_are_robertas(variant: dict[str, Any], tmp_path: Path) -> None:
    theirs = randomised(RobertaForMaskedLM(config(**variant)))
    ours, pad = ours_of(theirs, tmp_path), theirs.config.pad_token_id
    longest = 37 - (pad + 1)
    assert ours.model.config.max_length == longest
    batch = random_batch(longest, 11, 1, vocabulary=43, pad=pad)
    expected = theirs(**asked(batch), output_hidden_states=True)
    torch.testing.assert_close(*real(batch, ours.model(batch), expected.logits), **CLOSE)
    for mine, yours in zip(states_of(ours.model, batch), expected.hidden_states, strict=True):
        torch.testing.assert_close(*real(batch, mine, yours), **CLOSE)


@each_variant
def test_gradients_are_robertas(variant: dict[str, Any], tmp_path: Path) -> None:
    theirs = randomised(RobertaForMaskedLM(config(**variant)))
    batch = random_batch(13, 7, 2, vocabulary=43, pad=theirs.config.pad_token_id)
    assert_same_gradients(ours_of(theirs, tmp_path), theirs, batch, per_token=True)


HEADS = {
    RobertaForSequenceClassification: ("sentence", False),
    RobertaForTokenClassification: ("tokens", True),
    RobertaForMaskedLM: ("words", True),
}


@pytest.mark.parametrize("kind", HEADS)
@torch.no_grad()
def test_every_head_there_and_back(kind: Any, tmp_path: Path) -> None:
    head, per_token = HEADS[kind]
    theirs = randomised(kind(config(hidden_size=21, num_attention_heads=3, num_labels=5)))
    ours, batch = ours_of(theirs, tmp_path / "theirs"), random_batch(9, 4, vocabulary=43, pad=1)
    assert ours.model.config.head == head
    for other in (theirs, written_back(ours, kind, tmp_path / "ours")):
        pair = ours.model(batch), other(**asked(batch)).logits
        torch.testing.assert_close(*(real(batch, *pair) if per_token else pair), **CLOSE)


@torch.no_grad()
def test_spans_there_and_back(tmp_path: Path) -> None:
    theirs = randomised(RobertaForQuestionAnswering(config(hidden_size=21, num_attention_heads=3)))
    ours, batch = ours_of(theirs, tmp_path / "theirs"), random_batch(9, 4, vocabulary=43, pad=1)
    for other in (theirs, written_back(ours, RobertaForQuestionAnswering, tmp_path / "ours")):
        told = other(**asked(batch))
        expected = torch.stack([told.start_logits, told.end_logits], dim=-1)
        torch.testing.assert_close(*real(batch, ours.model(batch), expected), **CLOSE)


@torch.no_grad()
def test_a_model_without_a_head_and_its_pooler_there_and_back(tmp_path: Path) -> None:
    theirs = randomised(RobertaModel(config(hidden_size=21, num_attention_heads=3)))
    ours, batch = ours_of(theirs, tmp_path / "theirs"), random_batch(9, 4, vocabulary=43, pad=1)
    expected = written_back(ours, RobertaModel, tmp_path / "ours")(**asked(batch))
    hidden = ours.model(batch)
    torch.testing.assert_close(*real(batch, hidden, expected.last_hidden_state), **CLOSE)
    torch.testing.assert_close(ours.model.pool(hidden), expected.pooler_output, **CLOSE)
