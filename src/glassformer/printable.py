"""Makes texts safe to show: short, and without characters that a terminal or a page would interpret."""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Any


def shortened(text: str, *, width: int = 120) -> str:
    """The beginning of `text`."""
    return text if len(text) <= width else text[: width - 1] + "…"


def counted(count: int, what: str) -> str:
    """A number of things: 1 example, 2 examples."""
    return f"{count:,} {what}{'s' * (count != 1)}"


def with_article(kind: str) -> str:
    """A kind of model with the article that is spoken: a bert, an lstm, an rnn_attention."""
    return f"{'an' if kind.startswith(('a', 'e', 'i', 'o', 'lstm', 'rnn')) else 'a'} {kind}"


def opening(kind: str) -> str:
    """The same at the beginning of a sentence: An lstm."""
    return with_article(kind).capitalize()


def printable(text: str) -> str:
    """`text` with control and invisible characters written as escapes."""
    return text if text.isascii() and text.isprintable() else "".join(map(_shown, text))


def _shown(sign: str) -> str:
    if sign == " " or unicodedata.category(sign) not in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"):
        return sign
    code = ord(sign)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


EMBEDDINGS, OVERRIDES, ISOLATES = "\u202a\u202b", "\u202d\u202e", "\u2066\u2067\u2068"
END_OF_EMBEDDING, END_OF_ISOLATE = "\u202c", "\u2069"
DIRECTIONS = re.compile(f"[{EMBEDDINGS}{OVERRIDES}{ISOLATES}{END_OF_EMBEDDING}{END_OF_ISOLATE}]")


def with_visible_directions(text: str) -> str:
    """`text` for a page: marks that would change the order of the text around them are written as escapes.

    These are all overrides, and embeddings and isolates that are not opened and closed on one line. Hebrew and Arabic
    texts keep marks that are used correctly.
    """
    return "\n".join(map(_visible_directions, text.split("\n"))) if DIRECTIONS.search(text) else text


def _visible_directions(line: str) -> str:
    kept: set[int] = set()
    opened: list[int] = []  # where each mark that is still open is
    isolates = 0  # how many of them are isolates
    for found in DIRECTIONS.finditer(line):
        sign, at = found[0], found.start()
        if sign == END_OF_ISOLATE:
            while isolates and line[opened[-1]] not in ISOLATES:
                opened.pop()  # what is open inside an isolate ends with it
        elif sign != END_OF_EMBEDDING:
            opened.append(at)
            isolates += sign in ISOLATES
            continue
        closes = ISOLATES if sign == END_OF_ISOLATE else EMBEDDINGS + OVERRIDES
        if opened and line[opened[-1]] in closes:
            start = opened.pop()
            isolates -= line[start] in ISOLATES
            kept |= {start, at} if line[start] not in OVERRIDES else set()
    return DIRECTIONS.sub(lambda found: found[0] if found.start() in kept else _shown(found[0]), line)


def printable_lines(text: str) -> str:
    """Like `printable`, but line feeds are kept."""
    return "\n".join(map(printable, text.split("\n")))


def printable_message(error: object) -> str:
    """A message for the terminal. Line breaks are kept only before indented lines, which continue the message."""
    return "\n  ".join(map(printable, str(error).split("\n  ")))


def embedded(data: Any) -> str:
    """JSON that is safe inside <script> of a page: no "<" in a sentence can end the element or open a comment."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    # A lone surrogate (broken input text) cannot be written as UTF-8; as \\udXXX it is valid JSON.
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
