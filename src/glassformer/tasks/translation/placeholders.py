"""Placeholders and tags of a text that a translation must keep as they are: {name}, ${name}, %s, %1$d, <b>."""

from __future__ import annotations

import re
from collections import Counter

BRACES = r"\$?\{\{[^{}]*\}\}|\$?\{[^{}]*\}"
PERCENT = r"(?<![\d%])%(?:\(\w+\)|\d+\$)?[-+#0]*\d*(?:\.\d+)?[sdifuxXeEgGc@](?![A-Za-z])"
TAG = r"</?[A-Za-z][^<>]*>"
PLACEHOLDER = re.compile(f"{BRACES}|{PERCENT}|{TAG}")


def placeholders(text: str) -> list[str]:
    """In their order."""
    return PLACEHOLDER.findall(text)


def is_tag(placeholder: str) -> bool:
    return placeholder.startswith("<")


def kept(source: str, text: str) -> bool:
    """Whether a text has the placeholders of its source, as often as there, and the tags in their order."""
    wanted, found = placeholders(source), placeholders(text)
    return Counter(wanted) == Counter(found) and list(filter(is_tag, wanted)) == list(filter(is_tag, found))
