"""Training steps that change no weights, to be timed or profiled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any

from torch import nn

from glassformer.data.batches import epoch_batches, random_of, stream
from glassformer.data.columns import Pools
from glassformer.training.optimiser import make_optimiser
from glassformer.training.settings import TrainSettings
from glassformer.training.step import Diverged, Loss, autocast_for, seed_step, train_step

WARM_UP = 3  # steps; the first ones also allocate memory and choose kernels


class Trial:
    """Training steps on the real batches, with a learning rate of 0."""

    def __init__(self, model: nn.Module, examples: Pools, settings: TrainSettings, loss: Loss) -> None:
        self.model, self.examples, self.settings, self.loss = model.train(), examples, settings, loss
        self.optimiser = make_optimiser(model, settings)
        self.device = next(model.parameters()).device

    def coming(self) -> Iterator[list[Any]]:
        """The batches of each update, from the start of the run."""
        settings = self.settings
        batches = (batch for _, batch in stream(self.examples, tokens=settings.batch_tokens, seed=settings.seed))
        while True:
            yield list(islice(batches, settings.accumulate))

    def warm_up(self) -> None:
        """Takes the largest batches, so that all memory is allocated, then the first few."""
        for batch in largest_batches(self.examples, self.settings):
            self.step([batch])
        for batches in islice(self.coming(), WARM_UP):
            self.step(batches)

    def step(self, batches: Sequence[Any]) -> None:
        seed_step(self.settings.seed, 0)
        with suppress(Diverged):  # only timed here; the run itself stops and names the batch
            train_step(
                self.optimiser,
                [batch.to(self.device) for batch in batches],
                loss=self.loss,
                lr=0.0,
                clip=self.settings.clip,
                weight=max(1, sum(batch.weight for batch in batches)),
                autocast=autocast_for(self.device, self.settings.precision),
            )


def largest_batches(examples: Pools, settings: TrainSettings) -> list[Any]:
    """Two batches of the first pool: the one with the most targets (logits) and the one with the longest examples."""
    pool = next(examples.pools(seed=settings.seed, epoch=0))
    batches = epoch_batches(pool.lengths, tokens=settings.batch_tokens, seed=settings.seed, epoch=0)
    most_targets = max(batches, key=lambda index: int(pool.lengths[index, -1].sum()))
    longest = max(batches, key=lambda index: len(index) * int((pool.lengths[index].max(axis=0) ** 2).sum()))
    return [pool.batch(index, random_of(settings.seed, 0)) for index in (most_targets, longest)]
