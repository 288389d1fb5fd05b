"""Arguments of Python calls: a string is never taken for a list of its letters, and what is wrong is said in words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import glassformer as gf
from glassformer.errors import GlassformerError

TEXTS = ["the dog has me.", "the house"]


@pytest.fixture(scope="module")
def model(trained: Path) -> gf.Translator:
    return gf.load(trained, kind=gf.Translator)


def exact(found: Any) -> float:
    return next(score.value for score in found[0] if score.name == "exact match")


def test_references_are_a_string_or_a_list_of_strings_for_each_text(model: gf.Translator) -> None:
    said = model.translate(TEXTS)
    for references in (said, [[one] for one in said], [("x", one) for one in said], [said[0], ["x", said[1]]]):
        assert exact(model.evaluate(TEXTS, references)) == 100, references
    assert exact(model.evaluate((text for text in TEXTS), (iter([one]) for one in said))) == 100


def test_one_text_has_one_reference_or_several(model: gf.Translator) -> None:
    said = model.translate(TEXTS[0])
    for references in (said, ["x", said]):
        scores, translations = model.evaluate(TEXTS[0], references)
        assert (exact([scores]), translations) == (100, [said])


def test_blank_texts_are_scored(model: gf.Translator) -> None:
    scores, translations = model.evaluate(["", TEXTS[0]], ["", "x"])
    assert translations[0] == ""
    assert exact([scores]) == 50


BAD_REFERENCES: dict[str, tuple[Any, Any, str]] = {
    "too few": (TEXTS, ["x"], "2 texts and references for 1"),
    "no texts": ([], [], "at least one"),
    "one for many": (TEXTS, "x", "a list of texts"),
    "none at all": (TEXTS, None, "Got None"),
    "a number": (TEXTS, ["x", 3], "Text 1 has 3"),
    "bytes": (TEXTS, ["x", b"y"], "Text 1 has b'y'"),
    "a number inside": (TEXTS, ["x", ["y", 3]], "Text 1 has 3"),
    "a text without references": (TEXTS, ["x", []], "Text 1 has no references"),
    "a mapping": (TEXTS, {"x": "y", "z": "w"}, "Got {"),
    "lists of one text": (TEXTS[0], [["x"], ["y"]], "['x']"),
    "texts of another type": ([1, 2], ["x", "y"], "Item 0"),
}


@pytest.mark.parametrize("name", BAD_REFERENCES)
def test_wrong_references_are_refused_in_words(name: str, model: gf.Translator) -> None:
    texts, references, said = BAD_REFERENCES[name]
    with pytest.raises(gf.GlassformerError) as caught:
        model.evaluate(texts, references)
    assert said in str(caught.value)


def test_a_translation_in_a_glossary_is_a_string_or_a_list_of_strings(model: gf.Translator) -> None:
    for forms in ("Hund", ["Hund"], ("Hund",), iter(["Hund"])):
        glossary = gf.Glossary({"dog": forms})
        assert glossary.forms == {"dog": ("Hund",)}
        assert "Hund" in model.candidates("the dog has me.", constraints=gf.Constraints(glossary=glossary))[0].text


BAD_GLOSSARIES: dict[str, Any] = {
    "an empty term": {"": "Hund"},
    "a blank term": {"  ": "Hund"},
    "an empty translation": {"dog": ""},
    "no translation": {"dog": []},
    "one empty form": {"dog": ["Hund", " "]},
    "None": {"dog": None},
    "a number": {"dog": 3},
    "a number inside": {"dog": ["Hund", 3]},
    "a term that is a number": {3: "Hund"},
    "a break in a term": {"big\ndog": "Hund"},
    "a break in a translation": {"dog": "Hu\nnd"},
    "bytes": {"dog": b"Hund"},
    "a list": [("dog", "Hund")],
    "a file's name": "terms.tsv",
}


@pytest.mark.parametrize("name", BAD_GLOSSARIES)
def test_wrong_glossaries_are_refused_in_words(name: str) -> None:
    with pytest.raises(gf.GlassformerError, match=r"[Gg]lossary"):
        gf.Glossary(BAD_GLOSSARIES[name])


BAD_CONSTRAINTS: dict[str, tuple[dict[str, Any], str]] = {
    "a dict as glossary": ({"glossary": {"dog": "Hund"}}, r"gf\.Glossary\("),
    "a file as glossary": ({"glossary": "terms.tsv"}, r"gf\.Glossary\.read\("),
    "a number as a word": ({"say": [3]}, "say"),
    "a number as words": ({"ban": 3}, "ban"),
    "a number as the beginning": ({"begin": 3}, "begin"),
    "a dict as sampling": ({"sampling": {"seed": 1}}, r"gf\.Sampling\("),
}


@pytest.mark.parametrize("name", BAD_CONSTRAINTS)
def test_wrong_constraints_are_refused_in_words(name: str) -> None:
    given, said = BAD_CONSTRAINTS[name]
    with pytest.raises(gf.GlassformerError, match=said):
        gf.Constraints(**given)


def test_a_single_word_to_say_or_ban_is_no_list_of_letters() -> None:
    constraints: Any = gf.Constraints
    assert constraints(say="Hund", ban=["Katze"]) == gf.Constraints(say=("Hund",), ban=("Katze",))
    assert gf.GenerateOptions(stop="END", ban="the").stop == ("END",)
    with pytest.raises(gf.GlassformerError, match="stop has 3"):
        gf.GenerateOptions(stop=[3])  # type: ignore[list-item]


@pytest.mark.parametrize("method", ["candidates", "stream"])
def test_what_are_not_constraints_is_refused_in_words(method: str, model: gf.Translator) -> None:
    with pytest.raises(gf.GlassformerError, match=r"constraints = 'x'.*gf\.Constraints\("):
        getattr(model, method)("the dog", constraints="x")


@pytest.mark.parametrize("kind", ["x", dict, 3, "Translator"])
def test_what_is_no_kind_of_model_is_refused_in_words(kind: Any, trained: Path) -> None:
    with pytest.raises(gf.GlassformerError, match=r"kind = .*gf\.Translator"):
        gf.load(trained, kind=kind)


# Training

BAD_TRAINING: dict[str, tuple[dict[str, Any], str]] = {
    "data as a number": ({"data": 5}, r"data has 5 \(int\); expected the name of a file"),
    "data as bytes": ({"data": b"d/c.tsv"}, "expected the name of a file"),
    "a list of numbers": ({"data": ["a.tsv", 5]}, r"data has 5 \(int\)"),
    "a section as a number": ({"train": 5}, r"train = 5 \(int\): expected settings by name"),
    "a section as None": ({"model": None}, "model = None: expected settings by name"),
    "a section that there is not": ({"trian": {"steps": 3}}, "unknown setting trian"),
    "names that are numbers": ({"train": {5: 1}}, "expected settings by name"),
    "out as a number": ({"out": 5}, r"out = 5 \(int\): expected a path"),
    "out as bytes": ({"out": b"x"}, "expected a path"),
    "out with a NUL": ({"out": "py/\0"}, "not a usable path"),
    "out with a long name": ({"out": "x" * 5000}, "not a usable path"),
    "a start as a number": ({"start_from": 5}, "start_from = 5"),
    "a recipe as a number": ({"recipe": 5}, "as recipe; expected a recipe or a dict"),
    "a truth value": ({"train": {"steps": True}}, r"train\.steps: must be a whole number from 1 .*got true"),
    "a truth value for a fraction": ({"train": {"lr": True}}, r"train\.lr: must be a number above 0"),
}


@pytest.mark.parametrize("given", BAD_TRAINING.values(), ids=BAD_TRAINING)
def test_arguments_of_train_are_refused_in_words(given: tuple[dict[str, Any], str], tmp_path: Path) -> None:
    arguments, words = given
    usual = {"task": "classify", "data": str(tmp_path / "c.tsv"), "out": str(tmp_path / "run")}
    with pytest.raises(GlassformerError, match=words):
        gf.train(**{**usual, **arguments})
    assert list(tmp_path.iterdir()) == []


def test_pairs_are_given_as_a_file(tmp_path: Path) -> None:
    with pytest.raises(GlassformerError, match=r"none\.tsv"):  # not: unknown setting
        gf.train(data=tmp_path / "none.tsv", out=tmp_path / "run")
