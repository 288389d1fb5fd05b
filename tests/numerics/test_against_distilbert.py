"""The same numbers as `transformers`' DistilBERT, tiny and random: our BERT without segments."""

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
    DistilBertConfig,
    DistilBertForMaskedLM,
    DistilBertForQuestionAnswering,
    DistilBertForSequenceClassification,
    DistilBertForTokenClassification,
    DistilBertModel,
)

from glassformer.errors import ExportError
from glassformer.hub.huggingface.folders import write_folder
from glassformer.models.registry import build
from glassformer.store.bundle import Bundle

VARIANTS: dict[str, dict[str, Any]] = {
    "as published": {"dim": 21, "n_heads": 3},
    "untied": {"dim": 20, "n_heads": 5, "tie_word_embeddings": False, "activation": "relu"},
}
each_variant = pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS.keys())


def config(**changed: Any) -> DistilBertConfig:
    small = {"vocab_size": 43, "n_layers": 3, "hidden_dim": 17, "max_position_embeddings": 37, "dim": 21, "n_heads": 3}
    return DistilBertConfig(**{**small, **changed})


def asked_alone(batch: Any) -> dict[str, Any]:
    return {name: value for name, value in asked(batch).items() if name != "token_type_ids"}


@each_variant
@torch.no_grad()
def test_logits_and_hidden_states_are_distilberts(variant: dict[str, Any], tmp_path: Path) -> None:
    theirs = randomised(DistilBertForMaskedLM(config(**variant)))
    ours = ours_of(theirs, tmp_path)
    assert (ours.model.config.segments, ours.model.config.pooler) == (0, False)
    batch = random_batch(37, 11, 1, vocabulary=43, pad=0)
    expected = theirs(**asked_alone(batch), output_hidden_states=True)
    torch.testing.assert_close(*real(batch, ours.model(batch), expected.logits), **CLOSE)
    for mine, yours in zip(states_of(ours.model, batch), expected.hidden_states, strict=True):
        torch.testing.assert_close(*real(batch, mine, yours), **CLOSE)
    rows = ours.model.rows(batch)  # the compiled way
    torch.testing.assert_close(rows, real(batch, expected.hidden_states[-1])[0], **CLOSE)


@each_variant
def test_gradients_are_distilberts(variant: dict[str, Any], tmp_path: Path) -> None:
    theirs = randomised(DistilBertForMaskedLM(config(**variant)))
    assert_same_gradients(
        ours_of(theirs, tmp_path), theirs, random_batch(13, 7, 2, vocabulary=43, pad=0), per_token=True
    )


HEADS = {
    DistilBertForSequenceClassification: ("sentence", False),
    DistilBertForTokenClassification: ("tokens", True),
    DistilBertForMaskedLM: ("words", True),
}


@pytest.mark.parametrize("kind", HEADS)
@torch.no_grad()
def test_every_head_there_and_back(kind: Any, tmp_path: Path) -> None:
    head, per_token = HEADS[kind]
    theirs = randomised(kind(config(num_labels=5)))
    ours, batch = ours_of(theirs, tmp_path / "theirs"), random_batch(9, 4, vocabulary=43, pad=0)
    assert ours.model.config.head == head
    for other in (theirs, written_back(ours, kind, tmp_path / "ours")):
        pair = ours.model(batch), other(**asked_alone(batch)).logits
        torch.testing.assert_close(*(real(batch, *pair) if per_token else pair), **CLOSE)


@torch.no_grad()
def test_spans_there_and_back(tmp_path: Path) -> None:
    theirs = randomised(DistilBertForQuestionAnswering(config()))
    ours, batch = ours_of(theirs, tmp_path / "theirs"), random_batch(9, 4, vocabulary=43, pad=0)
    for other in (theirs, written_back(ours, DistilBertForQuestionAnswering, tmp_path / "ours")):
        told = other(**asked_alone(batch))
        expected = torch.stack([told.start_logits, told.end_logits], dim=-1)
        torch.testing.assert_close(*real(batch, ours.model(batch), expected), **CLOSE)


@torch.no_grad()
def test_a_model_without_a_head_there_and_back(tmp_path: Path) -> None:
    theirs = randomised(DistilBertModel(config()))
    ours, batch = ours_of(theirs, tmp_path / "theirs"), random_batch(9, 4, vocabulary=43, pad=0)
    expected = written_back(ours, DistilBertModel, tmp_path / "ours")(**asked_alone(batch))
    torch.testing.assert_close(*real(batch, ours.model(batch), expected.last_hidden_state), **CLOSE)


def test_what_it_has_not_is_refused(tmp_path: Path) -> None:
    values = {"kind": "bert", "N": 1, "d": 8, "h": 2, "d_ff": 8, "vocabulary": 20, "segments": 0, "first_position": 2}
    bundle = Bundle("bert", build("bert", values))
    with pytest.raises(ExportError):
        write_folder(bundle, tmp_path)
