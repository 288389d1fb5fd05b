"""Whatever is wrong with a model made by others, importing it succeeds or ends in an error for people.

GLASSFORMER_FUZZ_CASES and GLASSFORMER_FUZZ_SEED set what `make test-long` runs.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest
from import_fuzzer import GOOD, results
from import_worker import use

from import_seeds import SEEDS, write_seeds

SMOKE = 96


@pytest.fixture(scope="module")
def seeds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fuzz") / "seeds"
    write_seeds(folder)
    return folder


@pytest.mark.parametrize("name", SEEDS)
def test_a_whole_model_is_imported_and_used(name: str, seeds: Path, tmp_path: Path) -> None:
    use(seeds / name, tmp_path / "imported")


def run(seeds: Path, cases: int, seed: int) -> None:
    found = list(results(seeds, range(cases), seed=seed))
    wrong = [result for result in found if result["outcome"] not in GOOD]
    assert not wrong, f"{len(wrong)} of {cases}; the first: {wrong[0]}"
    counts = Counter(result["outcome"] for result in found)
    assert counts["imported"] > cases // 20, "the damage is not so great that nothing is left to use"
    assert counts["refused"] > cases // 4


def test_some_damaged_models(seeds: Path) -> None:
    run(seeds, SMOKE, seed=0)


@pytest.mark.long
def test_many_damaged_models(seeds: Path) -> None:
    cases, seed = (int(os.environ.get(f"GLASSFORMER_FUZZ_{name}", default)) for name, default in DEFAULTS.items())
    run(seeds, cases, seed)


DEFAULTS = {"CASES": "3000", "SEED": "1"}
