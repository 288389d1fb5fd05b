"""Doctor on a corpus with planted defects: every one is found at its line, and nothing else is flagged."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest

from glassformer.data.checks import tally
from glassformer.data.checks.cleaning import clean
from glassformer.data.checks.doctor import examine
from glassformer.data.checks.filters import FILTERS
from glassformer.data.checks.findings import Findings
from glassformer.data.checks.oddities import ODDITIES
from glassformer.data.checks.tally import STOP
from glassformer.data.phrasebook import phrasebook
from glassformer.data.readers.inputs import gather

Pair = tuple[str, str]
Lines = dict[str, list[int]]  # kind of defect -> the lines where it is
RUSSIAN = "Это предложение написано по-русски."
EACH = 9


@pytest.fixture(scope="module")
def good() -> list[Pair]:
    """Clean pairs, all of at least four words on both sides."""
    pairs = [(phrase.source, phrase.references[0]) for phrase in phrasebook(train=4000, valid=0, test=0, seed=3).train]
    return [pair for pair in pairs if all(len(text.split()) > 3 for text in pair)][:3200]


def repeated(text: str, length: int) -> str:
    return " ".join([text] * (1 + length // len(text)))


def between_words(sign: str) -> Callable[[Pair, int], Pair]:
    """Puts a sign in place of the space behind a word of two letters or more, on one side or the other."""

    def plant(pair: Pair, turn: int) -> Pair:
        words = pair[turn % 2].split()
        at = next(i for i in range(len(words) - 1) if len(words[i].strip(",.")) > 1 and len(words[i + 1]) > 1)
        text = " ".join(words[: at + 1]) + sign + " ".join(words[at + 1 :])
        return (text, pair[1]) if turn % 2 == 0 else (pair[0], text)

    return plant


def mojibake(text: str) -> str:
    return f"{text} Schöner Spaß".encode().decode("cp1252", "ignore")


# How to spoil a pair, by what the spoilt one should be called. The number tells it how often it was asked.
DEFECTS: dict[str, Callable[[Pair, int], Pair]] = {
    "too-long": lambda pair, _: (repeated(pair[0], 1001), repeated(pair[1], 1001)),
    "control": between_words("\x07 "),
    "mojibake": lambda pair, turn: (pair[0], mojibake(pair[1])) if turn % 2 else (f"{pair[0]} \ufffd", pair[1]),
    "unbroken": lambda pair, turn: (pair[0] + " " + "xy" * 51, pair[1] + " " + "=" * (101 + turn)),
    "swapped": lambda pair, _: (pair[1], pair[0]),
    "script": lambda pair, turn: (pair[0], RUSSIAN) if turn % 2 else (f"{RUSSIAN} {turn}", pair[1]),
    "copied": lambda pair, turn: (pair[0], pair[0]) if turn % 2 else (pair[1], pair[1]),
    "ratio": lambda pair, _: (pair[0], repeated(pair[1], 6 * len(pair[0]) + 60)),
    "placeholders": lambda pair, turn: (f"{pair[0]} {('{name}', '%s', '<b>', '%(x)s')[turn % 4]}", pair[1]),
    "separator": between_words(" \u2028"),
    "no-break-space": between_words("\xa0"),
    "zero-width": between_words(" \u200b"),
    "direction-mark": between_words(" \u200f"),
    "soft-hyphen": between_words("\xad"),
    "html-entity": between_words(" &amp; "),
    "decomposed": lambda pair, _: (pair[0], unicodedata.normalize("NFD", f"{pair[1]} Schön")),
    "lone-mark": between_words(" \u0301 "),
    "private-use": between_words(" \ue000 "),
    "tab": between_words("\t"),
    "double-space": between_words("  "),
}
BYTES = {"encoding": b"caf\xe9", "nul": b"a\0b", "too big": b"x" * (1 << 20 | 1)}


def spoilt(good: list[Pair]) -> tuple[list[Pair], Lines]:
    """The good pairs, among them those with a defect that a text can have."""
    pairs = list(good)
    lines: Lines = {}
    for number, kind in enumerate([*DEFECTS, "duplicate", "near-duplicate", "overlap", "blank"]):
        for turn in range(EACH):
            at = 100 + turn * 300 + number * 11  # 0-based; no two defects meet
            lines.setdefault(kind, []).append(at + 1)
            pairs[at] = spoil(kind, good, at, turn)
    return pairs, lines


def spoil(kind: str, good: list[Pair], at: int, turn: int) -> Pair:
    if kind == "duplicate":
        return good[at - 3]
    if kind == "near-duplicate":
        return good[at - 3][0].upper(), good[at - 3][1].replace(" ", "  ").rstrip(".").replace("  ", " ") + " !"
    if kind == "blank":
        return (("", " "), ("x", "  "), ("\u2003", "y"))[turn % 3]
    return good[at] if kind == "overlap" else DEFECTS[kind](good[at], turn)


def found_lines(findings: Findings) -> Lines:
    return {one.kind: [example.problem.place.number for example in one.examples] for one in findings.ordered()}


@pytest.fixture(autouse=True)
def _every_example_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tally, "EXAMPLES", 1_000_000)


def write_aligned(folder: Path, pairs: list[Pair], *, name: str = "train") -> list[str]:
    paths = []
    for side, suffix in enumerate(("en", "de")):
        path = folder / f"{name}.{suffix}"
        path.write_bytes(b"".join(pair[side].encode() + b"\n" for pair in pairs))
        paths.append(str(path))
    return paths


def test_a_clean_corpus_is_reported_as_nothing(tmp_path: Path, good: list[Pair]) -> None:
    findings = examine(gather(write_aligned(tmp_path, good)))
    assert found_lines(findings) == {}
    assert findings.left == findings.used == findings.units == len(good)
    assert findings.languages == ("en", "de")


def test_every_planted_defect_is_found_at_its_line_and_nothing_else(tmp_path: Path, good: list[Pair]) -> None:
    pairs, planted = spoilt(good)
    source, target = write_aligned(tmp_path, pairs)
    planted.update(plant_bytes(Path(source), Path(target), first=51))
    planted["no partner"] = list(range(len(pairs) + 1, len(pairs) + 1 + EACH))
    with Path(target).open("ab") as file:
        file.write(b"Eine Zeile zu viel.\n" * EACH)
    valid = write_aligned(tmp_path, [held_out(pairs[line - 1]) for line in planted["overlap"]], name="val")
    findings = examine(gather([source, target]), valid=gather(valid))
    found = found_lines(findings)
    assert {kind: sorted(lines) for kind, lines in found.items()} == planted
    assert all(len(lines) >= 8 for lines in planted.values())
    assert set(planted) >= set(FILTERS) | set(ODDITIES)
    assert findings.units == len(pairs) + EACH == findings.used + findings.dropped.total()
    assert [one.kind for one in findings.stops] == ["no partner"]
    assert (findings.held[0].sources_in_train, findings.held[0].pairs_in_train) == (EACH, 0)


def held_out(pair: Pair) -> Pair:
    return pair[0].lower(), "Etwas anderes."


def plant_bytes(source: Path, target: Path, *, first: int) -> Lines:
    """Puts bytes that are no text into lines of both files."""
    sides = [path.read_bytes().split(b"\n") for path in (source, target)]
    lines: Lines = {}
    for number, (kind, content) in enumerate(BYTES.items()):
        for turn in range(EACH):
            at = first + turn * 300 + number * 5
            sides[turn % 2][at - 1] = content
            lines.setdefault(kind, []).append(at)
    for path, side in zip((source, target), sides, strict=True):
        path.write_bytes(b"\n".join(side))
    return lines


def test_places_lead_to_the_bytes(tmp_path: Path, good: list[Pair]) -> None:
    source, target = write_aligned(tmp_path, spoilt(good)[0])
    plant_bytes(Path(source), Path(target), first=51)
    content = {path: Path(path).read_bytes() for path in (source, target)}
    findings = examine(gather([source, target]))
    for example in findings.problems["encoding"].examples:
        place = example.problem.place
        assert content[place.file][place.byte] == 0xE9
        assert content[place.file][: place.byte].count(b"\n") == place.number - 1
    for one in findings.hits["control"].examples:
        place = one.problem.place
        assert content[place.file][: place.byte].count(b"\n") == place.number - 1
        assert content[place.file][place.byte - 1 : place.byte] == b"\n"


@pytest.mark.parametrize("kind", ["tsv", "jsonl"])
def test_the_same_defects_are_found_in_one_file(tmp_path: Path, good: list[Pair], kind: str) -> None:
    pairs, planted = spoilt(good)
    path = tmp_path / f"corpus.{kind}"
    if kind == "tsv":
        del planted["tab"]
        pairs = [(source.replace("\t", " "), target.replace("\t", " ")) for source, target in pairs]
        path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs))
    else:
        path.write_text("".join(json.dumps({"source": s, "target": t}) + "\n" for s, t in pairs))
    del planted["overlap"]
    found = found_lines(examine(gather([str(path)])))
    assert {name: sorted(lines) for name, lines in found.items()} == planted


def test_clean_drops_the_planted_lines_and_no_others(tmp_path: Path, good: list[Pair]) -> None:
    pairs, planted = spoilt(good)
    inputs = gather(write_aligned(tmp_path, pairs))
    findings = clean(inputs, tmp_path / "clean", filters=["all"])
    rows = [json.loads(line) for line in (tmp_path / "clean.dropped.jsonl").read_text().splitlines()]
    gone: Lines = {}
    for row in rows:
        gone.setdefault(row["reason"], []).append(row["number"])
    assert gone == {kind: planted[kind] for kind in [*FILTERS, "blank"] if kind != "overlap"}
    kept = set(range(1, len(pairs) + 1)) - {row["number"] for row in rows}
    texts = [(tmp_path / f"clean.{suffix}").read_bytes().decode().split("\n")[:-1] for suffix in ("en", "de")]
    assert list(zip(*texts, strict=True)) == [pairs[number - 1] for number in sorted(kept)]
    again = examine(gather([str(tmp_path / "clean.en"), str(tmp_path / "clean.de")]))
    assert set(found_lines(again)) == {"separator", *ODDITIES}
    assert findings.used == again.left == again.units


def test_an_extra_line_in_the_middle_is_reported_with_its_place(tmp_path: Path, good: list[Pair]) -> None:
    source, target = write_aligned(tmp_path, good)
    lines = Path(target).read_bytes().split(b"\n")
    Path(target).write_bytes(b"\n".join([*lines[:1700], b"Hier steht ein Satz zu viel.", *lines[1700:]]))
    findings = examine(gather([source, target]))
    assert [one.kind for one in findings.stops] == ["no partner", "slip"]
    (found,) = findings.found_slips
    assert found.slip.earliest <= 1701 <= found.slip.latest
    assert abs(found.slip.source_line - 1701) <= 10
    (example,) = findings.slips["slip"].examples
    place = example.problem.place
    assert place.number == found.slip.source_line
    assert Path(source).read_bytes()[: place.byte].count(b"\n") == place.number - 1


def test_wrong_bytes_in_more_than_one_line_of_a_hundred_are_a_reason_to_stop(tmp_path: Path, good: list[Pair]) -> None:
    path = tmp_path / "latin1.tsv"
    path.write_bytes("".join(f"{source}\t{target}\n" for source, target in good).encode("latin-1", "replace"))
    findings = examine(gather([str(path)]))
    (stop,) = findings.stops
    assert (stop.kind, stop.severity) == ("encoding", STOP)
    assert stop.count > 0.01 * findings.units
