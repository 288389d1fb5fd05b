"""Keeping to a time budget: how fast the machine is now, how many steps still fit, how many threads are best.

The clock is checked after every step. It may lead to a `Change` of the course, which the loop records before it takes
effect. Now and then another number of threads is tried for a few steps, because fewer may be faster if other programs
use the machine.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from glassformer.training.course import Change, Course

Clock = Callable[[], float]

MEMORY = 0.08  # share of the budget after which older speeds are forgotten
SHORTEST_MEMORY, LONGEST_MEMORY = 3.0, 60.0  # seconds, bounds of this memory
FARTHEST = 4.0  # the forecast of the end is scaled at most by this, because one slow validation says little about it
STALL = 10.0  # a step counts at most as this many usual steps
PAUSE = 0.004  # share of the budget between two changes of plan
SHORTEST_PAUSE = 1.0  # seconds
TOLERANCE = 0.02  # share of the steps left; smaller differences are not worth a change
LAST = 0.015  # when the time is over, one step advances at most this share of the first plan, so that the rate falls
LANDING = 0.02  # share of the budget that these last steps may take
TRIED = 4  # steps with another number of threads
FIRST_TRIAL, LONGEST_WAIT = 4.0, 45.0  # seconds between two trials of threads
BETTER = 0.9  # another number of threads must take less than this share of the time per token
SLOWER = 1.3  # if the time per token grows by this factor, the threads are tried again


@dataclass(frozen=True)
class TimeLimit:
    """The time for the whole run, and the forecast of how it will be used."""

    seconds: float  # for the whole run, all sessions together
    clock: Clock  # seconds of this session, from the start of its command
    step_seconds: float
    validation_seconds: float
    closing_seconds: float  # after the last validation: choosing, measuring, the report, exiting
    threads: Sequence[int] = ()  # numbers of threads to choose from during the run; empty: never change
    most_steps: int = 0  # more would not help, however much time there is; 0: no limit


@dataclass
class Speed:
    """A mean number of seconds per step or token; older values fade."""

    seconds: float
    weight: float  # steps or tokens

    @property
    def mean(self) -> float:
        return self.seconds / self.weight

    def add(self, seconds: float, weight: float, *, memory: float) -> None:
        kept = math.exp(-seconds / memory)
        self.seconds, self.weight = kept * self.seconds + seconds, kept * self.weight + weight


@dataclass
class ThreadTrial:
    """A number of threads that is being tried."""

    threads: int
    before: int
    usual: float  # seconds per token with the number before
    seconds: float = 0.0
    tokens: int = 0
    steps: int = 0

    def on_step(self, seconds: float, tokens: int) -> None:
        if self.steps:  # the first one also starts the threads
            self.seconds += seconds
            self.tokens += tokens
        self.steps += 1


@dataclass
class TimeKeeper:
    """Follows the clock after each step, and changes the plan if necessary."""

    limit: TimeLimit
    used_before: float = 0.0  # seconds, in earlier sessions

    def __post_init__(self) -> None:
        limit = self.limit
        self.last = self.last_change = limit.clock()
        self.steps = Speed(limit.step_seconds, 1.0)
        self.tokens: Speed | None = None
        self.measured = limit.validation_seconds  # of the last validation
        self.measured_at: float | None = None  # seconds per step at that time
        self.trial: ThreadTrial | None = None
        self.wait = FIRST_TRIAL
        self.next_trial = self.last + self.wait
        self.chosen_at = 0.0  # seconds per token when the threads were chosen
        self.trials_made = 0

    # The clock

    @property
    def used(self) -> float:
        """Seconds of the budget used, in all sessions together."""
        return self.used_before + self.limit.clock()

    @property
    def left(self) -> float:
        return self.limit.seconds - self.used

    @property
    def validation_seconds(self) -> float:
        """The time of the next validation: that of the last one, scaled as the time of steps has changed since."""
        slower = self.steps.mean / self.measured_at if self.measured_at else 1.0
        return self.measured * min(2.0, max(0.5, slower))

    @property
    def closing_seconds(self) -> float:
        """The time from the last validation to the end of the command, scaled like that of validations."""
        slower = self.validation_seconds / max(self.limit.validation_seconds, 1e-9)
        return self.limit.closing_seconds * min(FARTHEST, max(1 / FARTHEST, slower))

    def on_step(self, tokens: int) -> None:
        """Called after a step; all time since the last call belongs to it."""
        now = self.limit.clock()
        seconds, self.last = max(now - self.last, 1e-9), now
        if self.trial is not None:
            self.trial.on_step(seconds, tokens)
            return
        memory = min(LONGEST_MEMORY, max(SHORTEST_MEMORY, MEMORY * self.limit.seconds))
        memory = min(memory, max(SHORTEST_MEMORY, self.left / 3))  # near the end, the latest steps count more
        seconds = min(seconds, STALL * self.steps.mean)  # a machine that was suspended is not slow
        self.steps.add(seconds, 1.0, memory=memory)
        if self.tokens is None:
            self.tokens = Speed(seconds, tokens)
        else:
            self.tokens.add(seconds, tokens, memory=SHORTEST_MEMORY)

    def on_pause(self, *, validated: bool) -> None:
        """Called after a validation with its checkpoint, or a save; all time since the last call belongs to it."""
        now = self.limit.clock()
        if validated:
            self.measured, self.measured_at = now - self.last, self.steps.mean
        self.last = now

    # The plan

    def change(self, course: Course, step: int, *, every: int) -> Change | None:
        """The change of plan after this step; None if there is none."""
        if course.is_replayed or course.has_ended:
            return None
        threads = self.threads_now(course)
        steps = step + self.steps_left(course, step, every=every)
        if self.trial is not None or not self.is_worth_it(course, step, steps):
            steps = course.steps
        if (steps, threads) == (course.steps, course.threads):
            return None
        self.last_change = self.limit.clock()
        return Change(step, steps, threads, self.used)

    def steps_left(self, course: Course, step: int, *, every: int) -> int:
        """The steps that fit in addition to the validations and the end; at least enough to bring the rate down."""
        position = course.position(step)
        between = max(0, math.ceil(course.first / every) - 1 - math.floor(position / every))
        left = self.left - (1 + between) * self.validation_seconds - self.closing_seconds
        smooth = math.ceil((1 - position / course.first) / LAST)
        landing = min(smooth, int(LANDING * self.limit.seconds / self.steps.mean))
        wanted = max(1, landing, int(left / self.steps.mean))
        return min(wanted, max(1, self.limit.most_steps - step)) if self.limit.most_steps else wanted

    def is_worth_it(self, course: Course, step: int, steps: int) -> bool:
        now, planned = self.limit.clock(), course.steps - step
        pause = max(SHORTEST_PAUSE, PAUSE * self.limit.seconds)
        near = planned * self.steps.mean < 3 * pause  # too close to the end to wait for the pause
        large = abs(steps - course.steps) > max(1, TOLERANCE * planned)
        return large and (near or now - self.last_change >= pause)

    # Threads

    def threads_now(self, course: Course) -> int:
        """The number for the next step: that of the course, one to try, or the better one after a trial."""
        if self.trial is not None:
            return self.judged() if self.trial.steps > TRIED else self.trial.threads
        others = [number for number in self.limit.threads if number != course.threads]
        if not others or self.tokens is None or self.left < 2 * (self.closing_seconds + self.validation_seconds):
            return course.threads
        now = self.limit.clock()
        slower = bool(self.chosen_at) and self.tokens.mean > SLOWER * self.chosen_at
        if now < self.next_trial and not (slower and now > self.next_trial - self.wait + FIRST_TRIAL):
            return course.threads
        if slower:
            self.wait = FIRST_TRIAL
        other = others[self.trials_made % len(others)]
        self.trial = ThreadTrial(other, course.threads, self.tokens.mean)
        return other

    def judged(self) -> int:
        """Ends a trial; returns the faster number of threads, or the one before if the difference is small."""
        trial = self.trial
        assert trial is not None
        found, self.trial = trial.seconds / max(trial.tokens, 1), None
        self.trials_made += 1
        won = found < BETTER * trial.usual
        self.wait = FIRST_TRIAL if won else min(LONGEST_WAIT, 2 * self.wait)
        self.next_trial = self.limit.clock() + self.wait
        self.chosen_at = min(found, trial.usual)
        if won:
            self.tokens = Speed(trial.seconds, trial.tokens)
            ratio = found / trial.usual
            self.steps = Speed(self.steps.seconds * ratio, self.steps.weight)
        return trial.threads if won else trial.before
