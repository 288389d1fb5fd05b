"""Notices translations that have gone wrong in a way that needs no second language to see."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

LOOP = 4  # times in a row that nobody says anything
LONGEST = 8  # tokens of what is repeated
WORDS = 4  # a shorter text may well be the same in both languages

# How a sentence that has gone wrong is translated again.
CAREFUL_BEAM = 5
CAREFUL_NO_REPEAT = 3  # tokens in a row that may not come twice
CAREFUL_RATIO = 0.2  # of the source's length, at least

EMPTY, LOOPS, COPIED, MARKS, CUT = "empty", "loops", "copied", "placeholders", "cut"


def what_is_wrong(
    source: str, source_tokens: Sequence[Hashable], text: str, tokens: Sequence[Hashable], *, finished: bool
) -> str:
    """The name of what is wrong, or nothing. Who says something four times in a row may be translated so."""
    if source.strip() and not text.strip():
        return EMPTY
    if loops(tokens) and not loops(source_tokens):
        return LOOPS
    if len(source.split()) >= WORDS and plain(source) == plain(text):
        return COPIED
    return "" if finished else CUT


def plain(text: str) -> list[str]:
    return text.lower().split()


def loops(tokens: Sequence[Hashable]) -> bool:
    """Whether something is said at least `LOOP` times in a row."""
    return any(repeated(tokens, size) for size in range(1, LONGEST + 1))


def repeated(tokens: Sequence[Hashable], size: int) -> bool:
    """Whether `size` tokens are said again and again: every token is the one `size` before it, long enough."""
    run = 0
    for now, before in zip(tokens[size:], tokens, strict=False):
        run = run + 1 if now == before else 0
        if run >= (LOOP - 1) * size:
            return True
    return False
