"""New pairs with old ones beside them: all new ones, a share of old ones, a function of (seed, epoch)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from glassformer.data import token_cache
from glassformer.data.batches import Batch, EncodedPairs, Marks, encode_pairs, stream
from glassformer.data.columns import Columns, Ragged
from glassformer.data.mixing import Mixture, mixed, unmixed
from glassformer.data.token_cache import TokenCache, build_cache
from glassformer.text import Tokenizer, train_tokenizer

MARKS = Marks(pad=0, bos=2, eos=3)
NEW = [(f"new {i}", f"neu {i}") for i in range(23)]
OLD = [(f"an old sentence {i}", f"ein alter Satz {i}") for i in range(211)]
OLDER = [(f"older {i}", f"uralt {i}") for i in range(61)]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train_tokenizer("char", [text for pair in (*NEW, *OLD, *OLDER) for text in pair], vocab_size=99)


def built(folder: Path, pairs: list[tuple[str, str]], tokenizer: Tokenizer) -> TokenCache:
    build_cache(folder, iter(pairs), partial(encode_pairs, source=tokenizer, target=tokenizer, most=100))
    return TokenCache(folder, pool_of)


def pool_of(columns: Columns) -> EncodedPairs:
    return EncodedPairs.of(columns, MARKS, MARKS)


def texts(pairs: TokenCache | Mixture, tokenizer: Tokenizer, *, seed: int = 1, epoch: int = 0) -> list[str]:
    pools = pairs.pools(seed=seed, epoch=epoch)
    return [tokenizer.decode(pool.columns["source"][i].tolist()) for pool in pools for i in range(len(pool))]


@pytest.fixture
def mixture(tmp_path: Path, tokenizer: Tokenizer) -> Mixture:
    return Mixture(built(tmp_path / "new", NEW, tokenizer), built(tmp_path / "old", OLD, tokenizer), share=0.5)


def test_every_epoch_has_all_new_pairs_and_other_old_ones(mixture: Mixture, tokenizer: Tokenizer) -> None:
    first, second = (texts(mixture, tokenizer, epoch=epoch) for epoch in (0, 1))
    for found in (first, second):
        assert sorted(found[: len(NEW)]) == sorted(source for source, _ in NEW)
        assert len(set(found)) == len(found)
        assert set(found[len(NEW) :]) <= {source for source, _ in OLD}
    assert set(first[len(NEW) :]) != set(second[len(NEW) :])
    assert len(mixture) == len(NEW)


def test_the_sample_is_a_function_of_seed_and_epoch(mixture: Mixture, tokenizer: Tokenizer) -> None:
    assert texts(mixture, tokenizer, epoch=3) == texts(mixture, tokenizer, epoch=3)
    assert texts(mixture, tokenizer, seed=2) != texts(mixture, tokenizer, seed=1)
    whole = [batch.index.tolist() for _, batch in zip(range(40), stream_of(mixture), strict=False)]
    rest = [batch.index.tolist() for _, batch in zip(range(20), stream_of(mixture, skip=20), strict=False)]
    assert rest == whole[20:]


def stream_of(mixture: Mixture, skip: int = 0) -> Iterator[Batch]:
    return (batch for _, batch in stream(mixture, tokens=100, seed=1, skip=skip))


@pytest.mark.parametrize("share", [0.2, 0.5, 0.75])
def test_the_share_is_of_the_tokens(tmp_path: Path, tokenizer: Tokenizer, share: float) -> None:
    new, old = built(tmp_path / "new", NEW, tokenizer), built(tmp_path / "old", OLD, tokenizer)
    lengths = np.concatenate([pool.lengths for pool in Mixture(new, old, share=share).pools(seed=1, epoch=0)])
    assert lengths[len(NEW) :].sum() / lengths.sum() == pytest.approx(share, abs=0.05)  # half a sentence more or less


def test_of_few_old_pairs_all_are_taken_once(tmp_path: Path, tokenizer: Tokenizer) -> None:
    new, old = built(tmp_path / "new", NEW, tokenizer), built(tmp_path / "old", OLD[:3], tokenizer)
    found = texts(Mixture(new, old, share=0.9), tokenizer)
    assert sorted(found[len(NEW) :]) == sorted(source for source, _ in OLD[:3])


def test_every_pool_of_new_pairs_has_its_old_ones(
    tmp_path: Path, tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(token_cache, "SHARD", 5)
    monkeypatch.setattr(token_cache, "POOL", 2)
    new, old = built(tmp_path / "new", NEW, tokenizer), built(tmp_path / "old", OLD[:7], tokenizer)
    known = {source for source, _ in OLD}
    for pool in Mixture(new, old, share=0.5).pools(seed=1, epoch=0):
        sources = [tokenizer.decode(pool.columns["source"][i].tolist()) for i in range(len(pool))]
        assert known & set(sources)


def test_old_pairs_may_be_a_mixture_themselves(tmp_path: Path, tokenizer: Tokenizer) -> None:
    parts = {"new": NEW, "old": OLD[:40], "older": OLDER}
    caches = [built(tmp_path / name, pairs, tokenizer) for name, pairs in parts.items()]
    pairs = mixed(caches, [0.6, 0.3])
    kinds = {text.split()[0] for text in texts(pairs, tokenizer)}
    assert kinds == {"new", "an", "older"}
    assert unmixed(pairs) == (caches, [0.6, 0.3])
    assert unmixed(mixed(caches[:1], [])) == (caches[:1], [])


def test_sequences_by_their_places() -> None:
    ragged = Ragged.of([[1, 2, 3], [], [4], [5, 6]])
    taken = ragged.at(np.array([3, 0, 1]))
    assert [taken[i].tolist() for i in range(3)] == [[5, 6], [1, 2, 3], []]
    assert len(EncodedPairs(taken, taken, MARKS, MARKS)) == 3
