"""The guard: finds translations with errors that can be seen without knowing the languages.

Translators and exported translators share it. A text with a wrong translation is translated again with `careful`
settings; `guarded` keeps the sound translations of both searches.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Protocol, TypeVar

from glassformer.evaluate.lengths import Lengths

LOOP = 4  # repetitions in a row that count as a loop
LONGEST = 8  # the most tokens in the repeated part
WORDS = 4  # a shorter text may well be the same in both languages

# The settings of the second search.
CAREFUL_BEAM = 5
CAREFUL_NO_REPEAT = 3  # no n-gram of this length twice
CAREFUL_RATIO = 0.2  # of the source's length, at least

FEWEST = 20  # tokens: the lengths of shorter texts are not checked

SHORT, LONG = "short", "long"
EMPTY, LOOPS, COPIED, MARKS, TERMS, CUT = "empty", "loops", "copied", "placeholders", "terms", "cut"


class Checked(Protocol):
    """A translation with the guard's result: a frozen dataclass with these fields."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def tokens(self) -> tuple[str, ...]: ...
    @property
    def score(self) -> float: ...
    @property
    def wrong(self) -> str:
        """The problem that the guard found; empty if none."""

    @property
    def repaired(self) -> bool:
        """Whether this is a sound translation from the second search."""


C = TypeVar("C", bound=Checked)


def what_is_wrong(
    source: str,
    source_tokens: Sequence[Hashable],
    text: str,
    tokens: Sequence[Hashable],
    *,
    finished: bool,
    lengths: Lengths = Lengths(),  # noqa: B008 (frozen)
) -> str:
    """The name of the problem; empty if there is none. Repetition in the source may be kept.

    A translation whose length is far from that of all training pairs (`lengths`) misses part of the text, or adds some.
    """
    if source.strip() and not text.strip():
        return EMPTY
    if loops(tokens) and not loops(source_tokens):
        return LOOPS
    if len(source_tokens) >= FEWEST and len(tokens) < lengths.least_ratio * len(source_tokens):
        return SHORT
    if len(tokens) >= FEWEST and lengths.most_ratio * len(source_tokens) < len(tokens) - FEWEST:
        return LONG
    if len(source.split()) >= WORDS and words_of(source) == words_of(text):
        return COPIED
    return "" if finished else CUT


def words_of(text: str) -> list[str]:
    return text.lower().split()


def loops(tokens: Sequence[Hashable]) -> bool:
    """Whether something is repeated at least `LOOP` times in a row."""
    return any(repeated(tokens, size) for size in range(1, LONGEST + 1))


def repeated(tokens: Sequence[Hashable], size: int) -> bool:
    """Whether `size` tokens repeat: for long enough, every token equals the one `size` before it."""
    run = 0
    for now, before in zip(tokens[size:], tokens, strict=False):
        run = run + 1 if now == before else 0
        if run >= (LOOP - 1) * size:
            return True
    return False


# The second search


def careful(*, no_repeat: int, min_ratio: float) -> dict[str, Any]:
    """The settings that differ in the second search."""
    return {"no_repeat": no_repeat or CAREFUL_NO_REPEAT, "min_ratio": max(min_ratio, CAREFUL_RATIO)}


def guarded(
    found: Sequence[Sequence[C]],
    rows: Sequence[Sequence[Hashable]],
    judge: Callable[[int, C], str],
    search_again: Callable[[list[int]], Sequence[Sequence[C]]] | None,
    *,
    n_best: int,
) -> list[list[C]]:
    """The translations of each source, each marked with its problem; wrong ones are searched for again.

    `rows` are the tokens of the sources. `judge` names the problem of a translation of source i. `search_again`
    returns the translations of some sources by a careful search; None: there is no second search.
    """
    judged = [[replace(one, wrong=judge(i, one)) for one in own] for i, own in enumerate(found)]
    if search_again is None:
        return judged
    again = [i for i, own in enumerate(judged) if rows[i] and own[0].wrong and not endless(rows[i], own[0].wrong)]
    for i, options in zip(again, search_again(again) if again else (), strict=True):
        sound = [one for one in options if not judge(i, one)]
        judged[i] = with_second_search(judged[i], sound)[:n_best]
    return judged


def endless(row: Sequence[Hashable], wrong: str) -> bool:
    """Whether the source repeats itself and its translation does not end: a second search would be no better."""
    return wrong in (CUT, LONG) and loops(row)


def with_second_search(found: Sequence[C], new: Sequence[C]) -> list[C]:
    """The sound translations of both searches, marked as repaired if from the second, then the wrong ones."""
    known = {one.tokens for one in found}
    added = [replace(one, wrong=found[0].wrong, repaired=True) for one in new if one.tokens not in known]
    sound = sorted([*(one for one in found if not one.wrong), *added], key=lambda one: -one.score)
    return [*sound, *(one for one in found if one.wrong)]


def still_wrong(one: Checked) -> str:
    """The problem that the guard could not repair; empty if none."""
    return "" if one.repaired else one.wrong


def joined_verdict(parts: Sequence[Checked]) -> tuple[str, bool]:
    """`wrong` and `repaired` of a text whose parts were translated one by one."""
    wrong = [one for one in parts if one.wrong]
    lasting = [one for one in wrong if not one.repaired]
    return ((lasting or wrong)[0].wrong if wrong else "", bool(wrong) and not lasting)
