"""The machine, and stopping when asked."""

from __future__ import annotations

import os
import signal
import sys
import threading

import pytest
import torch

from glassformer.errors import SettingsError
from glassformer.training.machine import choose_device, keep_freed_memory, precision_on, thread_count
from glassformer.training.stopping import stop_on_signals


def test_threads_are_those_wanted_or_one_per_core_of_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert thread_count(3) == 3
    assert thread_count(None) == len(os.sched_getaffinity(0))


def test_without_affinity_all_cores_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 13)
    assert thread_count(None) == 13
    assert thread_count(2) == 2


def test_auto_takes_what_is_there() -> None:
    assert choose_device("cpu") == torch.device("cpu")
    wanted = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    assert choose_device("auto").type == wanted


@pytest.mark.parametrize("name", ["gpu", "", "cuda:99", "meta", "cpu:x", "CPU"])
def test_a_device_that_is_not_there_is_refused_by_name(name: str) -> None:
    with pytest.raises(SettingsError, match=r"is not on this machine\. Allowed: auto, cpu, cuda, mps") as caught:
        choose_device(name)
    assert repr(name) in str(caught.value)


@pytest.mark.parametrize("platform", ["linux", "darwin"])
def test_keeping_memory_never_fails(monkeypatch: pytest.MonkeyPatch, platform: str) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    keep_freed_memory()
    assert torch.ones(1000, 1000).sum() == 1e6


def test_without_glibc_keeping_memory_does_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_: str) -> None:
        raise OSError

    monkeypatch.setattr("ctypes.CDLL", missing)
    keep_freed_memory()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_asks_for_a_stop_and_the_old_handlers_come_back(number: signal.Signals) -> None:
    before = [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)]
    with stop_on_signals() as stop:
        assert not stop.asked
        signal.raise_signal(number)
        assert stop.asked
    assert [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)] == before


def test_the_second_ctrl_c_stops_at_once_and_the_handlers_come_back() -> None:
    def twice() -> None:
        with stop_on_signals():
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        twice()
    assert signal.getsignal(signal.SIGINT) is before


def test_a_repeated_termination_is_still_in_good_order() -> None:
    with stop_on_signals() as stop:
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGTERM)
        assert stop.asked


def test_in_another_thread_signals_are_left_alone() -> None:
    before, seen = signal.getsignal(signal.SIGINT), []

    def work() -> None:
        with stop_on_signals() as stop:
            seen.append((stop.asked, signal.getsignal(signal.SIGINT)))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [(False, before)]


@pytest.mark.parametrize(("has", "precision"), [(True, "bf16"), (False, "fp32")])
def test_bf16_on_gpus_that_multiply_in_it(has: bool, precision: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"amx_bf16": True})
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda **_: has)
    assert precision_on("cuda:1") == precision
    assert precision_on("cpu") == "fp32"
    assert precision_on("mps") == "fp32"
