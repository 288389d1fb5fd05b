"""Several processes that train one model together: their ranks, and how they exchange values.

torchrun starts the processes and numbers them; a number is a rank. Rank 0 is the writer: only it reads the user's
files, writes the run folder and prints. It sends the others what they need as numbers, JSON and packed tensors, never
as pickles. A single process is `ALONE`, for which everything here costs nothing.
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
PATIENCE = timedelta(minutes=30)  # for the other ranks in a step or a validation; preparation may take any time
LOOK = 0.1  # seconds between two checks whether the writer has sent something
FAILED = "failed"  # key in the store: a rank has reported why the run ends
NOT_FOUND = "The processes of this run cannot find each other"
GAP = "\x00gap"  # filler for a rank that has no more items


class Ranks:
    """The processes of one run, as one of them sees it."""

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
        self.store = store  # small values that all ranks can read
        self._messages = count()

    @property
    def is_writer(self) -> bool:
        """Whether this process writes the run folder and talks to the user."""
        return self.rank == 0

    def own(self, items: Sequence[T]) -> Sequence[T]:
        """This rank's share of a work list that is the same on all ranks: item i belongs to rank i % world."""
        return items[self.rank :: self.world]

    def table(self, values: Sequence[float]) -> list[list[float]]:
        """The values of every rank, by rank; all must have the same number. Integers are exact up to 2^53."""
        if self.world == 1:
            return [list(values)]
        mine = torch.tensor(values, dtype=torch.float64)
        rows = [torch.empty_like(mine) for _ in range(self.world)]
        dist.all_gather(rows, mine)
        return [row.tolist() for row in rows]

    def in_order(self, values: Sequence[float]) -> list[float]:
        """The numbers that all ranks computed from their `own` items, in the order of the work list."""
        return [value for column in zip(*self.table(values), strict=True) for value in column]

    def united(self, values: Sequence[Any]) -> list[Any]:
        """Like `in_order`, for any JSON values and for work lists that do not divide evenly."""
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
        """Whether the flag is set on any rank; all ranks get the same answer."""
        return flag if self.world == 1 else any(one for (one,) in self.table([float(flag)]))

    def from_writer(self, value: Any = None) -> Any:
        """The writer's value, sent as JSON; the other ranks wait for it without a time limit."""
        if self.world == 1:
            return value
        return json.loads(self.bytes_from_writer(json.dumps(value).encode() if self.is_writer else b""))

    def bytes_from_writer(self, content: bytes = b"") -> bytes:
        """The writer's bytes."""
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
        """Waits without a time limit, unlike a broadcast: the writer may read a large corpus first."""
        assert self.store is not None
        key = f"message/{next(self._messages)}"
        if self.is_writer:
            self.store.set(key, "")
        while not self.store.check([key]):
            if self.store.check([FAILED]):
                raise RankError("")
            time.sleep(LOOK)

    def reports_failure(self) -> bool:
        """Whether this rank is the first to fail. Only the first reports why: the others fail because of it."""
        try:
            first = self.store is None or self.store.add(FAILED, 1) == 1
        except RuntimeError:  # the store went down with the process that kept it
            return True
        if first:
            time.sleep(3 * LOOK)  # this process may hold the store: let the others read it before it exits
        return first


ALONE = Ranks()


@contextmanager
def joined() -> Iterator[Ranks]:
    """All processes that torchrun started together with this one, until the run ends; or `ALONE`."""
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
    """Reads the ranks from the environment. Launchers other than torchrun must set the same variables."""
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
    """Connects the processes: gloo for everything in main memory, NCCL for gradients on GPUs."""
    assert ranks.store is not None
    backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
    group = dist.PrefixStore("group", ranks.store)
    try:
        dist.init_process_group(backend, store=group, rank=ranks.rank, world_size=ranks.world, timeout=PATIENCE)
    except (dist.DistError, RuntimeError) as error:
        raise RankError(f"{NOT_FOUND}: {first_line(error)}") from None
    refuse_mixed_versions(ranks)


def refuse_mixed_versions(ranks: Ranks) -> None:
    """Raises an error if versions differ: they may order data or add numbers differently, and nobody would notice."""
    own = f"glassformer {__version__} with torch {torch.__version__}"
    others = [f"rank {rank} runs {found}" for rank, found in enumerate(ranks.united([own])) if found != own]
    if others:
        raise RankError(f"Rank {ranks.rank} runs {own}, but {others[0]}. Install the same on all machines.")


def ending(ranks: Ranks, error: BaseException) -> BaseException:
    """The error that a rank ends with after `error`: only the first rank that fails has a message."""
    if not isinstance(error, Exception) or (isinstance(error, RankError) and not str(error)):
        return error  # Ctrl-C, an exit, or a failure that another rank reports
    if not ranks.reports_failure():
        return RankError("")
    if lost(error):
        return RankError(
            f"Lost contact with another process of this run ({first_line(error)}): it was killed, or its machine "
            "is gone. Run the same command again to resume from the last checkpoint."
        )
    if isinstance(error, GlassformerError) and not isinstance(error, RankError) and not ranks.is_writer:
        return type(error)(f"rank {ranks.rank}: {error}")
    return error


def lost(error: Exception) -> bool:
    """Whether a collective operation failed because another process is gone; gloo and NCCL raise different errors."""
    return isinstance(error, dist.DistError) or (isinstance(error, RuntimeError) and "gloo" in str(error).lower())


def first_line(error: Exception) -> str:
    """The message of a network error, without source location, advice and stack."""
    return str(error).strip().splitlines()[0].split("] ", 1)[-1].split(". ", 1)[0].rstrip(".")
