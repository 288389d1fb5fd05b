"""Training tokenizers: the library trains BPE and counts words and characters, the WordPiece trainer is ours."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain

import tokenizers
from tokenizers import AddedToken, Regex, decoders, models, normalizers, pre_tokenizers, trainers

from glassformer import limits
from glassformer.errors import TokenizerError
from glassformer.text.byte_level import CharacterCounts, byte_level_entries, byte_level_words, words_with_spaces
from glassformer.text.graphemes import grapheme_splitter
from glassformer.text.library import state_of
from glassformer.text.pieces import CONTINUES, MARK, UNK
from glassformer.text.settings import TextSettings
from glassformer.text.tokenizer import SPECIAL_TOKENS, Tokenizer
from glassformer.text.wordpiece import alphabet, learn_merges

Progress = Callable[[int, int], None]
Trainer = Callable[..., Tokenizer]

_NORMALIZATIONS: dict[str, Callable[[], normalizers.Normalizer] | None] = {
    "NFC": normalizers.NFC,
    "NFD": normalizers.NFD,
    "NFKC": normalizers.NFKC,
    "NFKD": normalizers.NFKD,
    "none": None,
}

# A word with the space before it (written ▁), or any other single character with its space, or a space alone. The
# joined pieces are the text: no spacing is lost. Words are cut at 64 characters, since a longest
# match over a script without spaces takes quadratic time in the length of the word.
_WORD = f"{MARK}?[\\p{{L}}\\p{{M}}\\p{{N}}_\u200c\u200d]{{1,64}}|{MARK}?(?![{MARK}\\s])\\X|[{MARK}\\s]"


def tokenizer_for(
    settings: TextSettings, texts: Iterable[str], *, extra: Sequence[str] = (), progress: Progress | None = None
) -> Tokenizer:
    """The tokenizer that the settings ask for, learned from texts (see `train_tokenizer`)."""
    return train_tokenizer(
        settings.kind,
        texts,
        vocab_size=settings.vocab_size,
        lowercase=settings.lowercase,
        normalization=settings.normalization,
        extra=extra,
        progress=progress,
    )


def train_tokenizer(
    kind: str,
    texts: Iterable[str],
    *,
    vocab_size: int = 8000,
    lowercase: bool = False,
    normalization: str = "NFC",
    min_frequency: int = 2,
    extra: Sequence[str] = (),
    progress: Progress | None = None,
) -> Tokenizer:
    """Learn a vocabulary of at most `vocab_size` entries from texts. The same texts give the same tokenizer.

    `min_frequency` is how often a word, a character or a pair must be seen to get an entry of its own; `extra` are
    special tokens in addition to the usual four; `progress(done, total)` is called with the vocabulary size so far.
    """
    trainer = TOKENIZERS.get(kind) or _unknown("kind of tokenizer", kind, TOKENIZERS)
    if normalization not in _NORMALIZATIONS:
        _unknown("normalization", normalization, _NORMALIZATIONS)
    _check_at_least("vocab_size", vocab_size, len(SPECIAL_TOKENS) + len(extra) + 1)
    if vocab_size > limits.VOCABULARY:
        raise TokenizerError(f"vocab_size is {vocab_size:,}; expected {limits.VOCABULARY:,} or less: lower it")
    _check_at_least("min_frequency", min_frequency, 1)
    rules = _rules(lowercase=lowercase, normalization=normalization)
    report = progress or (lambda _done, _total: None)
    report(0, vocab_size)
    tokenizer = trainer(
        _not_empty(texts),
        rules=rules,
        vocab_size=vocab_size - len(extra),
        min_frequency=min_frequency,
        progress=report,
    )
    if extra:
        tokenizer = tokenizer.with_special_tokens(extra)
    report(len(tokenizer), len(tokenizer))
    return tokenizer


def train_word(
    texts: Iterable[str],
    *,
    rules: list[normalizers.Normalizer],
    vocab_size: int,
    min_frequency: int,
    progress: Progress,  # noqa: ARG001 (the library reports nothing)
) -> Tokenizer:
    """Words and punctuation marks, the most frequent first; all others are `<unk>`."""
    inner = tokenizers.Tokenizer(models.WordLevel(unk_token=UNK))
    _mark_spaces(inner, rules)
    _count(inner, texts, vocab_size=vocab_size, min_frequency=min_frequency)
    learned = sorted(inner.get_vocab(), key=inner.get_vocab().__getitem__)
    pieces = dict.fromkeys([*SPECIAL_TOKENS, MARK, *learned])  # a space alone is always known, for doubled spaces
    inner.model = models.WordLevel(_numbered([*pieces][:vocab_size]), unk_token=UNK)
    return Tokenizer(inner)


def train_char(
    texts: Iterable[str],
    *,
    rules: list[normalizers.Normalizer],
    vocab_size: int,
    min_frequency: int,
    progress: Progress,  # noqa: ARG001 (the library reports nothing)
) -> Tokenizer:
    """Grapheme clusters (what a reader calls characters), the most frequent first; all others are `<unk>`."""
    inner = tokenizers.Tokenizer(models.WordLevel(unk_token=UNK))
    _set_normalizer(inner, rules)
    inner.pre_tokenizer = grapheme_splitter()
    inner.decoder = decoders.Fuse()
    _count(inner, texts, vocab_size=vocab_size, min_frequency=min_frequency)
    return Tokenizer(inner)


def train_bpe(
    texts: Iterable[str],
    *,
    rules: list[normalizers.Normalizer],
    vocab_size: int,
    min_frequency: int,
    progress: Progress,  # noqa: ARG001 (the library reports nothing)
) -> Tokenizer:
    """Byte-level BPE: joins the most frequent pair repeatedly, of characters; rare ones are bytes. Nothing is unknown.

    The usual way, pairs of bytes from the start, spends much of a vocabulary on pieces that end inside a character,
    where characters have several bytes.
    """
    _check_at_least("vocab_size of bpe (256 bytes and 4 special tokens)", vocab_size, 256 + len(SPECIAL_TOKENS))
    learner = tokenizers.Tokenizer(models.BPE())
    _set_normalizer(learner, rules)
    learner.pre_tokenizer = words_with_spaces()
    counts = CharacterCounts(learner.normalizer)
    learner.train_from_iterator(counts.reading(map(_checked_text, texts)), _pairs(vocab_size, min_frequency))
    merges = [tuple(pair) for pair in state_of(learner.model)["merges"]]
    entries = byte_level_entries(
        counts.usual(vocab_size // 2 - 128, min_frequency), merges, size=vocab_size - len(SPECIAL_TOKENS)
    )
    inner = tokenizers.Tokenizer(models.BPE(_numbered([*SPECIAL_TOKENS, *entries.tokens]), entries.merges))
    _set_normalizer(inner, rules)
    inner.pre_tokenizer = byte_level_words()
    inner.decoder = decoders.ByteLevel()
    inner.add_special_tokens(list(SPECIAL_TOKENS))
    return Tokenizer(inner)


def _pairs(vocab_size: int, min_frequency: int) -> trainers.BpeTrainer:
    """Learns at least the merges that fit into the vocabulary beside 256 bytes; what is too much is cut off."""
    return trainers.BpeTrainer(vocab_size=vocab_size + 256, min_frequency=min_frequency, show_progress=False)


def train_wordpiece(
    texts: Iterable[str],
    *,
    rules: list[normalizers.Normalizer],
    vocab_size: int,
    min_frequency: int,
    progress: Progress,
    floors: Sequence[int] | None = None,
) -> Tokenizer:
    """WordPiece by likelihood (see `wordpiece.py`, also for `floors`); encoding takes the longest piece that fits."""
    inner = tokenizers.Tokenizer(models.WordPiece(unk_token=UNK))
    _mark_spaces(inner, rules)
    words = _count_words(inner, texts)
    start = [*SPECIAL_TOKENS, *alphabet(words)]
    _check_at_least(f"vocab_size of wordpiece (this text's {len(start):,} characters)", vocab_size, len(start))
    merges = learn_merges(
        words,
        pieces=vocab_size - len(start),
        min_frequency=min_frequency,
        floors=floors,
        progress=lambda made: progress(len(start) + made, vocab_size),
    )
    pieces = dict.fromkeys([*start, *(merge.piece for merge in merges)])  # a piece may be made in two ways
    inner.model = models.WordPiece(_numbered(pieces), unk_token=UNK, max_input_chars_per_word=100)
    inner.add_special_tokens(_special_tokens())
    return Tokenizer(inner, merges=merges)


TOKENIZERS: dict[str, Trainer] = {
    "word": train_word,
    "char": train_char,
    "bpe": train_bpe,
    "wordpiece": train_wordpiece,
}


def _rules(*, lowercase: bool, normalization: str) -> list[normalizers.Normalizer]:
    """Lower case comes first: it can separate marks that normalization joins again."""
    form = _NORMALIZATIONS[normalization]
    return [*([normalizers.Lowercase()] if lowercase else []), *([form()] if form else [])]


def _set_normalizer(inner: tokenizers.Tokenizer, rules: list[normalizers.Normalizer]) -> None:
    if rules:
        inner.normalizer = normalizers.Sequence(rules)


def _mark_spaces(inner: tokenizers.Tokenizer, rules: list[normalizers.Normalizer]) -> None:
    """Write spaces as ▁, also one before the text, so that a word is the same piece at the start as later; split
    before each mark; and undo all this when decoding. A ▁ in the text itself becomes _."""
    replace = normalizers.Replace
    marks = [replace(MARK, "_"), normalizers.Prepend(MARK), replace(" ", MARK)]
    inner.normalizer = normalizers.Sequence([*rules, *marks])
    inner.pre_tokenizer = pre_tokenizers.Split(Regex(_WORD), "isolated")
    continued = [decoders.Replace(Regex(f"^{CONTINUES}"), "")] if isinstance(inner.model, models.WordPiece) else []
    spaces = [decoders.Replace(MARK, " "), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    inner.decoder = decoders.Sequence([*continued, *spaces])


def _special_tokens() -> list[AddedToken]:
    return [AddedToken(token, normalized=False, special=True) for token in SPECIAL_TOKENS]


def _count(inner: tokenizers.Tokenizer, texts: Iterable[str], *, vocab_size: int, min_frequency: int) -> None:
    """Fill a word-level model with the most frequent pre-tokens; equally frequent ones in code point order."""
    trainer = trainers.WordLevelTrainer(
        vocab_size=vocab_size,
        min_frequency=min_frequency,
        special_tokens=_special_tokens(),
        show_progress=False,
    )
    inner.train_from_iterator(map(_checked_text, texts), trainer)


def _numbered(pieces: Iterable[str]) -> dict[str, int]:
    return {piece: number for number, piece in enumerate(pieces)}


def _count_words(inner: tokenizers.Tokenizer, texts: Iterable[str]) -> Counter[str]:
    normalize, split = inner.normalizer.normalize_str, inner.pre_tokenizer.pre_tokenize_str
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(word for word, _ in split(normalize(_checked_text(text))))
    return counts


def _checked_text(text: str) -> str:
    try:
        text.encode("utf-8")
    except (AttributeError, UnicodeEncodeError) as error:
        raise TokenizerError(f"{text!a:.60} is not a text to train on; expected str without lone surrogates") from error
    return text


def _not_empty(texts: Iterable[str]) -> Iterator[str]:
    """The texts; an error if all of them are empty."""
    if isinstance(texts, str):
        raise TokenizerError("got one text (str) to train on; expected many: pass a list of lines")
    rest = iter(texts)
    for text in rest:
        if _checked_text(text).strip():
            return chain([text], rest)
    raise TokenizerError("there is no text to train a tokenizer on: all texts are empty; check the files of your data")


def _check_at_least(name: str, value: int, least: int) -> None:
    if value < least:
        raise TokenizerError(f"{name} is {value:,}; expected {least:,} or more: raise it")


def _unknown(what: str, got: str, allowed: Iterable[str]) -> Trainer:
    names = list(allowed)
    close = difflib.get_close_matches(str(got).lower(), names, n=1)
    hint = f"; did you mean {close[0]}?" if close else ""
    raise TokenizerError(f"there is no {what} {got!r}; expected one of {', '.join(names)}{hint}")
