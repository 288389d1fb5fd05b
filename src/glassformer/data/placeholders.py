"""What a program puts into a sentence or around its words: {name}, ${x}, %s, %(name)s, %1$s, <b>, </b>, <br/>."""

from __future__ import annotations

import re
from collections import Counter

SIGNS = frozenset("{%<")  # none of these, no placeholder

_BRACES = re.compile(r"[$%#]?\{\{?\s*[\w.$\[\]-]{0,80}\s*(?:[!:][^{}\s]{0,40})?\}\}?")
_ICU = re.compile(r"\{\s*\w{1,80}\s*,\s*(?:plural|select|selectordinal)\s*,")  # its branches hold words to translate
# "50 %", "50%ige" and "100 %ig" are percentages: no space belongs to a placeholder, no digit stands before it, and
# no letter follows it unless it has a name or number of its own.
_PERCENT = re.compile(
    r"%\(\w{1,80}\)[-+#0]*\d{0,3}(?:\.\d{1,3})?[diouxXeEfFgGcrsa]"
    r"|%\d{1,2}\$[-+#0]*\d{0,3}(?:\.\d{1,3})?[diouxXeEfFgGcsa@]"
    r"|(?<![\d%])%[-+#0]*\d{0,3}(?:\.\d{1,3})?(?:hh?|ll?|[Lzjt])?[diouxXeEfFgGcsa@](?![^\W\d_])"
    r"|(?<![\w%])%[A-Za-z_]\w{1,40}%(?!\w)"
)
_TAG = re.compile(r"<(/?)([A-Za-z][\w:-]{0,30}|\d{1,3})(\s[^<>]{0,500})?/?>")


def placeholders_in(text: str) -> Counter[str]:
    """All placeholders and tags, each as often as it stands there. Attributes of tags do not count."""
    if SIGNS.isdisjoint(text):
        return Counter()
    found = Counter(_PERCENT.findall(text)) if "%" in text else Counter[str]()
    if "{" in text and not _ICU.search(text):
        found.update(match.replace(" ", "") for match in _BRACES.findall(text))
    if "<" in text:
        found.update(f"<{slash}{name}>" for slash, name, rest in _TAG.findall(text) if _is_tag(rest))
    return found


def _is_tag(rest: str) -> bool:
    """Words between < and > are a tag's attributes if they have values; "a <b and c> d" is mathematics."""
    return not rest.strip(" /") or "=" in rest
