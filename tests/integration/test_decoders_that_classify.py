"""GPT and Llama as classifiers, with and without the auxiliary language-model loss."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from transformers import GPT2Config, GPT2ForSequenceClassification

import glassformer as gf
from glassformer.data.labelled_batches import LabelledBatch
from glassformer.errors import ExportError, SettingsError
from glassformer.hub.huggingface.layouts import gpt2
from glassformer.models.registry import build
from glassformer.store.run import RunFolder
from glassformer.tasks.decoder_classes import logits_and_auxiliary
from glassformer.tasks.exporting import export_to_huggingface
from glassformer.tasks.loading import load_bundle
from glassformer.tasks.sentence_classes import ClassRecipe, SentenceClasses
from tiny_tasks import classify, plain
from toy_texts import settings, write_labelled, write_running
from two_ranks import run_ranks, spec_of

MODELS = {"gpt": {"kind": "gpt"}, "llama": {"kind": "llama"}}
SHAPE = {"vocabulary": 13, "N": 2, "d": 12, "h": 3, "d_ff": 20, "dropout": 0.0, "max_length": 11}
Command = Callable[..., Any]


def labelled_batch() -> LabelledBatch:
    ids = torch.tensor([[1, 5, 7, 2, 0], [1, 6, 3, 9, 2], [1, 2, 0, 0, 0]])
    lengths, labels = torch.tensor([4, 5, 2]), torch.tensor([0, 2, 1])
    return LabelledBatch(ids, lengths, None, labels, np.arange(3))


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("decoders")
    write_labelled(folder / "train.tsv")
    write_labelled(folder / "valid.tsv", count=60, seed=2)
    write_running(folder / "texts.txt", years=False)
    return folder


@pytest.fixture(scope="module")
def runs(here: Path) -> dict[str, Path]:
    """A finished run of each kind. Only to be read."""
    for kind, model in MODELS.items():
        given = settings(model, {"auxiliary": 0.5, "steps": 110, "valid_every": 55})
        gf.train(task="classify", data=data(here), out=here / kind, **given)
    return {kind: here / kind for kind in MODELS}


def data(here: Path) -> dict[str, str]:
    return {"files": str(here / "train.tsv"), "valid": str(here / "valid.tsv")}


def last_validation(run: Path) -> dict[str, Any]:
    found: dict[str, Any] = [one for one in RunFolder(run).metrics() if "valid_loss" in one][-1]
    return found


@pytest.mark.parametrize("kind", MODELS)
def test_the_class_is_read_at_the_last_token_whatever_the_padding(kind: str) -> None:
    torch.manual_seed(3)
    model = build(kind, {**SHAPE, "head": "sentence", "classes": 3}).double().eval()
    batch = labelled_batch()
    together = model(batch)
    assert together.shape == (3, 3)
    for row, length in enumerate(batch.lengths.tolist()):
        one = LabelledBatch(
            batch.ids[row : row + 1, :length], batch.lengths[row : row + 1], None, batch.labels, np.arange(1)
        )
        torch.testing.assert_close(model(one)[0], together[row], rtol=0, atol=1e-12)


@pytest.mark.parametrize(("kind", "tied"), [("gpt", True), ("llama", False)])
@pytest.mark.parametrize("weight", [0.0, 0.5])
def test_the_auxiliary_loss_is_the_mean_of_the_next_tokens(kind: str, tied: bool, weight: float) -> None:
    """Against the formula in float64, with its gradients."""
    torch.manual_seed(4)
    model = build(kind, {**SHAPE, "tied": tied, "head": "sentence", "classes": 3}).double()
    batch = labelled_batch()
    logits, added = logits_and_auxiliary(model, batch, weight)
    (F.cross_entropy(logits, batch.labels, reduction="sum") + added).backward()
    got = {name: one.grad.clone() for name, one in model.named_parameters()}
    model.zero_grad()
    texts = [ids[:length] for ids, length in zip(batch.ids, batch.lengths.tolist(), strict=True)]
    pairs = [(model.next_tokens(batch)[i, : len(text) - 1], text[1:]) for i, text in enumerate(texts)]
    words = torch.cat([F.cross_entropy(rows, following, reduction="none") for rows, following in pairs])
    assert len(words) == 3 + 4 + 1
    loss = F.cross_entropy(model(batch), batch.labels, reduction="sum") + weight * 3 * words.mean()
    loss.backward()
    assert float(torch.as_tensor(added).detach()) == pytest.approx(weight * 3 * words.mean().item(), abs=1e-10)
    for name, parameter in model.named_parameters():
        wanted = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
        torch.testing.assert_close(got[name], wanted, rtol=0, atol=1e-10)


def test_it_equals_the_gpt2_of_transformers() -> None:
    theirs = GPT2ForSequenceClassification(
        GPT2Config(vocab_size=13, n_embd=12, n_layer=2, n_head=3, n_inner=20, n_positions=11, num_labels=3,
                   pad_token_id=0, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)
    ).eval()  # fmt: skip
    ours = build("gpt", {**SHAPE, "head": "sentence", "classes": 3}).eval()
    weights, lines = theirs.state_dict(), gpt2.lines(ours.config)
    with torch.no_grad():
        for name, parameter in ours.named_parameters():
            if name == "classifier.linear.weight":
                parameter.copy_(weights["score.weight"])
                continue
            number = name.split(".")[1]
            line = next(one for one in lines if one.ours.replace("{i}", number) == name)
            value = weights[line.theirs.replace("{p}", "transformer.").replace("{i}", number)]
            parameter.copy_(value.T if "transposed" in str(line) else value)
        batch = labelled_batch()
        mask = (torch.arange(5) < batch.lengths[:, None]).long()
        wanted = theirs(input_ids=batch.ids, attention_mask=mask).logits
        torch.testing.assert_close(ours(batch), wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", MODELS)
def test_a_separable_toy_is_learnt(runs: dict[str, Path], kind: str) -> None:
    assert last_validation(runs[kind])["valid_accuracy"] >= 95
    found = gf.load(runs[kind]).classify(["the film was good in may", "the book was awful in june"], top=1)
    assert [guesses[0].label for guesses in found] == ["pos", "neg"]


def test_it_is_explained_as_a_classifier(runs: dict[str, Path]) -> None:
    seen = gf.load(runs["gpt"]).explain("the film was good")
    assert "The class of the text" in str(seen)


def test_it_still_predicts_next_tokens(runs: dict[str, Path]) -> None:
    scored = gf.load(runs["gpt"], kind=gf.LanguageModel).score("the film was good in may")
    assert scored.perplexity < 8  # of 40 tokens


def test_a_language_model_is_the_start(here: Path, tmp_path: Path, command: Command) -> None:
    rows = [row.split("\t") for row in (here / "train.tsv").read_text().splitlines()]
    known = tmp_path / "known.tsv"  # without the years, which the vocabulary does not have
    known.write_text("".join(f"{text.rpartition(' ')[0]}\t{label}\n" for text, label in rows))
    given = settings(MODELS["llama"], {"steps": 20})
    gf.train(task="generate", data={"files": str(known), "columns": "1"}, out=tmp_path / "lm", **given)
    train = ("--set", "train.auxiliary=0.5", "--set", "train.steps=3", "--set", "train.lr=1e-9")
    files = ("--data", known, "--valid", "10%")
    ended = command("train", "--task", "classify", *files, "--from", tmp_path / "lm", "--out", tmp_path / "run", *train)
    assert ended.code == 0, ended.err
    assert "newly initialised: classifier.linear.weight" in ended.err
    before, after = (RunFolder(tmp_path / name).weights()[0] for name in ("lm", "run"))
    for name, weight in before.items():
        torch.testing.assert_close(after[name], weight, rtol=0, atol=1e-6)


def test_two_ranks_train_as_one_process(tmp_path: Path) -> None:
    recipe = plain("classify", tmp_path)
    shape = {name: value for name, value in recipe["model"].items() if name != "word_odds"}
    recipe = {**recipe, "model": {**shape, "kind": "gpt"}, "train": {**recipe["train"], "auxiliary": 0.5}}
    ended = run_ranks("train", spec_of(recipe, tmp_path), tmp_path)
    assert ended.codes == [0, 0], ended.err
    gf.train({**recipe, "train": {**recipe["train"], "accumulate": 2}}, out=tmp_path / "alone")
    together, alone = (RunFolder(tmp_path / name).weights()[0] for name in ("run", "alone"))
    for name, weight in alone.items():
        torch.testing.assert_close(together[name], weight, rtol=0, atol=2e-5)


def test_other_models_and_tasks_refuse_it(here: Path, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"train.auxiliary = 0.5: a bert model"):
        gf.train(task="classify", data=data(here), out=tmp_path / "a", train={"auxiliary": 0.5})
    with pytest.raises(SettingsError, match=r"train.auxiliary = 0.5"):
        gf.train(task="generate", data=here / "texts.txt", out=tmp_path / "b", train={"auxiliary": 0.5})
    recipe = classify(tmp_path)
    gf.train(recipe, out=tmp_path / "bert")
    with pytest.raises(SettingsError, match="does not predict next tokens"):
        gf.train(
            task="classify", data=data(here), out=tmp_path / "c", start_from=tmp_path / "bert", train={"auxiliary": 1.0}
        )


def test_an_export_says_that_it_cannot(runs: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(ExportError, match="cannot be exported yet"):
        export_to_huggingface(load_bundle(runs["gpt"]), tmp_path / "out")


def test_ids_of_another_kind_of_model_are_not_used_again() -> None:
    """A decoder has other special tokens around a text than a BERT."""
    recipes = [ClassRecipe.model_validate({"model": {"kind": kind, "max_length": 64}}) for kind in ("bert", "gpt")]
    first, second = map(SentenceClasses().encoding, recipes)
    assert first != second
