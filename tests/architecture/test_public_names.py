"""What `import glassformer` offers: nothing appears or disappears by accident."""

from __future__ import annotations

from pathlib import Path

import pytest

import glassformer

PUBLIC = [
    "Constraints",
    "GenerateOptions",
    "GlassformerError",
    "Glossary",
    "ImageModel",
    "LanguageModel",
    "Rewriter",
    "Sampling",
    "TextEncoder",
    "Tokenizer",
    "Translator",
    "__version__",
    "load",
    "phrasebook",
    "train",
    "train_tokenizer",
    "train_translator",
]
PACKAGES = ["vectors"]  # gf.vectors.train(...)


def test_the_public_names_are_these() -> None:
    assert sorted(glassformer.__all__) == PUBLIC
    assert dir(glassformer) == PUBLIC + PACKAGES


@pytest.mark.parametrize("name", PACKAGES)
def test_a_public_package_offers_what_it_lists(name: str) -> None:
    package = getattr(glassformer, name)
    assert package.__doc__
    assert all(callable(getattr(package, one)) for one in package.__all__)


def test_no_public_name_is_hidden_by_a_room() -> None:
    rooms = {path.stem for path in Path(glassformer.__file__).parent.iterdir()}
    assert not rooms & set(PUBLIC)


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_is_there_and_says_what_it_is(name: str) -> None:
    value = getattr(glassformer, name)
    assert isinstance(value, str) or (callable(value) and value.__doc__)


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    with pytest.raises(AttributeError, match=r"no attribute 'loda'; it has .*load"):
        _ = glassformer.loda
