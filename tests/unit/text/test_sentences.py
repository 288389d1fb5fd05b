"""Texts are split into sentences without losing anything, and what is too long further."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from glassformer.text import sentences
from glassformer.text.sentences import sentence_spans, spans_that_fit

LETTERS = st.text(alphabet='aB.!? \n\t\r\u2028\u3002\x00"«(😀é\u0301', max_size=60)


def cut(text: str, language: str | None = None) -> list[str]:
    return [text[start:end] for start, end in sentence_spans(text, language)]


def test_sentences() -> None:
    assert cut("Mr. Smith went home.  He slept!\n\nThen?") == ["Mr. Smith went home.", "He slept!", "Then?"]
    assert cut("Er kam z. B. am 3. Mai. Dann ging er.", "de") == ["Er kam z. B. am 3. Mai.", "Dann ging er."]
    assert cut("你好。我是谁？", "zh") == ["你好。", "我是谁？"]
    assert cut("  ") == []


@given(LETTERS)
def test_only_white_space_is_left_out(text: str) -> None:
    for spans in (sentence_spans(text), spans_that_fit(text, lambda part: len(part) <= 5)):
        assert all(one[1] <= other[0] for one, other in pairwise(spans))
        assert "".join("".join(text[a:b] for a, b in spans).split()) == "".join(text.split())


def test_a_long_sentence_is_cut_at_clauses_then_spaces_then_anywhere() -> None:
    def parts(text: str, most: int) -> list[str]:
        return [text[a:b] for a, b in spans_that_fit(text, lambda part: len(part) <= most)]

    assert parts("a dog runs, a cat sleeps", 15) == ["a dog runs,", "a cat sleeps"]
    assert parts("a dog runs here", 9) == ["a dog", "runs here"]
    assert "".join(parts("x" * 100, 30)) == "x" * 100


@pytest.mark.parametrize("text", ["a,", "ab,", "a、b、", "a;", "a, b,"])
def test_a_sign_at_the_end_is_no_place_to_cut(text: str) -> None:
    """The second part would be empty and the first one the whole again, for ever."""
    spans = spans_that_fit(text, lambda part: len(part) <= 1)
    assert [text[a:b] for a, b in spans] == [letter for letter in text if letter != " "]


def test_the_library_sees_windows_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """An unclosed quote takes it quadratic time: 64,000 of them 5 s in one text."""
    seen: list[int] = []
    real = sentences.sentencex.segment

    def counting(language: str, text: str) -> Any:
        seen.append(len(text))
        return real(language, text)

    monkeypatch.setattr(sentences.sentencex, "segment", counting)
    for size in (10_000, 40_000):
        seen.clear()
        sentence_spans("« a. " * size)
        assert max(seen) <= sentences.WINDOW
        assert sum(seen) <= 5 * size


def test_a_cut_in_a_word_is_not_inside_a_character() -> None:
    family = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
    spans = spans_that_fit(family * 40, lambda part: len(part) <= 12)
    assert all(span[0] % 5 == span[1] % 5 == 0 for span in spans)
    accents = spans_that_fit("e\u0301" * 33, lambda part: len(part) <= 5)
    assert all(span[0] % 2 == span[1] % 2 == 0 for span in accents)
