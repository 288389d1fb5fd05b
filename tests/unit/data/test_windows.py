"""Windows of running text: cut at other places in every epoch, with every token predicted once."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from glassformer.data.columns import Columns, Ragged
from glassformer.data.windows import Windows, cut_elsewhere, encode_windows

BEGIN = 0


class Letters:
    """Each letter is a token; 0 is the begin mark."""

    def __len__(self) -> int:
        return 30

    def encode_flat(self, texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
        ids = [[ord(letter) - 96 for letter in text] for text in texts]
        flat = np.array([i for row in ids for i in row], dtype=np.uint32)
        return flat, np.array([len(row) for row in ids], dtype=np.int64)


def windows(texts: list[str], size: int) -> Ragged:
    found: Ragged = encode_windows([(text, True, False) for text in texts], Letters(), size=size, begin=BEGIN).columns[
        "text"
    ]
    return found


def pairs(rows: Ragged) -> list[tuple[int, int]]:
    """Each token with the one before it: what is predicted, and from what."""
    return sorted((int(a), int(b)) for i in range(len(rows)) for a, b in zip(rows[i][:-1], rows[i][1:], strict=True))


def as_text(ids: np.ndarray) -> str:
    return "".join(chr(96 + int(i)) for i in ids)


@settings(deadline=None)
@given(
    texts=st.lists(st.text("abc", min_size=1, max_size=40), min_size=1, max_size=6),
    size=st.integers(2, 9),
    seed=st.integers(0, 99),
)
def test_every_token_is_predicted_once_from_the_one_before(texts: list[str], size: int, seed: int) -> None:
    rows = windows(texts, size)
    again = cut_elsewhere(rows, np.random.default_rng(seed))
    assert pairs(again) == pairs(rows)
    assert again.lengths.max() <= rows.lengths.max()
    assert again.lengths.min() >= 2
    whole = [as_text(np.concatenate([[BEGIN], *Letters().encode_flat([text])[:1]])) for text in texts]
    for i in range(len(again)):
        assert any(as_text(again[i]) in text for text in whole)  # no window has parts of two texts


def test_short_texts_stay_whole() -> None:
    rows = windows(["abc", "b", "abcdefgh"], 4)
    again = cut_elsewhere(rows, np.random.default_rng(5))
    assert [as_text(again[i]) for i in range(2)] == ["`abc", "`b"]
    assert len(again) in (4, 5)


def test_each_epoch_begins_elsewhere_and_the_same_epoch_does_not() -> None:
    pool = Windows(Columns({"text": windows(["abcdefghijklmnopqrstuvwxyz"], 6)}), pad=0)
    cuts = [tuple(pool.of_epoch(np.random.default_rng([1, epoch])).lengths[:, 0].tolist()) for epoch in range(12)]
    assert cuts[3] == tuple(pool.of_epoch(np.random.default_rng([1, 3])).lengths[:, 0].tolist())
    assert len(set(cuts)) > 3
    assert all(sum(cut) == 26 for cut in cuts)


def test_what_belongs_to_tokens_is_the_same_with_and_without_padding() -> None:
    pool = Windows(Columns({"text": windows(["abcdefgh", "abc", "abcdefg"], 8)}), pad=0)
    for index in ([0], [0, 1], [1, 2, 0]):
        batch = pool.batch(np.array(index))
        assert batch.weight == int(batch.lengths.sum())
        assert batch.real(batch.target_out).tolist() == batch.target_out[batch.target_mask].tolist()
