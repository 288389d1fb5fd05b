"""Translations in the cells of a table: what the format cannot hold becomes a space, all else stays."""

from __future__ import annotations

from pathlib import Path

from glassformer.data.readers.filling_tables import fill_tsv


def test_only_tabs_and_line_breaks_of_a_translation_become_spaces() -> None:
    found = fill_tsv(Path("a.tsv"), b"one\t\n", columns=None, languages=None, again=False)
    assert found.sources == ["one"]
    assert found.filled(["Ça va\xa0?  Oui\u2028non"]) == "one\tÇa va\xa0?  Oui\u2028non\n"
    assert found.filled(["a\tb\r\nc\n"]) == "one\ta b c\n"
