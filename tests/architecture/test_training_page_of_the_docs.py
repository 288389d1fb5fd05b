"""docs/training.md names every field that a run records."""

from __future__ import annotations

import json
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs" / "training.md").read_text(encoding="utf-8")


def test_every_field_of_the_metrics_is_told(trained: Path) -> None:
    records = [json.loads(line) for line in (trained / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    fields = {field for record in records for field in record}
    assert sorted(field for field in fields if f"`{field}`" not in PAGE) == []
    assert {"train_loss", "valid_samples", "measured"} <= fields
