"""`glassformer compare`: what it finds, and what it refuses."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import glassformer as gf
from glassformer.errors import DataError, GlassformerError
from glassformer.evaluate import significance
from glassformer.explain.difference import BARS
from glassformer.store.run import RunFolder
from glassformer.tasks.comparing import Contestant, compare_runs, differing, value_text
from glassformer.tasks.evaluating import open_trained
from glassformer.training.watching import Silent

Command = Callable[..., Any]


@pytest.fixture(autouse=True)
def _few_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(significance, "TRIALS", 400)
    monkeypatch.setattr(significance, "RESAMPLES", 200)


@pytest.fixture(scope="module")
def other(shared_toy: Any) -> Path:
    """A run like `trained`, but for fewer steps at another rate."""
    out = shared_toy.folder / "other"
    gf.train_translator(shared_toy.recipe(train={"steps": 10, "valid_every": 5, "lr": 1e-3}), out)
    return Path(out)


def held(toy: Any) -> list[tuple[str, tuple[str, ...]]]:
    return [(source, (target,)) for source, target in toy.pairs]


def test_settings_scores_and_sentences_are_told(trained: Path, other: Path, command: Command) -> None:
    outcome = command("compare", other, trained)
    assert outcome.code == 0, outcome.err
    assert "on 60 validation sentences" in outcome.out
    rows = [line.split() for line in outcome.lines]
    assert ["train.lr", "0.001", "0.01"] in rows
    assert ["train.steps", "10", "40"] in rows
    assert f"{trained} is better than {other} by" in outcome.out
    assert "Where they differ most" in outcome.out
    assert "also chose the weights" in outcome.out
    assert "train.batch_tokens" not in outcome.out
    assert [line.split()[0] for line in outcome.lines if set(line) & set(BARS)] == ["loss", "loss", "BLEU", "BLEU"]


def test_as_json_it_has_the_same_numbers_as_evaluate(
    trained: Path, other: Path, command: Command, shared_toy: Any
) -> None:
    files = (shared_toy.source, shared_toy.target)
    outcome = command("compare", trained, other, "--test", *files, "--beam", 1, "--json")
    assert outcome.code == 0, outcome.err
    found = json.loads(outcome.out)
    assert (found["part"], found["sentences"]) == ("given sentences", 60)
    for run, path in zip(found["runs"], (trained, other), strict=True):
        alone = json.loads(command("evaluate", path, *files, "--beam", 1, "--json").out)
        assert [score["value"] for score in run["scores"]] == [score["value"] for score in alone]
    bleu = found["against_first"][0]["differences"][0]
    first, second = (run["scores"][0]["value"] for run in found["runs"])
    assert bleu["difference"] == pytest.approx(second - first)
    assert bleu["low"] <= bleu["difference"] <= bleu["high"]
    assert bleu["p"] == bleu["p_adjusted"] < 0.05


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "not set"),
        ((), "not set"),
        (("a.en", "b.en"), "a.en b.en"),
        (True, "true"),
        (4096, "4,096"),
        (0.1, "0.1"),
    ],
)
def test_settings_are_shown_as_people_write_them(value: object, shown: str) -> None:
    assert value_text(value) == shown


def test_a_copy_is_no_different(trained: Path, run_copy: Path, shared_toy: Any) -> None:
    found = compare_runs([str(trained), str(run_copy)], held(shared_toy), listener=Silent())
    assert found.settings == []
    assert found.most_different == []
    assert [row.p for row in found.pairings[0].differences] == [1, 1, 1]


def test_of_three_runs_each_is_held_against_the_first(
    trained: Path, other: Path, run_copy: Path, shared_toy: Any
) -> None:
    names = [str(trained), str(other), str(run_copy)]
    found = compare_runs(names, held(shared_toy), beam=1, listener=Silent())
    assert [pairing.name for pairing in found.pairings] == names[1:]
    single = found.pairings[0].differences[0].p
    assert found.pairings[0].p[0] == pytest.approx(min(1.0, 2 * single))
    assert any("2 comparisons" in note for note in found.notes)
    assert all(len(row.predictions) == 3 for row in found.most_different)


def test_few_sentences_decide_nothing(
    trained: Path, other: Path, command: Command, shared_toy: Any, tmp_path: Path
) -> None:
    for name, side in (("few.en", 0), ("few.de", 1)):
        (tmp_path / name).write_text("".join(f"{pair[side]}\n" for pair in shared_toy.pairs[:9]))
    page = tmp_path / "few.html"
    asked = ("compare", other, trained, "--beam", 1, "--test", tmp_path / "few.en", tmp_path / "few.de")
    outcome = command(*asked, "--report", page)
    assert outcome.code == 0, outcome.err
    assert f"Too few sentences (9) to say whether {other} or {trained} is better in BLEU: " in outcome.out
    assert "Note: This comparison decides nothing: with fewer than 10 sentences" in outcome.out
    assert "Scores\n" in outcome.out
    for word in ("95%", "p =", "p <", "is better than"):
        assert word not in outcome.out
    assert "Too few sentences (9)" in page.read_text(encoding="utf-8")
    told = json.loads(command(*asked, "--json").out)
    assert (told["decides"], told["notes"][0][:30]) == (False, "This comparison decides nothin")


def test_the_page_is_written_once_and_is_whole(trained: Path, other: Path, command: Command, tmp_path: Path) -> None:
    page = tmp_path / "compared.html"
    assert command("compare", trained, other, "--beam", 1, "--report", page).code == 0
    text = page.read_text(encoding="utf-8")
    assert "is better than" in text
    assert '"valid_bleu 1"' in text
    outcome = command("compare", trained, other, "--report", page)
    assert (outcome.code, "already exists" in outcome.err) == (2, True)


def test_a_run_in_training_takes_part_with_its_checkpoint(trained: Path, shared_toy: Any, tmp_path: Path) -> None:
    class Stopping(Silent):
        def on_step(self, progress: Any, report: Any, seconds: float) -> None:  # noqa: ARG002
            if progress.step == 3:
                signal.raise_signal(signal.SIGINT)

    gf.train_translator(shared_toy.recipe(), tmp_path / "halted", watcher=Stopping())
    found = compare_runs([str(trained), str(tmp_path / "halted")], beam=1, listener=Silent())
    assert any("halted is its checkpoint at step 3" in note for note in found.notes)


# What is refused, in one line


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["TRAINED"], "give at least two"),
        (["TRAINED", "TRAINED/."], "given twice"),
        (["TRAINED", "nowhere"], "nowhere: no such folder"),
    ],
)
def test_what_is_no_comparison_is_refused(trained: Path, command: Command, names: list[str], said: str) -> None:
    outcome = command("compare", *(name.replace("TRAINED", str(trained)) for name in names))
    assert outcome.code == 2
    assert said in outcome.err
    assert "Traceback" not in outcome.err


def test_runs_that_held_out_different_sentences_need_a_test(trained: Path, toy: Any, tmp_path: Path) -> None:
    lines = toy.source.read_text().splitlines()[:20], toy.target.read_text().splitlines()[:20]
    for name, side in zip(("v.en", "v.de"), lines, strict=True):
        (tmp_path / name).write_text("\n".join(side) + "\n")
    recipe = toy.recipe(data={"valid": (str(tmp_path / "v.en"), str(tmp_path / "v.de"))}, train={"steps": 2})
    gf.train_translator(recipe, tmp_path / "run")
    names = [str(trained), str(tmp_path / "run")]
    with pytest.raises(DataError, match=r"have held out different sentences.*--test FILE"):
        compare_runs(names, listener=Silent())
    assert compare_runs(names, held(toy)[:5], beam=1, listener=Silent()).sentences == 5


def test_held_out_files_that_changed_are_refused(toy: Any, tmp_path: Path) -> None:
    for name in "ab":
        gf.train_translator(toy.recipe(train={"steps": 1}), tmp_path / name)
    toy.target.write_text(toy.target.read_text().replace("Hund", "Kater"))
    with pytest.raises(DataError, match="has changed since it was trained"):
        compare_runs([str(tmp_path / "a"), str(tmp_path / "b")], listener=Silent())


def test_runs_into_different_languages_are_refused(trained: Path, run_copy: Path, shared_toy: Any) -> None:
    rewrite_config(run_copy, "[data]\n", '[data]\nlanguages = ["en", "fr"]\n')
    with pytest.raises(GlassformerError, match=r"translates into de and .* into fr"):
        compare_runs([str(trained), str(run_copy)], held(shared_toy), listener=Silent())


def rewrite_config(run: Path, old: str, new: str) -> None:
    """Another setting in a run's config.toml, with its manifest."""
    folder = RunFolder(run)
    content = {name: folder.text(name) for name in ("tokenizer.json", "model.safetensors")}
    config = folder.config_text()
    assert old in config
    content["config.toml"] = config.replace(old, new, 1).encode()
    folder._write_manifest(content, folder.about())
    (run / "config.toml").write_bytes(content["config.toml"])


def test_other_data_and_sizes_are_among_what_differs(trained: Path, toy: Any, tmp_path: Path) -> None:
    toy.source.write_text(toy.source.read_text() + "a dog has a cat.\n")
    toy.target.write_text(toy.target.read_text() + "ein Hund hat eine Katze.\n")
    gf.train_translator(toy.recipe(model={"d_ff": 12}, train={"steps": 1}), tmp_path / "run")
    found = dict(differing([Contestant(open_trained(path)) for path in (trained, tmp_path / "run")]))
    assert found["model.d_ff"] == [24, 12]
    assert found["parameters"][0] > found["parameters"][1]
    assert "fingerprint of the training data" in found
    assert "model.d" not in found


def test_columns_of_the_training_are_those_of_the_test_files(shared_toy: Any, tmp_path: Path, command: Command) -> None:
    """Otherwise the first two columns would be taken, here in the wrong direction."""
    table = tmp_path / "pairs.tsv"
    rows = [f"{i}\t{target}\t{source}\n" for i, (source, target) in enumerate(shared_toy.pairs)]
    table.write_text("id\tde\ten\n" + "".join(rows))
    base = shared_toy.recipe()
    recipe = {**base, "data": {"pairs": str(table), "columns": "en,de", "languages": "en,de"}}
    for name in "ab":
        gf.train_translator(recipe, tmp_path / name)
    scores = json.loads(command("evaluate", tmp_path / "a", table, "--json").out)
    chosen = json.loads(command("evaluate", tmp_path / "a", table, "--columns", "en,de", "--json").out)
    assert scores == chosen
    compared = json.loads(command("compare", tmp_path / "a", tmp_path / "b", "--test", table, "--json").out)
    assert compared["runs"][0]["scores"][0]["value"] == scores[0]["value"]
