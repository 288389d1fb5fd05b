"""Corpora that have a name: their cards, the parts they are split into, and a package that is read, never imported."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from glassformer.data import statcan
from glassformer.data.corpora import CORPORA, PHRASEBOOKS, corpus_card, corpus_pairs, phrasebook_name, split
from glassformer.data.phrasebook import phrasebook
from glassformer.errors import DataError

COMMAND = "pip install --no-deps statcan-dialogue-dataset"

TABLES: dict[str, Any] = {
    "10100001": {"title_en": "Central government debt", "title_fr": "Dette du gouvernement central"},
    "10100002": {"title_en": " Farm\tcash  receipts\n", "title_fr": "Recettes monétaires agricoles"},
}
CODES: dict[str, Any] = {
    "en": {
        "survey": {"code_to_title": {"7": "Crime Survey", "8": "ScotiaMcLeod"}, "title_to_code": {}},
        "subject": {"code_to_title": {"10": "Government"}, "title_to_code": {}},
    },
    "fr": {
        "survey": {"code_to_title": {"8": "ScotiaMcLeod", "7": "Enquête sur les actes criminels"}, "title_to_code": {}},
        "subject": {"code_to_title": {"10": "Gouvernement"}, "title_to_code": {}},
    },
}
NOTES: dict[str, Any] = {
    "10100001": [
        {"footnoteId": 1, "footnotesEn": "Source: Finance.", "footnotesFr": "Source\u00a0: Finances."},
        {
            "footnoteId": 2,
            "footnotesEn": 'See <A HREF="x">R&amp;D</A> (p < 0.05).',
            "footnotesFr": "Voir <i>R&amp;D</i>.",
        },
        {
            "footnoteId": 3,
            "footnotesEn": "&amp;lt;b&amp;gt;Twice&amp;lt;/b&amp;gt; escaped",
            "footnotesFr": "Deux fois",
        },
    ],
    "10100002": [
        {"footnoteId": 1, "footnotesEn": "Source: Finance.", "footnotesFr": "Source\u00a0: Finances."},
        {"footnoteId": 2, "footnotesEn": "Source: Finance.", "footnotesFr": "Source : ministère des Finances."},
        {"footnoteId": 3, "footnotesEn": "No French yet.", "footnotesFr": "  "},
    ],
}

Install = Callable[..., Path]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Puts a tiny distribution of the same layout on the path, as `pip install --no-deps --target` does."""

    def make(**files: Any) -> Path:
        package = tmp_path / "site" / "statcan_dialogue_dataset"
        (package / "_data").mkdir(parents=True)
        (package / "__init__.py").write_text("raise RuntimeError('must not be imported')\n")
        info = tmp_path / "site" / "statcan_dialogue_dataset-0.2.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: statcan-dialogue-dataset\nVersion: 0.2.0\n")
        content = {"basic_info": TABLES, "code_sets_map": CODES, "footnotes": NOTES} | files
        for name, value in content.items():
            text = value if isinstance(value, str) else json.dumps(value)
            (package / "_data" / f"{name}.json").write_text(text, encoding="utf-8")
        monkeypatch.syspath_prepend(str(tmp_path / "site"))
        return package / "_data"

    return make


@pytest.fixture
def absent(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a machine where nobody installed it."""
    monkeypatch.setattr(statcan, "PACKAGE", "statcan_dialogue_dataset_that_nobody_has")


def parts(corpus: Any) -> dict[str, list[tuple[str, str]]]:
    """All three as plain pairs."""
    held = {"valid": corpus.valid, "test": corpus.test}
    flat = {name: [(s, t) for s, targets in part for t in targets] for name, part in held.items()}
    return {"train": corpus.train, **flat}


def pairs_of(corpus: Any) -> set[tuple[str, str]]:
    return {pair for part in parts(corpus).values() for pair in part}


# The cards


def test_every_card_says_what_one_must_know() -> None:
    assert set(CORPORA) == {*PHRASEBOOKS, "statcan"}
    assert {CORPORA[name].languages for name in PHRASEBOOKS} == set(PHRASEBOOKS.values())
    for name, card in CORPORA.items():
        assert card.name == name
        assert all(len(code) == 2 for code in card.languages)
        assert min(len(text) for text in (card.licence, card.about, card.get)) > 10
        assert card.train_command == f"glassformer train --corpus {name} --out runs/{name}"


def test_a_wrong_name_is_reported_with_the_right_ones() -> None:
    with pytest.raises(DataError, match=r"no corpus 'Statkan'. Available: phrasebook, .* Did you mean statcan\?"):
        corpus_pairs("Statkan")
    with pytest.raises(DataError, match=r"no corpus 'wmt14'\. Available: phrasebook, .*, statcan\.$"):
        corpus_card("wmt14")


def test_the_phrasebook_is_always_here_with_all_its_references(monkeypatch: pytest.MonkeyPatch) -> None:
    assert CORPORA["phrasebook"].is_here()
    smaller = partial(phrasebook, valid=20, test=30)  # the whole of it takes its time
    monkeypatch.setattr("glassformer.data.phrasebook.phrasebook", smaller)
    told: list[tuple[int, int]] = []
    corpus = corpus_pairs("phrasebook", size=5000, progress=lambda done, total: told.append((done, total)))
    assert (len(corpus.train), len(corpus.valid), len(corpus.test)) == (5000, 20, 30)
    assert any(len(references) > 1 for _, references in corpus.test)
    assert told


def test_the_phrasebook_of_two_languages_has_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    assert phrasebook_name("en", "de") == "phrasebook"  # its name before there were others
    assert phrasebook_name("hi", "en") == "phrasebook-hi-en"
    with pytest.raises(DataError, match=r"no phrasebook it-de\. Available .*: en-de, en-it, en-hi, de-en, it"):
        phrasebook_name("it", "de")
    small = partial(phrasebook, valid=0, test=0)
    monkeypatch.setattr("glassformer.data.phrasebook.phrasebook", small)
    there = corpus_pairs("phrasebook-en-it", size=100).train
    assert there[0] == ("I ate an apple.", "Ho mangiato una mela.")
    assert corpus_pairs("phrasebook-it-en", size=100).train[0] == there[0][::-1]


# The package


@pytest.mark.usefixtures("absent")
def test_a_package_that_is_not_installed_is_reported_with_the_command() -> None:
    assert not CORPORA["statcan"].is_here()
    with pytest.raises(DataError) as told:
        corpus_pairs("statcan")
    assert COMMAND in str(told.value)
    assert CORPORA["statcan"].get == COMMAND


def test_a_folder_of_that_name_without_data_is_not_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "statcan_dialogue_dataset").mkdir()
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    assert not CORPORA["statcan"].is_here()


def test_its_files_are_read_and_it_is_never_imported(install: Install) -> None:
    place = install()
    assert version("statcan-dialogue-dataset") == "0.2.0"
    assert CORPORA["statcan"].is_here()
    assert statcan.folder() == place
    assert pairs_of(corpus_pairs("statcan")) == {
        ("Central government debt", "Dette du gouvernement central"),
        ("Farm cash receipts", "Recettes monétaires agricoles"),
        ("Crime Survey", "Enquête sur les actes criminels"),
        ("Government", "Gouvernement"),
        ("Source: Finance.", "Source\u00a0: Finances."),
        ("Source: Finance.", "Source : ministère des Finances."),
        ("See R&D (p < 0.05).", "Voir R&D."),
        ("Twice escaped", "Deux fois"),
    }
    assert "statcan_dialogue_dataset" not in sys.modules


def test_what_is_left_out_is_counted(install: Install) -> None:
    install()
    corpus = corpus_pairs("statcan")
    assert corpus.dropped == {"blank on one side": 1, "the same on both sides": 1, "repeated": 1}
    units = len(list(statcan.sentence_units()))
    assert units == len(pairs_of(corpus)) + sum(corpus.dropped.values())


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"footnotes": '{"10100001": [{"footnotesEn": "Sou'}, "footnotes.json is not complete JSON"),
        (
            {"basic_info": {"1": {"title": "x"}}},
            "not laid out as in version 0.2.0 of the package (KeyError: 'title_en')",
        ),
        ({"basic_info": [1, 2]}, "not laid out as in version 0.2.0"),
        ({"basic_info": {"1": {"title_en": None, "title_fr": "x"}}}, "not laid out as in version 0.2.0"),
        ({"code_sets_map": {"en": CODES["en"], "fr": {"survey": {"code_to_title": {}}}}}, "(KeyError: '7')"),
    ],
)
def test_a_damaged_package_is_reported_with_its_file(install: Install, files: dict[str, Any], told: str) -> None:
    place = install(**files)
    with pytest.raises(DataError) as error:
        corpus_pairs("statcan")
    assert told in str(error.value)
    assert str(place) in str(error.value)
    assert COMMAND in str(error.value)
    assert "\n" not in str(error.value)


def test_a_missing_file_is_reported(install: Install) -> None:
    (install() / "footnotes.json").unlink()
    with pytest.raises(
        DataError, match=r"footnotes.json cannot be read: No such file or directory\. Install the package"
    ):
        corpus_pairs("statcan")


# The parts


def many(count: int) -> list[tuple[str, str]]:
    """Sentences that differ in their letters."""
    names = ["".join("abcdefghij"[int(digit)] for digit in str(i)) for i in range(count)]
    return [(f"This table shows {name}.", f"Ce tableau montre {name}.") for name in names]


def test_the_parts_are_of_the_promised_size_and_share_nothing() -> None:
    corpus = split(many(20_000))
    assert 900 < len(corpus.test) < 1100
    assert 340 < len(corpus.valid) < 460
    assert len(corpus.train) == 20_000 - len(corpus.test) - len(corpus.valid)
    seen = [{source for source, _ in part} for part in parts(corpus).values()]
    assert sum(map(len, seen)) == len(set.union(*seen))


def test_a_sentence_keeps_its_part_whatever_is_around_it() -> None:
    units = many(3000)
    whole, alone = parts(split(units)), parts(split(units[::-7]))
    for name, part in alone.items():
        assert set(part) <= set(whole[name])


def test_the_split_never_changes() -> None:
    """Scores on the test part are only comparable while it is the same."""
    corpus = split(many(200))
    valid, test = ([source.split()[-1].rstrip(".") for source, _ in part] for part in (corpus.valid, corpus.test))
    assert valid == ["ba", "df", "bcg", "beh", "bei"]
    assert test == ["dg", "hb", "jc", "ji", "bad", "bbg", "bbj", "bcf", "bec", "bij"]


def test_sentences_that_differ_only_in_numbers_or_signs_fall_to_one_part() -> None:
    for name in ("wheat", "barley", "oats", "rye", "lentils", "peas", "canola", "flax", "mustard", "corn") * 4:
        variants = [f"Table {i} shows {name}, 20{i:02}." for i in range(30)] + [f"TABLE shows  {name}"]
        corpus = split([(text, f"fr {text}") for text in variants])
        assert sorted(len(part) for part in parts(corpus).values()) == [0, 0, 31]


def test_a_held_out_sentence_comes_once_with_all_its_translations() -> None:
    units = [(source, f"{target} {way}") for source, target in many(300) for way in ("a", "b")]
    corpus = split([*units, *units])
    assert corpus.dropped == {"repeated": 600}
    assert corpus.test
    for _, references in [*corpus.valid, *corpus.test]:
        assert len(references) == 2
    assert len({source for source, _ in corpus.train}) * 2 == len(corpus.train)


# The real one, where it is installed


def test_the_real_package_has_the_promised_number_of_pairs() -> None:
    if statcan.folder() is None:
        pytest.skip(f"the corpus statcan is not installed here ({COMMAND})")
    corpus = corpus_pairs("statcan")
    counts = {name: len(part) for name, part in parts(corpus).items()}
    assert sum(counts.values()) == len(pairs_of(corpus)) == CORPORA["statcan"].pairs
    assert counts == {"train": 22_158, "valid": 487, "test": 1_074}
    assert (len(corpus.valid), len(corpus.test)) == (472, 1_021)
    assert corpus.dropped == {"the same on both sides": 30, "repeated": 61_243}
    assert ("Central government debt", "Dette du gouvernement central") in pairs_of(corpus)
    assert not any("\n" in text or "\t" in text or "</" in text for pair in pairs_of(corpus) for text in pair)
