"""Text whose UTF-8 bytes were once read in another encoding: "Ã¤" for "ä", "â€™" for an apostrophe."""

from __future__ import annotations

import re

REPLACEMENT = "\ufffd"  # what a decoder inserts where bytes cannot be decoded


def _byte_table() -> dict[str, int]:
    """The byte of each character in Windows-1252 or, if it has none there, in Latin-1."""
    table = {}
    for byte in range(0x80, 0x100):
        table[bytes([byte]).decode("cp1252", "ignore") or chr(byte)] = byte
        table.setdefault(chr(byte), byte)  # read as Latin-1, the bytes up to 0x9f are control characters
    return table


_BYTES = _byte_table()
_TRAILING = "".join(re.escape(sign) for sign, byte in _BYTES.items() if byte < 0xC0)
# Closing quotes, dots and dashes may correctly follow a capital: "Ã”" ends a quotation in Portuguese capitals.
_SURE = "".join(re.escape(s) for s, byte in _BYTES.items() if byte < 0xC0 and s not in "’”»…–—›")
_CERTAIN = re.compile(f"Ã[{_SURE}–]|Â[\xa0-\xba\xbc-\xbf]|â€[{_TRAILING}]|ï»¿|ï¿½|ðŸ[{_TRAILING}]")
# Two bytes for Latin, Greek, Cyrillic, Hebrew, Arabic; three for most others. "ß" is none of them: "Spaß…" is German.
_SEQUENCE = re.compile(f"[ÂÃÄÅÎÏÐÑ×ØÙ][{_TRAILING}]|[à-é][{_TRAILING}]{{2}}|ð[{_TRAILING}]{{3}}")
LEADS = frozenset("ÂÃÄÅÎÏÐÑ×ØÙàáâãäåæçèéïð" + REPLACEMENT)


def mojibake_in(text: str) -> str | None:
    """The first garbled piece of `text`, or None.

    A few sequences are certain. Any others count if there are several and the whole text can be turned back into valid
    UTF-8; a genuine quotation mark or umlaut anywhere in it prevents that.
    """
    if REPLACEMENT in text:
        return REPLACEMENT
    certain = _CERTAIN.search(text)
    if certain:
        return certain.group()
    sequences = _SEQUENCE.findall(text)
    return sequences[0] if len(sequences) > 1 and _turns_into_text(text) else None


def _turns_into_text(text: str) -> bool:
    try:
        bytes(_BYTES[sign] if sign > "\x7f" else ord(sign) for sign in text).decode("utf-8")
    except (KeyError, UnicodeDecodeError):
        return False
    return True
