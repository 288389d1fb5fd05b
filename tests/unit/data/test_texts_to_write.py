"""Inputs and outputs: files of one task and of several, what is left out, and how an epoch mixes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from glassformer.config import to_toml, validate
from glassformer.data.prompt_pairs import mixed_index, takes_of
from glassformer.data.sources.written import (
    Written,
    examine_written,
    read_held_files,
    read_written_examples,
)
from glassformer.data.written_settings import WrittenDataSettings, by_prefix
from glassformer.errors import DataError
from glassformer.tasks.text_to_text import RewriteRecipe
from glassformer.toml_text import tomllib


class Quiet:
    def __init__(self) -> None:
        self.stages: list[str] = []

    def on_stage(self, text: str) -> None:
        self.stages.append(text)

    def on_count(self, done: int, total: int) -> None:
        pass


def write(path: Path, rows: list[Any]) -> str:
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return str(path)


def numbered(path: Path, count: int, word: str = "n") -> str:
    return write(path, [f"{word} {i}\t{i}" for i in range(count)])


def read(seed: int = 1, **data: Any) -> Any:
    return read_written_examples(WrittenDataSettings(**data), seed=seed, listener=Quiet())


def test_lists_are_sentences_and_references(tmp_path: Path) -> None:
    rows = [
        {"source": ["One.", "Two  is\nlong."], "target": ["A", "B"], "title": "x"},
        {"source": "three", "target": "C"},
        {"source": "four", "target": []},
        {"source": "  ", "target": "D"},
        "not json",
    ]
    found = read(files=[write(tmp_path / "a.jsonl", rows + 300 * [{"source": "many", "target": "M"}])], valid=["50%"])
    both = [*found.valid, *found.train()]
    assert {one for one in both if one.references[0] in "AB"} in (
        {Written("", "One.\nTwo is long.", ("A", "B"))},
        {Written("", "One.\nTwo is long.", ("A",)), Written("", "One.\nTwo is long.", ("B",))},
    )
    dropped = found.facts["findings"].dropped
    assert dict(dropped) == {"json": 2, "blank": 1}


@pytest.mark.parametrize(
    ("name", "rows", "columns"),
    [
        ("a.tsv", ["input\toutput", "x\ty", "u\tv"], None),
        ("a.csv", ["id,summary,document", '1,y,"x"', "2,v,u"], None),
        ("a.tsv", ["x\ty", "u\tv"], None),
        ("a.tsv", ["y\tx\t1", "v\tu\t2"], ("2", "1")),
        ("a.jsonl", [{"q": "x", "a": "y"}, {"q": "u", "a": "v"}], ("q", "a")),
    ],
)
def test_which_columns(name: str, rows: list[Any], columns: tuple[str, ...] | None, tmp_path: Path) -> None:
    data = WrittenDataSettings(columns=columns, names=("",))
    found = read_held_files([write(tmp_path / name, rows)], data, Quiet())
    assert found == [Written("", "x", ("y",)), Written("", "u", ("v",))]


def test_unclear_columns_are_an_error(tmp_path: Path) -> None:
    file = write(tmp_path / "a.jsonl", [{"q": "x", "a": "y"}])
    with pytest.raises(DataError, match=r"not clear which keys.*'q', 'a'.*--columns source,target"):
        read(files=[file])


def test_several_tasks_by_prefix_column_or_table(tmp_path: Path) -> None:
    one, other = numbered(tmp_path / "a.tsv", 20), numbered(tmp_path / "b.tsv", 30, "m")
    by_name = read(files=[f"say={one}", f"count it={other}"], valid=["10%"])
    table = read(tasks={"say": {"files": one}, "count it": {"files": other}}, valid=["10%"])
    assert by_name.valid == table.valid
    assert [example.task for example in by_name.valid] == ["say", "count it", "say", "count it", "count it"]
    rows = [f"n {i}\t{i}\t{('say', 'count it')[i % 2]}" for i in range(40)]
    in_rows = read(files=[write(tmp_path / "c.tsv", rows)], columns=("1", "2", "3"), valid=["10%"])
    assert list(in_rows.facts["tasks"]) == ["say", "count it"]


def test_what_is_held_out_is_not_learned(tmp_path: Path) -> None:
    valid = write(tmp_path / "v.tsv", ["n 3\t3", "other\tx"])
    found = read(files=[numbered(tmp_path / "a.tsv", 20)], valid=[valid])
    assert "n 3" not in {one.source for one in found.train()}
    assert found.count == 19


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (["say=a.tsv", "b.tsv"], r"b\.tsv has no task, but others have \('say'\)"),
        ([], "No file was given"),
    ],
)
def test_mixed_or_missing_files(files: list[str], message: str, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    numbered(tmp_path / "a.tsv", 3)
    numbered(tmp_path / "b.tsv", 3)
    with pytest.raises(DataError, match=message):
        read(files=files)


def test_a_file_with_an_equals_sign_is_a_file(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    numbered(tmp_path / "lr=3.tsv", 3)
    assert by_prefix(["lr=3.tsv"]) == {"": ("lr=3.tsv",)}


def test_a_table_of_tasks_survives_the_recipe() -> None:
    tree = {"data": {"tasks": {"say it": {"files": ["a.tsv"], "weight": 2.5, "columns": "x,y"}}}}
    recipe = validate(RewriteRecipe, tree)
    assert validate(RewriteRecipe, tomllib.loads(to_toml(recipe))) == recipe


def test_doctor_counts_duplicates_copies_and_leaks(tmp_path: Path) -> None:
    rows = [*(f"n {i}\t{i}" for i in range(8)), "n 1\t1", "n 2\t7", "same\tsame", "short\tmuch longer than it"]
    held = write(tmp_path / "v.tsv", ["N 4!\t4"])
    found = examine_written([write(tmp_path / "a.tsv", rows)], held={"valid": [held]}, listener=Quiet())
    counts = {kind: one.count for kind, one in found.notes.items()}
    assert counts == {"duplicate": 1, "another output": 1, "copy": 1, "longer": 1}
    assert dict(found.dropped) == {"overlap": 1}
    assert found.held[0].in_train == 1


# Mixing


def test_shares_are_proportional_up_to_a_cap() -> None:
    assert takes_of([100, 300], [1, 1], cap=1000, temperature=1) == (1.0, 1.0)
    assert takes_of([100, 300], [1, 1], cap=200, temperature=1) == (1.0, pytest.approx(2 / 3))


def test_temperature_makes_small_tasks_more_frequent() -> None:
    small, large = takes_of([100, 10_000], [1, 1], cap=10**6, temperature=2)
    assert small * 100 / (large * 10_000) == pytest.approx(0.1)  # sqrt(100 / 10,000)
    assert small * 100 + large * 10_000 == pytest.approx(10_100, rel=1e-3)
    assert takes_of([50, 50], [3, 1], cap=100, temperature=1) == (1.5, 0.5)


def test_an_epoch_uses_all_before_one_again() -> None:
    tasks = np.array([0, 1] * 10 + [1] * 10)
    index = mixed_index(tasks, (2.5, 0.25), np.random.default_rng(1))
    uses = np.bincount(index, minlength=30)
    assert uses[tasks == 0].tolist().count(2) == uses[tasks == 0].tolist().count(3) == 5
    assert uses[tasks == 1].sum() == 5
    assert uses[tasks == 1].max() == 1
    again = mixed_index(tasks, (2.5, 0.25), np.random.default_rng(1))
    assert index.tolist() == again.tolist()
