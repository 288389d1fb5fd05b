"""Properties of tokenizers that hold for every text."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from glassformer.text import Tokenizer, graphemes, train_tokenizer
from glassformer.text.wordpiece import Merge, halving_floors, learn_merges, symbols

TEXTS = [
    "The quick brown fox, lower and slower, jumps over the lazy dog's (well-known) bed!",
    "Die schnellste Füchsin läuft – über Straßen. एक क्षत्रिय हिन्दी தமிழ் عربي עברית ไทย 日本語 한국어 👨‍👩‍👧‍👦",
    "low lower lowest new newer newest wide wider widest show shower slow slower",
] * 4
KINDS = ["word", "char", "bpe", "wordpiece"]
TRAINED = {kind: train_tokenizer(kind, TEXTS, vocab_size=500) for kind in KINDS}
LOWER = {kind: train_tokenizer(kind, TEXTS, vocab_size=500, lowercase=True) for kind in KINDS}

awkward = st.sampled_from(
    [
        *" \n\r\t\u00a0\u200b\u200c\u200d\u2028\u0000\ufeff▁Ġ#_</s>",
        *[
            "  ",
            "\r\n",
            "</s>",
            "<pad>",
            "<unk>",
            "<s>",
            "##",
            "👨‍👩‍👧‍👦",
            "🇩🇪",
            "क्षि",
            "e\u0301",
            "\u0301",
            "각",
            "가",
            "தி",
            "ลี่",
            "שָׁ",
            "عَ",
        ],
        *["the", "low", "er", "est", "Str", "aße", "不"],
    ]
)
texts = st.one_of(st.text(max_size=40), st.lists(awkward, max_size=20).map("".join))


@given(texts)
@settings(max_examples=400, deadline=None)
def test_bpe_loses_nothing(text: str) -> None:
    for bpe in (TRAINED["bpe"], LOWER["bpe"]):
        assert bpe.decode(bpe.encode(text)) == bpe.normalize(text)


@given(texts)
@settings(max_examples=200, deadline=None)
def test_normalizing_again_changes_nothing(text: str) -> None:
    for tokenizer in (*TRAINED.values(), *LOWER.values()):
        once = tokenizer.normalize(text)
        assert tokenizer.normalize(once) == once


@pytest.mark.parametrize("kind", KINDS)
@given(text=texts)
@settings(max_examples=200, deadline=None)
def test_text_without_unknown_pieces_comes_back(kind: str, text: str) -> None:
    tokenizer = TRAINED[kind]
    ids = tokenizer.encode(text)
    assert not {tokenizer.pad_id, tokenizer.bos_id, tokenizer.eos_id} & set(ids)
    if tokenizer.unk_id not in ids:
        assert tokenizer.decode(ids) == tokenizer.normalize(text)


@given(st.text(alphabet=sorted(set("".join(TEXTS))), max_size=40))
@settings(max_examples=200, deadline=None)
def test_wordpiece_writes_any_text_of_known_characters(text: str) -> None:
    wordpiece = TRAINED["wordpiece"]
    ids = wordpiece.encode(text)
    if wordpiece.normalize(text) == text:  # NFC may make a character that training has not seen
        assert wordpiece.unk_id not in ids
        assert wordpiece.decode(ids) == text


@pytest.mark.parametrize("kind", KINDS)
@given(text=texts)
@settings(max_examples=200, deadline=None)
def test_traces_end_with_the_pieces_of_the_encoder(kind: str, text: str) -> None:
    trace = TRAINED[kind].trace(text)
    assert list(trace.pieces) == TRAINED[kind].pieces(text)
    assert list(trace.ids) == TRAINED[kind].encode(text)
    if trace.steps:
        assert trace.steps[-1].after == trace.pieces
    assert all(one.after == two.before for one, two in pairwise(trace.steps)) or kind == "wordpiece"
    assert str(trace)


@given(st.text(alphabet="loweridnst", min_size=1, max_size=12))
@settings(max_examples=500, deadline=None)
def test_traces_of_words_end_with_the_pieces_of_the_encoder(word: str) -> None:
    for kind in ("bpe", "wordpiece"):
        trace = TRAINED[kind].trace(word)
        assert (trace.steps[-1].after if trace.steps else tuple(word)) == trace.pieces


@given(st.lists(texts, max_size=5))
@settings(max_examples=100, deadline=None)
def test_batches_equal_singles(batch: list[str]) -> None:
    for tokenizer in TRAINED.values():
        assert tokenizer.encode_batch(batch) == [tokenizer.encode(text) for text in batch]


def test_ids_survive_a_file_for_every_kind(tmp_path: Path) -> None:
    for kind, tokenizer in TRAINED.items():
        tokenizer.save(tmp_path / f"{kind}.json")
        again = Tokenizer.load(tmp_path / f"{kind}.json")
        for text in [*TEXTS, " </s> ", "\u0301 é"]:
            assert again.encode(text) == tokenizer.encode(text)


# Consonants and viramas of conjuncts, where `regex` does not follow rule GB9c of Unicode 15.1 and later, and
# characters that one of the two engines is too old to know.
_VIRAMAS = "\u094d\u09cd\u0acd\u0b4d\u0c4d\u0d4d"
known = st.characters(exclude_categories=["Cs", "Cn", "Co"], exclude_characters=_VIRAMAS + "\U00011a3a")
clusters = st.sampled_from([*"👨👩🏽\u200d\u200c🇩🇪\r\n\u0301\u0308a각각क्षिதி\u0600\ufe0f\u20e31#"]).filter(
    lambda character: character not in _VIRAMAS
)


@given(st.lists(st.one_of(known, clusters), max_size=20).map("".join))
@settings(max_examples=500, deadline=None)
def test_graphemes_are_those_of_regex(text: str) -> None:
    assert graphemes(text) == regex.findall(r"\X", text)


@given(texts)
@settings(deadline=None)
def test_graphemes_only_join_what_regex_splits_after_a_virama(text: str) -> None:
    """With conjuncts too: each of our clusters is one or more of regex's, and joined they are the text."""
    assert "".join(graphemes(text)) == text
    for cluster in graphemes(text):
        *earlier, _ = regex.findall(r"\X", cluster)
        assert all(set(part) & set(_VIRAMAS) for part in earlier)


def _learn_by_recounting(words: dict[str, int], pieces: int, floors: list[int]) -> list[Merge]:
    """The definition, slowly: count everything again before each merge."""
    split = {word: symbols(word) for word in words}
    merges: list[Merge] = []
    for floor in floors:
        while len({merge.piece for merge in merges}) < pieces:
            best = _best_pair(words, split, floor)
            if best is None:
                break
            merges.append(best)
            split = {word: _join(parts, best) for word, parts in split.items()}
    return merges


def _best_pair(words: dict[str, int], split: dict[str, list[str]], floor: int) -> Merge | None:
    single: Counter[str] = Counter()
    double: Counter[tuple[str, str]] = Counter()
    for word, frequency in words.items():
        for part in split[word]:
            single[part] += frequency
        for pair in pairwise(split[word]):
            double[pair] += frequency
    scored = [(-(n / (single[a] * single[b])), -n, a, b) for (a, b), n in double.items() if n >= floor]
    if not scored:
        return None
    score, count, left, right = min(scored)
    return Merge(left, right, -score, -count)


def _join(parts: list[str], merge: Merge) -> list[str]:
    result: list[str] = []
    while parts:
        fits = parts[:2] == [merge.left, merge.right]
        result.append(merge.piece if fits else parts[0])
        parts = parts[2 if fits else 1 :]
    return result


words_and_counts = st.dictionaries(
    st.tuples(st.sampled_from(["", "▁"]), st.text(alphabet="abcd", min_size=1, max_size=9)).map("".join),
    st.integers(1, 50),
    min_size=1,
    max_size=12,
)


@given(words_and_counts, st.integers(1, 4))
@settings(max_examples=300, deadline=None)
def test_wordpiece_merges_are_those_of_recounting(words: dict[str, int], least: int) -> None:
    pairs: Counter[tuple[str, str]] = Counter()
    for word, frequency in words.items():
        for pair in pairwise(symbols(word)):
            pairs[pair] += frequency
    floors = halving_floors(max(pairs.values(), default=0), least)
    assert learn_merges(words, pieces=30, min_frequency=least) == _learn_by_recounting(words, 30, floors)
    assert learn_merges(words, pieces=30, floors=[least]) == _learn_by_recounting(words, 30, [least])
