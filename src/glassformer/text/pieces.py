"""How pieces look to a reader: spaces made visible, bytes turned back into the characters they encode."""

from __future__ import annotations

import unicodedata
from functools import cache

MARK = "▁"
"""Replaces a space, so it marks the start of a word (U+2581, as in SentencePiece)."""

CONTINUES = "##"
"""Marks a WordPiece that continues a word."""

SPACE = "␣"
"""The space before a word as pages show it: pale, so that the word is read first."""

PAD, UNK, BOS, EOS, MASK = "<pad>", "<unk>", "<s>", "</s>", "<mask>"
GPT2_END = "<|endoftext|>"

# The names of special tokens by ours, also those in files made by others, the most common name first.
NAMES = {
    PAD: (PAD, "[PAD]", "<PAD>", "<|pad|>", "<|padding|>", "<|finetune_right_pad_id|>"),
    UNK: (UNK, "[UNK]", "<UNK>", "<|unk|>"),
    BOS: (BOS, "[CLS]", "<bos>", "<BOS>", "[BOS]", "<|startoftext|>", "<|begin_of_text|>", GPT2_END),
    EOS: (EOS, "[SEP]", "<eos>", "<EOS>", "[EOS]", GPT2_END, "<|end_of_text|>", "<|im_end|>"),
    MASK: (MASK, "[MASK]", "<MASK>", "<|mask|>"),
}
_WORDS = {PAD: "padding", UNK: "unknown", BOS: "start", EOS: "end", MASK: "mask"}
_ON_PAGES = {name: f"‹{_WORDS[own]}›" for own, names in NAMES.items() for name in names}

_SIGNS = {" ": MARK, "\n": "⏎", "\t": "⇥"}
_UNSEEN = frozenset({"Cc", "Zl", "Zp"})  # control characters, line and paragraph separators
_DIRECTIONS = frozenset(
    "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
)  # they reorder the text around a piece


def visible(text: str) -> str:
    """The text with visible characters in place of spaces, line ends and control characters."""
    return "".join(_visible_character(character) for character in text)


def _visible_character(character: str) -> str:
    if character in _SIGNS:
        return _SIGNS[character]
    if character in _DIRECTIONS or unicodedata.category(character) in _UNSEEN:
        return character.encode("unicode_escape").decode("ascii")
    return character


def width(text: str) -> int:
    """How many terminal columns the text takes: combining marks 0, East Asian characters and emoji 2, others 1."""
    return sum(_columns(character) for character in text)


def _columns(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


@cache
def byte_of_character() -> dict[str, int]:
    """GPT-2's alphabet: each byte is one printable character; the 68 unprintable bytes move to U+0100 and up."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    moved = [byte for byte in range(0x100) if byte not in set(printable)]
    table = {chr(byte): byte for byte in printable}
    table.update({chr(0x100 + place): byte for place, byte in enumerate(moved)})
    return table


def from_bytes_alphabet(token: str) -> str:
    """The text of a byte-level token; bytes that are only a part of a character are shown as `\\xe0`."""
    table = byte_of_character()
    if not all(character in table for character in token):
        return token
    return bytes(table[character] for character in token).decode("utf-8", errors="backslashreplace")


def printable(token: str, *, byte_level: bool) -> str:
    """A token of the vocabulary as a reader should see it."""
    return visible(from_bytes_alphabet(token) if byte_level else token)


def on_page(piece: str) -> str:
    """A piece as pages show it: ␣ for a space, ‹end› and similar names for special tokens.

    No piece of a text has the name of a special token (`Tokenizer`), so that both cannot be mistaken for each other.
    """
    return _ON_PAGES.get(piece) or piece.replace(MARK, SPACE)
