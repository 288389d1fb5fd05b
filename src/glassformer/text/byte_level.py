"""Byte-level BPE: how a text is cut into words before pieces are merged, and how bytes become characters.

GPT-2's pattern ends a word at every combining mark, so a Devanagari letter and its vowel sign can never be merged, nor
can the parts of a Tamil, Thai or Arabic word. Here a word is letters with their marks and joiners. Text without such
characters is cut exactly as GPT-2 cuts it. `tokenizers` runs the pattern, so a saved tokenizer.json needs nothing else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tokenizers import Regex, normalizers, pre_tokenizers
from tokenizers.pre_tokenizers import ByteLevel, PreTokenizer, Split

from glassformer.text.pieces import byte_of_character

COVERED = 0.9995  # share of the characters of several bytes that get entries; the rest is written in bytes

# English endings; words; numbers; everything else except white space; white space
_WORD = r"\p{L}\p{M}\u200c\u200d"
WORDS = rf"'s|'t|'re|'ve|'m|'ll|'d| ?[{_WORD}]+| ?\p{{N}}+| ?[^\s\p{{N}}{_WORD}]+|\s+(?!\S)|\s+"


def words_with_spaces() -> PreTokenizer:
    """Cuts a text into words, each with the space before it."""
    return Split(Regex(WORDS), "isolated")


def byte_level_words() -> PreTokenizer:
    """The same, with the bytes of each word written in GPT-2's alphabet."""
    return pre_tokenizers.Sequence([words_with_spaces(), ByteLevel(add_prefix_space=False, use_regex=False)])


def cuts_at_spaces(pre_tokenizer: Mapping[str, Any]) -> bool:
    """Whether this part of a tokenizer.json cuts byte-level words before single spaces: GPT-2's rules, or ours."""
    if pre_tokenizer.get("type") == "ByteLevel":
        return bool(pre_tokenizer.get("use_regex", True))
    parts = pre_tokenizer.get("pretokenizers", [])
    return [part.get("type") for part in parts] == ["Split", "ByteLevel"] and parts[0]["pattern"] == {"Regex": WORDS}


class CharacterCounts:
    """Counts characters of several bytes in texts that are read for something else."""

    def __init__(self, normalizer: normalizers.Normalizer | None) -> None:
        self.normalizer = normalizer
        self.counts: Counter[str] = Counter()

    def reading(self, texts: Iterable[str]) -> Iterator[str]:
        """The texts, unchanged."""
        for text in texts:
            if not text.isascii():
                self.counts.update(text if self.normalizer is None else self.normalizer.normalize_str(text))
            yield text

    def usual(self, most: int, min_frequency: int) -> list[str]:
        """The characters that get entries, the most frequent first; equally frequent ones in code point order."""
        several = {one: count for one, count in self.counts.items() if not one.isascii() and count >= min_frequency}
        ranked = sorted(several, key=lambda one: (-several[one], one))[: max(0, most)]
        left = COVERED * sum(several.values())
        for place, one in enumerate(ranked):
            if left <= 0:
                return ranked[:place]
            left -= several[one]
        return ranked


@dataclass
class Entries:
    """Tokens in GPT-2's alphabet, in the order of their ids, and the merges that make them."""

    size: int
    tokens: dict[str, None]
    merges: list[tuple[str, str]] = field(default_factory=list)

    def add(self, left: str, right: str) -> None:
        """A merge, if its parts are known and there is space for the piece that it makes."""
        piece = left + right
        if left in self.tokens and right in self.tokens and (piece in self.tokens or len(self.tokens) < self.size):
            self.tokens.setdefault(piece)
            self.merges.append((left, right))


def byte_level_entries(characters: Sequence[str], merges: Sequence[tuple[str, str]], *, size: int) -> Entries:
    """256 bytes, then characters made from their bytes, then the pieces that `merges` make from characters."""
    alphabet = {byte: sign for sign, byte in byte_of_character().items()}
    found = Entries(size, dict.fromkeys(sorted(alphabet.values())))

    def in_bytes(text: str) -> str:
        return "".join(alphabet[byte] for byte in text.encode())

    for whole in map(in_bytes, characters):
        for end in range(1, len(whole)):  # a byte at a time, so characters that begin alike share their beginning
            if whole[: end + 1] not in found.tokens:
                found.add(whole[:end], whole[end])
    for left, right in merges:
        found.add(in_bytes(left), in_bytes(right))
    return found
