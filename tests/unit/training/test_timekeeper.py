"""A machine that grows slower and faster, with a clock of its own: the budget is kept and the rate comes down."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from glassformer.training.course import Change, Course
from glassformer.training.schedule import learning_rate
from glassformer.training.timekeeper import TimeKeeper, TimeLimit

Slowness = Callable[[float], float]  # how many times slower the machine is, by the time


@dataclass
class Machine:
    """Time that passes only in steps and validations. Two threads suffer `contention` times as much as one."""

    slowness: Slowness
    step: float = 0.1
    validation: float = 1.0
    closing: float = 2.0
    start: float = 10.0
    gain: float = 1.7  # of two threads on a quiet machine
    now: float = 0.0
    changes: list[Change] = field(default_factory=list)
    rates: list[float] = field(default_factory=list)
    threads_used: list[tuple[float, int]] = field(default_factory=list)
    validations: int = 0

    def pass_time(self, seconds: float) -> None:
        self.now += seconds * self.slowness(self.now)

    def step_seconds(self, threads: int) -> float:
        if threads == 1:
            return self.step
        return self.step / self.gain if self.slowness(self.now) <= 1 else self.step * 3

    def run(self, *, budget: float, planned: int, believed: float, threads: tuple[int, ...] = ()) -> Course:
        """As the loop does it."""
        self.now = self.start
        limit = TimeLimit(budget, lambda: self.now, believed, self.validation, self.closing, threads)
        course, keeper = Course(steps=planned, threads=max(threads, default=1)), TimeKeeper(limit)
        every, step, measured = -(-planned // 10), 0, 0
        while step < course.steps:
            rate = learning_rate(
                course.position(step), peak=1.0, warmup=planned // 20, steps=planned, schedule="linear"
            )
            self.rates.append(rate)
            self.pass_time(self.step_seconds(course.threads))
            self.threads_used.append((self.now, course.threads))
            step += 1
            keeper.on_step(1000)
            if step < course.steps and (change := keeper.change(course, step, every=every)):
                course.take(change)
                self.changes.append(change)
            if course.crosses(measured, step, every) or step >= course.steps:
                self.pass_time(self.validation)
                self.validations, measured = self.validations + 1, step
                keeper.on_pause(validated=True)
        self.pass_time(self.closing)
        return course


MACHINES: dict[str, Slowness] = {
    "steady": lambda _: 1.0,
    "twice as slow from the middle on": lambda now: 2.0 if now > 0.5 * 120 else 1.0,
    "twice as fast from the middle on": lambda now: 1.0 if now > 0.5 * 120 else 2.0,
    "alternating": lambda now: 1.0 if int(now / 8) % 2 else 2.0,
    "five times slower for all but the trial": lambda _: 5.0,
    "quiet at the very end": lambda now: 1.0 if now > 100 else 4.0,
    "a stall of seconds now and then": lambda now: 40.0 if int(now) % 20 == 0 else 1.0,
}


@pytest.mark.parametrize("slowness", MACHINES.values(), ids=MACHINES)
@pytest.mark.parametrize("believed", [0.02, 0.1, 2.0], ids="trial said {} s".format)
def test_the_time_is_kept_and_the_rate_comes_down(slowness: Slowness, believed: float) -> None:
    machine = Machine(slowness)
    course = machine.run(budget=120.0, planned=max(20, int(100 / believed)), believed=believed)
    assert machine.now == pytest.approx(120.0, rel=0.05)
    assert machine.rates[-1] < 0.02
    peak = machine.rates.index(max(machine.rates))
    assert all(after <= before for before, after in itertools.pairwise(machine.rates[peak:])), "it never rises again"
    assert course.position(course.steps) == course.first
    assert len(machine.changes) < 200


@pytest.mark.parametrize("budget", [60.0, 240.0, 600.0, 3600.0])
def test_budgets_of_every_length(budget: float) -> None:
    machine = Machine(lambda now: 2.0 if now > budget / 3 else 1.0)
    machine.run(budget=budget, planned=int(budget / 0.1), believed=0.1)
    assert machine.now == pytest.approx(budget, rel=0.05)
    assert machine.rates[-1] < 0.02


def test_a_slow_machine_has_as_many_validations() -> None:
    slow, quick = Machine(lambda _: 3.0), Machine(lambda _: 1.0)
    for machine in (slow, quick):
        machine.run(budget=300.0, planned=2000, believed=0.1)
    assert slow.validations == quick.validations == 10


def test_a_machine_suspended_for_longer_than_the_budget_ends_soon_with_its_rate_down() -> None:
    machine = Machine(lambda now: 3000.0 if 60 < now < 61 else 1.0)
    machine.run(budget=120.0, planned=1000, believed=0.1)
    away, validations = 0.1 * 3000, 5
    assert machine.now < 61 + away + validations + machine.closing + 0.03 * 120
    assert machine.rates[-1] < 0.02


def test_threads_follow_the_load() -> None:
    machine = Machine(lambda now: 1.2 if 60 < now < 140 else 1.0)  # two threads are then three times slower
    machine.run(budget=240.0, planned=3000, believed=0.06, threads=(1, 2))

    def share_of_two(begin: float, end: float) -> float:
        found = [threads for now, threads in machine.threads_used if begin < now < end]
        return sum(threads == 2 for threads in found) / len(found)

    assert share_of_two(10, 60) > 0.8
    assert share_of_two(75, 140) < 0.2
    assert share_of_two(190, 240) > 0.8
    assert machine.now == pytest.approx(240.0, rel=0.05)


def test_threads_that_were_set_stay() -> None:
    machine = Machine(lambda now: 3.0 if now > 50 else 1.0)
    machine.run(budget=120.0, planned=1000, believed=0.1, threads=(1,))
    assert {threads for _, threads in machine.threads_used} == {1}


def test_time_of_earlier_sessions_counts() -> None:
    now = 7.0
    keeper = TimeKeeper(TimeLimit(100.0, lambda: now, 1.0, 2.0, 3.0), used_before=40.0)
    assert (keeper.used, keeper.left) == (47.0, 53.0)
    assert keeper.steps_left(Course(steps=50, threads=1), 0, every=50) == 53 - 2 - 3


def test_a_validation_beside_a_wrong_first_speed_does_not_end_the_run() -> None:
    machine = Machine(lambda _: 1.0, step=20.0, validation=5.0)
    machine.run(budget=2000.0, planned=20_000, believed=0.05)
    assert machine.now == pytest.approx(2000.0, rel=0.05)


def test_no_more_steps_than_are_worth_making() -> None:
    now = 0.0
    limit = TimeLimit(1000.0, lambda: now, 0.1, 1.0, 2.0, most_steps=50)
    keeper, course = TimeKeeper(limit), Course(steps=40, threads=1)
    assert keeper.steps_left(course, 10, every=10) == 40
    assert keeper.steps_left(course, 50, every=10) == 1
