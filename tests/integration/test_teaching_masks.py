"""Training with `data.masks`, and translating with what was learnt from it; without it nothing is different."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from glassformer import train_translator
from glassformer.data.token_cache import TokenCache
from glassformer.decode import search
from glassformer.errors import SettingsError
from glassformer.tasks.translation.constraints import Constraints, Request, Sentences
from glassformer.tasks.translation.glossary import Glossary
from glassformer.tasks.translation.loading import load
from glassformer.tasks.translation.masking import kept
from glassformer.tasks.translation.recipe import TranslationRecipe
from glassformer.tasks.translation.task import Translation as TranslationTask
from glassformer.tasks.translation.translator import Translation, Translator
from glassformer.text.masks import MASKS, MaskCodec, mask_ids
from glassformer.training.prepare import Prepared, prepare
from glassformer.training.watching import Silent
from toy_corpus import Outcome, Toy

KEEP = Constraints(keep_placeholders=True)


def prepared(toy: Toy, **data: Any) -> Prepared:
    return prepare(TranslationTask(), TranslationRecipe.model_validate(toy.recipe(data=data)), Silent())


def cache_of(one: Prepared) -> TokenCache:
    assert isinstance(one.examples, TokenCache)
    return one.examples


def rows_of(cache: TokenCache) -> list[list[int]]:
    pool = next(cache.pools(seed=0, epoch=0))
    return [pool.columns["source"][i].tolist() for i in range(len(pool))]


@pytest.fixture(scope="module")
def masked_run(shared_toy: Toy, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("masks") / "run"
    train = {"steps": 60, "valid_every": 30}
    train_translator(shared_toy.recipe(data={"masks": 0.5}, train=train), out)
    return out


def test_without_the_setting_vocabulary_and_cache_are_as_before(shared_toy: Toy) -> None:
    one = prepared(shared_toy)
    tokenizer = one.setup.tokenizer
    parts = ["translate", one.material.fingerprints["train"], tokenizer.fingerprint(), "200"]
    assert cache_of(one).folder.name == hashlib.sha256(" ".join(parts).encode()).hexdigest()[:32]
    assert mask_ids(tokenizer) == ()
    assert rows_of(cache_of(one)) == [tokenizer.encode(source) for source, _ in shared_toy.pairs]


def test_training_pairs_get_masks_and_held_out_ones_none(shared_toy: Toy) -> None:
    one, other, again = (prepared(shared_toy, masks=share) for share in (0.5, 0.2, 0.5))
    ids = set(mask_ids(one.setup.tokenizer))
    assert len(ids) == len(MASKS)
    assert cache_of(one).folder == cache_of(again).folder != cache_of(other).folder
    with_masks = [row for row in rows_of(cache_of(one)) if ids & set(row)]
    assert 20 <= len(with_masks) <= 40
    assert len(one.setup.tokenizer) <= 60
    assert [source for source, _ in one.material.valid] == [source for source, _ in shared_toy.pairs]


def test_a_run_without_masks_cannot_learn_them_later(trained: Path, shared_toy: Toy, tmp_path: Path) -> None:
    recipe = shared_toy.recipe(data={"masks": 0.1}, train={"start_from": str(trained)})
    with pytest.raises(SettingsError, match=r"data\.masks needs mask tokens"):
        train_translator({**recipe, "text": {}, "model": {}}, tmp_path / "run")


def test_fine_tuning_a_run_with_masks_goes_on_with_them(masked_run: Path, shared_toy: Toy, tmp_path: Path) -> None:
    tree = shared_toy.recipe(data={"masks": 0.3}, train={"start_from": str(masked_run), "steps": 2})
    train_translator({**tree, "text": {}, "model": {}}, tmp_path / "run")
    assert load(tmp_path / "run").mask_codecs is not None


def test_plain_text_is_translated_without_masks(masked_run: Path, shared_toy: Toy) -> None:
    translator = load(masked_run)
    sources = [source for source, _ in shared_toy.pairs] + [f"the {MASKS[0]} eats <mask1>."]
    for options in translator.candidates(sources, n_best=2, beam=4):
        for one in options:
            assert not set(one.text) & set(MASKS)
            assert not any(token.startswith("<mask") for token in one.tokens)


def test_placeholders_are_kept_either_way_and_the_tokens_show_which(
    masked_run: Path, command: Callable[..., Outcome]
) -> None:
    sources = [
        "the dog eats {x}.",
        "{a} sees {b}.",
        "a cat has <b>two eggs</b> {n}",
        f"my boy {MASKS[0]} {{x}} eats",
        "%s",
    ]
    translator = load(masked_run)
    for text, options in zip(sources, translator.candidates(sources, constraints=KEEP), strict=True):
        assert kept(text, options[0].text)
        assert not (set(options[0].text) - set(text)) & set(MASKS)
    done = command("translate", masked_run, "--keep-placeholders", "--json", sources[0])
    found = json.loads(done.lines[0])
    assert "{x}" in json.dumps(found)
    assert not set(done.out) & set(MASKS)


class Scripted(Translator):
    """Says what it is told: with masks, and without."""

    said: str
    plain: str

    def found(self, batch: Sentences, request: Request) -> list[list[Translation]]:  # noqa: ARG002
        text = self.said if batch.masks else self.plain
        ids = MaskCodec(self.target).encode(text)
        one = Translation(text, -1.0, -1.0, tuple(self.target.pieces_of(ids)), (-1.0,), finished=True)
        return [[one] for _ in batch.rows]


@pytest.fixture
def scripted(masked_run: Path) -> Scripted:
    own = load(masked_run)
    made = Scripted(own.model, own.source, own.target, own.recipe)
    made.plain = "der Hund isst Brot."
    return made


def test_placeholders_come_where_the_model_says_masks(scripted: Scripted) -> None:
    scripted.said = f"{MASKS[0]} isst der Hund {MASKS[1]}."
    found = scripted.candidates("the dog {x} eats {y}.", constraints=KEEP)[0]
    assert found.text == "{x} isst der Hund {y}."
    assert found.inserted == ("{x}", "{y}")
    assert found.tokens[0] == "<mask1>"


@pytest.mark.parametrize(
    "said", ["isst Brot.", f"{MASKS[0]} isst {MASKS[0]} {MASKS[1]}", f"{MASKS[0]} isst.", f"{MASKS[0]} {MASKS[2]}"]
)
def test_where_a_mask_is_missing_the_alignment_places_all(scripted: Scripted, said: str) -> None:
    scripted.said = said
    told: list[int] = []
    found = scripted.candidates(["the dog {x} eats {y}.", "the dog"], constraints=KEEP, progress=told.append)
    assert kept("the dog {x} eats {y}.", found[0][0].text)
    assert found[0][0].text.replace("{x} ", "").replace(" {y}", "") == scripted.plain
    assert not any(token.startswith("<mask") for token in found[0][0].tokens)
    assert found[1][0].text == scripted.plain
    assert sum(told) == 2


def test_progress_counts_each_text_once_where_masks_are_placed(scripted: Scripted) -> None:
    scripted.said = f"isst {MASKS[0]}."
    told: list[int] = []
    found = scripted.candidates(["the dog", "eats {y}.", "a cat"], constraints=KEEP, progress=told.append)
    assert [options[0].text for options in found] == [scripted.plain, "isst {y}.", scripted.plain]
    assert sum(told) == 3


def test_with_a_glossary_the_alignment_places_all(scripted: Scripted) -> None:
    scripted.said = "never asked"
    constraints = replace(KEEP, glossary=Glossary({"dog": ("Hund",)}))
    found = scripted.candidates("the dog {x} eats.", constraints=constraints)[0]
    assert kept("the dog {x} eats.", found.text)
    assert "Hund" in found.text


def test_a_search_says_only_masks_of_its_source_and_each_once(masked_run: Path) -> None:
    translator = load(masked_run)
    ids = mask_ids(translator.target)
    request = Request(translator.recipe.decode, beam=3)
    rows = [translator.source.encode("the dog eats bread."), [ids[0], *translator.source.encode("the dog eats.")]]
    with torch.no_grad():  # a model that would say nothing but masks
        translator.model.head.weight[list(ids)] *= 50
    asked = Sentences(["", ""], rows, [0, 1], [(), ()], masks=[0, 1])
    for options, most in zip(search(translator.task(asked, request)), (0, 1), strict=True):
        for one in options:
            said = [i for i in one.ids if i in ids]
            assert len(said) <= most
            assert set(said) <= set(ids[:most])
    assert np.isfinite(translator.score("the dog", "der Hund").log_prob)
