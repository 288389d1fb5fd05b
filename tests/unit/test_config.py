"""Settings: reading, assigning, checking, writing."""

from __future__ import annotations

import math
import os
import re
import tomllib
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field, ValidationError

from glassformer.config import (
    Settings,
    annotated_toml,
    apply_assignments,
    merge,
    parse_value,
    to_toml,
    validate,
    value_of,
    walk,
)
from glassformer.errors import SettingsError
from glassformer.tasks.translation.recipe import TranslationRecipe
from glassformer.toml_text import read_toml, toml_literal
from glassformer.usual_names import USUAL_NAMES


class Text(Settings):
    kind: Literal["word", "bpe"] = Field("bpe", description="How text is cut.")
    files: list[str] = Field([], description="What to read.")
    home: Path | None = Field(None, description="Where the tokenizer lies.")


class Inner(Settings):
    warmup: int = Field(7, ge=0, description="Steps until the peak.")


class Train(Settings):
    lr: float = Field(3e-4, gt=0, description="Step size.")
    fast: bool = Field(False, description="Whether to hurry.")
    steps: int | Literal["auto"] = Field("auto", description="How many, or auto.")
    schedule: Inner = Inner()


class Recipe(Settings):
    name: str = Field("nameless", description="What to call it.")
    text: Text = Text()
    train: Train | None = Train()


def errors_of(tree: dict) -> str:
    with pytest.raises(SettingsError) as caught:
        validate(Recipe, tree, origin="recipe.toml")
    return str(caught.value)


# Checking.


def test_nothing_given_gives_the_defaults() -> None:
    assert validate(Recipe, {}) == Recipe()


def test_an_unknown_setting_is_answered_with_the_nearest_known_one() -> None:
    assert errors_of({"train": {"lrr": 1}}) == "recipe.toml: unknown setting train.lrr. Did you mean train.lr?"


def test_a_setting_in_the_wrong_section_is_pointed_to_its_own() -> None:
    assert "unknown setting text.warmup. Did you mean train.schedule.warmup?" in errors_of({"text": {"warmup": 1}})
    assert "Did you mean train.schedule.warmup?" in errors_of({"warmup": 3})


@pytest.mark.parametrize(
    ("given", "ours"),
    [
        ("model.d_model", "model.d"),
        ("model.hidden_size", "model.d"),
        ("model.dim", "model.d"),
        ("model.layers", "model.N"),
        ("num_layers", "model.N"),
        ("model.n_layer", "model.N"),
        ("model.heads", "model.h"),
        ("model.n_head", "model.h"),
        ("model.ffn", "model.d_ff"),
        ("train.batch_size", "train.batch_tokens"),
        ("train.learning_rate", "train.lr"),
        ("learning-rate", "train.lr"),
        ("train.num_epochs", "train.epochs"),
        ("decode.num_beams", "decode.beam"),
    ],
)
def test_the_usual_names_of_the_field_are_answered_with_ours(given: str, ours: str) -> None:
    section, _, leaf = given.rpartition(".")
    with pytest.raises(SettingsError, match=rf"Did you mean {re.escape(ours)}\?"):
        validate(TranslationRecipe, {section: {leaf: 1}} if section else {leaf: 1})


def test_every_hint_for_a_usual_name_is_a_setting() -> None:
    assert set(USUAL_NAMES.values()) <= {name for name, _ in walk(TranslationRecipe)}


def test_an_unknown_setting_like_no_other_is_answered_with_what_is_known_there() -> None:
    assert errors_of({"text": {"zzz": 1}}).endswith(
        "unknown setting text.zzz. Known here: text.kind, text.files, text.home."
    )
    assert errors_of({"zzz": 1}).endswith("unknown setting zzz. Known here: name.")


def test_an_unknown_section_is_answered_with_the_known_ones() -> None:
    assert errors_of({"qqqqqq": {"zzz": 1}}).startswith("recipe.toml: unknown setting qqqqqq. ")


def test_all_errors_come_at_once() -> None:
    message = errors_of({"name": 3, "text": {"kind": "chars", "fils": []}, "train": {"lr": -1.0, "fast": "perhaps"}})
    assert message.startswith("recipe.toml: 5 problems:\n  ")
    lines = [line.strip() for line in message.splitlines()[1:]]
    assert [line.split(":")[0].removeprefix("unknown setting ").split(". ")[0] for line in lines] == [
        "name", "text.kind", "text.fils", "train.lr", "train.fast",
    ]  # fmt: skip
    assert lines[1] == "text.kind: input should be 'word' or 'bpe' (got 'chars')."


def test_what_was_got_is_shown_but_not_at_any_length() -> None:
    assert "(got -1.0)" in errors_of({"train": {"lr": -1.0}})
    message = errors_of({"train": {"lr": "x" * 1000}})
    assert "xxx..." in message
    assert len(message) < 200


def test_a_value_of_two_kinds_is_named_without_the_kinds_of_the_checker() -> None:
    message = errors_of({"train": {"steps": "many"}})
    assert "train.steps: " in message
    assert "train.steps.int" not in message
    assert "literal[" not in message


def test_a_missing_setting_is_named() -> None:
    class Needs(Settings):
        path: str = Field(description="Where.")

    with pytest.raises(SettingsError, match=r"^settings: path: a value is missing\.$"):
        validate(Needs, {})


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_infinite_and_undefined_numbers_are_refused(value: float) -> None:
    assert "train.lr" in errors_of({"train": {"lr": value}})


def test_a_section_that_is_a_single_value_is_refused() -> None:
    assert errors_of({"text": "bpe"}).startswith("recipe.toml: text: ")


def test_settings_cannot_be_changed_afterwards() -> None:
    with pytest.raises(ValidationError):
        Recipe().name = "other"


# --set.


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3), ("3e-4", 3e-4), ("true", True), ("bpe", "bpe"), ('"3"', "3"), ("'a b'", "a b"), ("a b", "a b"),
        ("[1, 2]", [1, 2]), ('["a", "b"]', ["a", "b"]), ("[]", []), ("", ""), ("01", "01"), ("a=b", "a=b"),
        ('"un', '"un'), ("#1", "#1"), ("True", "True"), ("[a, b]", "[a, b]"), ("a.b", "a.b"), ("~/x.en", "~/x.en"),
        ('"tab\\t"', "tab\t"), ("2024-01-31", "2024-01-31"), ("07:32:00", "07:32:00"), ("1\nb = 2", "1\nb = 2"),
        ("C:\\new", "C:\\new"), ("1_000", 1000), ("-5", -5), ("5 # five", 5),
    ],
)  # fmt: skip
def test_a_value_is_read_as_toml_or_else_as_it_stands(text: str, value: object) -> None:
    got = parse_value(text)
    assert got == value
    assert type(got) is type(value)


def test_assignments_are_put_in_their_places_and_the_tree_stays() -> None:
    tree = {"train": {"lr": 1}, "name": "a"}
    assert apply_assignments(
        tree, ["train.lr = 3e-4", "train.schedule.warmup=5", "text.files=['x','y=z']", "name=a=b"]
    ) == {
        "train": {"lr": 3e-4, "schedule": {"warmup": 5}},
        "name": "a=b",
        "text": {"files": ["x", "y=z"]},
    }
    assert tree == {"train": {"lr": 1}, "name": "a"}


def test_the_last_assignment_wins() -> None:
    assert apply_assignments({}, ["a.b=1", "a.b=2"]) == {"a": {"b": 2}}


@pytest.mark.parametrize("bad", ["train.lr", "=3", "train.=3", ".lr=3", "a..b=3", "", " =3"])
def test_an_assignment_without_a_name_is_refused_and_shown(bad: str) -> None:
    with pytest.raises(SettingsError, match="Write it like --set") as caught:
        apply_assignments({}, [bad])
    assert f"--set {bad}" in str(caught.value)


def test_assigning_below_a_single_value_is_refused() -> None:
    with pytest.raises(SettingsError, match="name is a single value, not a section"):
        apply_assignments({"name": "x"}, ["name.first=y"])


# merge.


def test_merging_goes_section_by_section() -> None:
    base = {"a": {"x": 1, "y": {"z": 2}}, "b": [1]}
    over = {"a": {"y": {"w": 3}}, "b": [2], "c": 4}
    assert merge(base, over) == {"a": {"x": 1, "y": {"z": 2, "w": 3}}, "b": [2], "c": 4}
    assert base == {"a": {"x": 1, "y": {"z": 2}}, "b": [1]}


# Reading files.


def write(folder: Path, content: bytes) -> Path:
    path = folder / "recipe.toml"
    path.write_bytes(content)
    return path


def read_error(path: Path) -> str:
    with pytest.raises(SettingsError) as caught:
        read_toml(path)
    assert str(path) in str(caught.value)
    return str(caught.value)


def test_a_recipe_is_read(tmp_path: Path) -> None:
    assert read_toml(write(tmp_path, 'name = "Äpfel"\r\n[train]\r\nlr = 1e-3'.encode())) == {
        "name": "Äpfel",
        "train": {"lr": 1e-3},
    }


def test_a_byte_order_mark_is_no_part_of_the_recipe(tmp_path: Path) -> None:
    assert read_toml(write(tmp_path, b"\xef\xbb\xbfname = 'x'")) == {"name": "x"}


def test_a_missing_recipe_says_how_to_get_one(tmp_path: Path) -> None:
    assert "no such recipe" in read_error(tmp_path / "none.toml")
    assert "no such recipe" in read_error(write(tmp_path, b"") / "below-a-file.toml")


def test_a_folder_is_no_recipe(tmp_path: Path) -> None:
    assert "is a folder" in read_error(tmp_path)


def test_bytes_that_are_not_utf8_are_refused_with_their_place(tmp_path: Path) -> None:
    assert "not UTF-8 text (byte 8)" in read_error(write(tmp_path, b'name = "\xe4pfel"'))


def test_text_that_is_not_toml_is_refused_with_its_line(tmp_path: Path) -> None:
    message = read_error(write(tmp_path, b"name = 'x'\nname: y\n"))
    assert "not valid TOML" in message
    assert "line 2" in message


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_an_unreadable_file_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, b"name = 'x'")
    path.chmod(0)
    assert "not readable" in read_error(path)


# Names, help, writing.


def test_walk_names_every_setting_with_its_section() -> None:
    assert [name for name, _ in walk(Recipe)] == [
        "name", "text.kind", "text.files", "text.home", "train.lr", "train.fast", "train.steps",
        "train.schedule.warmup",
    ]  # fmt: skip


class Round(Settings):
    kind: Literal["round"] = Field("round", description="The shape.")
    radius: int = Field(3, ge=1, description="Half of its width.")
    inner: Inner = Inner()


class Square(Settings):
    kind: Literal["square"] = Field("square", description="The shape.")
    side: int = Field(5, ge=1, description="Its width.")


class Drawing(Settings):
    shape: Round | Square = Field(Round(), discriminator="kind")


def test_walk_opens_the_section_that_an_instance_has() -> None:
    assert [name for name, _ in walk(Drawing())] == ["shape.kind", "shape.radius", "shape.inner.warmup"]
    square = validate(Drawing, {"shape": {"kind": "square"}})
    assert [name for name, _ in walk(square)] == ["shape.kind", "shape.side"]
    assert [value_of(one, "shape.side") for one in (square, Drawing())] == [5, None]
    assert value_of(square, "shape.inner.warmup") is None


def test_walk_of_a_class_names_what_each_class_of_a_union_has_once() -> None:
    names = [name for name, _ in walk(Drawing)]
    assert names == ["shape.kind", "shape.radius", "shape.inner.warmup", "shape.side"]


def test_an_instance_without_its_optional_section_has_one_setting_there() -> None:
    assert "train" in dict(walk(Recipe(train=None)))


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ({"kind": "square", "side": 0}, "shape.side: input should be greater than or equal to 1 (got 0)."),
        ({"kind": "square", "radius": 1}, "unknown setting shape.radius."),
        ({"kind": "oval"}, "shape.kind: input should be one of 'round', 'square' (got 'oval')."),
        ({"side": 3}, "shape.kind: a value is missing."),
    ],
)
def test_a_problem_in_one_class_of_a_union_is_named_without_the_class(shape: dict, message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        validate(Drawing, {"shape": shape})
    assert message in str(caught.value)


def test_help_comes_from_the_field() -> None:
    assert dict(walk(Recipe))["train.schedule.warmup"].description == "Steps until the peak."


def test_toml_without_comments_holds_values_only() -> None:
    assert to_toml(Recipe()) == (
        'name = "nameless"\n\n[text]\nkind = "bpe"\nfiles = []\n\n'
        '[train]\nlr = 0.0003\nfast = false\nsteps = "auto"\n\n[train.schedule]\nwarmup = 7\n'
    )


def test_an_annotated_recipe_carries_each_help_text_above_its_setting() -> None:
    lines = annotated_toml(Recipe(), {}).splitlines()
    for name, field in walk(Recipe):
        place = lines.index(f"# {field.description}")
        assert lines[place + 1].startswith(f"# {name.rpartition('.')[2]} =")
    assert "# home =" in lines
    assert validate(Recipe, tomllib.loads("\n".join(lines))) == Recipe()


def test_an_annotated_recipe_leaves_what_was_given_in_force() -> None:
    text = annotated_toml(Recipe(train=Train(lr=0.5)), {"train": {"lr": 0.5}})
    assert "\nlr = 0.5\n" in text
    assert "\n# fast = false\n" in text
    assert tomllib.loads(text) == {"text": {}, "train": {"lr": 0.5, "schedule": {}}}


ODD = [
    'say "no"',
    "back\\slash",
    "C:\\new\\table",
    "tab\t line\nfeed\r",
    "\x7f\x00\x1f",
    "Äpfel, яблоки, सेब, 🍎",
    "'",
    "#",
]


@pytest.mark.parametrize("text", ODD)
def test_odd_strings_come_back_as_they_were(text: str) -> None:
    recipe = Recipe(name=text, text=Text(files=[text, "plain"], home=Path("a b") / "c"))
    assert validate(Recipe, tomllib.loads(to_toml(recipe))) == recipe


@given(st.text(st.characters(exclude_categories=["Cs"])), st.floats(min_value=1e-300, max_value=1e300), st.booleans())
def test_any_settings_come_back_as_they_were(text: str, lr: float, fast: bool) -> None:
    recipe = Recipe(name=text, text=Text(files=[text]), train=Train(lr=lr, fast=fast, steps=13))
    assert validate(Recipe, tomllib.loads(to_toml(recipe))) == recipe


def test_a_section_left_out_is_left_out() -> None:
    assert "[train" not in to_toml(Recipe(train=None))


@pytest.mark.parametrize(
    ("value", "text"),
    [(True, "true"), (3, "3"), (1e16, "1e+16"), (0.1, "0.1"), ((1, "a"), '[1, "a"]'), (Path("x/y"), '"x/y"')],
)
def test_a_literal_is_toml(value: object, text: str) -> None:
    assert toml_literal(value) == text
    tomllib.loads(f"x = {text}")


def test_an_endless_file_is_not_read_to_its_end() -> None:
    with pytest.raises(SettingsError, match="A recipe is a short TOML file"):
        read_toml(Path("/dev/zero"))


@pytest.mark.parametrize(
    ("tree", "words"),
    [
        ({"data": 5}, "data: expected a section with settings (got 5)."),
        ({"data": {"valid": 5}}, "data.valid: expected a list (got 5)."),
        ({"data": {"languages": "en"}}, "data.languages: too few values."),
    ],
)
def test_types_are_named_in_plain_words(tree: dict[str, object], words: str) -> None:
    with pytest.raises(SettingsError, match=re.escape(words)):
        validate(TranslationRecipe, tree)


def test_a_setting_of_another_kind_is_not_suggested_for_itself() -> None:
    from glassformer.tasks.sentence_classes import ClassRecipe

    with pytest.raises(SettingsError, match=r"unknown setting model.pooling. This model.kind has no such setting"):
        validate(ClassRecipe, {"model": {"kind": "gpt", "pooling": "mean"}})
