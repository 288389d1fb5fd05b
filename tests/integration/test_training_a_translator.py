"""Training end to end: what a run leaves, that it learns, and that every kind of model survives its folder."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import torch

import glassformer as gf
from glassformer.config import to_toml, validate
from glassformer.errors import DataError, ModelError, RunError, SettingsError
from glassformer.store import files
from glassformer.store.run import RunFolder
from glassformer.tasks.translation import TranslationRecipe

FINISHED = [
    ".lock",
    "config.toml",
    "manifest.json",
    "metrics.jsonl",
    "model.safetensors",
    "report.html",
    "tokenizer.json",
]


# What a run leaves


def test_a_finished_run_has_these_files(trained: Path) -> None:
    assert sorted(path.name for path in trained.iterdir()) == FINISHED


def test_its_settings_are_all_decided_and_read_again(trained: Path) -> None:
    text = (trained / "config.toml").read_text()
    recipe = validate(TranslationRecipe, tomllib.loads(text))
    assert to_toml(recipe) == text
    assert (recipe.train.steps, recipe.train.valid_every, recipe.train.device, recipe.train.threads) == (
        40,
        20,
        "cpu",
        1,
    )
    assert recipe.out is None  # a run may be moved


def test_its_manifest_names_every_file_the_data_and_the_makers(trained: Path) -> None:
    manifest = files.read_manifest(trained)
    assert set(manifest["files"]) == {"config.toml", "model.safetensors", "tokenizer.json"}
    for name in manifest["files"]:
        assert files.read_checked(trained, name, manifest)
    assert set(manifest["data"]) == {"train", "valid", "files"}
    assert manifest["glassformer"] == gf.__version__
    assert manifest["torch"] == torch.__version__
    assert manifest["training"]["steps"] == 40
    assert manifest["training"]["stopped"] == "all steps done"


def test_its_metrics_are_training_validation_and_the_last_measurement(trained: Path) -> None:
    records = [json.loads(line) for line in (trained / "metrics.jsonl").read_text().splitlines()]
    assert [record["step"] for record in records if "train_loss" in record] == list(range(1, 41))
    validations = [record for record in records if "valid_loss" in record]
    assert [record["step"] for record in validations] == [20, 40]
    assert set(validations[0]) >= {"valid_loss", "valid_bleu", "valid_chrf", "best", "epoch", "seconds"}
    assert [len(record["valid_samples"]) for record in validations] == [4, 4]  # as many as are translated, at most 6
    assert all(record["elapsed_seconds"] >= record["seconds"] for record in validations)
    assert set(records[-1]["measured"]) == {"bleu", "chrf", "exact"}
    assert records[-1]["decoding"] == "beam 2"  # the run's own: the report and `evaluate` agree
    assert all(record["valid_sentences"] == 4 for record in validations)
    losses = [record["train_loss"] for record in records if "train_loss" in record]
    assert losses[-1] < losses[0]


def test_its_report_needs_nothing_from_elsewhere(trained: Path) -> None:
    html = (trained / "report.html").read_text(encoding="utf-8")
    assert "<html" in html
    assert "Run run" in html
    without_names = re.sub(r"http://www\.w3\.org/\S+?(?=[\"'])", "", html)  # SVG's namespace is a name, not an address
    assert "http:" not in without_names
    assert "https:" not in without_names
    assert not re.search(r"<(script|img|link|iframe)[^>]+(src|href)=", html)


def test_a_run_that_was_moved_still_works(trained: Path, run_copy: Path) -> None:
    assert gf.load(run_copy).translate("the dog has me.") == gf.load(trained).translate("the dog has me.")


def test_the_settings_may_come_as_a_tree_and_are_checked(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"unknown setting train\.stepz\. Did you mean train\.steps\?"):
        gf.train_translator({"train": {"stepz": 1}}, tmp_path / "run")
    with pytest.raises(SettingsError, match="Give the run a folder: --out"):
        gf.train_translator({"data": {"corpus": "phrasebook"}})
    assert not list(tmp_path.iterdir())


# Learning


def test_a_nano_model_learns_eight_pairs_by_heart(toy: Any, tmp_path: Path) -> None:
    pairs = toy.pairs[::8]
    (tmp_path / "eight.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in pairs))
    table = str(tmp_path / "eight.tsv")
    recipe = toy.recipe(
        data={"source": None, "target": None, "pairs": table, "valid": (table,)},
        text={"kind": "bpe", "vocab_size": 300},
        model={"d": 32, "h": 4, "d_ff": 64, "dropout": 0.0},
        train={"steps": 150, "batch_tokens": 1000, "valid_every": 75, "label_smoothing": 0.0, "warmup": 10},
    )
    gf.train_translator(recipe, tmp_path / "run")
    translator = gf.load(tmp_path / "run")
    sources, targets = [source for source, _ in pairs], [target for _, target in pairs]
    assert translator.translate(sources, beam=1) == targets
    assert translator.translate(sources, beam=4) == targets
    scores, hypotheses = translator.evaluate(sources, [(target,) for target in targets])
    assert hypotheses == targets
    for score in scores:
        assert score.value == pytest.approx(100)
        assert score.low is not None
        assert score.high is not None
        assert score.low - 1e-6 <= score.value <= score.high + 1e-6
        assert score.signature
    assert "tok:13a" in scores[0].signature


# Every kind of model


VARIANTS: dict[str, dict[str, dict[str, Any]]] = {
    "two vocabularies": {"text": {"shared": False}},
    "two vocabularies, nothing tied": {"text": {"shared": False}, "model": {"tied": "none", "output_bias": True}},
    "characters": {"text": {"kind": "char"}},
    "wordpiece": {"text": {"kind": "wordpiece", "vocab_size": 90}},
    "bpe": {"text": {"kind": "bpe", "vocab_size": 300}},
    "lower case": {"text": {"lowercase": True}},
    "post-norm": {"model": {"norm": "post"}},
    "rotary positions": {"model": {"positions": "rotary"}},
    "learned positions": {"model": {"positions": "learned", "max_length": 9}, "data": {"max_tokens": 8}},
    "nothing tied": {"model": {"tied": "none"}},
    "a deeper decoder": {"model": {"N_decoder": 2, "activation": "gelu"}},
    "bf16": {"train": {"precision": "bf16"}},
    "chosen by loss": {"train": {"best_by": "loss"}},
    "accumulated": {"train": {"accumulate": 3, "schedule": "inverse-sqrt"}},
}


class LastOutput:
    """Translates with the live model at the last step, before the folder is read again."""

    def __init__(self) -> None:
        self.plans: list[Any] = []

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments, **_: self.plans.append(arguments[0]) if name == "on_plan" else None


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_model_translates_the_same_from_its_folder(
    toy: Any, tmp_path: Path, variant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from glassformer.training import run as training

    changed = VARIANTS[variant]
    steps = {"steps": 3, "valid_every": 3, **changed.get("train", {})}
    texts = [source for source, _ in toy.pairs[::7]] + ["", "unknown words ü 🍎"]
    alive: list[list[str]] = []
    original = training.validate_model

    def listening(task: Any, setup: Any, model: Any, user: Any, *others: Any) -> dict[str, Any]:
        alive.append(user.translate(texts, beam=3))
        return original(task, setup, model, user, *others)

    monkeypatch.setattr(training, "validate_model", listening)
    gf.train_translator(toy.recipe(**{**changed, "train": steps}), tmp_path / "run")
    translator = gf.load(tmp_path / "run")
    assert translator.translate(texts, beam=3) == alive[-1]
    assert translator.translate(texts)[-2] == ""
    names = {path.name for path in (tmp_path / "run").glob("*tokenizer.json")}
    two = changed.get("text", {}).get("shared") is False
    assert names == ({"source.tokenizer.json", "target.tokenizer.json"} if two else {"tokenizer.json"})
    assert (translator.source is not translator.target) == two


def test_training_on_the_phrasebook_measures_alignment_too(
    tmp_path: Path, toy: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from glassformer.data.phrasebook import phrasebook
    from glassformer.tasks.translation import material

    small = lambda **_: phrasebook(train=5000, valid=3, test=3)  # noqa: E731 (the real test part takes its time)
    monkeypatch.setattr(material, "phrasebook", small)
    recipe = toy.recipe(train={"steps": 2, "valid_every": 2}, text={"vocab_size": 500})
    recipe["data"] = {"corpus": "phrasebook"}
    gf.train_translator(recipe, tmp_path / "run")
    measured = RunFolder(tmp_path / "run").metrics()[-1]
    assert 0 <= measured["alignment"]["test_error"] <= 1
    assert "alignment" in (tmp_path / "run" / "report.html").read_text()


# Looking inside


def test_the_numbers_explained_are_the_models_own(trained: Path) -> None:
    translator = gf.load(trained)
    explanation = translator.explain("the dog sees us.", beam=1)
    best = translator.candidates(["the dog sees us."], beam=1, guard=False)[0][0]
    assert explanation.translation == best.text
    assert explanation.score == pytest.approx(best.log_prob, abs=1e-4)
    source = translator.source.encode("the dog sees us.")
    assert explanation.source_ids == (*source, translator.source_marks.eos)
    rows = explanation.cross_attention.sum(-1)
    torch.testing.assert_close(rows, torch.ones_like(rows), rtol=0, atol=1e-5)
    product = sum(torch.tensor(step.probability).log().item() for step in explanation.steps)
    assert product == pytest.approx(explanation.score, abs=1e-3)


def test_a_translation_that_was_cut_off_is_explained_without_an_end_that_nobody_chose(trained: Path) -> None:
    translator = gf.load(trained)
    short = translator.recipe.decode.model_copy(update={"max_ratio": 0.1, "max_extra": 1})
    translator.recipe = translator.recipe.model_copy(update={"decode": short})
    [found] = translator.candidates(["the dog sees us."], beam=1)[0]
    explanation = translator.explain("the dog sees us.", beam=1)
    assert not found.finished
    assert explanation.target == found.tokens
    assert explanation.score == pytest.approx(found.log_prob, abs=1e-5)


@pytest.mark.parametrize("text", ["", "   ", "\n"])
def test_a_blank_text_is_not_explained(trained: Path, text: str) -> None:
    with pytest.raises(DataError, match="Nothing to explain"):
        gf.load(trained).explain(text)


# Translating


def test_the_order_and_number_of_texts_is_kept(trained: Path) -> None:
    translator = gf.load(trained)
    texts = ["the dog has me.", "", "a cat eats old red wine.", " ", "me", "the dog has me."]
    found = translator.translate(texts)
    assert found == [translator.translate(text) for text in texts]
    assert found[1] == found[3] == ""
    assert found[0] == found[5]
    assert translator.translate([]) == []


def test_candidates_come_best_first_and_as_many_as_wanted(trained: Path) -> None:
    options = gf.load(trained).candidates(["the dog has me."], beam=4, n_best=4)[0]
    assert len(options) == 4
    finished = [option.score for option in options if option.finished]
    assert finished == sorted(finished, reverse=True)
    assert len({option.tokens for option in options}) == 4


def test_more_candidates_than_the_beam_is_wide_are_refused(trained: Path) -> None:
    with pytest.raises(SettingsError, match="4 translations need a beam at least as wide; got a beam of 2"):
        gf.load(trained).candidates(["x"], beam=2, n_best=4)


# Learned positions


def test_a_sentence_longer_than_the_learned_positions_is_a_clear_error(toy: Any, tmp_path: Path) -> None:
    recipe = toy.recipe(**VARIANTS["learned positions"], train={"steps": 1, "valid_every": 1})
    gf.train_translator(recipe, tmp_path / "run")
    translator = gf.load(tmp_path / "run")
    assert len(translator.explain("the dog has me.").target) <= 9  # no output outgrows the positions
    with pytest.raises(ModelError, match=r"has 13 tokens; this model learned 9 positions\. Split the sentence"):
        translator.translate("the dog the dog the dog the dog the dog the dog")


def test_learned_positions_must_hold_the_training_and_the_held_out_sentences(toy: Any, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"model\.max_length > data\.max_tokens; they are 9 and 200"):
        gf.train_translator(toy.recipe(model={"positions": "learned", "max_length": 9}), tmp_path / "run")
    (tmp_path / "long.tsv").write_text("the dog " * 20 + "\tder Hund\n")
    changed = {**VARIANTS["learned positions"]}
    changed["data"] = {**changed["data"], "valid": (str(tmp_path / "long.tsv"),)}
    with pytest.raises(DataError, match=r"model\.max_length = 9 is too small for a held-out sentence of 41 tokens"):
        gf.train_translator(toy.recipe(**changed), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_pairs_with_a_side_too_long_are_left_out_and_counted(toy: Any, tmp_path: Path) -> None:
    told: list[str] = []

    class Listening(LastOutput):
        def on_stage(self, text: str) -> None:
            told.append(text)

    gf.train_translator(toy.recipe(data={"max_tokens": 5}, train={"steps": 1}), tmp_path / "run", watcher=Listening())
    left_out = sum(text.startswith("Left out") and "data.max_tokens = 5" in text for text in told)
    assert left_out == 1


def test_a_finished_run_is_not_taken_for_one_of_other_settings(toy: Any) -> None:
    out = toy.folder / "finished"
    gf.train_translator(toy.recipe(), out)
    assert gf.train_translator(toy.recipe(), out).stopped == "finished before"
    with pytest.raises(RunError, match=r"train\.lr was 0\.01, now 0\.02"):
        gf.train_translator(toy.recipe(train={"lr": 2e-2}), out)
