"""Ids in flat arrays, framed and padded batches."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest
import torch

from glassformer.data.batches import EncodedPairs, Marks, count_batches, epoch_batches, source_batch, stream
from glassformer.data.columns import Ragged
from glassformer.errors import DataError

MARKS = Marks(pad=0, bos=1, eos=2), Marks(pad=7, bos=8, eos=9)
SOURCES = [[11, 12, 13], [14], [], [15, 16]]
TARGETS = [[21], [22, 23, 24, 25], [26, 27], []]


@pytest.fixture
def pairs() -> EncodedPairs:
    return EncodedPairs(Ragged.of(SOURCES), Ragged.of(TARGETS), *MARKS)


def test_ragged_gives_back_each_sequence() -> None:
    ragged = Ragged.of(SOURCES)
    assert len(ragged) == 4
    assert [ragged[i].tolist() for i in range(4)] == SOURCES
    assert ragged.lengths.tolist() == [3, 1, 0, 2]
    assert ragged.flat.dtype == np.int32


def test_no_sequences_are_ragged_too() -> None:
    assert len(Ragged.of([])) == 0


def test_lengths_count_the_end_mark(pairs: EncodedPairs) -> None:
    assert len(pairs) == 4
    assert pairs.lengths.tolist() == [[4, 2], [2, 5], [1, 3], [3, 1]]


def test_a_batch_frames_and_pads_each_side_with_its_own_marks(pairs: EncodedPairs) -> None:
    batch = pairs.batch(np.array([1, 0]))
    assert batch.source.tolist() == [[14, 2, 0, 0], [11, 12, 13, 2]]
    assert batch.target_in.tolist() == [[8, 22, 23, 24, 25], [8, 21, 7, 7, 7]]
    assert batch.target_out.tolist() == [[22, 23, 24, 25, 9], [21, 9, 7, 7, 7]]
    assert batch.source_lengths.tolist() == [2, 4]
    assert batch.target_lengths.tolist() == [5, 2]
    assert batch.target_mask.tolist() == [[True] * 5, [True, True, False, False, False]]
    assert batch.index.tolist() == [1, 0]
    assert batch.tokens == 2 + 4 + 5 + 2


def test_a_batch_moves_as_a_whole(pairs: EncodedPairs) -> None:
    batch = pairs.batch(np.array([1, 0]))
    moved = batch.to(torch.device("meta"))
    tensors = (moved.source, moved.source_lengths, moved.target_in, moved.target_out, moved.target_lengths)
    assert {tensor.device.type for tensor in tensors} == {"meta"}
    assert moved.index is batch.index
    assert source_batch([[5]], Marks(0, 1, 2)).to(torch.device("meta")).source.device.type == "meta"


def test_sentences_to_translate_are_closed_and_padded() -> None:
    batch = source_batch([[5], [3, 4]], Marks(pad=0, bos=1, eos=2))
    assert batch.source.tolist() == [[5, 2, 0], [3, 4, 2]]
    assert batch.source_lengths.tolist() == [2, 3]


def test_a_stream_over_nothing_is_refused() -> None:
    with pytest.raises(DataError, match="no examples left"):
        next(stream(EncodedPairs(Ragged.of([]), Ragged.of([]), *MARKS), tokens=100, seed=1))


def test_a_stream_goes_through_the_epochs_one_after_the_other() -> None:
    lengths = np.random.default_rng(3).integers(2, 9, (23, 2))
    pairs = EncodedPairs(*(Ragged.of([[5] * (n - 1) for n in side]) for side in lengths.T), *MARKS)
    per_epoch = count_batches(pairs, tokens=50, seed=1)
    assert per_epoch == len(epoch_batches(lengths, tokens=50, seed=1, epoch=0))
    epochs = [epoch for epoch, _ in islice(stream(pairs, tokens=50, seed=1), 3 * per_epoch)]
    assert epochs[:per_epoch] == [0] * per_epoch
    assert set(epochs) >= {0, 1}
    assert epochs == sorted(epochs)
