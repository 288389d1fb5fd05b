"""Texts as they can be shown to people: short, and without signs that a terminal would act on."""

from __future__ import annotations

import unicodedata


def shortened(text: str, *, width: int = 120) -> str:
    """The beginning of `text`."""
    return text if len(text) <= width else text[: width - 1] + "…"


def printable(text: str) -> str:
    """`text` with everything that a terminal would act on or not show written as an escape."""
    return "".join(sign if _shows(sign) else _escape(sign) for sign in text)


def _shows(sign: str) -> bool:
    return sign == " " or unicodedata.category(sign) not in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs")


def _escape(sign: str) -> str:
    code = ord(sign)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
