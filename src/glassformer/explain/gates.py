"""What recurrent layers did with each token: how open their gates were, and how long their states are.

Read from the taps of `nn/recurrent.py` by their names; a layer that reads backwards is shown in the order of the text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor

LAYER = re.compile(r"(?:(?P<stack>\w+)\.)?blocks\.(?P<block>\d+)(?:\.(?P<part>\w+))?\.(?P<tap>\w+)")
GATES = {"input_gate": "input", "forget_gate": "forget", "output_gate": "output"}
GATES |= {"reset_gate": "reset", "update_gate": "update"}
STATES = {"cell": "|c|", "hidden": "|h|"}


@dataclass(frozen=True)
class Gates:
    """One recurrent layer: for each token the mean of every gate (0 shut, 1 open) and the lengths of its states."""

    stack: str
    block: int
    part: str  # forwards or backwards, if a layer has both; gru inside attention
    columns: Mapping[str, tuple[float, ...]]


def gates(values: Mapping[str, Tensor]) -> list[Gates]:
    """Every recurrent layer, in the order of the pass."""
    found: dict[tuple[str, int, str], dict[str, tuple[float, ...]]] = {}
    for name, value in values.items():
        place = LAYER.fullmatch(name)
        if place is None or place["tap"] not in GATES | STATES:
            continue
        key = (place["stack"] or "", int(place["block"]), place["part"] or "")
        vectors = value[0].float()  # (T, H)
        each = vectors.mean(dim=-1) if place["tap"] in GATES else vectors.norm(dim=-1)
        numbers = each.tolist()[::-1] if place["part"] == "backwards" else each.tolist()
        found.setdefault(key, {})[(GATES | STATES)[place["tap"]]] = tuple(numbers)
    return [Gates(*key, columns) for key, columns in found.items()]
