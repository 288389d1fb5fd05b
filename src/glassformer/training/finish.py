"""The end of a run: the best weights become its final weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from torch import Tensor, nn

from glassformer.errors import RunError, SettingsError
from glassformer.nn.lora import adapted, remove_adapters
from glassformer.store import files
from glassformer.store.checkpoints import Checkpoint
from glassformer.store.run import RunFolder
from glassformer.store.weights import load_weights, parameter_count
from glassformer.training.job import Progress
from glassformer.training.optimiser import adapter_in
from glassformer.training.watching import TrainingWatcher

SETTLED = "settled"  # in the manifest: what the task has chosen with the final weights
Settle = Callable[[], Mapping[str, Any]]
FirstWeights = Callable[[], Mapping[str, Tensor]]  # those that a fine-tuning started from


def finish(
    run: RunFolder,
    model: nn.Module,
    progress: Progress,
    watcher: TrainingWatcher,
    first: FirstWeights | None = None,
    settle: Settle = dict,
) -> None:
    """Writes the best weights as the run's final ones, and loads them into the model; `settle` then uses it."""
    best = chosen_checkpoint(run, progress, watcher, first)
    trained = sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)
    adapter = adapter_in(best.optimiser) if adapted(model) else {}
    remove_adapters(model)
    sizes = {"weights": parameter_count(model), "trained": trained}
    load_weights(model, best.weights, origin=f"checkpoint {best.step}")
    ended = {"stopped": progress.stopped, "best_step": best.step, "steps": progress.step}
    work = {"tokens": progress.tokens, "flops": progress.flops, **sizes}
    clocks = {"seconds": progress.seconds, "elapsed_seconds": progress.seconds + progress.validating}
    clocks = {name: round(seconds, 1) for name, seconds in clocks.items()}
    model.eval()
    settled = dict(settle())
    about = {"training": {**ended, **work, **clocks}, **({SETTLED: settled} if settled else {})}
    run.finish(best.weights, about=about, adapter=adapter)


def chosen_checkpoint(
    run: RunFolder, progress: Progress, watcher: TrainingWatcher, first: FirstWeights | None
) -> Checkpoint:
    """The best checkpoint; or the last one, with a message, if the best was damaged in the meantime.

    Step 0 is the model that this run started from.
    """
    try:
        if first and progress.best_score is not None and progress.best_step == 0:
            return Checkpoint(0, first_weights(run, first), {}, {})
        return run.checkpoints.read(progress.best_step or progress.step)
    except (RunError, SettingsError) as error:
        last = run.checkpoints.read(progress.step)
        watcher.on_stage(f"The best weights cannot be used; using those of step {last.step:,} instead: {error}")
        return last


def first_weights(run: RunFolder, first: FirstWeights) -> Mapping[str, Tensor]:
    """The weights that the run started from; an error if they are no longer the same."""
    weights = first()
    if files.sha256(files.pack_tensors(weights)) != run.about().get("start"):
        raise RunError("The weights that the run started from have changed.")
    return weights
