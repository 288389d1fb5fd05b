"""What the page's engine is tested against: toy models with their programs, weights and every value, as JSON.

`python tests/glass_fixtures.py` writes the files again; a test compares them with the code.
-inf, which JSON has not, is written as null. Numbers of weights are those of float32.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch

from glassformer.explain.lessons import compute, mixing, norm
from glassformer.explain.ops import ops_to_dict
from glassformer.explain.program import Patch
from glassformer.explain.programs import program_of
from glassformer.explain.programs.recorded import inputs_of, weights_of
from glassformer.nn.positions import sinusoidal
from toy_programs import TOYS

FOLDER = Path(__file__).parents[1] / "glass" / "test" / "fixtures"
DIGITS = 7
CHOSEN = (  # together they have every operation
    "transformer",
    "bert",
    "bert-class",
    "bert-mean",
    "gpt",
    "llama",
    "llama-experts",
    "t5",
    "vit",
    "captioner",
    "lstm",
    "bilstm-attention",
    "bilstm-ends",
    "rnn-attention",
)
PATCHES: dict[str, list[dict[str, Any]]] = {
    "transformer": [
        {"step": "decoder.blocks.0.cross_attention.out.z", "how": "zero", "head": 1},
        {"step": "encoder.blocks.0.self_attention.out.z", "how": "mean", "head": 0},
        {"step": "decoder.blocks.0.feed_forward.post", "how": "set", "row": 1, "column": 4, "value": 0.5},
        {"step": "decoder.blocks.0.cross_attention.core.masked", "how": "hide", "column": 2},
    ],
}


def fixture(name: str) -> dict[str, Any]:
    """Everything about one toy model."""
    toy = TOYS[name]
    model = toy.model()
    program = program_of(model)
    inputs, weights = inputs_of(program, toy.batch), weights_of(program, model)
    (output,) = program.outputs.values()
    cases = []
    for patch in PATCHES.get(name, []):
        values = program.run(inputs, weights, [Patch(**patch)])
        cases.append({"patches": [patch], "values": {output: tensor(values[output])}})
    return {
        "name": name,
        "program": json.loads(json.dumps(program.to_dict())),
        "inputs": {sequence: tensor(value) for sequence, value in inputs.items()},
        "weights": {weight: tensor(np.float32(value)) for weight, value in weights.items()},
        "values": {step: tensor(value) for step, value in program.run(inputs, weights).items()},
        "patched": cases,
    }


LESSONS: dict[str, dict[str, Any]] = {  # with what is chosen: narrow vectors, so that the file is small
    "mixing": {},
    "cat": {"width": 32},
    "mask": {},
    "scaling": {"width": 16},
    "norm": {},
    "positions": {},
    "waves": {"width": 6},
}


def lesson(name: str, given: dict[str, Any]) -> dict[str, Any]:
    """What the page of a lesson gets, and results for other settings of its controls."""
    lab = compute(name, given).lab()
    assert lab is not None
    found = {"kind": lab.kind, "settings": lab.settings, "turned": turned(name)}
    for part in ("arrays", "right"):
        found[part] = {key: tensor(value.double().numpy()) for key, value in getattr(lab, part).items()}
    return found


def turned(name: str) -> dict[str, Any]:
    """Results where a control is not where it begins."""
    if name == "mixing":
        e = torch.stack([mixing.chosen_vectors()[word] for word in mixing.SENTENCES[1]])
        return {"weights at 2.5": tensor((2.5 * e @ e.mT).softmax(-1).numpy())}
    if name == "norm":
        changed = norm.padded(2)
        changed[4, 0] += 10
        both = {"batch": norm.batch_norm(changed), "layer": norm.layer_norm(changed)}
        return {kind: tensor(value[:5].numpy()) for kind, value in both.items()}
    if name == "positions":
        return {"table at base 100": tensor(sinusoidal(40, 10, base=100.0).numpy())}
    return {}


def tensor(value: Any) -> dict[str, Any]:
    return {"shape": list(value.shape), "data": [number(one) for one in value.ravel()]}


def number(value: Any) -> float | int | None:
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, np.float32):
        return float(str(value))
    return None if np.isneginf(value) else float(f"{value:.{DIGITS}g}")


def everything() -> dict[str, dict[str, Any]]:
    """The content of each file."""
    with torch.no_grad():
        kinds = {name: fixture(name) for name in CHOSEN}
        return {
            "ops": ops_to_dict(),
            "lessons": {name: lesson(name, given) for name, given in LESSONS.items()},
            **kinds,
        }


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, content in everything().items():
        (FOLDER / f"{name}.json").write_text(json.dumps(content, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
