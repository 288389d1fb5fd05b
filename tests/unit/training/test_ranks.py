"""Ranks: what is free for one process, how work is cut, and what a rank ends with."""

from __future__ import annotations

from itertools import islice

import pytest
import torch
import torch.distributed as dist
from torch import nn

from glassformer.data.batches import EncodedPairs, Marks, stream
from glassformer.data.columns import Ragged
from glassformer.errors import DataError, RankError, SettingsError
from glassformer.store.checkpoints import Checkpoint
from glassformer.training import distributed
from glassformer.training.distributed import parts_of, shared_checkpoint, wrap
from glassformer.training.machine import device_of_rank, thread_count
from glassformer.training.ranks import ALONE, Ranks, ending, joined
from glassformer.training.settings import TrainSettings

MARKS = Marks(pad=0, bos=1, eos=2)


def test_one_process_is_alone_and_the_writer() -> None:
    with joined() as ranks:
        assert ranks is ALONE
        assert ranks.is_writer
        assert not dist.is_initialized()


def test_alone_everything_is_its_own() -> None:
    assert list(ALONE.own([1, 2, 3])) == [1, 2, 3]
    assert ALONE.table([1.5, 2]) == [[1.5, 2]]
    assert ALONE.in_order([3.0, 4.0]) == [3.0, 4.0]
    assert ALONE.united(["a", None]) == ["a", None]
    assert (ALONE.any(True), ALONE.any(False)) == (True, False)
    assert ALONE.from_writer({"x": 1}) == {"x": 1}
    assert ALONE.bytes_from_writer(b"abc") == b"abc"
    checkpoint = Checkpoint(1, {}, {}, {})
    assert shared_checkpoint(ALONE, checkpoint) is checkpoint
    assert shared_checkpoint(ALONE, None) is None


def test_variables_that_torchrun_would_set_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", "0")
    for name in ("MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(SettingsError, match=r"but MASTER_ADDR, MASTER_PORT is not set.*torchrun"), joined():
        pass


@pytest.mark.parametrize("world", [1, 2, 3, 7])
def test_ranks_share_one_stream_without_gap_or_overlap(world: int) -> None:
    rows = [[3] * (1 + i % 5) for i in range(23)]
    pairs = EncodedPairs(Ragged.of(rows), Ragged.of(rows), MARKS, MARKS)
    skip = 2 * world
    alone = list(islice(stream(pairs, tokens=30, seed=5, skip=skip), 3 * world))
    shares = [
        list(islice(stream(pairs, tokens=30, seed=5, skip=skip, rank=rank, world=world), 3)) for rank in range(world)
    ]
    together = [batch for column in zip(*shares, strict=True) for batch in column]
    assert [epoch for epoch, _ in together] == [epoch for epoch, _ in alone]
    assert [batch.index.tolist() for _, batch in together] == [batch.index.tolist() for _, batch in alone]


def test_steps_count_the_batches_of_all_ranks() -> None:
    settings = TrainSettings(epochs=6, accumulate=2)
    found = {n: settings.resolved(batches_per_epoch=20, threads=1, device="cpu", ranks=n).steps for n in (1, 3)}
    assert found == {1: 60, 3: 20}


# Gradients


class Layers(nn.Module):
    """Three layers, of which one may sit out."""

    def __init__(self) -> None:
        super().__init__()
        self.parts = nn.ModuleList(nn.Linear(5, 5) for _ in range(3))


def test_messages_hold_every_parameter_once_from_the_last_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distributed, "BUCKET", 4 * 31)  # more than a layer's 30 numbers
    model = Layers()
    model.parts[1].to(torch.float64)
    model.parts[0].weight.requires_grad_(False)
    parts = [[tuple(p.shape) for p in part] for part in parts_of(model)]
    assert parts == [[(5,), (5, 5)], [(5,), (5, 5)], [(5,)]]
    assert [p.data_ptr() for part in parts_of(model) for p in part] == [
        p.data_ptr() for p in reversed(list(model.parameters())) if p.requires_grad
    ]


class Echo:
    """Stands for a second rank whose gradients are three times ours."""

    def __init__(self) -> None:
        self.sent: list[int] = []

    def __call__(self, flat: torch.Tensor, *, async_op: bool) -> Echo:
        assert async_op
        self.sent.append(flat.numel())
        flat.mul_(4)
        return self

    def wait(self) -> None: ...


@pytest.fixture
def echo(monkeypatch: pytest.MonkeyPatch) -> Echo:
    echo = Echo()
    monkeypatch.setattr(distributed.dist, "all_reduce", echo)
    monkeypatch.setattr(distributed, "BUCKET", 4 * 20)
    return echo


def test_gradients_are_summed_once_an_update_after_accumulating(echo: Echo) -> None:
    model, x = Layers(), torch.ones(2, 5)
    replica = wrap(model, Ranks(0, 2))
    with replica.summing(is_last=False):
        model.parts[2](model.parts[1](model.parts[0](x))).sum().backward()
    once = [p.grad.clone() for p in model.parameters()]
    assert echo.sent == []
    with replica.summing():
        model.parts[2](model.parts[1](model.parts[0](x))).sum().backward()
    assert echo.sent == [30, 30, 30]
    for parameter, grad in zip(model.parameters(), once, strict=True):
        torch.testing.assert_close(parameter.grad, 8 * grad)


def test_messages_go_in_one_order_whatever_took_part(echo: Echo) -> None:
    model, x = Layers(), torch.ones(2, 5)
    replica = wrap(model, Ranks(0, 2))
    with replica.summing():
        model.parts[0](x).sum().backward()  # another rank may have used the others
    assert echo.sent == [30, 30, 30]
    assert all(not p.grad.any() for p in model.parts[2].parameters())
    assert model.parts[0].bias.grad.tolist() == [8.0] * 5
    with replica.summing():
        model.parts[2](x).sum().backward()
    assert len(echo.sent) == 6


def test_one_process_sends_nothing(echo: Echo) -> None:
    model = Layers()
    replica = wrap(model, ALONE)
    with replica.summing():
        model.parts[0](torch.ones(2, 5)).sum().backward()
    assert echo.sent == []
    assert model.parts[0].bias.grad.tolist() == [2.0] * 5


# The machine


def test_cores_are_shared_among_the_processes_of_a_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(12)), raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert thread_count(None, processes=4) == 3
    assert thread_count(None, processes=99) == 1
    assert thread_count(5, processes=4) == 5
    monkeypatch.setenv("OMP_NUM_THREADS", "1")  # as torchrun does by itself
    assert thread_count(None, processes=4) == 3
    assert thread_count(None) == 1
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    assert thread_count(None, processes=4) == 2


def pretend_gpus(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: count > 0)
    monkeypatch.setattr("torch.cuda.device_count", lambda: count)
    monkeypatch.setattr("torch.cuda.set_device", lambda _: None)
    monkeypatch.setattr("glassformer.training.machine.choose_device", torch.device)


@pytest.mark.parametrize("name", ["auto", "cuda"])
def test_each_rank_of_a_machine_has_its_own_gpu(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    pretend_gpus(monkeypatch, 4)
    ranks = Ranks(6, 8, local_rank=2, local_world=4)
    assert device_of_rank(name, ranks) == torch.device("cuda:2")


def test_without_gpus_several_ranks_share_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend_gpus(monkeypatch, 0)
    assert device_of_rank("auto", Ranks(1, 2)) == torch.device("cpu")


def test_more_ranks_than_gpus_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend_gpus(monkeypatch, 2)
    with pytest.raises(SettingsError, match="3 processes on this machine and 2 GPUs"):
        device_of_rank("auto", Ranks(1, 3, local_rank=1, local_world=3))
    with pytest.raises(SettingsError, match=r"'cuda:1' cannot be shared by 2 processes\. Allowed: cpu, cuda"):
        device_of_rank("cuda:1", Ranks(1, 2))
    assert device_of_rank("cpu", Ranks(1, 3, local_world=3)) == torch.device("cpu")


# What a rank ends with


def rank_of(store: dist.Store, rank: int) -> Ranks:
    return Ranks(rank, 2, store=store)


def test_of_ranks_that_fail_only_the_first_says_why() -> None:
    store = dist.HashStore()
    first = ending(rank_of(store, 1), DataError("no such file."))
    then = ending(rank_of(store, 0), RuntimeError("[gloo/pair.cc:534] Connection closed by peer [127.0.0.1]:1. Look."))
    assert (type(first), str(first)) == (DataError, "rank 1: no such file.")
    assert (type(then), str(then)) == (RankError, "")


def test_a_rank_that_was_killed_is_reported_by_one_of_the_others() -> None:
    error = RuntimeError(
        "[gloo/transport/tcp/pair.cc:534] Connection closed by peer [127.0.0.1]:6034. This is typical."
    )
    told = ending(rank_of(dist.HashStore(), 0), error)
    assert isinstance(told, RankError)
    assert str(told).startswith(
        "Lost contact with another process of this run (Connection closed by peer [127.0.0.1]:6034): it was killed"
    )


def test_a_mistake_of_ours_stays_what_it_is() -> None:
    bug = ZeroDivisionError("x")
    assert ending(rank_of(dist.HashStore(), 0), bug) is bug
    interrupted = KeyboardInterrupt()
    assert ending(rank_of(dist.HashStore(), 1), interrupted) is interrupted
