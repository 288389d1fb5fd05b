"""docs/claims.md is what its recorded results say, and these were measured with the settings of the code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from glassformer.tasks.experiments.claims.bench import shared_settings
from glassformer.tasks.experiments.claims.claim import VERDICTS, Claim
from glassformer.tasks.experiments.claims.pages import claims_markdown, table
from glassformer.tasks.experiments.claims.registry import CLAIMS

DOCS = Path(__file__).resolve().parents[2] / "docs"
RESULTS = json.loads((DOCS / "claims.json").read_text(encoding="utf-8"))
STALE = "run `make claims`"
NOT_YET: set[str] = set()  # claims without a recorded result, for a time. Only take names out.
RECORDED = [claim for claim in CLAIMS if claim.key not in NOT_YET]


def test_the_page_is_what_the_results_say() -> None:
    assert (DOCS / "claims.md").read_text(encoding="utf-8") == claims_markdown(RESULTS), STALE


def test_every_claim_has_a_result_and_every_result_a_claim() -> None:
    assert list(RESULTS["claims"]) == [claim.key for claim in RECORDED], STALE


def test_all_were_measured_with_the_shared_settings() -> None:
    assert RESULTS["settings"] == json.loads(json.dumps(shared_settings())), STALE


@pytest.mark.parametrize("key", ["far-words", "sequential", "gradients"])
def test_the_tables_of_ancestors_are_the_recorded_ones(key: str) -> None:
    found = RESULTS["claims"].get(key)
    assert (found is None) == (key in NOT_YET)
    page = (DOCS / "ancestors.md").read_text(encoding="utf-8")
    assert found is None or table(found["head"], found["rows"]) in page, "the page has other tables than claims.json"


@pytest.mark.parametrize("claim", RECORDED, ids=[claim.key for claim in RECORDED])
def test_a_result_is_of_the_claim_in_the_code(claim: Claim) -> None:
    found = RESULTS["claims"][claim.key]
    assert found["settings"] == json.loads(json.dumps(dict(claim.settings))), STALE
    assert (found["says"], found["how"]) == (claim.says, claim.how), STALE
    assert found["verdict"] in VERDICTS
    assert all(len(row) == len(found["head"]) for row in found["rows"])
    assert found["values"]
