"""The recipe of a translation run: what belongs together is checked together."""

from __future__ import annotations

from pathlib import Path

import pytest

from glassformer.config import to_toml, validate
from glassformer.errors import RunError, SettingsError
from glassformer.store.run import RunFolder
from glassformer.tasks.translation import TranslationRecipe
from glassformer.tasks.translation.recipe import read_recipe


def test_one_vocabulary_ties_everything_two_tie_only_target_and_output() -> None:
    assert validate(TranslationRecipe, {}).model.tied == "all"
    assert validate(TranslationRecipe, {"text": {"shared": False}}).model.tied == "output"
    given = {"text": {"shared": False}, "model": {"tied": "none"}}
    assert validate(TranslationRecipe, given).model.tied == "none"


def test_two_vocabularies_cannot_share_one_matrix() -> None:
    with pytest.raises(SettingsError, match=r"model\.tied = 'all' needs text\.shared = true"):
        validate(TranslationRecipe, {"text": {"shared": False}, "model": {"tied": "all"}})


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ({"source": "a"}, "target is missing"),
        ({"target": "a"}, "source is missing"),
        ({"source": "a", "target": "b", "corpus": "phrasebook"}, "not both"),
        ({"pairs": "c", "corpus": "phrasebook"}, "not both"),
        ({"pairs": "c", "valid": "100%"}, "a share to hold out"),
    ],
)
def test_the_data_come_from_one_place(data: dict, told: str) -> None:
    with pytest.raises(SettingsError, match=told):
        validate(TranslationRecipe, {"data": data})


@pytest.mark.parametrize("section", ["data", "text", "model", "train", "decode"])
@pytest.mark.parametrize("value", [3, "x", [1], None])
def test_a_section_that_is_none_is_refused_by_name(section: str, value: object) -> None:
    with pytest.raises(SettingsError, match=section):
        validate(TranslationRecipe, {section: value})


def test_a_recipe_survives_its_run_folder(tmp_path: Path) -> None:
    recipe = validate(TranslationRecipe, {"data": {"pairs": 'odd "name" ä.tsv'}, "train": {"lr": 1e-5}})
    run = RunFolder(tmp_path)
    run.begin(config=to_toml(recipe), texts={}, about={})
    assert read_recipe(run) == recipe


@pytest.mark.parametrize("config", ["[train", "[train]\nlr = -1\n"])
def test_settings_that_were_never_valid_are_refused_with_their_file(tmp_path: Path, config: str) -> None:
    run = RunFolder(tmp_path)
    run.begin(config=config, texts={}, about={})
    with pytest.raises((RunError, SettingsError), match=r"config\.toml"):
        read_recipe(run)


@pytest.mark.parametrize("best_by", ["auto", "loss", "bleu", "chrf"])
def test_weights_are_chosen_by_a_metric_of_translations(best_by: str) -> None:
    assert validate(TranslationRecipe, {"train": {"best_by": best_by}}).train.best_by == best_by


def test_a_metric_of_another_task_is_refused_with_a_hint() -> None:
    with pytest.raises(
        SettingsError, match=r"'blue' is not a metric.* Did you mean 'bleu'.* Allowed: auto, loss, bleu, chrf"
    ):
        validate(TranslationRecipe, {"train": {"best_by": "blue"}})
