"""What a program puts into a sentence or around its words: {name}, ${x}, %s, %(name)s, %1$s, <b>, </b>, <br/>."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

SIGNS = frozenset("{%<")  # none of these, no placeholder

_BRACES = re.compile(r"[$%#]?\{\{\s*[\w.$|-]{1,80}\s*\}\}|[$%#]?\{[\w.$\[\]-]{0,80}(?:[!:][^{}\s]{0,40})?\}")
_ICU = re.compile(r"\{\s*\w{1,80}\s*,\s*(?:plural|select|selectordinal)\s*,")  # its branches hold words to translate
_FORM = r"[-+#0]*\d{0,3}(?:\.\d{1,3})?(?:hh?|ll?|[Lzjt])?[diouxXeEfFgGcrsa@]"
# "50 %", "50%ige" and "100 %ig" are percentages: no space belongs to a placeholder, and no digit stands before it.
# A letter may follow: then it is a placeholder only if the other side has it too.
_PERCENT = re.compile(rf"(%\(\w{{1,80}}\){_FORM}|%\d{{1,2}}\${_FORM})|(?<!\d)(%{_FORM})([A-Za-zÀ-ÿ])?")
_POSITION = re.compile(r"%\d{1,2}\$")
_VARIABLE = re.compile(r"(?<!\w)%[A-Za-z_]\w{2,40}%(?!\w)")
_TAG = re.compile(r"<(/?)([A-Za-z][\w:-]{0,30}|\d{1,3})(\s[^<>]{0,500})?(/?)>")
_TAGS = "a abbr b big br code div em h1 h2 h3 h4 h5 h6 hr i img kbd li mrk ol p ph pre small span strong sub sup u wbr"
_USUAL_TAGS = frozenset(_TAGS.split())


@dataclass
class Placeholders:
    """`sure` ones, and `perhaps` those too that may be something else, such as the %s of "%sth"."""

    sure: Counter[str] = field(default_factory=Counter)
    perhaps: Counter[str] = field(default_factory=Counter)

    def add(self, sign: str, *, sure: bool = True) -> None:
        self.sure[sign] += sure
        self.perhaps[sign] += 1

    def without_positions(self) -> Placeholders:
        return Placeholders(_unnumbered(self.sure), _unnumbered(self.perhaps))


def placeholders_in(text: str) -> Placeholders:
    """All placeholders and tags of a text. Attributes of tags do not count."""
    found = Placeholders()
    text = text.replace("%%", " ")  # a written percent sign
    if "%" in text:
        for named, plain, letter in _PERCENT.findall(text):
            found.add(named or plain, sure=not letter)
        for name in _VARIABLE.findall(text):
            found.add(name)
    if "{" in text and not _ICU.search(text):
        for braces in _BRACES.findall(text):
            found.add(braces.replace(" ", ""))
    if "<" in text:
        for tag in _tags_in(text):
            found.add(tag)
    return found


def _tags_in(text: str) -> list[str]:
    """Usual tags, and others that end or have attributes: the <file> of a manual is a word, and "a <b and c> d" is
    mathematics."""
    matches = _TAG.findall(text)
    closed = {name for slash, name, _, _ in matches if slash}
    return [
        f"<{slash}{name}>"
        for slash, name, rest, end in matches
        if "=" in rest or (not rest.strip(" /") and (end or name in closed or name.isdigit() or name in _USUAL_TAGS))
    ]


def difference(source: str, target: str) -> tuple[list[str], list[str]]:
    """The placeholders that only the source has, and those that only the target has."""
    one, other = placeholders_in(source), placeholders_in(target)
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
