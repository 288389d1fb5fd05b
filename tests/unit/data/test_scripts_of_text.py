"""Which script a letter belongs to, and what a side is expected to be written in."""

from __future__ import annotations

from collections import Counter

import pytest

from glassformer.text.folding import folded
from glassformer.text.scripts import expected_scripts, letters_by_script, script_of, uses_spaces


@pytest.mark.parametrize(
    ("signs", "script"),
    [
        ("aZäßŁøĳªᵃＡ𝐀ﬁ", "Latin"),
        ("аЯё", "Cyrillic"),
        ("αΩµ", "Greek"),
        ("漢々", "Han"),
        ("あアーｱ", "Kana"),
        ("가", "Hangul"),
        ("ش", "Arabic"),
        ("ש", "Hebrew"),
        ("क", "Devanagari"),
        ("ก", "Thai"),
    ],
)
def test_the_script_of_a_letter(signs: str, script: str) -> None:
    assert {script_of(sign) for sign in signs} == {script}


@pytest.mark.parametrize("sign", list("1 .,-!?€🍎\n\u0301्ʼ٣"))
def test_what_is_no_letter_has_no_script(sign: str) -> None:
    assert script_of(sign) is None


@pytest.mark.parametrize("text", ["", "plain English, 12 letters!", "Größe 7, да и нет", "日本語の文です。", "a\x00b"])
def test_letters_are_counted_script_by_script(text: str) -> None:
    wanted = Counter(script for script in map(script_of, text) if script)
    assert letters_by_script(text) == wanted


def test_a_side_is_expected_to_use_what_makes_up_two_percent_of_it() -> None:
    assert expected_scripts(Counter({"Cyrillic": 970, "Latin": 30})) == {"Cyrillic", "Latin"}
    assert expected_scripts(Counter({"Cyrillic": 990, "Latin": 10})) == {"Cyrillic"}
    assert expected_scripts(Counter()) == frozenset()


def test_japanese_is_one_expectation_and_chinese_is_another() -> None:
    assert expected_scripts(letters_by_script("ひらがなだけのぶん")) == {"Kana", "Han"}
    assert expected_scripts(letters_by_script("只有汉字")) == {"Han"}


def test_which_texts_have_spaces_between_words() -> None:
    assert uses_spaces("ein Satz")
    assert uses_spaces("12345")
    assert not uses_spaces("これは文です")
    assert not uses_spaces("ภาษาไทย ok")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Go away!", "go away"),
        ("„Straße“", "STRASSE"),
        ("ｆｕｌｌ　ｗｉｄｔｈ", "full width"),
        ("Pe\xadni\xadzil\xadlin", "Penizillin"),
        ("a\u0308pfel", "äpfel"),
        ("don’t", "don't"),
    ],
)
def test_texts_that_fold_together(one: str, other: str) -> None:
    assert folded(one) == folded(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("I am 20.", "I am 30."),
        ("I like C", "I like C++"),
        ("कि", "की"),
        ("резюме", "резюмé"),
        ("?!", "..."),
        ("5 €", "5 $"),
        ("🍎", "🍐"),
    ],
)
def test_texts_that_stay_apart(one: str, other: str) -> None:
    assert folded(one) != folded(other)
