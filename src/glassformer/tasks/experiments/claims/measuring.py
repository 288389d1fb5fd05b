"""Measures claims and keeps the results: one JSON file, from which the pages are made."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from glassformer.errors import SettingsError
from glassformer.store import files
from glassformer.tasks.experiments.claims.bench import SEEDS, STEPS, Bench, shared_settings
from glassformer.tasks.experiments.claims.claim import Claim, Finding
from glassformer.tasks.experiments.claims.pages import claims_markdown, claims_page
from glassformer.tasks.experiments.claims.registry import CLAIMS
from glassformer.tasks.experiments.started import check_same
from glassformer.training.task import Listener
from glassformer.training.watching import Silent

RESULTS, PAGE = "claims.json", "claims.html"
NUMBERS = re.compile(r"\[\n\s+([-+.\w]+(?:,\n\s+[-+.\w]+)*)\n\s+\]")
Results = dict[str, Any]


def measure_claims(
    names: Sequence[str] = (),
    *,
    out: str | Path,
    seeds: int = SEEDS,
    steps: int = STEPS,
    listener: Listener | None = None,
) -> Results:
    """Measures the named claims, or all. Runs that are finished, and results in the folder, are kept."""
    listener, folder = listener or Silent(), Path(out)
    chosen = chosen_claims(names)
    check_same(folder, {}, {"--steps": steps, "--seeds": seeds})
    bench = Bench(folder, seeds=seeds, steps=steps, listener=listener)
    results = read_results(folder / RESULTS) or {"settings": {**shared_settings(), "seeds": seeds, "steps": steps}}
    claims = dict(results.get("claims", {}))
    for claim in chosen:
        listener.on_stage(f"Claim: {claim.says}")
        claims[claim.key] = as_data(claim, claim.measure(bench))
        results["claims"] = {one.key: claims[one.key] for one in CLAIMS if one.key in claims}
        files.write_atomically(folder / RESULTS, as_json(results))
        files.write_atomically(folder / PAGE, claims_page(results).encode())
    return results


def write_markdown(results: Results, path: Path) -> None:
    """The page for the documentation, and its results beside it."""
    files.make_parents(path)
    files.write_atomically(path, claims_markdown(results).encode())
    files.write_atomically(path.with_suffix(".json"), as_json(results))


def chosen_claims(names: Sequence[str]) -> list[Claim]:
    known = {claim.key: claim for claim in CLAIMS}
    for name in names:
        if name not in known:
            raise SettingsError(f"{name!r} is not a claim. Known: {', '.join(known)}.")
    return [claim for claim in CLAIMS if claim.key in names or not names]


def as_data(claim: Claim, found: Finding) -> dict[str, Any]:
    return {
        "says": claim.says,
        "how": claim.how,
        "settings": dict(claim.settings),
        "verdict": found.verdict,
        "why": found.why,
        "head": list(found.head),
        "rows": [list(row) for row in found.rows],
        "values": dict(found.values),
        "lines": [{"title": one.title, "across": one.across, "lines": rounded(one.lines)} for one in found.lines],
    }


def rounded(lines: Mapping[str, Sequence[tuple[float, float]]]) -> dict[str, list[list[float]]]:
    return {name: [[x, round(y, 4)] for x, y in points] for name, points in lines.items()}


def as_json(results: Mapping[str, Any]) -> bytes:
    """Indented, with each list of numbers on one line."""
    text = json.dumps(results, indent=1, ensure_ascii=False)
    return (NUMBERS.sub(lambda found: f"[{' '.join(found[1].split())}]", text) + "\n").encode()


def read_results(path: Path) -> Results | None:
    return dict(files.read_json(path)) if path.exists() else None
