"""A tiny program with its weights, and a trace of it: what the tests of pages need, without a model."""

from __future__ import annotations

from typing import Any

import numpy as np

from glassformer.explain.explanation import Candidate, Prediction
from glassformer.explain.glass.trace import ReadBy, Side, Subject, Trace, Watched
from glassformer.explain.program import Program, Step

ROWS, WIDTH = 3, 5


def step(name: str, op: str, inputs: tuple[str, ...], *weights: str, tapped: bool = False, **settings: Any) -> Step:
    return Step(name, op, inputs, weights, ("text", "width"), ("text", WIDTH), settings, "inputs", tapped, "a.py:1")


PROGRAM = Program(
    "toy",
    {"text": "ids"},
    (
        step("token", "embed", ("text",), "table", tapped=True),
        step("up", "linear", ("token",), "W", "b"),
        step("bent", "activation", ("up",), kind="relu", tapped=True),
        step("out", "gain", ("bent",), "g", tapped=True),
    ),
    {"out": "out"},
    ("text",),
)


def weights(vocabulary: int = 7, seed: int = 0) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    shapes = {"table": (vocabulary, WIDTH), "W": (WIDTH, WIDTH), "b": (WIDTH,), "g": (WIDTH,)}
    return {name: random.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}


def subject(**changes: Any) -> Subject:
    reader = ReadBy('{"model": {}}', ("<s>", "a", "▁b"), before=(0,), probes=(("a b", (1, 2)),))
    given: dict[str, Any] = {
        "title": "toy",
        "kind": "toy",
        "settings": {"d": WIDTH},
        "program": PROGRAM,
        "weights": weights(),
        "task": {"verb": "generate", "head": "next"},
        "tokenizers": {"text": reader},
        "decoding": None,
        "provenance": {"glassformer": "0"},
    }
    return Subject(**{**given, **changes})


def trace(of: Subject, text: str = "a b", answer: str = "b") -> Trace:
    inputs = {"text": np.array([0, 1, 2][:ROWS])}
    computed = of.program.run(inputs, of.weights)
    values = {one.name: computed[one.name].astype(np.float32) for one in of.program.steps if one.tapped}
    return Trace(
        text=text,
        answer=answer,
        inputs=inputs,
        sides={"text": Side((text, "a", answer), (-1, 0, 1), ((-1, -1), (0, 1), (1, 3)))},
        values=values,
        predictions=[Prediction("1", (Candidate(answer, 2, 0.75),))],
    )


def watched(of: Subject, **changes: Any) -> Watched:
    return Watched.of(trace(of, **changes), of)
