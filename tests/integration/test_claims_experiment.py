"""The claims: each is measured by its experiment, with a verdict; results are kept, pages are made from them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from glassformer.tasks.experiments import pace
from glassformer.tasks.experiments.claims import bench, layers, recurrent, transformer
from glassformer.tasks.experiments.claims.claim import VERDICTS
from glassformer.tasks.experiments.claims.pages import claims_markdown
from glassformer.tasks.experiments.claims.registry import CLAIMS
from glassformer.tasks.experiments.small_language import small_texts

Command = Callable[..., Any]


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few texts, short ones for speeds."""

    def few(count: int, **options: Any) -> Any:
        return small_texts(min(count, 12), **options)

    monkeypatch.setattr(bench, "small_texts", few)
    monkeypatch.setattr(layers, "small_texts", few)
    monkeypatch.setattr(pace, "PASSES", 1)
    monkeypatch.setattr(recurrent, "TOKENS", (3, 8))
    monkeypatch.setattr(transformer, "WIDE", 32)


@pytest.mark.usefixtures("quick")
def test_claims_are_measured_and_kept(tmp_path: Path, command: Command) -> None:
    given = ["experiment", "claims", "--out", tmp_path, "--steps", 1, "--seeds", 1]
    first = command(*given, "beam", "layers", "--json")
    assert first.code == 0, first.err
    assert list(json.loads(first.out)["claims"]) == ["layers", "beam"]
    weights = tmp_path / "runs" / "short-sinusoidal-1" / "model.safetensors"
    before = weights.stat().st_mtime_ns
    second = command(*given, "sequential", "--write", tmp_path / "page.md")
    assert second.code == 0, second.err
    assert "operations in a row" in second.out
    results = json.loads((tmp_path / "page.json").read_text())
    assert list(results["claims"]) == ["layers", "beam", "sequential"]
    assert (tmp_path / "page.md").read_text() == claims_markdown(results)
    assert all(one["verdict"] in VERDICTS for one in results["claims"].values())
    assert weights.stat().st_mtime_ns == before
    assert "Greedy decoding is worse" in (tmp_path / "claims.html").read_text()
    other = command(*given[:-3], 2, "--seeds", 1, "beam")
    assert other.code == 2
    assert "--steps was 1, now 2" in other.err


@pytest.mark.long
@pytest.mark.usefixtures("quick")
def test_every_claim_can_be_measured(tmp_path: Path, command: Command) -> None:
    """One update of every model; a cheap test of some claims is above."""
    found = command("experiment", "claims", "--out", tmp_path, "--steps", 1, "--seeds", 1, "--json")
    assert found.code == 0, found.err
    assert list(json.loads(found.out)["claims"]) == [claim.key for claim in CLAIMS]


def test_an_unknown_claim_is_refused(tmp_path: Path, command: Command) -> None:
    refused = command("experiment", "claims", "beams", "--out", tmp_path / "out")
    assert refused.code == 2
    assert "'beams' is not a claim. Known: learned-positions, " in refused.err
    assert not (tmp_path / "out").exists()


def test_the_claims_are_listed(command: Command) -> None:
    listed = command("experiment", "claims", "--list").lines
    assert [line.split()[0] for line in listed] == [claim.key for claim in CLAIMS]
