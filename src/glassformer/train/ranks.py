"""Several processes that train one model together: who is who, and how they tell each other.

torchrun starts the processes and numbers them; a number is a rank. Rank 0 is the writer: it alone reads the user's
files, writes the run folder and talks. What the others need they are told over the network. Numbers, JSON and packed
tensors go through it, no pickles. One process alone is `ALONE`, for which everything here is free.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from itertools import chain, count, zip_longest
from typing import Any, TypeVar

import torch
import torch.distributed as dist

from glassformer import __version__
from glassformer.errors import GlassformerError, RankError, SettingsError

T = TypeVar("T")
PATIENCE = timedelta(minutes=30)  # for the others in a step or a validation; preparation may take any time
LOOK = 0.1  # seconds between two looks whether the writer has something to tell
FAILED = "failed"  # a note in the store: someone has said why this training ends
NOT_FOUND = "The processes of this training do not find each other"
GAP = "\x00gap"  # stands where a rank has no further item


class Ranks:
    """The processes of one training, as one of them sees it."""

    def __init__(
        self,
        rank: int = 0,
        world: int = 1,
        *,
        local_rank: int = 0,
        local_world: int = 1,
        store: dist.Store | None = None,
    ) -> None:
        self.rank, self.world = rank, world
        self.local_rank, self.local_world = local_rank, local_world  # among those on this machine
        self.store = store  # small notes that all can read
        self._tellings = count()

    @property
    def is_writer(self) -> bool:
        """Whether this process writes the run folder and talks to the user."""
        return self.rank == 0

    def own(self, items: Sequence[T]) -> Sequence[T]:
        """This rank's share of a work list that is the same on all ranks: item i belongs to rank i % world."""
        return items[self.rank :: self.world]

    def table(self, values: Sequence[float]) -> list[list[float]]:
        """The values of every rank, by rank; all ranks give equally many. Whole numbers are exact up to 2^53."""
        if self.world == 1:
            return [list(values)]
        mine = torch.tensor(values, dtype=torch.float64)
        rows = [torch.empty_like(mine) for _ in range(self.world)]
        dist.all_gather(rows, mine)
        return [row.tolist() for row in rows]

    def in_order(self, values: Sequence[float]) -> list[float]:
        """The numbers that all ranks made of their `own` items, as one process would have made them; equally many."""
        return [value for column in zip(*self.table(values), strict=True) for value in column]

    def united(self, values: Sequence[Any]) -> list[Any]:
        """The same for anything that JSON can hold, and for work lists that do not divide evenly."""
        if self.world == 1:
            return list(values)
        columns = zip_longest(*self._gathered(list(values)), fillvalue=GAP)
        return [value for value in chain.from_iterable(columns) if value != GAP]

    def _gathered(self, value: Any) -> list[Any]:
        content = json.dumps(value).encode()
        sizes = [int(size) for (size,) in self.table([len(content)])]
        mine = torch.zeros(max(sizes), dtype=torch.uint8)
        mine.numpy()[: len(content)] = memoryview(content)
        rows = [torch.empty_like(mine) for _ in range(self.world)]
        dist.all_gather(rows, mine)
        return [json.loads(row.numpy().tobytes()[:size]) for row, size in zip(rows, sizes, strict=True)]

    def any(self, flag: bool) -> bool:
        """Whether it is so on any rank: all ranks get the same answer at the same place."""
        return flag if self.world == 1 else any(answer for (answer,) in self.table([float(flag)]))

    def told(self, value: Any = None) -> Any:
        """What the writer says, as JSON; the others wait for it as long as it takes."""
        if self.world == 1:
            return value
        return json.loads(self.told_bytes(json.dumps(value).encode() if self.is_writer else b""))

    def told_bytes(self, content: bytes = b"") -> bytes:
        """What the writer says, as it is."""
        if self.world == 1:
            return content
        self._wait_for_writer()
        size = torch.tensor([len(content)])
        dist.broadcast(size, src=0)
        sent = torch.empty(int(size), dtype=torch.uint8)
        if self.is_writer:
            sent.numpy()[:] = memoryview(content)
        dist.broadcast(sent, src=0)
        return sent.numpy().tobytes()

    def _wait_for_writer(self) -> None:
        """A broadcast gives up after a while; whoever waits for the writer to read a large corpus must not."""
        assert self.store is not None
        key = f"told/{next(self._tellings)}"
        if self.is_writer:
            self.store.set(key, "")
        while not self.store.check([key]):
            if self.store.check([FAILED]):
                raise RankError("")
            time.sleep(LOOK)

    def may_speak(self) -> bool:
        """Of all ranks that fail, the first may say why; it was there first, so the others fail because of it."""
        try:
            first = self.store is None or self.store.add(FAILED, 1) == 1
        except RuntimeError:  # the store went down with the process that kept it
            return True
        if first:
            time.sleep(3 * LOOK)  # should the store be kept by this very process: the others see it before it goes
        return first


ALONE = Ranks()


@contextmanager
def joined() -> Iterator[Ranks]:
    """All processes that torchrun started with this one, until the training is over; or `ALONE`."""
    if int(os.environ.get("WORLD_SIZE") or 1) == 1:
        yield ALONE
        return
    ranks = meet()
    try:
        connect(ranks)
        yield ranks
    except BaseException as error:
        last = ending(ranks, error)
        if last is error:
            raise
        raise last from None
    dist.destroy_process_group()


def meet() -> Ranks:
    """Who is who. Ways to start that are not torchrun must set the same variables."""
    names = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
    missing = [name for name in names if not os.environ.get(name)]
    if missing:
        raise SettingsError(
            f"WORLD_SIZE says that several processes train together, but {', '.join(missing)} is not set. "
            "Start them with: torchrun --nproc-per-node 2 -m glassformer train ..."
        )
    try:
        store, rank, world = next(dist.rendezvous("env://", timeout=PATIENCE))
    except (dist.DistError, RuntimeError) as error:
        raise RankError(f"{NOT_FOUND}: {first_line(error)}") from None
    local = (int(os.environ.get(name) or default) for name, default in (("LOCAL_RANK", 0), ("LOCAL_WORLD_SIZE", 1)))
    return Ranks(rank, world, local_rank=next(local), local_world=next(local), store=store)


def connect(ranks: Ranks) -> None:
    """Opens the ways between the processes: gloo for all that lies in memory, NCCL for gradients on GPUs."""
    assert ranks.store is not None
    backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
    group = dist.PrefixStore("group", ranks.store)
    try:
        dist.init_process_group(backend, store=group, rank=ranks.rank, world_size=ranks.world, timeout=PATIENCE)
    except (dist.DistError, RuntimeError) as error:
        raise RankError(f"{NOT_FOUND}: {first_line(error)}") from None
    refuse_mixed_versions(ranks)


def refuse_mixed_versions(ranks: Ranks) -> None:
    """Two versions may order the data or add numbers differently, and nobody would notice."""
    own = f"glassformer {__version__} with torch {torch.__version__}"
    others = [f"rank {rank} runs {found}" for rank, found in enumerate(ranks.united([own])) if found != own]
    if others:
        raise RankError(f"Rank {ranks.rank} runs {own}, but {others[0]}. Install the same on all machines.")


def ending(ranks: Ranks, error: BaseException) -> BaseException:
    """What a rank ends with when `error` has happened to it: only the first of all that fail says something."""
    if not isinstance(error, Exception) or (isinstance(error, RankError) and not str(error)):
        return error  # Ctrl-C, an exit, or another rank's to tell
    if not ranks.may_speak():
        return RankError("")
    if lost(error):
        return RankError(
            f"Lost contact with another process of this training ({first_line(error)}): it was killed, or its machine "
            "is gone. The same command goes on from the last checkpoint."
        )
    if isinstance(error, GlassformerError) and not isinstance(error, RankError) and not ranks.is_writer:
        return type(error)(f"rank {ranks.rank}: {error}")
    return error


def lost(error: Exception) -> bool:
    """Whether a collective failed because another process is gone; gloo and NCCL tell it in their own ways."""
    return isinstance(error, dist.DistError) or (isinstance(error, RuntimeError) and "gloo" in str(error).lower())


def first_line(error: Exception) -> str:
    """The words of a network error without the place in the source, the advice and the stack."""
    return str(error).strip().splitlines()[0].split("] ", 1)[-1].split(". ", 1)[0].rstrip(".")
