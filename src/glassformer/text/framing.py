"""The special tokens that a tokenizer's file puts around a text: [CLS] text [SEP], <s> text, text </s>.

`Tokenizer.encode` returns the text without them; a frame is what models made by others expect around it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from glassformer.errors import TokenizerError
from glassformer.text.tokenizer import Tokenizer

Step = int | str  # a special token's id; "A" or "B": the first or the second text


@dataclass(frozen=True)
class Frame:
    """The ids before a text, between two texts, and after the last."""

    before: tuple[int, ...] = ()
    between: tuple[int, ...] = ()
    after: tuple[int, ...] = ()

    def single(self, ids: Sequence[int]) -> list[int]:
        return [*self.before, *ids, *self.after]

    def pair(self, first: Sequence[int], second: Sequence[int]) -> tuple[list[int], list[int]]:
        """The ids of two texts, and the segment (0 or 1) that each belongs to."""
        head, tail = [*self.before, *first, *self.between], [*second, *self.after]
        return head + tail, [0] * len(head) + [1] * len(tail)


def framed(frame: Frame, parts: Sequence[Sequence[int]], *, most: int | None = None) -> tuple[list[int], int, bool]:
    """One or two texts with the ids around them: all ids, how many belong to the first text, and whether it was cut.

    Texts with more than `most` ids are cut; if there are two, the longer one is cut.
    """
    around = len(frame.single([]) if len(parts) == 1 else frame.pair([], [])[0])
    kept = parts if most is None else shortened(parts, max(0, most - around))
    cut = any(len(one) < len(whole) for one, whole in zip(kept, parts, strict=True))
    if len(kept) == 1:
        ids = frame.single(kept[0])
        return ids, len(ids), cut
    ids, segments = frame.pair(kept[0], kept[1])
    return ids, segments.count(0), cut


def shortened(parts: Sequence[Sequence[int]], most: int) -> list[Sequence[int]]:
    """One or two texts with at most `most` ids together; the longer one is cut first."""
    if len(parts) == 1:
        return [parts[0][:most]]
    first, second = len(parts[0]), len(parts[1])
    over = max(0, first + second - most)
    from_longer = min(over, abs(first - second))
    rest = over - from_longer
    cuts = [rest // 2, rest - rest // 2]
    cuts[0 if first > second else 1] += from_longer
    return [part[: max(0, len(part) - cut)] for part, cut in zip(parts, cuts, strict=True)]


def frame_of(tokenizer: Tokenizer) -> Frame:
    """What the tokenizer's file says; an empty frame if it says nothing."""
    try:
        single, pair = (list(steps(tokenizer.post_processor, kind)) for kind in ("single", "pair"))
    except KeyError as error:
        raise TokenizerError(f"the tokenizer's post_processor names {error}, but does not say what it is.") from None
    if single.count("A") != 1:
        return Frame()
    at = single.index("A")
    before, after = numbers(single[:at]), numbers(single[at + 1 :])
    between = numbers(pair[pair.index("A") + 1 : pair.index("B")]) if {"A", "B"} <= {*pair} else ()
    return Frame(before, between, after)


def numbers(found: Sequence[Step]) -> tuple[int, ...]:
    return tuple(step for step in found if isinstance(step, int))


def steps(content: Mapping[str, Any] | None, kind: str) -> Iterator[Step]:
    """A post-processor of the file as a sequence of ids and texts."""
    name = None if content is None else content.get("type")
    if content is None:
        return
    if name == "Sequence":
        for part in content["processors"]:
            yield from steps(part, kind)
    elif name in ("BertProcessing", "RobertaProcessing"):
        first, end = content["cls"][1], content["sep"][1]
        between = [end, end] if name == "RobertaProcessing" else [end]
        yield from [first, "A", end] if kind == "single" else [first, "A", *between, "B", end]
    elif name == "TemplateProcessing":
        for part in content[kind]:
            yield from part_of(part, content["special_tokens"])


def part_of(part: Mapping[str, Any], special: Mapping[str, Any]) -> Iterator[Step]:
    if "Sequence" in part:
        yield part["Sequence"]["id"]
    else:
        yield from special[part["SpecialToken"]["id"]]["ids"]


def with_frame(tokenizer: Tokenizer, frame: Frame) -> Tokenizer:
    """The same tokenizer, but its file puts these ids around texts, for programs that read it."""
    content = json.loads(tokenizer.to_json())
    content["post_processor"] = template(tokenizer, frame) if frame != Frame() else None
    return Tokenizer.from_json(json.dumps(content), origin="the tokenizer")


def template(tokenizer: Tokenizer, frame: Frame) -> dict[str, Any]:
    """A frame as the library's template."""

    def marks(ids: Sequence[int], segment: int) -> list[dict[str, Any]]:
        return [{"SpecialToken": {"id": name(tokenizer, i), "type_id": segment}} for i in ids]

    first, second = ({"Sequence": {"id": text, "type_id": i}} for i, text in enumerate("AB"))
    ids = {*frame.before, *frame.between, *frame.after}
    return {
        "type": "TemplateProcessing",
        "single": [*marks(frame.before, 0), first, *marks(frame.after, 0)],
        "pair": [*marks(frame.before, 0), first, *marks(frame.between, 0), second, *marks(frame.after, 1)],
        "special_tokens": {
            name(tokenizer, i): {"id": name(tokenizer, i), "ids": [i], "tokens": [name(tokenizer, i)]} for i in ids
        },
    }


def name(tokenizer: Tokenizer, number: int) -> str:
    if not 0 <= number < len(tokenizer) or not tokenizer.token(number):
        raise TokenizerError(f"the special id {number} is not in the vocabulary of {len(tokenizer):,}.")
    return tokenizer.token(number)
