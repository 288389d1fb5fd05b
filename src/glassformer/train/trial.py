"""Training steps that change nothing, to be timed or looked at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from torch import nn

from glassformer.data.batches import Batch, EncodedPairs, Pools, epoch_batches, stream
from glassformer.train.optimiser import make_optimiser
from glassformer.train.settings import TrainSettings
from glassformer.train.step import Loss, autocast_for, seed_step, train_step

WARM_UP = 3  # steps: the first ones also fetch memory and choose kernels


class Trial:
    """Steps of a training on its real batches, with a learning rate of 0."""

    def __init__(self, model: nn.Module, pairs: Pools, settings: TrainSettings, loss: Loss) -> None:
        self.model, self.pairs, self.settings, self.loss = model.train(), pairs, settings, loss
        self.optimiser = make_optimiser(model, settings)
        self.device = next(model.parameters()).device

    def coming(self) -> Iterator[list[Batch]]:
        """The batches of each update, from the start of the training."""
        settings = self.settings
        batches = (batch for _, batch in stream(self.pairs, tokens=settings.batch_tokens, seed=settings.seed))
        while True:
            yield list(islice(batches, settings.accumulate))

    def warm_up(self) -> None:
        """The largest batches, to fetch the memory, and some as they come."""
        for batch in largest_batches(self.pairs, self.settings):
            self.step([batch])
        for batches in islice(self.coming(), WARM_UP):
            self.step(batches)

    def step(self, batches: Sequence[Batch]) -> None:
        seed_step(self.settings.seed, 0)
        train_step(
            self.model,
            self.optimiser,
            [batch.to(self.device) for batch in batches],
            loss=self.loss,
            lr=0.0,
            clip=self.settings.clip,
            target_tokens=max(1, sum(int(batch.target_lengths.sum()) for batch in batches)),
            autocast=autocast_for(self.device, self.settings.precision),
        )


def largest_batches(pairs: Pools, settings: TrainSettings) -> list[Batch]:
    """Of the first pool: the batch with the most target tokens (logits) and the one with the longest sentences."""
    pool: EncodedPairs = next(pairs.pools(seed=settings.seed, epoch=0))
    batches = epoch_batches(pool.lengths, tokens=settings.batch_tokens, seed=settings.seed, epoch=0)
    most_targets = max(batches, key=lambda index: int(pool.lengths[index, 1].sum()))
    longest = max(batches, key=lambda index: len(index) * int((pool.lengths[index].max(axis=0) ** 2).sum()))
    return [pool.batch(most_targets), pool.batch(longest)]
