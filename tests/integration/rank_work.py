"""What one rank of the tests does, as a program of its own: `python rank_work.py WORK SPEC.json`.

The file of the spec says what to do; results of the writer go to the path that it names.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

import glassformer as gf
from glassformer.data.batches import EncodedPairs, Marks
from glassformer.data.columns import Ragged
from glassformer.errors import GlassformerError
from glassformer.evaluate.translation import BLEU
from glassformer.models.transformer import Transformer, TransformerConfig
from glassformer.store.run import RunFolder
from glassformer.tasks.translation.constraints import Request
from glassformer.tasks.translation.loading import load
from glassformer.tasks.translation.task import Translation
from glassformer.training import loop
from glassformer.training import validate as validation
from glassformer.training.job import Job, Progress
from glassformer.training.loop import train_loop
from glassformer.training.objective import token_loss
from glassformer.training.ranks import ALONE, Ranks, joined
from glassformer.training.reading import read_tokenizers
from glassformer.training.settings import TrainSettings
from glassformer.training.task import Setup
from glassformer.training.timekeeper import TimeLimit
from glassformer.training.watching import Silent

MARKS = Marks(pad=0, bos=1, eos=2)
CONFIG = TransformerConfig(size="nano", N=1, d=6, h=2, d_ff=5, dropout=0.0)
SEVEN = [
    ("the dog eats bread.", "der Hund isst Brot."),
    ("a cat sees us.", "eine Katze sieht uns."),
    ("his wife has old red wine.", "seine Frau hat alten roten Wein."),
    ("my boy has two eggs.", "mein Junge hat zwei Eier."),
    ("the dog sees me.", "der Hund sieht mich."),
    ("a cat eats two eggs.", "eine Katze isst zwei Eier."),
    ("my boy sees old red wine.", "mein Junge sieht alten roten Wein."),
]


class Losses:
    """A watcher that remembers what each update reported. Its clock goes on by `pace` seconds an update."""

    def __init__(self, pace: float = 1.0) -> None:
        self.reported: list[float] = []
        self.pace, self.now = pace, 0.0

    def on_step(self, progress: Progress, report: Any, seconds: float) -> None:  # noqa: ARG002
        self.reported.append(report.loss)
        self.now += self.pace

    def on_validation(self, record: Mapping[str, Any]) -> None: ...


def tiny_corpus() -> EncodedPairs:
    """40 sentences of quite different lengths, so that batches differ in their target tokens."""
    random = np.random.default_rng(1)
    sides = [[random.integers(3, 17, 1 + (7 * i + side) % 11).tolist() for i in range(40)] for side in (0, 1)]
    return EncodedPairs(Ragged.of(sides[0]), Ragged.of(sides[1]), MARKS, MARKS)


def job_of(folder: Path, model: Transformer, ranks: Ranks, loss: Any, watcher: Losses, **given: Any) -> Job:
    settings = TrainSettings(batch_tokens=60, valid_every=given["steps"], warmup=5, **given)
    return Job(
        model=model,
        examples=tiny_corpus(),
        settings=settings.resolved(batches_per_epoch=5, threads=1, device="cpu"),
        loss=loss,
        validate=lambda: {"bleu": 0.0},
        run=RunFolder(folder),
        watcher=watcher,
        device=torch.device("cpu"),
        ranks=ranks,
        metrics=(BLEU,),
    )


def learned(
    folder: Path, ranks: Ranks, *, accumulate: int, steps: int, dtype: torch.dtype, lr: float = 5e-3
) -> dict[str, Any]:
    """A training without dropout of `steps` updates: its losses, and what the weights are in the end."""
    torch.manual_seed(ranks.rank)  # the writer's weights count
    model = Transformer(CONFIG, source_vocabulary=17, target_vocabulary=17).to(dtype)
    folder.mkdir(parents=True, exist_ok=True)
    watcher = Losses()
    loss = partial(token_loss, model, label_smoothing=0.1)
    progress = train_loop(job_of(folder, model, ranks, loss, watcher, steps=steps, accumulate=accumulate, lr=lr))
    weights = torch.cat([parameter.detach().flatten() for parameter in model.parameters()])
    return {
        "losses": watcher.reported,
        "weights": weights.tolist(),
        "digests": ranks.united([hashlib.sha256(weights.numpy().tobytes()).hexdigest()]),
        "progress": {name: getattr(progress, name) for name in ("step", "batches", "epoch", "tokens")},
    }


def kept_to_time(folder: Path, ranks: Ranks) -> dict[str, Any]:
    """A time budget that the writer's clock makes longer than planned; the other rank's clock is far too fast.

    Where the folder has the changes of plan of an earlier training, they are repeated.
    """
    torch.manual_seed(ranks.rank)
    model = Transformer(CONFIG, source_vocabulary=17, target_vocabulary=17).to(torch.float64)
    folder.mkdir(parents=True, exist_ok=True)
    watcher = Losses(pace=1.0 if ranks.is_writer else 50.0)
    loss = partial(token_loss, model, label_smoothing=0.1)
    job = job_of(folder, model, ranks, loss, watcher, steps=20, accumulate=2 // ranks.world)
    limit = TimeLimit(40.0, lambda: watcher.now, step_seconds=2.0, validation_seconds=0.1, closing_seconds=0.1)
    progress = train_loop(replace(job, limit=limit))
    weights = torch.cat([parameter.detach().flatten() for parameter in model.parameters()])
    return {
        "step": ranks.united([progress.step]),
        "weights": weights.tolist(),
        "digests": ranks.united([hashlib.sha256(weights.numpy().tobytes()).hexdigest()]),
        "changes": RunFolder(folder).plan_changes() if ranks.is_writer else [],
    }


def diverged(folder: Path, ranks: Ranks) -> dict[str, Any]:
    """The last of the ranks finds a loss that is no number: what the writer says and keeps of it."""
    model = Transformer(CONFIG, source_vocabulary=17, target_vocabulary=17)
    folder.mkdir(parents=True, exist_ok=True)

    def broken(batch: Any) -> Any:
        summed, tokens = token_loss(model, batch, label_smoothing=0.1)
        return (summed * float("nan") if ranks.rank == ranks.world - 1 else summed), tokens

    try:
        train_loop(job_of(folder, model, ranks, broken, Losses(), steps=3, accumulate=1))
    except GlassformerError as error:
        said = ranks.united([[type(error).__name__, str(error).split(" Its batch")[0]]])
    kept = [*folder.glob("diverged/diverged.json")]
    return {"said": said, "losses": [b["loss"] for p in kept for b in json.loads(p.read_text())["batches"]]}


def validated(run: Path, ranks: Ranks) -> dict[str, Any]:
    """Seven items in three batches of translations and four of losses."""
    translator = load(run)
    translator.recipe = translator.recipe.model_copy(
        update={"decode": translator.recipe.decode.model_copy(update={"batch_tokens": 20})}
    )
    validation.BATCH_TOKENS = 28
    task, setup = Translation(), Setup(translator.recipe, read_tokenizers(RunFolder(run)))
    questions = [(source, (target,)) for source, target in [*SEVEN, ("  ", "nichts")]]
    rows = translator.source.encode_batch([source for source, _ in questions])
    held = validation.Held(validation.held_pool(task, setup, questions[:7], Silent()), questions)
    found = validation.validate_model(task, setup, translator.model, translator, held, ranks)
    return {
        **found,
        "evidence": {name: measured.values.tolist() for name, measured in found["evidence"].items()},
        "hypotheses": validation.predict_all(task, translator, questions, ranks),
        "batches": len(list(Request(translator.recipe.decode, beam=1).batches_of(rows))),
    }


def arithmetic(spec: Mapping[str, Any], ranks: Ranks = ALONE) -> dict[str, Any]:
    """All that one process and several must agree on."""
    folder = Path(spec["folder"]) / str(ranks.world)
    learn = partial(learned, ranks=ranks)
    whole = 4 // ranks.world  # batches that a rank brings to an update of four
    return {
        "single": learn(folder / "single", accumulate=2 // ranks.world, steps=100, dtype=torch.float32),
        "double": learn(folder / "double", accumulate=2 // ranks.world, steps=40, dtype=torch.float64),
        # Four are added in another order. Gradients that are zero in theory (of key biases) are then other noise,
        # which AdamW magnifies: so a small rate.
        "four": learn(folder / "four", accumulate=whole, steps=10, dtype=torch.float64, lr=5e-4),
        "kept to time": kept_to_time(folder / "kept to time", ranks),
        "validated": validated(Path(spec["run"]), ranks),
        "diverged": diverged(folder / "diverged", ranks),
        "ragged": ranks.united(ranks.own(list(range(7)))),
        "told": [ranks.from_writer(value) for value in (None, "ä" * 5)] + [ranks.bytes_from_writer(b"").decode()],
    }


def train(spec: Mapping[str, Any]) -> None:
    """A training by recipe; `spec["strike"]` = [rank, step, signal] sends the rank a signal before that step."""
    rank = int(os.environ["RANK"])
    real = loop.seed_step

    def strike(seed: int, step: int, own: int = 0) -> None:
        if [rank, step] == spec["strike"][:2]:
            os.kill(os.getpid(), signal.Signals(spec["strike"][2]))
        real(seed, step, own)

    if "strike" in spec:
        loop.seed_step = strike
    progress = gf.train(spec["recipe"], out=spec["out"] if rank == 0 else spec["other_out"])
    print(json.dumps({"rank": rank, "step": progress.step, "stopped": progress.stopped}))


def main() -> None:
    torch.set_num_threads(1)
    work, spec = sys.argv[1], json.loads(Path(sys.argv[2]).read_text())
    try:
        if work == "train":
            train(spec)
            return
        with joined() as ranks:
            found = arithmetic(spec, ranks)
            if ranks.is_writer:
                Path(spec["result"]).write_text(json.dumps(found))
    except GlassformerError as error:
        sys.exit(f"glassformer: {error}" if str(error) else 2)


if __name__ == "__main__":
    main()
