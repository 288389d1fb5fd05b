"""Folders of BERT and its relatives: old names, prefixes, tied weights, classes, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from glassformer.errors import ExportError, ImportingError
from glassformer.hub.huggingface.folders import layout_to_write, read_folder, write_folder
from glassformer.models.bert import Bert, BertConfig
from glassformer.models.roformer import RoFormer, RoFormerConfig
from glassformer.store.bundle import Bundle, SpecialIds

SMALL = {"vocabulary": 23, "N": 2, "d": 12, "h": 3, "d_ff": 7, "max_length": 11}


def bert(**changed: Any) -> Bundle:
    return Bundle("bert", Bert(BertConfig.model_validate({**SMALL, **changed})), marks=SpecialIds(pad=0))


def written(bundle: Bundle, folder: Path) -> dict[str, Tensor]:
    """The tensors of the folder that is written, to be changed and saved again."""
    folder.mkdir(exist_ok=True)
    write_folder(bundle, folder)
    return load_file(folder / "model.safetensors")


def changed_config(folder: Path, **changed: Any) -> None:
    told = {**json.loads((folder / "config.json").read_text()), **changed}
    (folder / "config.json").write_text(json.dumps(told))


def assert_same(one: torch.nn.Module, other: torch.nn.Module) -> None:
    weights = one.state_dict()
    assert weights.keys() == other.state_dict().keys()
    assert all(torch.equal(value, weights[name]) for name, value in other.state_dict().items())


HEADS = ["none", "words", "pretraining", "sentence", "tokens", "span"]


@pytest.mark.parametrize("prefix", ["bert.", ""])
@pytest.mark.parametrize("head", HEADS)
def test_every_head_with_and_without_the_prefix(head: str, prefix: str, tmp_path: Path) -> None:
    model = bert(head=head, classes=5)
    tensors = written(model, tmp_path)
    save_file({name.replace("bert.", prefix): value for name, value in tensors.items()}, tmp_path / "model.safetensors")
    found = read_folder(tmp_path)
    assert found.model.config.head == head
    assert_same(found.model, model.model)


@pytest.mark.parametrize("head", ["words", "sentence", "tokens"])
def test_roberta_and_roformer_too(head: str, tmp_path: Path) -> None:
    models = {
        "roberta": Bundle("bert", Bert(BertConfig(**SMALL, head=head, first_position=3, segments=1, classes=5))),
        "roformer": Bundle("roformer", RoFormer(RoFormerConfig(**SMALL, d_token=5, head=head, classes=5))),
    }
    for name, model in models.items():
        written(model, tmp_path / name)
        assert json.loads((tmp_path / name / "config.json").read_text())["model_type"] == name
        assert_same(read_folder(tmp_path / name).model, model.model)


def test_names_of_the_first_files(tmp_path: Path) -> None:
    model = bert(head="pretraining")
    tensors = written(model, tmp_path)
    old = {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): value
        for name, value in tensors.items()
    }
    old["bert.embeddings.position_ids"] = torch.arange(11)[None]
    save_file(old, tmp_path / "model.safetensors")
    assert_same(read_folder(tmp_path).model, model.model)


def test_tied_matrices_may_be_in_the_file_twice_if_they_are_equal(tmp_path: Path) -> None:
    model = bert(head="words", pooler=False)
    tensors = written(model, tmp_path)
    assert "cls.predictions.decoder.weight" not in tensors
    decoder = {
        "cls.predictions.decoder.weight": tensors["bert.embeddings.word_embeddings.weight"].clone(),
        "cls.predictions.decoder.bias": tensors["cls.predictions.bias"].clone(),
    }
    save_file({**tensors, **decoder}, tmp_path / "model.safetensors")
    found = read_folder(tmp_path).model
    assert_same(found, model.model)
    assert found.head.vocabulary.weight is found.inputs.embedding.weight  # type: ignore[union-attr]
    decoder["cls.predictions.decoder.weight"][3, 2] += 1
    save_file({**tensors, **decoder}, tmp_path / "model.safetensors")
    with pytest.raises(ImportingError, match=r"decoder.weight should be the same as bert.embeddings.word_emb"):
        read_folder(tmp_path)


def test_without_tying_the_bias_of_the_decoder_counts(tmp_path: Path) -> None:
    model = bert(head="words", tied=False, pooler=False)
    torch.nn.init.normal_(model.model.head.vocabulary.bias)  # type: ignore[union-attr,arg-type]
    tensors = written(model, tmp_path)
    save_file({**tensors, "cls.predictions.bias": torch.zeros(23)}, tmp_path / "model.safetensors")
    assert_same(read_folder(tmp_path).model, model.model)


def test_names_of_classes(tmp_path: Path) -> None:
    labels = ["O", "B-PER", "I-PER"]
    model = bert(head="tokens", classes=3, pooler=False)
    written(Bundle("bert", model.model, extras={"labels": labels}), tmp_path)
    found = read_folder(tmp_path)
    assert found.extras["labels"] == labels
    assert found.model.config.classes == 3


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"position_embedding_type": "relative_key"}, "position_embedding_type = 'relative_key' is not supported"),
        ({"is_decoder": True}, "is_decoder = True is not supported. Allowed: False"),
        ({"hidden_act": "mish"}, "hidden_act = 'mish' is not supported. Allowed: 'relu'"),
        ({"hidden_size": "12"}, "hidden_size = '12': expected a whole number"),
        ({"num_attention_heads": 5}, "not a multiple of h = 5"),
    ],
)
def test_what_cannot_be_honoured_is_named(changed: dict[str, Any], told: str, tmp_path: Path) -> None:
    written(bert(), tmp_path)
    changed_config(tmp_path, **changed)
    with pytest.raises(Exception, match=told):
        read_folder(tmp_path)


def test_every_tensor_is_accounted_for(tmp_path: Path) -> None:
    tensors = written(bert(), tmp_path)
    del tensors["bert.encoder.layer.1.output.dense.bias"]
    tensors["bert.encoder.layer.0.output.dense.weight"] = torch.zeros(7, 12)
    save_file({**tensors, "adapter.weight": torch.zeros(2)}, tmp_path / "model.safetensors")
    with pytest.raises(ImportingError) as caught:
        read_folder(tmp_path)
    for problem in (
        "bert.encoder.layer.1.output.dense.bias is missing",
        "adapter.weight is unexpected",
        "layer.0.output.dense.weight has shape (7, 12), expected (12, 7)",
    ):
        assert problem in str(caught.value)


def test_roberta_needs_the_paddings_id(tmp_path: Path) -> None:
    written(Bundle("bert", Bert(BertConfig(**SMALL, first_position=3))), tmp_path)
    changed_config(tmp_path, pad_token_id=None)
    with pytest.raises(ImportingError, match="positions begin after it"):
        read_folder(tmp_path)
    changed_config(tmp_path, pad_token_id=50)
    with pytest.raises(ImportingError, match="max_position_embeddings = 14: it must be more than"):
        read_folder(tmp_path)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"first_position": 2, "head": "pretraining"}, "first_position = 2"),
        ({"head": "words", "head_activation": "relu"}, "head_activation = 'relu'"),
        ({"head": "sentence", "pooling": "mean", "pooler": False}, "--set model.pooling=first"),
        ({"head": "sentence", "word_odds": 8}, "--set model.word_odds=0"),
    ],
)
def test_what_transformers_has_no_model_for_is_not_written(changed: dict[str, Any], told: str) -> None:
    with pytest.raises(ExportError, match=told):
        layout_to_write(bert(**changed))


# sentence-transformers


@pytest.mark.parametrize("pooling", ["mean", "cls", "max", "last"])
@pytest.mark.parametrize("normalise", [False, True])
def test_folders_of_sentence_transformers_there_and_back(pooling: str, normalise: bool, tmp_path: Path) -> None:
    extras = {"pooling": pooling, "normalise": normalise, "max_length": 7, "prompt": "query: ", "lowercase": True}
    written(Bundle("bert", bert().model, extras=extras), tmp_path)
    assert read_folder(tmp_path).extras == {**extras, "model_type": "bert"}


def sentence_folder(folder: Path, modules: object, pooling: dict[str, Any]) -> Path:
    written(bert(), folder)
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling/config.json").write_text(json.dumps(pooling))
    return folder


def modules(*steps: str) -> list[dict[str, Any]]:
    return [
        {"idx": i, "name": str(i), "path": f"{i}_{step}" if i else "", "type": f"sentence_transformers.x.{step}"}
        for i, step in enumerate(steps)
    ]


def test_newer_files_name_one_pooling_and_keep_the_length_elsewhere(tmp_path: Path) -> None:
    folder = sentence_folder(tmp_path, modules("Transformer", "Pooling"), {"pooling_mode": "cls"})
    (folder / "tokenizer_config.json").write_text(json.dumps({"model_max_length": 9}))
    assert read_folder(folder).extras == {"model_type": "bert", "pooling": "cls", "normalise": False, "max_length": 9}


@pytest.mark.parametrize(
    ("steps", "pooling", "told"),
    [
        (modules("Transformer", "Pooling", "Dense"), {"pooling_mode": "mean"}, "the step Dense is not supported"),
        (modules("Transformer", "Pooling"), {"pooling_mode": ["mean", "max"]}, "Allowed: one of mean"),
        (modules("Transformer", "Pooling"), {"pooling_mode_weightedmean_tokens": True}, "weightedmean"),
        (modules("Transformer", "Pooling"), {}, r"pooling by \[\] is not supported"),
        ({"not": "a list"}, {}, "not a list of steps"),
    ],
)
def test_steps_that_would_change_the_vectors_are_refused(
    steps: object, pooling: dict[str, Any], told: str, tmp_path: Path
) -> None:
    with pytest.raises(ImportingError, match=told):
        read_folder(sentence_folder(tmp_path, steps, pooling))
