"""Properties of any draft of the grammar, whatever the random numbers."""

from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from glassformer.data.phrasebook import CONSTRUCTIONS, words
from glassformer.data.phrasebook.split import draft_of

DRAWN = [name for name in CONSTRUCTIONS if name not in ("greeting", "predicate-noun")]


@settings(max_examples=300, deadline=None)
@given(name=st.sampled_from(DRAWN), seed=st.integers(0, 2**32 - 1))
def test_drafts_are_sound(name: str, seed: int) -> None:
    draft = draft_of(name, Random(seed))
    phrase = draft.phrase()
    source, target = words(phrase.source), words(phrase.references[0])
    assert phrase.source == draft.source
    assert phrase == draft_of(name, Random(seed)).phrase()
    assert all(i < len(source) and j < len(target) for i, j in phrase.possible)
    assert phrase.sure <= phrase.possible
    assert 3 <= len(source) <= 22
    assert phrase.construction == name
    assert phrase.lemmas


@settings(max_examples=200, deadline=None)
@given(text=st.text(alphabet="abc 3.,?!", max_size=30))
def test_words_keeps_every_letter(text: str) -> None:
    assert "".join(words(text)) == "".join(text.split())
