"""JoeyNMT trained by its own trainer until a time is over, and the translations of its best checkpoint.

This runs in JoeyNMT's environment: python -m peers.joey_quality '{...}' (see time_to_quality.py).
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import torch
from joeynmt.config import parse_global_args
from joeynmt.prediction import predict
from joeynmt.training import TrainManager

from peers.joey import configuration, make_trainer

NEVER = 10**9


class TimedTrainer(TrainManager):
    """JoeyNMT's trainer that ends in time for a last validation, and validates as often as configured."""

    def begin(self, told: dict[str, Any]) -> None:
        self.told, self.seconds, self.validations = told, 60 * told["minutes"], told["validations"]
        self.began, self.validation_seconds, self.validated = time.monotonic(), 0.0, 0

    @property
    def passed(self) -> float:
        return time.monotonic() - self.began

    def _train_step(self, batch: Any) -> tuple[float, int]:
        result = super()._train_step(batch)
        due = self.passed / self.seconds * (self.validations + 1) >= self.validated + 1
        # Its loop validates after updates that are a multiple of this: the coming one, or none.
        self.args = self.args._replace(validation_freq=self.stats.steps + 1 if due else NEVER)
        if self.told["decay"]:
            self.decay_by_clock()
        if self.passed + self.validation_seconds >= self.seconds:
            self.stats.is_max_update = True  # its own way to end after this update
        return result

    def decay_by_clock(self) -> None:
        """The rate of the coming update: a warm-up, and a line down to zero at the end of the time."""
        left = max(0.0, 1 - self.passed / self.seconds)
        for group in self.optimizer.param_groups:
            group["lr"] = self.told["lr"] * min(1.0, (self.stats.steps + 1) / self.told["warmup"]) * left

    def _validate(self, valid_data: Any) -> None:
        began = time.monotonic()
        super()._validate(valid_data)
        self.validated += 1
        self.validation_seconds = max(self.validation_seconds, time.monotonic() - began)


def train(told: dict[str, Any]) -> tuple[TimedTrainer, Any, float]:
    """The trainer at the end of the time, the part to translate, and the seconds it took."""
    torch.set_num_threads(told["threads"])
    trainer, train_data, dev, test = make_trainer(told, TimedTrainer)
    trainer.begin(told)
    trainer.train_and_validate(train_data=train_data, valid_data=dev)
    if trainer.stats.best_ckpt_iter != trainer.stats.steps:
        trainer._validate(dev)
    return trainer, test, trainer.passed


def translate(trainer: TimedTrainer, test: Any, told: dict[str, Any]) -> list[str]:
    """Lines of words, by its own beam search with its best checkpoint."""
    best = torch.load(Path(told["out"]) / "best.ckpt", map_location="cpu", weights_only=False)
    trainer.model.load_state_dict(best["model_state"])
    arguments = parse_global_args(configuration(told), mode="train")
    found = predict(
        model=trainer.model,
        data=test,
        device=arguments.device,
        n_gpu=0,
        compute_loss=False,
        args=arguments.test,
        autocast=arguments.autocast,
    )
    return [" ".join(map(str, words)) for words in found[3]]


def main() -> None:
    told = json.loads(sys.argv[1])
    trainer, test, seconds = train(told)
    stats = trainer.stats
    report = {
        "seconds": round(seconds, 1),
        "updates": stats.steps,
        "epochs": stats.epochs,
        "best_update": stats.best_ckpt_iter,
        "best_validation": stats.best_ckpt_score,
        "validation_seconds": round(trainer.validation_seconds, 1),
    }
    lines = translate(trainer, test, told)
    Path(told["found"]).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    Path(told["report"]).write_text(json.dumps(report), encoding="utf-8")


if __name__ == "__main__":
    main()
