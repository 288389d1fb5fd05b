"""Text to ids and back: one class over the `tokenizers` library, whose file format it keeps."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import tokenizers
from numpy.typing import NDArray

from glassformer.errors import TokenizerError
from glassformer.text.chunks import ChunkEncoder, can_be_chunked
from glassformer.text.foreign import ids_in, parse_json, read_text_file, refuse_far_ids
from glassformer.text.library import (
    check_character_tables,
    check_text,
    guarded,
    kind_of_library,
    state_of,
    text_only,
    uses,
)
from glassformer.text.pieces import BOS, EOS, MARK, MASK, NAMES, PAD, UNK, byte_of_character, printable
from glassformer.text.trace import BpeSteps, Trace, TraceStep, WordPieceSteps, lookup_steps, unigram_steps
from glassformer.text.wordpiece import Merge

MOST_TRACED = 300  # letters: a trace grows with the square of the text's length

SPECIAL_TOKENS = (PAD, UNK, BOS, EOS)

_MERGES_KEY = "glassformer_merges"  # inside "model", where the library skips keys that it does not know


class Tokenizer:
    """Text to ids and back: wraps one `tokenizers.Tokenizer`, saved as tokenizer.json in that library's format.

    Text is always only text: what looks like a special token in it ("</s>") is encoded letter by letter. Code that
    wants a special token puts its id in.
    """

    kind: str
    pad_id: int | None
    unk_id: int | None
    bos_id: int | None
    eos_id: int | None
    mask_id: int | None

    def __init__(self, inner: tokenizers.Tokenizer, *, merges: Sequence[Merge] = ()) -> None:
        """`merges` is what a WordPiece trainer learned, for `trace`; encoding does not need it."""
        inner.no_padding()
        inner.no_truncation()
        inner.encode_special_tokens = True  # the library does not save this: set it on each load
        self._inner = inner
        self._merges = tuple(merges)
        self._shown: dict[int, str] = {}  # id -> piece as a reader sees it
        self.kind = kind_of_library(inner)
        self.pad_id = self._first_id(NAMES[PAD])
        self.unk_id = self._unknown_id()
        self.bos_id = self._first_id(NAMES[BOS])
        self.eos_id, self.mask_id = self._first_id(NAMES[EOS]), self._first_id(NAMES[MASK])
        self._size = max(inner.get_vocab(with_added_tokens=True).values(), default=-1) + 1
        self._byte_level = uses(inner.pre_tokenizer, "ByteLevel") or uses(inner.decoder, "ByteLevel")
        added = inner.get_added_tokens_decoder().items()
        self._special_ids = frozenset(number for number, token in added if token.special) - {self.unk_id}

    # -- text to ids -------------------------------------------------------------------------------------------

    def encode(self, text: str) -> list[int]:
        """The ids of a text; no special tokens are added."""
        return list(self._encoding(text).ids)

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of many texts, in the library's own threads."""
        check_text(*texts)
        with guarded("the texts cannot be encoded by this tokenizer"):
            found = [one.ids for one in self._inner.encode_batch_fast(list(texts), add_special_tokens=False)]
        return [
            ids if self._special_ids.isdisjoint(ids) else self.encode(text)
            for text, ids in zip(texts, found, strict=True)
        ]

    def encode_with_spans(self, texts: Sequence[str]) -> list[tuple[list[int], list[tuple[int, int]]]]:
        """The ids of each text, and the span of each piece in the text itself, whatever the normalizer changes."""
        check_text(*texts)
        with guarded("the texts cannot be encoded by this tokenizer"):
            found = self._inner.encode_batch(list(texts), add_special_tokens=False)
        is_text = self._special_ids.isdisjoint
        plain = (one if is_text(one.ids) else self._encoding(text) for text, one in zip(texts, found, strict=True))
        return [(one.ids, one.offsets) for one in plain]

    def encode_flat(self, texts: Sequence[str]) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """The ids of many texts one after another, and how many each text has: the fastest way to many ids."""
        if self._chunks is not None:
            return self._chunks(texts)
        rows = self.encode_batch(texts)
        lengths = np.fromiter(map(len, rows), dtype=np.int64, count=len(rows))
        return np.fromiter(chain.from_iterable(rows), dtype=np.uint32, count=int(lengths.sum())), lengths

    def normalize(self, text: str) -> str:
        """The text as the tokenizer sees it, and as `decode` returns it if all its pieces are known."""
        check_text(text)
        if self._inner.normalizer is None:
            return text
        with guarded("the text cannot be normalized by this tokenizer"):
            return self._without_marks(self._inner.normalizer.normalize_str(text))

    def word_ids(self, text: str) -> list[int]:
        """For each piece, the number of the word (or punctuation mark) that it belongs to."""
        return [-1 if word is None else word for word in self._encoding(text).word_ids]

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """For each piece, its span in `normalize(text)`: the first character, and one past the last."""
        return list(self._encoding(self.normalize(text)).offsets)

    # -- ids to text -------------------------------------------------------------------------------------------

    def decode(self, ids: Sequence[int]) -> str:
        """The text of some ids; special tokens are left out."""
        with guarded("the tokens cannot be decoded by this tokenizer"):
            return self._inner.decode(self._checked(ids), skip_special_tokens=True)

    def decode_batch(self, batch: Sequence[Sequence[int]]) -> list[str]:
        """The texts of many rows of ids, in the library's own threads."""
        with guarded("the tokens cannot be decoded by this tokenizer"):
            return self._inner.decode_batch([self._checked(ids) for ids in batch], skip_special_tokens=True)

    # -- pieces ------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return self._size

    def token(self, id: int) -> str:
        """The entry of the vocabulary with this id, as written in the file."""
        token = self._inner.id_to_token(self._checked([id])[0])
        return "" if token is None else token  # a hole in the numbering of a file made by others

    def id(self, token: str) -> int | None:
        """The id of an entry of the vocabulary; None if there is none."""
        return self._inner.token_to_id(token)

    def is_special(self, id: int) -> bool:
        """Whether a token is special: no text is encoded as it, and decoding leaves it out."""
        return id in self._special_ids

    def with_special_tokens(self, names: Sequence[str]) -> Tokenizer:
        """The same tokenizer with more special tokens at the end of the vocabulary."""
        inner = tokenizers.Tokenizer.from_str(self._inner.to_str())
        inner.add_special_tokens([tokenizers.AddedToken(name, normalized=False, special=True) for name in names])
        return Tokenizer(inner, merges=self._merges)

    @cached_property
    def surfaces(self) -> tuple[bytes, ...]:
        """The bytes that each token adds to a text that has already begun; they may be only part of a letter."""
        anchor = self.anchor
        before = len(self.decode([anchor]))
        texts = self.decode_batch([[anchor, i] for i in range(self._size)])
        plain = [text[before:].encode() for text in texts]
        if not self._byte_level:
            return tuple(plain)
        table = byte_of_character()
        tokens = [self.token(i) for i in range(self._size)]
        return tuple(
            bytes(table[c] for c in token) if known and all(c in table for c in token) else known
            for token, known in zip(tokens, plain, strict=True)
        )

    @cached_property
    def anchor(self) -> int:
        """A token that is a whole word, or a letter: other text can follow it."""
        words = self.decode_batch([[i] for i in range(self._size)])
        whole = (i for i, word in enumerate(words) if word.strip().isalnum() and self.encode(word.strip()) == [i])
        return next(whole, 0)

    def pieces(self, text: str) -> list[str]:
        """The pieces of a text as a reader should see them, one per id; a space is shown as ▁."""
        return self.pieces_of(self.encode(text))

    def pieces_of(self, ids: Sequence[int]) -> list[str]:
        """The pieces of some ids as a reader should see them."""
        known = self._shown
        return [known[number] if number in known else self._show_id(number) for number in ids]

    def trace(self, word: str) -> Trace:
        """How a word (or a short text) becomes its pieces, step by step: each step shows all pieces."""
        if len(word) > MOST_TRACED:
            _fail(f"got {len(word):,} letters to trace; allowed are {MOST_TRACED}: trace a word, or encode the text")
        ids = self.encode(word)
        pieces = self.pieces_of(ids)
        return Trace(word, self.kind, tuple(self._steps(word, pieces, ids)), tuple(pieces), tuple(ids))

    # -- files -------------------------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write tokenizer.json, which the `tokenizers` library and all programs that use it can read."""
        Path(path).write_text(self.to_json(), encoding="utf-8", newline="\n")

    @classmethod
    def load(cls, path: str | Path) -> Tokenizer:
        """Read a tokenizer.json, ours or made by others."""
        return cls.from_json(read_text_file(path), origin=str(path))

    @classmethod
    def from_json(cls, text: str, *, origin: str) -> Tokenizer:
        """The tokenizer of a file with the content `text`; `origin` names the file in errors."""
        content = parse_json(text, origin=origin)
        if not isinstance(content, dict) or not isinstance(content.get("model"), dict):
            _fail(f'{origin} is JSON but not a tokenizer: it has no "model"; expected a tokenizer.json')
        with guarded(f"{origin} is JSON but not a tokenizer.json that can be read"):
            refuse_far_ids(*ids_in(content), origin=origin)
            check_character_tables(content.get("normalizer"), origin=origin)
            inner = tokenizers.Tokenizer.from_str(text)
            merges = [Merge.from_line(line) for line in content["model"].get(_MERGES_KEY, ())]
            return cls(inner, merges=merges)

    @property
    def post_processor(self) -> dict[str, Any] | None:
        """What the file says to put around texts; None if nothing. See framing.py."""
        return state_of(self._inner.post_processor) or None

    def fingerprint(self) -> str:
        """sha256 of the tokenizer as canonical JSON: equal if and only if it encodes and decodes by the same rules."""
        canonical = json.dumps(json.loads(self._inner.to_str()), sort_keys=True, ensure_ascii=True)
        return hashlib.sha256(canonical.encode("ascii")).hexdigest()

    def text_only_json(self) -> str:
        """The file for programs that would find special tokens in text; it gives texts the ids of `encode`."""
        special = {number: self.token(number) for number in self._special_ids}
        return text_only(json.loads(self._inner.to_str()), special)

    def __repr__(self) -> str:
        return f"<Tokenizer {self.kind}, {len(self):,} pieces>"

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and other processes rebuild the tokenizer: the library's own copy forgets `encode_special_tokens`."""
        return _rebuilt, (self._inner.to_str(), self._merges)

    # -- inside ------------------------------------------------------------------------------------------------

    def _encoding(self, text: str) -> tokenizers.Encoding:
        check_text(text)
        with guarded("the text cannot be encoded by this tokenizer"):
            encoding = self._inner.encode(text, add_special_tokens=False)
            if self._special_ids.isdisjoint(encoding.ids):
                return encoding
            return self._text_only.encode(text, add_special_tokens=False)

    @cached_property
    def _chunks(self) -> ChunkEncoder | None:
        return ChunkEncoder(self.encode_batch, self.normalize) if can_be_chunked(self._inner) else None

    @cached_property
    def _text_only(self) -> tokenizers.Tokenizer:
        """A copy that cannot find special tokens in text."""
        return tokenizers.Tokenizer.from_str(self.text_only_json())

    @cached_property
    def _model(self) -> dict[str, Any]:
        """The model as written in the file: merges and scores are available only there."""
        model: dict[str, Any] = json.loads(self._inner.model.__getstate__())
        return model

    @cached_property
    def _stepper(self) -> BpeSteps | WordPieceSteps:
        return BpeSteps(self._model) if self.kind == "bpe" else WordPieceSteps(self._model, self._merges)

    def _steps(self, word: str, pieces: list[str], ids: list[int]) -> list[TraceStep]:
        if self.kind in ("bpe", "wordpiece"):
            return list(self._stepper(self._pretokens(word), self._show))
        if self.kind == "unigram":
            return list(unigram_steps(pieces, [self._model["vocab"][number][1] for number in ids]))
        return list(lookup_steps(self._show(word), pieces))

    def _pretokens(self, text: str) -> list[str]:
        normalizer, splitter = self._inner.normalizer, self._inner.pre_tokenizer
        normalized = text if normalizer is None else normalizer.normalize_str(text)
        return [normalized] if splitter is None else [word for word, _ in splitter.pre_tokenize_str(normalized)]

    def _show_id(self, number: int) -> str:
        """Remembered, because decoding shows the same few tokens again and again."""
        return self._shown.setdefault(number, self._show(self.token(number)))

    def _show(self, token: str) -> str:
        return printable(token, byte_level=self._byte_level)

    @cached_property
    def _normalizer_marks(self) -> tuple[bool, bool]:
        """Whether the normalizer puts a mark before the text, and whether it writes spaces as marks."""
        state = state_of(self._inner.normalizer)
        parts = state.get("normalizers", [state])
        before = any(part.get("type") == "Prepend" and part["prepend"] == MARK for part in parts)
        spaces = any(part.get("type") == "Replace" and part["content"] == MARK for part in parts)
        return before, spaces

    def _without_marks(self, normalized: str) -> str:
        before, spaces = self._normalizer_marks
        text = normalized.removeprefix(MARK) if before else normalized
        return text.replace(MARK, " ") if spaces else text

    def _checked(self, ids: Sequence[int]) -> list[int]:
        numbers = [int(number) for number in ids]
        if numbers and (min(numbers) < 0 or max(numbers) >= self._size):
            wrong = next(number for number in numbers if not 0 <= number < self._size)
            _fail(f"id {wrong} is out of range: this tokenizer has ids 0 to {self._size - 1}; was it made by another?")
        return numbers

    def _first_id(self, names: Sequence[str]) -> int | None:
        found = (self._inner.token_to_id(name) for name in names)
        return next((number for number in found if number is not None), None)

    def _unknown_id(self) -> int | None:
        if self.kind == "unigram":
            number: int | None = json.loads(self._inner.model.__getstate__())["unk_id"]
            return number
        own = getattr(self._inner.model, "unk_token", None)
        return self._first_id([own, *NAMES[UNK]] if own else NAMES[UNK])

    def to_json(self) -> str:
        """What `save` writes: the library's format, with our merges beside its model."""
        text = self._inner.to_str(pretty=True)
        if not self._merges:
            return text
        content = json.loads(text)
        content["model"][_MERGES_KEY] = [merge.line() for merge in self._merges]
        return json.dumps(content, ensure_ascii=False, indent=2)


def _rebuilt(content: str, merges: tuple[Merge, ...]) -> Tokenizer:
    return Tokenizer(tokenizers.Tokenizer.from_str(content), merges=merges)


def _fail(message: str, cause: BaseException | None = None) -> NoReturn:
    raise TokenizerError(" ".join(message.split())) from cause
