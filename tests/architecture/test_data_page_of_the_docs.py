"""docs/data.md names what there is."""

from __future__ import annotations

from pathlib import Path

from glassformer.data.checks.filters import FILTERS
from glassformer.data.corpora import CORPORA

PAGE = (Path(__file__).parents[2] / "docs" / "data.md").read_text(encoding="utf-8")


def test_every_filter_and_every_named_corpus_is_told() -> None:
    assert [name for name in (*FILTERS, *CORPORA) if f"`{name}`" not in PAGE] == []
