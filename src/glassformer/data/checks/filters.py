"""What may be wrong with a readable sentence pair. A filter finds such pairs and gives a reason for each.

FILTERS lists all of them in the order in which they run; the first that finds something gives the reason for the drop.
To add one, write a function from a block of pairs to the rows it would drop, and add a line to the table.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from glassformer.data.checks.blocks import SIDES, Block
from glassformer.data.checks.copies import is_copy
from glassformer.data.checks.held import Held
from glassformer.data.checks.held_texts import data_of
from glassformer.data.checks.mojibake import LEADS, mojibake_in
from glassformer.data.checks.oddities import named
from glassformer.data.checks.placeholders import SIGNS, difference
from glassformer.data.checks.profile import Profile
from glassformer.data.checks.seen import Flags, Hashes, SeenHashes
from glassformer.data.readers.lines import SEPARATORS
from glassformer.errors import SettingsError
from glassformer.text.scripts import letters_by_script, script_of, uses_spaces

Hits = dict[int, str]  # row of the block -> what is wrong with it
Check = Callable[[Block, Flags], Hits]  # the flags: which rows no filter has dropped yet
Maker = Callable[[Profile, Held], Check]

LONGEST = 1000
LONGEST_RUN = 100


@dataclass(frozen=True)
class Filter:
    """A named filter. `start` creates its check for one corpus: some checks remember what they have seen."""

    name: str
    help: str
    start: Maker
    recommended: bool = True


def too_long(block: Block) -> Hits:
    rows = np.flatnonzero(block.lengths.max(axis=1, initial=0) > LONGEST)
    return {int(row): f"{block.lengths[row].max():,} characters on a side; {LONGEST:,} are allowed" for row in rows}


# Not tabs: they are white space. Not line separators: the reader reports these as "separator".
CONTROL = frozenset(chr(code) for code in (*range(32), *range(0x7F, 0xA0))).difference("\t", SEPARATORS)


def control(block: Block) -> Hits:
    def look(text: str) -> str:
        return f"control character U+{ord(next(sign for sign in text if sign in CONTROL)):04X}"

    return dict(_by_side(block, CONTROL, look))


def mojibake(block: Block) -> Hits:
    def look(text: str) -> str | None:
        piece = mojibake_in(text)
        if piece == "\ufffd":
            return f"{named(piece)}: bytes were lost here"
        return f"{piece!r} looks like UTF-8 read in another encoding" if piece else None

    return dict(_by_side(block, LEADS, look))


def _by_side(block: Block, signs: frozenset[str], look: Callable[[str], str | None]) -> Iterator[tuple[int, str]]:
    """Looks at every line with one of these characters. If both sides of a pair are bad, the source is reported."""
    for side in (1, 0):
        for row in block.rows_with(side, signs):
            found = look(block.texts[side][row])
            if found:
                yield row, f"{SIDES[side]}: {found}"


def unbroken(block: Block) -> Hits:
    hits: Hits = {}
    for row in np.flatnonzero(block.lengths.max(axis=1, initial=0) > LONGEST_RUN).tolist():
        for side, name in enumerate(SIDES):
            run = max(block.texts[side][row].split(), key=len, default="")
            if len(run) > LONGEST_RUN and "://" not in run and uses_spaces(run):
                hits[row] = f"{name}: {len(run):,} characters without a space: {run[:20]}..."
    return hits


def swapped(profile: Profile, _: Held) -> Check:
    """Each side has words typical of the other side, at least three in total, and none typical of its own side."""
    of_source, of_target = profile.words

    def check(block: Block, _: Flags) -> Hits:
        rows = enumerate(zip(*block.words, strict=True))
        return {row: "the two sides look swapped" for row, (source, target) in rows if looks_swapped(source, target)}

    def looks_swapped(source: list[str], target: list[str]) -> bool:
        if of_target.isdisjoint(source) or of_source.isdisjoint(target):
            return False
        if not (of_source.isdisjoint(source) and of_target.isdisjoint(target)):
            return False
        return len(of_target.intersection(source)) + len(of_source.intersection(target)) >= 3

    return check


def script(profile: Profile, _: Held) -> Check:
    def check(block: Block, _: Flags) -> Hits:
        hits: Hits = {}
        for side, usual in enumerate(profile.scripts):
            if not usual:
                continue
            foreign = {sign for sign in block.alphabets[side] if (script_of(sign) or "") not in usual | {""}}
            for row in block.rows_with(side, foreign):
                letters = letters_by_script(block.texts[side][row])
                strange = letters.total() - sum(letters[name] for name in usual)
                if 2 * strange > letters.total():
                    names = " and ".join(sorted(set(letters) - usual))
                    hits[row] = (
                        f"{SIDES[side]}: {strange:,} of {letters.total():,} letters are {names}; "
                        f"this side is written in {' and '.join(sorted(usual))}"
                    )
        return hits

    return check


def copied(profile: Profile, _: Held) -> Check:
    """Sentences that are the same on both sides. Names, titles and numbers are the same in many languages."""
    typical = profile.words[0] | profile.words[1]

    def check(block: Block, _: Flags) -> Hits:
        same = [row for row, (source, target) in enumerate(zip(*block.folded, strict=True)) if source == target]
        reason = "the target is a copy of the source"
        return {row: reason for row in same if is_copy(block.texts[0][row], block.texts[1][row], typical)}

    return check


def ratio(profile: Profile, _: Held) -> Check:
    def check(block: Block, _: Flags) -> Hits:
        off = np.abs(profile.length_deviation(block.lengths)) > profile.length_limit
        return {row: reason(*block.lengths[row].tolist()) for row in np.flatnonzero(off).tolist()}

    def reason(source: int, target: int) -> str:
        return f"{source:,} characters against {target:,}; usual here is 1 against {profile.length_factor:.2f}"

    return check


def placeholders(block: Block) -> Hits:
    hits: Hits = {}
    for row in sorted({*block.rows_with(0, SIGNS), *block.rows_with(1, SIGNS)}):
        missing, added = map(" ".join, difference(block.texts[0][row], block.texts[1][row]))
        reasons = (f"only in the source: {missing}" if missing else "", f"only in the target: {added}" if added else "")
        if missing or added:
            hits[row] = "; ".join(filter(None, reasons))
    return hits


def overlap(_: Profile, held: Held) -> Check:
    def check(block: Block, _: Flags) -> Hits:
        hits: Hits = {}
        for part in held.parts:
            for row in np.flatnonzero(part.match(block)).tolist():
                hits.setdefault(row, f"its source is also in the {data_of(part.name)}")
        return hits

    return check


def duplicate(_: Profile, __: Held) -> Check:
    seen = SeenHashes()

    def check(block: Block, among: Flags) -> Hits:
        again = _seen_before(seen, block.pair_hashes, among)
        return dict.fromkeys(np.flatnonzero(again).tolist(), "the same pair was seen before")

    return check


def near_duplicate(_: Profile, __: Held) -> Check:
    """Only pairs that were kept count as seen: a good pair is not dropped because of a damaged one before it."""
    exact, near = SeenHashes(), SeenHashes()

    def check(block: Block, among: Flags) -> Hits:
        same = _seen_before(exact, block.pair_hashes, among)
        again = _seen_before(near, block.folded_hashes, among) & ~same
        reason = "a pair that differs only in case, punctuation or spaces was seen before"
        return dict.fromkeys(np.flatnonzero(again).tolist(), reason)

    return check


def _seen_before(seen: SeenHashes, hashes: Hashes, among: Flags) -> Flags:
    again = np.zeros(len(hashes), dtype=np.bool_)
    again[among] = seen.add(hashes[among])
    return again


def always(check: Callable[[Block], Hits]) -> Maker:
    """A check that neither learns nor remembers."""

    def start(_: Profile, __: Held) -> Check:
        return lambda block, _: check(block)

    return start


_ALL = [
    Filter("too-long", f"a side has more than {LONGEST:,} characters", always(too_long)),
    Filter("control", "control characters in the text", always(control)),
    Filter("mojibake", "text that was read in the wrong encoding, such as Ã¤ for ä", always(mojibake)),
    Filter("unbroken", f"more than {LONGEST_RUN} characters without a space", always(unbroken)),
    Filter("swapped", "source and target are swapped", swapped),
    Filter("script", "a side is in a script that the corpus does not use there", script),
    Filter("copied", "the target is a copy of the source", copied),
    Filter("ratio", "one side is far too long for the other", ratio),
    Filter("placeholders", "placeholders or tags differ: {name}, %s, <b>", always(placeholders)),
    Filter(
        "overlap",
        "the source is also in the validation or test data: scores would be too high",
        overlap,
    ),
    Filter("duplicate", "the same pair was seen before", duplicate),
    Filter("near-duplicate", "the same except for case, punctuation and spaces", near_duplicate, recommended=False),
]
FILTERS = {one.name: one for one in _ALL}
_SEVERAL = ("all", "recommended", "none")


def chosen_filters(names: Sequence[str]) -> list[Filter]:
    """Filters by name, in the order of FILTERS; "all", "recommended" and "none" are groups."""
    wanted: set[str] = set()
    for name in names:
        if name in _SEVERAL:
            wanted.update(one.name for one in _ALL if name == "all" or (name == "recommended" and one.recommended))
        elif name in FILTERS:
            wanted.add(name)
        else:
            close = difflib.get_close_matches(name, [*FILTERS, *_SEVERAL], n=1, cutoff=0.6)
            hint = f" Did you mean {close[0]}?" if close else f" Filters: {', '.join([*FILTERS, *_SEVERAL])}."
            raise SettingsError(f"unknown filter {name!r}.{hint}")
    return [one for one in _ALL if one.name in wanted]
