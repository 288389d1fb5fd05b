"""`glassformer train` itself, paused and resumed through a wire (see wire.py).

All of `train_translator` runs, and a watcher pauses it between two updates until its next turn. So the real loop is
timed, not a copy of it. A Marian model may train in the same process, on the same batches and with
the same allocator, while ours waits.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from glassformer.config import apply_assignments
from glassformer.tasks.training import train_translator
from glassformer.training.watching import Silent
from peers.products import Recorder, replay
from peers.wire import Turn, Wire, forget_peak, memory, take_turn

FAR = 10**9  # updates that are never reached, so that nothing is validated in between


class Held(Silent):
    """Lets the run continue for a turn, then pauses it and waits for the next command."""

    def __init__(self, wire: Wire) -> None:
        self.wire, self.turn, self.seen = wire, Turn(), 0
        self.recorder: Recorder | None = None
        self.peer: Any = None

    def on_plan(self, *_: Any, parameters: int = 0, **__: Any) -> None:
        self.wire.answer(parameters=parameters, memory_at_start=self.wire.told["memory_at_start"])
        self.wait()

    def on_step(self, progress: Any, report: Any, seconds: float) -> None:  # noqa: ARG002
        self.turn.count(tokens=progress.tokens - self.seen, targets=report.weight, loss=report.loss)
        self.seen = progress.tokens
        if self.recorder is not None and self.recorder.listening:
            self.recorder.end_step(self.turn.tokens)
        if self.turn.over:
            self.finish_turn()
            self.wait()

    def finish_turn(self) -> None:
        result = self.turn.result()
        if self.recorder is not None and self.recorder.listening:
            self.recorder.__exit__(None, None, None)
            result |= {"products": len(self.recorder.calls), "unknown": sorted(self.recorder.unknown)}
        self.wire.answer(**result)

    def wait(self) -> None:
        """Answers what it can while the run waits; returns when the run may continue."""
        others: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
            "memory": lambda _: memory(),
            "forget peak": lambda _: forget_peak(),
            "products": self.time_products,
            "marian": self.marian_turn,
        }
        for command in self.wire.commands():
            if command["do"] in ("train", "record"):
                if command["do"] == "record":
                    self.recorder = Recorder()
                    self.recorder.__enter__()
                self.turn = Turn(seconds=command.get("seconds", 0.0), steps=command.get("steps", 1))
                return
            self.wire.answer(**others[command["do"]](command))
        sys.exit()

    def time_products(self, _: dict[str, Any]) -> dict[str, Any]:
        """The products of the recorded steps, alone."""
        assert self.recorder is not None
        return replay(self.recorder)

    def marian_turn(self, command: dict[str, Any]) -> dict[str, Any]:
        if self.peer is None:
            from peers.marian import make_loop  # here, so that ours alone does not load it

            self.peer = make_loop({**self.wire.told, **command})
        return take_turn(command, self.peer.step)


def recipe(told: dict[str, Any]) -> dict[str, Any]:
    """The settings of the benchmark as a recipe; what it does not name is as users have it."""
    train = {
        "steps": FAR,
        "valid_every": FAR,
        "optimiser": "adamw",
        "schedule": "inverse-sqrt",
        "label_smoothing": 0.1,
        **{name: told[name] for name in ("lr", "warmup", "batch_tokens", "threads")},
    }
    tree = {
        "data": {"source": told["source"], "target": told["target"], "valid": told["valid"]},
        "text": {"kind": "bpe", "vocab_size": told["vocab_size"], "shared": True},
        "model": {"size": told["size"], "dropout": told["dropout"]},
        "train": train,
    }
    return apply_assignments(tree, told["assignments"])


def main() -> None:
    wire = Wire()
    wire.told["memory_at_start"] = memory()["now"]
    train_translator(recipe(wire.told), wire.told["out"], watcher=Held(wire))


if __name__ == "__main__":
    main()
