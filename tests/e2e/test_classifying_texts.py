"""`glassformer classify` with the class of texts, against `transformers`; and what import advises."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    RobertaConfig,
    RobertaForSequenceClassification,
    RoFormerConfig,
    RoFormerForSequenceClassification,
)

import encoder_models
import glassformer
from glassformer.errors import ModelError
from glassformer.hub.huggingface.folders import write_folder
from glassformer.store.bundle import save_bundle
from glassformer.tasks.loading import load_bundle

Command = Callable[..., Any]
TEXTS = ["the river bank flows", "money grows", "unbelievable dogs run.", "", "paris is the capital of france, " * 9]
LABELS = ["good", "bad", "odd"]
SHAPE = {"num_hidden_layers": 2, "hidden_size": 24, "num_attention_heads": 2, "intermediate_size": 19}
KINDS: dict[str, tuple[Any, Any]] = {
    "bert": (BertConfig, BertForSequenceClassification),
    "roberta": (RobertaConfig, RobertaForSequenceClassification),
    "roformer": (RoFormerConfig, RoFormerForSequenceClassification),
}


def their_folder(folder: Path, kind: str = "bert", **changed: Any) -> Any:
    """A tiny random classifier of `transformers`, saved with a tokenizer of ours; the model is given back."""
    config, model = KINDS[kind]
    given = {"vocab_size": len(encoder_models.PIECES), "max_position_embeddings": 30, "pad_token_id": 0, **SHAPE}
    theirs = model(config(**{**given, "id2label": dict(enumerate(LABELS)), **changed})).eval()
    with torch.no_grad():
        for parameter in (one for one in theirs.parameters() if one.requires_grad and one.dim() > 1):
            parameter.normal_(std=0.3)
    theirs.save_pretrained(folder)
    encoder_models.wordpiece().save(folder / "tokenizer.json")
    return theirs


def their_logits(theirs: Any, text: str, longest: int) -> torch.Tensor:
    ids = encoder_models.wordpiece().encode(text)[: longest - 2]
    with torch.no_grad():
        return theirs(torch.tensor([[2, *ids, 3]])).logits[0]


@pytest.mark.parametrize(
    ("kind", "changed", "squash"),
    [
        *((kind, {}, lambda x: x.softmax(-1)) for kind in KINDS),
        ("bert", {"problem_type": "multi_label_classification"}, torch.sigmoid),
        ("bert", {"id2label": {0: "toxic"}}, torch.sigmoid),
    ],
)
def test_probabilities_are_those_of_transformers(
    kind: str, changed: dict[str, Any], squash: Callable[[torch.Tensor], torch.Tensor], tmp_path: Path, command: Command
) -> None:
    theirs = their_folder(tmp_path / "theirs", kind, **changed)
    assert command("import", tmp_path / "theirs", "--out", tmp_path / "ours").code == 0
    told = command("classify", tmp_path / "ours", *TEXTS, "--json")
    longest = load_bundle(tmp_path / "ours").model.config.max_length
    assert "1 of 5 texts are longer" in told.err
    for text, line in zip(TEXTS, told.lines, strict=True):
        expected = squash(their_logits(theirs, text, longest))
        found = json.loads(line)
        assert found["text"] == text
        assert [one["number"] for one in found["classes"]] == expected.argsort(descending=True).tolist()
        assert [one["probability"] for one in found["classes"]] == pytest.approx(
            expected.sort(descending=True).values.tolist(), abs=1e-5
        )
        names = theirs.config.id2label
        assert all(one["label"] == names[one["number"]] for one in found["classes"])


def test_texts_from_stdin_and_lines_for_people(tmp_path: Path, command: Command) -> None:
    their_folder(tmp_path / "theirs")
    both = command("classify", tmp_path / "theirs", "money grows", "the dog", "--top", 1)
    assert [line.split("\t")[0] for line in both.lines] == ["money grows", "the dog"]
    assert all(line.split("\t")[1].split(" ")[0] in LABELS and line.endswith("%") for line in both.lines)
    for given in ([], ["-"]):
        piped = command("classify", tmp_path / "theirs", *given, "--top", 1, stdin=b"money grows\nthe dog\n")
        assert piped.out == both.out
    config = tmp_path / "theirs" / "config.json"
    named = command("classify", tmp_path / "theirs", config)
    assert (named.code, len(named.lines)) == (0, 1)
    assert f"Note: {config} is a file, but its name is classified as a text" in named.err
    guesses = glassformer.load(tmp_path / "theirs").classify(["money grows"], top=2)[0]
    assert len(guesses) == 2
    assert guesses[0].probability > guesses[1].probability


def test_a_label_cannot_steer_the_terminal(tmp_path: Path, command: Command) -> None:
    their_folder(tmp_path / "theirs", id2label={0: "\x1b[31mred", 1: "b", 2: "c"})
    assert "\x1b" not in command("classify", tmp_path / "theirs", "the dog").out


def test_models_without_classes_of_texts_are_refused(tmp_path: Path, command: Command) -> None:
    save_bundle(encoder_models.bert(), tmp_path / "words")
    save_bundle(encoder_models.gpt(), tmp_path / "gpt")
    for name in ("words", "gpt"):
        told = command("classify", tmp_path / name, "a dog")
        assert told.code == 2
        assert "no head for classes of texts" in told.err
    their_folder(tmp_path / "number", problem_type="regression", id2label={0: "x"})
    with pytest.raises(ModelError, match="predicts a number"):
        glassformer.load(tmp_path / "number").classify(["a dog"])


def test_the_kind_of_problem_is_exported_again(tmp_path: Path) -> None:
    their_folder(tmp_path / "theirs", problem_type="multi_label_classification")
    (tmp_path / "again").mkdir()
    write_folder(load_bundle(tmp_path / "theirs"), tmp_path / "again")
    config = json.loads((tmp_path / "again" / "config.json").read_text())
    assert config["problem_type"] == "multi_label_classification"
    assert list(config["id2label"].values()) == LABELS


# What import advises is what can be done


def advised(command: Command, folder: Path, out: Path) -> str:
    return command("import", folder, "--out", out).lines[-1]


def test_import_advises_what_works(tmp_path: Path, command: Command) -> None:
    their_folder(tmp_path / "theirs")
    assert f'glassformer classify {tmp_path / "ours"} "..."' in advised(command, tmp_path / "theirs", tmp_path / "ours")
    made = {
        "fill": encoder_models.bert(),
        "embed": encoder_models.bert(head="none"),
        "generate": encoder_models.gpt(),
        "show": replace(encoder_models.gpt(), tokenizer=None),
    }
    for verb, bundle in made.items():
        (tmp_path / verb).mkdir()
        write_folder(bundle, tmp_path / verb)
        told = advised(command, tmp_path / verb, tmp_path / f"{verb}-ours")
        assert told.startswith(f"Try:  glassformer {verb} {tmp_path / f'{verb}-ours'}")
    assert "has no tokenizer files" in told
