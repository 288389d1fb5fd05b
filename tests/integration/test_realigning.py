"""Files that go out of step are realigned, and every line is accounted for."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from glassformer.data.phrasebook import phrasebook


@pytest.fixture(scope="module")
def pairs() -> list[tuple[str, str]]:
    phrases = phrasebook(train=2000, valid=0, test=0).train
    return [(f"{phrase.source}", f"{phrase.references[0]}") for phrase in phrases]


def write(folder: Path, sources: list[str], targets: list[str]) -> list[Path]:
    paths = [folder / "a.en", folder / "a.de"]
    for path, lines in zip(paths, (sources, targets), strict=True):
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return paths


@pytest.mark.parametrize("equal", [True, False], ids=["as many lines", "fewer lines"])
def test_lines_are_realigned_after_a_slip(
    tmp_path: Path, command: Callable[..., Any], pairs: list[tuple[str, str]], equal: bool
) -> None:
    sources, targets = [source for source, _ in pairs], [target for _, target in pairs]
    del targets[600]
    if equal:
        del sources[1400]
    paths = write(tmp_path, sources, targets)
    out = tmp_path / "out" / "b"
    outcome = command("clean", *paths, "--out", out, "--realign", "--filters", "none", "--json")
    assert outcome.code == 0, outcome
    found = json.loads(outcome.out)
    kept = list(
        zip(
            *(out.with_name(f"b.{side}").read_text(encoding="utf-8").splitlines() for side in ("en", "de")), strict=True
        )
    )
    dropped = [json.loads(line) for line in out.with_name("b.dropped.jsonl").read_text().splitlines()]
    assert found["used"] == len(kept) >= 1960
    assert set(kept) <= set(pairs)
    assert {one["reason"] for one in dropped} == {"no partner"}
    texts = [text for one in dropped for text in (one["source"], one["target"]) if text]
    assert sorted([text for pair in kept for text in pair] + texts) == sorted(sources + targets)


def test_files_in_step_stay_as_they_are(
    tmp_path: Path, command: Callable[..., Any], pairs: list[tuple[str, str]]
) -> None:
    paths = write(tmp_path, *map(list, zip(*pairs, strict=True)))
    out = tmp_path / "b"
    outcome = command("clean", *paths, "--out", out, "--realign", "--filters", "none")
    assert outcome.code == 0
    assert [out.with_name(f"b.{side}").read_bytes() for side in ("en", "de")] == [path.read_bytes() for path in paths]


def test_clean_warns_and_train_refuses_a_slip_that_no_count_shows(
    tmp_path: Path, command: Callable[..., Any], pairs: list[tuple[str, str]]
) -> None:
    sources, targets = [source for source, _ in pairs], [target for _, target in pairs]
    del targets[300], sources[1500]
    paths = write(tmp_path, sources, targets)
    outcome = command("clean", *paths, "--out", tmp_path / "b", "--filters", "none")
    assert "Warning" in outcome.out + outcome.err
    assert "--realign" in outcome.out + outcome.err
    small = ["--set", "model.size=nano", "--set", "train.steps=1", "--set", "train.valid_sentences=2"]
    trained = command("train", "--source", paths[0], "--target", paths[1], "--forecast", *small)
    assert trained.code == 2
    assert "out of step" in trained.err
    assert "clean --realign" in trained.err
