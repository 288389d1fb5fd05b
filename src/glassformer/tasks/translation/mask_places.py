"""Placeholders by masks, for models trained with `data.masks`: the model itself places each of them.

Each placeholder, or several in a row, becomes one mask in the source. If every mask occurs in the translation exactly
once, the placeholders are put there. Everything else is left to the word alignment (`restoring.py`): pairs of tags,
placeholders that are part of a word, more placeholders than masks, and translations that lack a mask.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from glassformer.evaluate.guard import still_wrong
from glassformer.tasks.translation.constraints import Request
from glassformer.tasks.translation.guarding import search_for
from glassformer.tasks.translation.masking import SPACE, WORD, Mark, Masked, is_block, is_word, junction
from glassformer.tasks.translation.restoring import together
from glassformer.tasks.translation.word_boundaries import UNSPACED_LETTER
from glassformer.text.masks import MASKS, has_masks

if TYPE_CHECKING:
    from glassformer.tasks.translation.translator import Translation, Translator

Groups = Sequence[Sequence[Mark]]  # the placeholders of each mask, in the order of the source
_HALF_A_PAIR = re.compile(r"</?\w[^<>]*(?<!/)>")
_MASK = re.compile(f"([{''.join(MASKS)}])")


def placed_by_masks(
    translator: Translator, parts: Sequence[Masked], numbers: Sequence[int], request: Request, *, guard: bool
) -> dict[int, list[Translation]]:
    """Part number -> translations, for parts whose masks each occur once. The others are still to be translated."""
    if translator.mask_codecs is None or request.constraints.glossary is not None:
        return {}
    groups = {i: own for i, part in enumerate(parts) if (own := mask_groups(part))}
    texts = [masked_text(parts[i].plain, own) for i, own in groups.items()]
    counts = [len(own) for own in groups.values()]
    asked = translator.sentences(texts, request, numbers=[numbers[i] for i in groups], masks=counts)
    found = search_for(translator, asked, request, guard=guard)
    placed = {}
    for (i, own), options in zip(groups.items(), found, strict=True):
        restored = [with_placeholders_at(own, one) for one in options]
        sound = [one for one in restored if one is not None]
        if len(sound) == len(options):
            placed[i] = sound
    return placed


def mask_groups(part: Masked) -> Groups:
    """The placeholders of each mask; empty if masks cannot be used."""
    if not part.marks or not part.plain.strip() or has_masks(part.plain):
        return ()
    groups: list[list[Mark]] = [[]]
    for mark in part.marks:
        groups[-1].append(mark)
        if mark.between is None:
            groups.append([])
    groups = [own for own in groups if own]
    fits = len(groups) <= len(MASKS) and not any(map(_needs_its_place, part.marks))
    return groups if fits and not any(WORD in (own[0].before, own[-1].after) for own in groups) else ()


def _needs_its_place(mark: Mark) -> bool:
    """Whether it is a paired tag (its partner may be in another part) or a block: the tree of tags must not change."""
    return bool(mark.side or is_block(mark.text) or _HALF_A_PAIR.fullmatch(mark.text))


def masked_text(plain: str, groups: Groups) -> str:
    """The text with a mask for each group, as in training: with a space before it, and one after it before a word."""
    text, begin = "", 0
    for own, mask in zip(groups, MASKS, strict=False):
        at = own[0].at
        text = _continued(text, plain[begin:at]).rstrip()
        text += f" {mask}" if text else mask
        begin = at
    return _continued(text, plain[begin:])


def _continued(text: str, more: str) -> str:
    stuck = bool(text and more) and is_word(more[0]) and not UNSPACED_LETTER.match(more[0])
    return f"{text} {more}" if stuck else text + more


def with_placeholders_at(groups: Groups, one: Translation) -> Translation | None:
    """A translation with placeholders instead of masks; None if it is wrong or a mask does not occur exactly once."""
    if still_wrong(one):
        return None
    text = filled_masks(one.text, groups)
    inserted = (*one.inserted, *(mark.text for own in groups for mark in own))
    return None if text is None else replace(one, text=text, inserted=inserted)


def filled_masks(text: str, groups: Groups) -> str | None:
    """The text with placeholders instead of masks, spaced as in the source; None unless each mask occurs exactly once.

    Positional placeholders must also keep their order.
    """
    first, *rest = _MASK.split(text)
    masks, between = rest[::2], rest[1::2]
    if sorted(masks) != list(MASKS[: len(groups)]):
        return None
    placed = [groups[MASKS.index(mask)] for mask in masks]
    by_order = [mark.number for own in placed for mark in own if mark.positional]
    if by_order != sorted(by_order):
        return None
    out, beside = first.rstrip(), None  # the placeholder inserted just before
    for own, following in zip(placed, between, strict=True):
        out += _space_before(own[0], out[-1:], beside) + together(own)
        beside, words = own[-1], following.strip()
        if words:
            gap = following[: len(following) - len(following.lstrip())]
            out += junction(words[0], beside.after, gap) + words
            beside = None
    return out


def _space_before(mark: Mark, letter: str, beside: Mark | None) -> str:
    """The space before a placeholder. A mask always has one; the source and the previous character decide about it."""
    if beside is not None:
        return " " if SPACE in (beside.after, mark.before) else ""
    return junction(letter, mark.before, "" if UNSPACED_LETTER.match(letter) else " ")
