"""JoeyNMT, trained as its loop trains: its data sets, token batches, model, loss, optimiser and schedule.

This runs in JoeyNMT's environment and imports nothing of ours but the wire. As a program it is a competitor (wire.py).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import torch
from joeynmt.config import parse_global_args, set_validation_args
from joeynmt.prediction import prepare
from joeynmt.training import TrainManager

from peers.wire import Turn, Wire, forget_peak, memory, take_turn

SIZES = {
    "tiny": {"num_layers": 4, "hidden_size": 128, "ff_size": 256, "num_heads": 4},
    "small": {"num_layers": 3, "hidden_size": 256, "ff_size": 1024, "num_heads": 4},
}
SMOOTHING = 0.1
FOREVER = 10**9


def configuration(told: dict[str, Any]) -> dict[str, Any]:
    """What its users write as YAML. `told` may override the training section by section."""
    files = Path(told["files"])
    side = {"level": "word", "voc_file": str(files / "vocab.txt"), "max_length": 200}
    half = {"type": "transformer", "dropout": told["dropout"], "layer_norm": "pre", **SIZES[told["size"]]}
    half["embeddings"] = {"embedding_dim": half["hidden_size"], "scale": True, "dropout": told["dropout"]}
    training = {
        "optimizer": "adamw",
        "adam_betas": [0.9, 0.98],
        "scheduling": "warmupinversesquareroot",
        "learning_rate": told["lr"],
        "learning_rate_min": 1e-9,
        "learning_rate_warmup": told["warmup"],
        "clip_grad_norm": 1.0,
        "label_smoothing": SMOOTHING,
        "normalization": "tokens",
        "batch_type": "token",
        "batch_size": told["batch_tokens"],
        "epochs": FOREVER,
        "validation_freq": FOREVER,
        "logging_freq": 100,
    }
    return {
        "name": "peer",
        "model_dir": told["out"],
        "use_cuda": False,
        "random_seed": told["seed"],
        "data": {
            **{part: str(files / name) for part, name in {"train": "train", **told.get("parts", {})}.items()},
            "dataset_type": "plain",
            "src": {"lang": "en", **side},
            "trg": {"lang": "de", **side},
        },
        "training": {**training, **told.get("training", {})},
        "testing": {
            "beam_size": 5,
            "beam_alpha": 1.0,
            "batch_size": 64,
            "max_output_length": 80,
            **told.get("testing", {}),
        },
        "model": {
            "initializer": "xavier_uniform",
            "embed_initializer": "xavier_uniform",
            "tied_embeddings": True,
            "tied_softmax": True,
            "encoder": half,
            "decoder": dict(half),
        },
    }


def make_trainer(told: dict[str, Any], kind: type[TrainManager] = TrainManager) -> tuple[TrainManager, Any, Any, Any]:
    """Its trainer and its three data sets, put together as its own `train` does."""
    Path(told["out"]).mkdir(parents=True, exist_ok=True)
    torch.manual_seed(told["seed"])
    arguments = parse_global_args(configuration(told), mode="train")
    model, train, dev, test = prepare(arguments, rank=0, mode="train")
    trainer = kind(
        rank=0,
        model=model,
        model_dir=arguments.model_dir,
        device=arguments.device,
        n_gpu=0,
        num_workers=0,
        autocast=arguments.autocast,
        seed=arguments.seed,
        train_args=arguments.train,
        dev_args=set_validation_args(arguments.test),
    )
    return trainer, train, dev, test


def epochs(trainer: TrainManager, train: Any) -> Iterator[Any]:
    """The batches of its loop, epoch after epoch."""
    trainer.train_iter = train.make_iter(
        batch_size=trainer.args.batch_size,
        batch_type=trainer.args.batch_type,
        seed=trainer.seed,
        shuffle=trainer.args.shuffle,
        num_workers=0,
        device=trainer.device,
        eos_index=trainer.model.eos_index,
        pad_index=trainer.model.pad_index,
    )
    for epoch in range(1, FOREVER):
        train.seed = trainer.seed + epoch
        trainer.train_iter.batch_sampler.set_seed(trainer.seed + epoch)
        yield from trainer.train_iter


def step(trainer: TrainManager, batches: Iterator[Any], entropy: float, turn: Turn) -> None:
    """The body of its loop: its own step, clipping, optimiser and schedule."""
    batch = next(batches)
    loss, _ = trainer._train_step(batch)
    trainer.clip_grad_fun(parameters=trainer.model.parameters())
    trainer.optimizer.step()
    trainer.scheduler.step(trainer.stats.steps)
    trainer.model.zero_grad()
    trainer.stats.steps += 1
    turn.count(tokens=int(batch.src_length.sum()) + batch.ntokens, targets=batch.ntokens, loss=loss + entropy)


def smoothed_entropy(vocabulary: int) -> float:
    """Its loss is a divergence; with the entropy of the smoothed target it is the cross-entropy of the others."""
    rest = SMOOTHING / (vocabulary - 2)
    return -(1 - SMOOTHING) * math.log(1 - SMOOTHING) - SMOOTHING * math.log(rest)


def main() -> None:
    wire = Wire()
    at_start = memory()["now"]
    trainer, train, _, _ = make_trainer(wire.told)
    go = partial(step, trainer, epochs(trainer, train), smoothed_entropy(len(trainer.model.trg_vocab)))
    wire.answer(parameters=sum(p.numel() for p in trainer.model.parameters()), memory_at_start=at_start)
    for command in wire.commands():
        answers = {"train": partial(take_turn, command, go), "memory": memory, "forget peak": forget_peak}
        wire.answer(**answers[command["do"]]())


if __name__ == "__main__":
    main()
