"""Placeholders and tags in a text: {name}, ${x}, {{ y }}, %s, %(name)s, %1$s, %NAME%, $NAME, $1, <b>, <br/>, &amp;.

One scan finds them all, in time proportional to the text: every repetition in the pattern is bounded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_FORM = r"[-+#0]{0,5}\d{0,3}(?:\.\d{1,3})?(?:hh?|ll?|[Lzjt])?[diouxXeEfFgGcrsa@]"
_QUOTED = r"\"[^\"]{0,300}\"|'[^']{0,300}'"  # the value of an attribute may hold ">"
_ATTRIBUTES = rf"\s(?:[^<>\"']{{0,200}}(?:{_QUOTED})){{0,30}}[^<>\"']{{0,200}}|\s[^<>]{{0,500}}"
_PARTS = {
    "comment": r"<!--(?:[^<-]|-(?!->)|<(?!!--)){0,2000}-->|<!\[CDATA\[(?:[^<\]]|\](?!\]>)|<(?!!\[)){0,2000}\]\]>",
    "statement": r"\{%(?:[^%{]|%(?!\})|\{(?!%)){0,300}%\}",
    "literal": r"%%",  # a written percent sign
    "variable": r"(?<!\w)%[A-Za-z_]\w{2,40}%(?!\w)",
    # "50 %", "50%ige" and "100 %ig" are percentages: a placeholder contains no space and does not follow a digit.
    # Only plain conversions at the end of a word may follow one: "5%d dogs".
    "percent": rf"%\(\w{{1,80}}\){_FORM}|%\d{{1,2}}\${_FORM}|(?<!\d)%{_FORM}|(?<=\d)%(?:ll?)?[dsuf](?!\w)",
    "brace": r"[$%#]?\{\{[^{}]{1,200}\}\}|[$%#]?\{[\w.$\[\]-]{0,80}(?:[!:][^{}\s]{0,40})?\}",
    "expression": r"[$%#]\{[^{}]{0,200}\}|\{\s{0,9}\w{1,80}\s{0,9},[^{}]{0,200}\}",
    "tag": rf"</?(?:[A-Za-z][\w:-]{{0,30}}|\d{{1,3}})(?:{_ATTRIBUTES})?/?>",
    "entity": r"&(?:[A-Za-z]\w{1,30}|#\d{1,7}|#[xX][0-9a-fA-F]{1,6});",
    "shell": r"(?<![\w$])\$[A-Za-z_]\w{0,80}",
    "number": r"(?<![\w$])\$[1-9](?!\w|[.,]\d)",
}
_PLACEHOLDER = re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in _PARTS.items()))
_ICU = re.compile(r"\{\s{0,9}\w{1,80}\s{0,9},\s{0,9}(?:plural|select|selectordinal)\s{0,9},")
_TAG = re.compile(r"<(/?)([\w:-]+)(.*?)(/?)>", re.DOTALL)
_TAGS = "a abbr b big br code div em h1 h2 h3 h4 h5 h6 hr i img kbd li mrk ol p ph pre small span strong sub sup u wbr"
_USUAL_TAGS = frozenset(_TAGS.split())
_POSITION = re.compile(r"%\d{1,2}\$")
_SIGNS = frozenset("{%<&$")  # every placeholder contains one of these


@dataclass(frozen=True)
class Placeholder:
    """One placeholder and its place in the text."""

    start: int
    end: int
    text: str
    kind: str
    certain: bool = True  # False: it may be words, such as the %s of "%sth" and the <file> of a manual

    @property
    def key(self) -> str:
        """Equal for spellings that mean the same: spaces in braces and attributes of tags are ignored."""
        if self.kind == "tag":
            return f"<{'/' * self.closes}{self.name}>"
        return self.text.replace(" ", "") if self.kind == "brace" else self.text

    @property
    def name(self) -> str:
        """The name of a tag."""
        return self.text.strip("</>").split()[0].rstrip("/") if self.kind == "tag" else ""

    @property
    def closes(self) -> bool:
        return self.kind == "tag" and self.text.startswith("</")

    @property
    def opens(self) -> bool:
        return self.kind == "tag" and not self.closes and not self.text.endswith("/>")

    @property
    def positional(self) -> bool:
        """Whether the order matters: for %s and {}, which are filled in one after the other, and for {% if x %}."""
        unnamed = self.kind == "percent" and "(" not in self.text and not _POSITION.match(self.text)
        return unnamed or self.text == "{}" or self.kind == "statement"


def placeholders_in(text: str) -> list[Placeholder]:
    """All placeholders and tags of a text in their order; none overlaps another."""
    if _SIGNS.isdisjoint(text):
        return []
    messages = list(_messages(text)) if "{" in text else []
    found = _judged(list(_outside(_scan(text), messages)))
    return list(_apart(sorted([*found, *messages], key=lambda one: one.start)))


def _apart(found: list[Placeholder]) -> Iterator[Placeholder]:
    """The placeholders that do not begin inside the one before: an attribute of a tag may contain a message."""
    end = 0
    for one in found:
        if one.start >= end:
            yield one
            end = one.end


def _outside(found: Iterator[Placeholder], messages: list[Placeholder]) -> Iterator[Placeholder]:
    """The placeholders that do not begin inside a message; both arguments are in the order of the text."""
    waiting = iter(messages)
    message = next(waiting, None)
    for one in found:
        while message is not None and message.end <= one.start:
            message = next(waiting, None)
        if message is None or one.start < message.start:
            yield one


def _scan(text: str) -> Iterator[Placeholder]:
    for match in _PLACEHOLDER.finditer(text):
        kind = str(match.lastgroup)
        joined = kind == "percent" and text[match.end() : match.end() + 1].isalpha()
        named = match.group().startswith("%(") or bool(_POSITION.match(match.group()))
        yield Placeholder(match.start(), match.end(), match.group(), kind, certain=named or not joined)


def _messages(text: str) -> Iterator[Placeholder]:
    """Whole ICU messages with branches ({n, plural, one {...} other {...}}), if their braces are closed."""
    starts = {match.start() for match in _ICU.finditer(text)}
    opened: list[int] = []
    around = 0  # open messages
    for brace in re.finditer(r"[{}]", text) if starts else ():
        if brace.group() == "{":
            opened.append(brace.start())
            around += brace.start() in starts
        elif opened:
            start = opened.pop()
            around -= start in starts
            if start in starts and not around:
                yield Placeholder(start, brace.end(), text[start : brace.end()], "message")


def _judged(found: list[Placeholder]) -> list[Placeholder]:
    """Leaves out what only looks like a placeholder.

    Tags are certain if they are common, are closed, or have attributes. "a <b and c> d" is mathematics, not a tag. "$1"
    is a placeholder if the numbers of the text count up from 1; "it costs $5" is a price.
    """
    numbers = {int(one.text[1:]) for one in found if one.kind == "number"}
    counted = numbers == set(range(1, len(numbers) + 1))
    closed = {one.name for one in found if one.closes}
    kept = []
    for one in found:
        if one.kind == "number" and not counted:
            continue
        if one.kind == "tag" and (match := _TAG.fullmatch(one.text)):
            _, name, rest, end = match.groups()
            blank = not rest.strip(" /\t\n")
            if not blank and "=" not in rest:
                continue
            usual = bool(end) or rest.endswith("/") or name in closed or name.isdigit() or name in _USUAL_TAGS
            one = Placeholder(one.start, one.end, one.text, one.kind, certain=usual or "=" in rest)
        kept.append(one)
    return kept
