"""Which tokens are masked, what is shown instead, and how texts are packed into windows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import encoder_models
from glassformer.data.masked_windows import MaskedWindows, encode_packed, with_fixed_masks
from glassformer.data.masking import Masking
from glassformer.text import MASK, train_tokenizer
from glassformer.text.framing import Frame

CLS, SEP, HIDDEN = 2, 3, 4  # of encoder_models.wordpiece()
FRAME = Frame((CLS,), (SEP,), (SEP,))


def masking(rate: float = 0.15, *, whole_words: bool = False) -> Masking:
    return Masking.of(encoder_models.wordpiece(), HIDDEN, rate=rate, whole_words=whole_words)


def windows(count: int, size: int, seed: int = 0) -> np.ndarray:
    """Framed windows of ordinary tokens."""
    inner = np.random.default_rng(seed).integers(5, len(encoder_models.PIECES), size=(count, size - 2))
    return np.concatenate([np.full((count, 1), CLS), inner, np.full((count, 1), SEP)], axis=1)


def test_15_percent_are_masked_and_of_these_80_10_10_are_replaced_drawn_and_kept() -> None:
    ids = windows(400, 102)
    shown, masked = masking().drawn(ids, np.full(400, 102), np.random.default_rng(1))
    assert (masked.sum(1) == 15).all()  # of 100 tokens in every window
    true, seen = ids[masked], shown[masked]
    drawn = (seen != HIDDEN) & (seen != true)
    known = len(masking().ordinary)
    assert np.mean(seen == HIDDEN) == pytest.approx(0.8, abs=0.02)
    assert np.mean(drawn) == pytest.approx(0.1 * (1 - 1 / known), abs=0.02)
    assert np.mean(seen == true) == pytest.approx(0.1 + 0.1 / known, abs=0.02)
    assert (shown[~masked] == ids[~masked]).all()
    assert set(seen[drawn]) == set(masking().ordinary)  # every ordinary token is drawn, no special one


@pytest.mark.parametrize("whole_words", [False, True])
def test_special_tokens_and_padding_are_never_masked(whole_words: bool) -> None:
    ids, lengths = windows(50, 30), np.random.default_rng(2).integers(3, 31, size=50)
    ids[np.arange(30) >= lengths[:, None]] = 7  # padding that looks like a word
    _, masked = masking(0.9, whole_words=whole_words).drawn(ids, lengths, np.random.default_rng(3))
    assert not masked[:, 0].any()
    assert not (masked & (ids == SEP)).any()
    assert not (masked & (np.arange(30) >= lengths[:, None])).any()
    assert masked.any(axis=1).all()  # at least one in every window


def test_every_place_is_masked_equally_often() -> None:
    ids = np.tile(windows(1, 22), (2000, 1))
    _, masked = masking(0.3).drawn(ids, np.full(2000, 22), np.random.default_rng(4))
    assert masked[:, 1:-1].mean(0) == pytest.approx(np.full(20, 0.3), abs=0.05)


def test_the_pieces_of_a_word_are_masked_together() -> None:
    tokenizer = encoder_models.wordpiece()
    text = tokenizer.encode("the unbelievable dog runs. money grows, dogs")
    pieces = tokenizer.pieces_of(text)
    ids = np.tile(np.array(FRAME.single(text)), (300, 1))
    _, masked = masking(0.3, whole_words=True).drawn(ids, np.full(300, ids.shape[1]), np.random.default_rng(5))
    at = 1 + pieces.index("un")
    assert (masked[:, at] == masked[:, at + 1]).all()  # un ##believ ##able
    assert (masked[:, at] == masked[:, at + 2]).all()
    dot = 1 + pieces.index(".")
    assert (masked[:, dot - 1] != masked[:, dot]).any()  # a full stop is a word of its own
    assert 0.3 <= masked[:, 1:-1].mean() <= 0.45


def test_words_of_a_byte_level_vocabulary() -> None:
    lines = ["the farmer farms a farm, farming", "a farmer's farm"] * 5
    tokenizer = train_tokenizer("bpe", lines, vocab_size=285, extra=(MASK,))
    assert tokenizer.mask_id is not None
    found = Masking.of(tokenizer, tokenizer.mask_id, rate=0.5, whole_words=True)
    ids = tokenizer.encode("farming farmer, farms")
    scores = found.scores(np.array([ids]), np.random.default_rng(0))[0]
    words = "".join(chr(97 + sorted(set(scores), key=list(scores).index).index(one)) for one in scores)
    surfaces = [tokenizer.surfaces[i].decode() for i in ids]
    spelled: dict[str, str] = {}
    for word, surface in zip(words, surfaces, strict=True):
        spelled[word] = spelled.get(word, "") + surface
    assert list(spelled.values()) == ["farming", " farmer", ",", " farms"]


def test_masks_of_held_out_windows_depend_on_the_window_alone() -> None:
    pieces = [(text, True, True) for text in ("the dog runs", "a cat", "money grows of the river bank", "paris is")]
    tokenizer = encoder_models.wordpiece()

    def pool(order: list[int], rate: float) -> MaskedWindows:
        columns = encode_packed([pieces[i] for i in order], tokenizer, size=9, frame=FRAME).columns
        own = masking(rate)
        return MaskedWindows(with_fixed_masks(columns, own), 0, own)

    def masks(order: list[int], rate: float, seed: int) -> dict[str, tuple[Any, ...]]:
        """For each window, what is seen and where."""
        found, own = {}, pool(order, rate)
        for i in range(len(own)):
            batch = own.batch(np.array([i]), np.random.default_rng(seed))
            found[str(own.columns["text"][i].tolist())] = (batch.ids.tolist(), batch.places.tolist())
        return found

    assert masks([0, 2, 1], 0.15, 1) == masks([0, 2, 1], 0.6, 2)  # neither the rate of training nor the generator
    one, other = masks([2, 0], 0.15, 0), masks([3, 2], 0.15, 0)
    shared = set(one) & set(other)
    assert shared
    assert all(one[text] == other[text] for text in shared)


def test_a_batch_has_the_true_tokens_at_the_masked_places() -> None:
    tokenizer = encoder_models.wordpiece()
    texts = [("the dog runs", True, True), ("money grows of the river bank of france", True, True)]
    columns = encode_packed(texts, tokenizer, size=10, frame=FRAME).columns
    for chosen in (columns, with_fixed_masks(columns, masking())):
        pool = MaskedWindows(chosen, 0, masking())
        batch = pool.batch(np.array([1, 0]), np.random.default_rng(0))
        true = columns["text"].padded(np.array([1, 0]), pad=0)
        assert batch.labels.tolist() == true.flatten()[batch.places].tolist()
        assert batch.windows.tolist() == [0, 1]  # one token of each: 15% of 8 and of 3
        changed = (batch.ids != true).flatten().nonzero()[:, 0]
        assert set(changed.tolist()) <= set(batch.places.tolist())
        assert batch.weight == 2


# Windows


class Letters:
    """Each byte is a token."""

    def __len__(self) -> int:
        return 256

    def encode_flat(self, texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
        rows = [list(text.encode()) for text in texts]
        flat = np.array([i for row in rows for i in row], dtype=np.uint32)
        return flat, np.array([len(row) for row in rows])


def rows_of(pieces: list[tuple[str, bool, bool]], size: int) -> list[str]:
    frame = Frame(tuple(b"<"), tuple(b"|"), tuple(b">"))
    found = encode_packed(pieces, Letters(), size=size, frame=frame).columns  # type: ignore[arg-type]
    assert found["bytes"].flat.sum() == sum(len(text) for text, _, _ in pieces)
    return [bytes(found["text"][i].tolist()).decode() for i in range(len(found))]


def test_running_text_fills_its_windows_and_a_new_file_is_set_apart() -> None:
    pieces = [("abcdefg", True, False), ("hij", False, False), ("kl", True, False), ("mnopqrstuvw", True, False)]
    assert rows_of(pieces, 8) == ["<abcdef>", "<ghij>", "<kl>", "<mnopqr>", "<stuvw>"]
    assert rows_of(pieces[:3], 10) == ["<abcdefgh>", "<ij|kl>"]


def test_rows_share_windows_and_are_cut_only_if_they_must() -> None:
    pieces = [(text, True, True) for text in ("abc", "de", "fghi", "jklmnopq", "r")]
    assert rows_of(pieces, 8) == ["<abc|de>", "<fghi>", "<jklmno>", "<pq|r>"]
