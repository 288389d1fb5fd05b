"""Each filter: what it finds, and what it leaves alone although it looks alike."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from glassformer.data.checks.blocks import Block
from glassformer.data.checks.filters import FILTERS, chosen_filters
from glassformer.data.checks.held import Held
from glassformer.data.checks.mojibake import mojibake_in
from glassformer.data.checks.placeholders import difference
from glassformer.data.checks.profile import FEWEST, Profile, learn
from glassformer.data.phrasebook import phrasebook
from glassformer.data.readers.records import Place, Record
from glassformer.errors import SettingsError

Pairs = Sequence[tuple[str, str]]


def block_of(pairs: Pairs) -> Block:
    return Block([source for source, _ in pairs], [target for _, target in pairs])


def hits(name: str, pairs: Pairs, *, profile: Profile | None = None, held: Held | None = None) -> dict[int, str]:
    check = FILTERS[name].start(profile or Profile(), held or Held())
    return check(block_of(pairs), np.ones(len(pairs), dtype=np.bool_))


def found(name: str, *pair: str, profile: Profile | None = None) -> str | None:
    """What a filter says of one pair."""
    source, target = pair if len(pair) == 2 else (pair[0], "ein guter Satz")
    return hits(name, [(source, target)], profile=profile).get(0)


@pytest.fixture(scope="module")
def usual() -> Profile:
    return learn(block_of([(p.source, p.references[0]) for p in phrasebook(train=2000, valid=0, test=0).train]))


@pytest.fixture(scope="module")
def russian() -> Profile:
    return learn(block_of([(f"This is sentence {i}.", f"Это предложение номер {i}.") for i in range(60)]))


# Names


def test_filters_are_chosen_by_name_in_the_order_of_the_table() -> None:
    assert [one.name for one in chosen_filters(["duplicate", "control"])] == ["control", "duplicate"]
    assert [one.name for one in chosen_filters(["all"])] == list(FILTERS)
    recommended = [one.name for one in chosen_filters(["recommended", "ratio"])]
    assert recommended == [name for name, one in FILTERS.items() if one.recommended]
    assert "near-duplicate" not in recommended
    assert chosen_filters([]) == chosen_filters(["none"]) == []


def test_an_unknown_filter_is_reported_with_a_suggestion() -> None:
    with pytest.raises(SettingsError, match=r"unknown filter 'duplicates'\. Did you mean duplicate\?"):
        chosen_filters(["control", "duplicates"])
    with pytest.raises(SettingsError, match=r"'xyz'\. Filters: too-long, .*near-duplicate, all, recommended, none"):
        chosen_filters(["xyz"])


def test_every_filter_has_a_name_and_a_line_of_help() -> None:
    for name, one in FILTERS.items():
        assert name == one.name == name.lower()
        assert 10 < len(one.help) < 80


def test_no_filter_minds_an_empty_block(usual: Profile) -> None:
    for name in FILTERS:
        assert hits(name, [], profile=usual) == {}


# Of one pair


def test_too_long_counts_characters() -> None:
    assert found("too-long", "ä" * 1000) is None
    assert found("too-long", "ä" * 1001) == "1,001 characters on a side; 1,000 are allowed"
    assert found("too-long", "short", "x " * 600)


@pytest.mark.parametrize("sign", ["\x01", "\x07", "\x1b", "\x1f", "\x7f", "\x80", "\x9f"])
def test_control_characters_are_found_on_either_side(sign: str) -> None:
    assert found("control", f"a{sign}b", "c") == f"source: control character U+{ord(sign):04X}"
    assert found("control", "c", f"a{sign}b") == f"target: control character U+{ord(sign):04X}"


@pytest.mark.parametrize(
    "sign", ["\t", "\n", "\r\n", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\xa0", "\xad", "\u200b"]
)
def test_white_space_and_separators_are_no_control_characters(sign: str) -> None:
    assert found("control", f"a{sign}b", f"c{sign}d") is None


@pytest.mark.parametrize(
    "text",
    [
        "Ã¤hnlich",
        "schÃ¶n",
        "fÃ¼r",
        "groÃŸ",
        "groÃ\x9f",
        "Ãœbung",
        "Ã–sterreich",
        "itâ€™s",
        "â€œquotedâ€\x9d",
        "dash â€“ here",
        "20Â°C",
        "price Â£5",
        "a\xc2\xa0b",
        "ï»¿start",
        "lost \ufffd here",
        "garÃ§on dÃ©jÃ\xa0 vu",
        "Ð¿Ñ€Ð¸Ð²ÐµÑ‚",
        "zaÅ¼Ã³Å‚Ä‡",
        "ðŸ˜€ smile",
        "correct ä, but itâ€™s mixed",
    ],
)
def test_mojibake_is_found(text: str) -> None:
    assert mojibake_in(text)
    assert found("mojibake", text, "fine").startswith("source: ")


@pytest.mark.parametrize(
    "text",
    [
        "ähnlich, schön, für, groß",
        "Spaß… und Fuß…",
        "Spaß” und Fuß”",
        "„Ä“ und „Ö“",
        "« À LA CAFÉ »",
        "«CAFÉ»",
        "“MINHA IRMÃ”",
        "MINHA IRMÃ…",
        "Ålesund – Ærø",
        "ÉTÉ»",
        "NÃO É",
        "CÂMARA",
        "20 °C, £5, ½",
        "it’s “quoted” – here…",
        "Привет, мир",
        "zażółć gęślą jaźń",
        "Ð is eth, Þ is thorn",
        "3×4",
        "naïve café",
    ],
)
def test_honest_letters_are_no_mojibake(text: str) -> None:
    assert mojibake_in(text) is None


def test_unbroken_runs_are_found_where_words_have_spaces() -> None:
    assert found("unbroken", "x" * 101) == f"source: 101 characters without a space: {'x' * 20}..."
    assert found("unbroken", "x" * 100) is None
    assert found("unbroken", "ok", "=" * 120)
    assert found("unbroken", "これは" * 40, "ภาษาไทย" * 40) is None
    assert found("unbroken", "see https://example.org/" + "a" * 120) is None


# Learnt


def test_ratio_finds_sides_that_do_not_fit(usual: Profile) -> None:
    long = "Der alte Mann hat den Kindern gestern im Garten eine sehr lange Geschichte erzählt."
    told = found("ratio", "Yes.", long, profile=usual)
    assert told == f"4 characters against {len(long)}; usual here is 1 against {usual.length_factor:.2f}"
    assert found("ratio", long, "Ja.", profile=usual)
    assert found("ratio", "Hi.", "Grüß Gott!", profile=usual) is None
    assert found("ratio", long, long, profile=usual) is None
    assert usual.length_limit == pytest.approx(math.log(3))
    assert (
        found("ratio", "I have a nasty feeling something awful will happen.", "Mir schwant Böses.", profile=usual)
        is None
    )


def test_ratio_learns_what_is_usual() -> None:
    pairs = [(f"a sentence of some length, number {i}", "短い文") for i in range(100)]
    profile = learn(block_of(pairs))
    assert profile.length_factor < 0.2
    assert hits("ratio", pairs, profile=profile) == {}
    assert found("ratio", "short text", "とても" * 20, profile=profile)


def test_script_finds_lines_in_another_script(usual: Profile, russian: Profile) -> None:
    assert found("script", "Hello there", "Привет вам", profile=usual) == (
        "target: 9 of 9 letters are Cyrillic; this side is written in Latin"
    )
    assert found("script", "Это по-русски", "Это по-русски", profile=russian).startswith("source: ")
    assert found("script", "Fine.", "Это хорошо.", profile=russian) is None
    assert found("script", "The letter α is Greek.", "Der Buchstabe α ist griechisch.", profile=usual) is None
    assert found("script", "12:30!", "12:30!", profile=russian) is None
    assert found("script", "Fine.", "слово two", profile=usual)
    assert found("script", "Fine.", "слово seven", profile=usual) is None  # not more than half


def test_swapped_sides_are_found_by_words_that_only_one_side_uses(usual: Profile) -> None:
    swapped = ("Ich habe einen Apfel gegessen.", "I ate an apple.")
    assert found("swapped", *swapped, profile=usual) == "the two sides look swapped"
    assert found("swapped", *reversed(swapped), profile=usual) is None
    assert found("swapped", "I said: Ich habe es.", "Ich sagte: I have it.", profile=usual) is None


def test_with_few_pairs_nothing_is_guessed() -> None:
    few = [(f"This is sentence {i}.", f"Это предложение {i}.") for i in range(FEWEST - 1)]
    profile = learn(block_of(few))
    assert profile == Profile(FEWEST - 1)
    odd = [("Yes.", "x" * 900), ("Привет", "hello"), ("Это номер", "This is number")]
    for name in ("ratio", "script", "swapped"):
        assert hits(name, odd, profile=profile) == {}


@pytest.mark.parametrize(
    "text",
    [
        "He ate the apple because it was tasty.",
        "We are going to the station tomorrow.",
        "He is old.",
        "THE CHILDREN HAVE NO MILK AND NO BREAD.",
    ],
)
def test_copies_of_sentences_are_found(usual: Profile, text: str) -> None:
    assert found("copied", text, text, profile=usual) == "the target is a copy of the source"
    assert found("copied", text, text.rstrip(".") + " !", profile=usual)


@pytest.mark.parametrize(
    "text",
    ["Tom", "Tom Smith", "Rio de Janeiro", "New York Times", "1234 5678 90", "OK", "3 + 4 = 7", "https://example.org"],
)
def test_names_and_numbers_may_be_the_same(usual: Profile, text: str) -> None:
    assert found("copied", text, text, profile=usual) is None


def test_a_copy_with_the_case_changed_is_somebodys_translation() -> None:
    assert found("copied", "Exit code of version", "Exit-Code of Version") is None
    assert found("copied", "the window is closed now", "the window is closed now")


# Placeholders


@pytest.mark.parametrize(
    ("source", "target", "missing", "added"),
    [
        ("Hello {name}", "Hallo", "{name}", ""),
        ("Hello {name}", "Hallo {Name}", "{name}", "{Name}"),
        ("{0} of {1}", "{0} von {0}", "{1}", "{0}"),
        ("Cost ${x}", "Kosten x", "${x}", ""),
        ("{{ count }} files", "Dateien", "{{count}}", ""),
        ("Got %s", "Bekam", "%s", ""),
        ("Got %s", "Bekam %d", "%s", "%d"),
        ("%(name)s wins", "%(nom)s gewinnt", "%(name)s", "%(nom)s"),
        ("%1$s and %2$s", "%1$s und %1$s", "%2$s", "%1$s"),
        ("a <b>bold</b> word", "ein <b>fettes Wort", "</b>", ""),
        ("line<br/>break", "Zeilenumbruch", "<br>", ""),
        ("<link>here</link>", "hier", "<link> </link>", ""),
        ('<a href="x">here</a>', "hier</a>", "<a>", ""),
        ("100 %ige %s", "100 %", "%s", ""),
    ],
)
def test_placeholders_that_differ(source: str, target: str, missing: str, added: str) -> None:
    assert difference(source, target) == (missing.split(), added.split())
    assert difference(target, source) == (added.split(), missing.split())
    assert found("placeholders", source, target)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("50 % of them", "50 % der Leute"),
        ("a 50% rise", "ein 50%iger Anstieg"),
        ("100 percent", "100 %ig"),
        ("100%% sure", "100 %% sicher"),
        ("a < b and c > d", "a < b und c > d"),
        ("a <b and c> d", "a kleiner b"),
        ("I <3 you", "Ich <3 dich"),
        ("%s of %d", "%2$d von %1$s"),
        ("%d lines", "%d行"),
        ("%serror list", "%s Fehlerliste"),
        ("(%ld%%) left", "(%%%ld) übrig"),
        ("<b>bold</b>", "<b>fett</b>"),
        ("a<br/>b", "a<br />b"),
        ('<a href="en.html">here</a>', '<a href="de.html">hier</a>'),
        ("--log <file>", "--log <Datei>"),
        ("write to <me@example.org>", "schreib an mich"),
        ("{n, plural, one {file} other {files}}", "{n, plural, one {Datei} other {Dateien}}"),
        ("} without {", "} ohne { davor"),
        ("{name} and {other}", "{other} und {name}"),
    ],
)
def test_signs_that_are_no_placeholders_or_the_same_ones(source: str, target: str) -> None:
    assert difference(source, target) == ([], [])
    assert found("placeholders", source, target) is None


def test_differences_are_reported() -> None:
    assert found("placeholders", "a {x} %s", "b {y}") == "only in the source: {x} %s; only in the target: {y}"


# Of several pairs


def test_duplicates_are_the_same_pair_again() -> None:
    pairs = [("a", "b"), ("a", "c"), ("a", "b"), ("b", "a"), ("A", "b"), ("a", "b")]
    assert list(hits("duplicate", pairs)) == [2, 5]
    assert hits("duplicate", [("ab", "c"), ("a", "bc")]) == {}


def test_near_duplicates_are_counted_apart_from_duplicates() -> None:
    pairs = [("Go away!", "Geh weg!"), ("Go away!", "Geh weg!"), ("go away", "geh weg"), ("Go away.", "Hau ab!")]
    assert list(hits("near-duplicate", pairs)) == [2]
    assert hits("near-duplicate", [("On 5 May", "Am 5. Mai"), ("On 6 May", "Am 6. Mai")]) == {}


def test_seen_pairs_are_remembered_from_block_to_block() -> None:
    check = FILTERS["duplicate"].start(Profile(), Held())
    every = np.ones(1, dtype=np.bool_)
    assert check(block_of([("a", "b")]), every) == {}
    assert check(block_of([("c", "d")]), every) == {}
    assert check(block_of([("a", "b")]), every) == {0: "the same pair was seen before"}


def test_a_pair_that_was_dropped_before_does_not_count_as_seen() -> None:
    check = FILTERS["near-duplicate"].start(Profile(), Held())
    damaged, good = block_of([("Go\x07 away", "Geh weg")]), block_of([("Go away", "Geh weg")])
    assert check(damaged, np.zeros(1, dtype=np.bool_)) == {}
    assert check(good, np.ones(1, dtype=np.bool_)) == {}


def test_overlap_compares_with_the_held_out_sentences() -> None:
    held = Held()
    place = Place("val.en", 1, 0)
    rows = [("The dog.", "Der Hund."), ("the DOG", "Ein Hund"), ("A cat.", "Eine Katze.")]
    part = held.add("valid", [Record(source, target, place) for source, target in rows])
    pairs = [("the dog!", "der Hund"), ("A cow.", "Eine Kuh."), ("Der Hund.", "The dog.")]
    assert hits("overlap", pairs, held=held) == {0: "its source is also in the validation data"}
    assert (part.pairs, part.sources_in_train, part.pairs_in_train) == (3, 2, 1)
    assert hits("overlap", pairs) == {}
