"""Whether the two sides of a pair have the same placeholders."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

from glassformer.text.placeholders import placeholders_in

SIGNS = frozenset("{%<")  # without one of these, a text has no placeholder to compare
_COMPARED = {"percent", "variable", "brace", "tag"}  # not entities and $NAME: one side may write them as words
_POSITION = re.compile(r"%\d{1,2}\$")


@dataclass
class Placeholders:
    """`sure` ones; `perhaps` also includes possible ones, such as the %s of "%sth"."""

    sure: Counter[str] = field(default_factory=Counter)
    perhaps: Counter[str] = field(default_factory=Counter)

    def add(self, sign: str, *, sure: bool = True) -> None:
        self.sure[sign] += sure
        self.perhaps[sign] += 1

    def without_positions(self) -> Placeholders:
        return Placeholders(_unnumbered(self.sure), _unnumbered(self.perhaps))


def counted(text: str) -> Placeholders:
    """The placeholders and tags of a text. ICU messages with branches do not count: they contain words."""
    all_of_them, found = placeholders_in(text), Placeholders()
    branched = any(one.kind == "message" for one in all_of_them)
    for one in all_of_them:
        doubtful_tag = one.kind == "tag" and not one.certain
        if one.kind in _COMPARED and not doubtful_tag and not (branched and one.kind == "brace"):
            found.add(one.key, sure=one.certain)
    return found


def difference(source: str, target: str) -> tuple[list[str], list[str]]:
    """The placeholders that only the source has, and those that only the target has."""
    one, other = counted(source), counted(target)
    if _numbered(one) != _numbered(other):  # "%s of %d" may become "%2$d %1$s"
        one, other = one.without_positions(), other.without_positions()
    return list((one.sure - other.perhaps).elements()), list((other.sure - one.perhaps).elements())


def _numbered(found: Placeholders) -> bool:
    return any(_POSITION.match(sign) for sign in found.sure)


def _unnumbered(signs: Counter[str]) -> Counter[str]:
    plain = Counter[str]()
    for sign, count in signs.items():
        plain[_POSITION.sub("%", sign)] += count
    return plain
