"""Statements about batches and files that hold for any input."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glassformer.data.batches import EncodedPairs, Marks, epoch_batches, stream
from glassformer.data.columns import Index, Ragged
from glassformer.data.phrasebook import phrasebook, words
from glassformer.data.readers.records import Place, Record
from glassformer.data.readers.texts import texts_of
from glassformer.data.selection import HELD, LEFT_OUT, TRAIN, HoldOut, chosen, select
from glassformer.text.folding import folded

LENGTHS = st.lists(st.tuples(st.integers(1, 60), st.integers(1, 60)), min_size=1, max_size=80).map(
    lambda rows: np.array(rows, dtype=np.int64)
)
TOKENS, SEEDS, EPOCHS = st.integers(1, 400), st.integers(0, 2**31), st.integers(0, 50)


def same(one: list[Index], other: list[Index]) -> bool:
    return len(one) == len(other) and all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def padded_size(lengths: Index, batch: Index) -> int:
    return len(batch) * int(lengths[batch].max(axis=0).sum())


@given(LENGTHS, TOKENS, SEEDS, EPOCHS)
def test_every_pair_comes_exactly_once_an_epoch(lengths: Index, tokens: int, seed: int, epoch: int) -> None:
    batches = epoch_batches(lengths, tokens=tokens, seed=seed, epoch=epoch)
    assert sorted(i for batch in batches for i in batch.tolist()) == list(range(len(lengths)))
    assert all(len(batch) for batch in batches)


@given(LENGTHS, TOKENS, SEEDS, EPOCHS)
def test_a_batch_keeps_to_the_budget_unless_one_pair_alone_exceeds_it(
    lengths: Index, tokens: int, seed: int, epoch: int
) -> None:
    for batch in epoch_batches(lengths, tokens=tokens, seed=seed, epoch=epoch):
        assert len(batch) == 1 or padded_size(lengths, batch) <= tokens


@given(LENGTHS, TOKENS, SEEDS, EPOCHS)
def test_the_order_is_a_function_of_seed_and_epoch_alone(lengths: Index, tokens: int, seed: int, epoch: int) -> None:
    once = epoch_batches(lengths, tokens=tokens, seed=seed, epoch=epoch)
    np.random.default_rng().random(3)  # other random numbers do not matter
    assert same(once, epoch_batches(lengths.copy(), tokens=tokens, seed=seed, epoch=epoch))


@given(SEEDS, EPOCHS)
def test_other_epochs_and_other_seeds_have_other_orders(seed: int, epoch: int) -> None:
    lengths = np.tile(np.arange(1, 21), (2, 3)).T
    here = epoch_batches(lengths, tokens=40, seed=seed, epoch=epoch)
    assert not same(here, epoch_batches(lengths, tokens=40, seed=seed, epoch=epoch + 1))
    assert not same(here, epoch_batches(lengths, tokens=40, seed=seed + 1, epoch=epoch))


@given(LENGTHS, TOKENS, SEEDS, st.integers(0, 100))
@settings(deadline=None)
def test_skipping_n_batches_gives_what_comes_after_n(lengths: Index, tokens: int, seed: int, skip: int) -> None:
    sides = (Ragged.of([[5] * (n - 1) for n in side]) for side in lengths.T)
    pairs = EncodedPairs(*sides, Marks(0, 1, 2), Marks(0, 1, 2))
    whole = list(islice(stream(pairs, tokens=tokens, seed=seed), skip + 9))
    later = list(islice(stream(pairs, tokens=tokens, seed=seed, skip=skip), 9))
    assert [epoch for epoch, _ in whole[skip:]] == [epoch for epoch, _ in later]
    assert same([batch.index for _, batch in whole[skip:]], [batch.index for _, batch in later])


def phrasebook_lengths() -> Index:
    phrases = phrasebook(train=5000, valid=0, test=0).train
    return np.array([(len(words(phrase.source)) + 1, len(words(phrase.references[0])) + 1) for phrase in phrases])


def running_text_lengths() -> Index:
    random = np.random.default_rng(7)
    source = np.clip(random.lognormal(3.0, 0.55, 20_000), 2, 150)
    target = np.clip(source * random.lognormal(0.0, 0.2, 20_000), 2, 170)
    return np.stack([source, target], axis=1).astype(np.int64)


@pytest.mark.parametrize("natural", [phrasebook_lengths, running_text_lengths])
def test_at_least_95_percent_of_the_batches_are_real_tokens(natural: Callable[[], Index]) -> None:
    lengths = natural()
    batches = epoch_batches(lengths, tokens=1024, seed=1, epoch=0)
    assert lengths.sum() / sum(padded_size(lengths, batch) for batch in batches) >= 0.95


LINES = st.lists(st.text(st.characters(exclude_characters="\n\0", exclude_categories=["Cs"]), max_size=20), max_size=8)


@given(LINES)
@settings(deadline=None)
def test_lines_are_read_as_they_were_written(lines: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "text"
        path.write_bytes("\ufeff".encode() + "".join(line + "\n" for line in lines).encode())
        assert list(texts_of(path)) == [line.removesuffix("\r") for line in lines]


UNITS = st.lists(st.tuples(st.text("aAb.", max_size=3), st.sampled_from([None, "blank"])), min_size=1, max_size=60)


@given(UNITS, SEEDS, st.none() | st.floats(0.01, 0.99))
def test_holding_out_parts_the_units_and_repeats_none_on_both_sides(
    units: list[tuple[str, str | None]], seed: int, share: float | None
) -> None:
    screened = [(Record(text, "t", Place("f", i, 0)), reason) for i, (text, reason) in enumerate(units)]
    parts = select(iter(screened), HoldOut(seed=seed, share=share))
    assert len(parts) == len(units)
    assert [part == LEFT_OUT for part in parts] == [reason is not None for _, reason in units]
    sides = {part: {folded(units[i][0]) for i in range(len(units)) if parts[i] == part} for part in (TRAIN, HELD)}
    assert not sides[TRAIN] & sides[HELD]
    assert bool(sides[HELD]) == any(reason is None for _, reason in units)
    chosen_texts = [source for part in (TRAIN, HELD) for source, _ in chosen((r for r, _ in screened), parts, part)]
    assert sorted(chosen_texts) == sorted(text for text, reason in units if reason is None)
