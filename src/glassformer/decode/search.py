"""The one loop of all decoding: step the model, apply the rules, let the chooser choose, set complete hypotheses aside.

Greedy decoding, beam search and sampling are choosers; what may or must be in an output is a rule. Neither knows the
model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from glassformer.decode.next_token import NextToken, Shortlist
from glassformer.decode.protocol import Generator, Hypothesis, Ranked, mean_per_token
from glassformer.decode.rows import DEAD, Choice, Completed, Ints, Rows
from glassformer.errors import ModelError
from glassformer.nn.native.tape import Best


class Chooser(Protocol):
    """Decides how hypotheses continue."""

    @property
    def width(self) -> int:
        """The most hypotheses of a sentence that are followed to their end."""

    @property
    def shortlist_size(self) -> int:
        """How many of the most likely tokens of a row it needs; 0: all of them."""

    def beam_widths(self, count: int) -> Ints:
        """How many hypotheses to follow for each of `count` sentences."""

    def choose(self, next_token: NextToken | Shortlist, rows: Rows) -> Choice:
        """How each sentence continues, given the distribution of the next token."""


class Rule(Protocol):
    """Changes how likely tokens are: -inf forbids one."""

    def apply(self, allowed: Tensor, log_probs: Tensor, rows: Rows) -> None:
        """Changes `allowed` (R, V) in place; `log_probs` are the model's own."""


class Watcher(Protocol):
    """Sees every step, to draw the tree of a search."""

    def on_choice(self, rows: Rows, choice: Choice, next_token: NextToken, rules: Sequence[Rule]) -> None:
        """`rows` before the step, how they continue, and what was chosen from, by which rules."""


@dataclass(frozen=True)
class Search:
    """What to decode, and how."""

    model: Generator
    batch: Any
    limits: Ints  # (B,) the most tokens of each sentence's output, the end mark included
    bos: int | Ints  # the token that every output starts from; one per sentence where they differ
    eos: int
    device: torch.device
    chooser: Chooser
    rules: Sequence[Rule] = ()
    ranked: Ranked = mean_per_token
    n_best: int = 1
    cut_last: bool = True  # hypotheses that were cut come after finished ones; False: only scores decide
    watcher: Watcher | None = None

    @cached_property
    def step_to_best(self) -> Callable[[Tensor, Any, int], tuple[Best, Any] | None] | None:
        """The model's faster step, where it has one and the shortlist is enough."""
        whole = self.rules or self.watcher is not None or not self.chooser.shortlist_size
        return None if whole else getattr(self.model, "step_to_best", None)

    @cached_property
    def smallest_limit(self) -> int:
        return int(self.limits.min()) if len(self.limits) else 0


def search(job: Search, progress: Callable[[int], None] | None = None) -> list[list[Hypothesis]]:
    """The n best hypotheses of each sentence, best first. `progress` gets the number of new tokens of each step."""
    completed = [Completed() for _ in job.limits]
    with torch.inference_mode():
        for rows in decode(job, completed):
            if progress is not None:
                progress(rows.scores.size)
    return [one.best(job.n_best, cut_last=job.cut_last) for one in completed]


@torch.inference_mode()
def steps(job: Search, completed: Sequence[Completed]) -> Iterator[Rows]:
    """The same step by step: yields the rows after each step, and fills `completed`."""
    yield from decode(job, completed)


def decode(job: Search, completed: Sequence[Completed]) -> Iterator[Rows]:
    """The loop: runs until every sentence is decided."""
    rows = Rows.first(np.arange(len(job.limits)), left=job.chooser.beam_widths(len(job.limits)))
    active = close_decided(job, rows, completed)
    state, last = job.model.start(job.batch), np.full(len(rows.sentence), job.bos)
    if not active.all():
        state = job.model.select(state, to_device(job, np.flatnonzero(active)))
        rows, last = rows.keep(active), last[active]
    while len(last):  # R
        choice, state = choose_next(job, last, state, rows)
        before, rows = rows, rows.extended(choice)
        if all_continue(job, rows, choice):
            yield rows
            if rows.width == 1:
                last = choice.token.ravel()
                continue
            active = np.ones(len(rows.sentence), dtype=bool)
        else:
            cut_stuck(job, before, rows, completed)
            set_finished_aside(job, rows, completed)
            yield rows
            active = close_decided(job, rows, completed)
        parents = parent_rows(before, rows, choice)
        if len(parents) and not np.array_equal(parents, np.arange(len(last))):
            state = job.model.select(state, to_device(job, parents))
        rows = rows if active.all() else rows.keep(active)
        last = rows.tokens[:, :, -1][rows.alive]


def choose_next(job: Search, last: Ints, state: Any, rows: Rows) -> tuple[Choice, Any]:
    """How the rows continue after their last tokens, and the next state."""
    ids = to_device(job, last)
    if job.step_to_best is not None and (found := job.step_to_best(ids, state, job.chooser.shortlist_size)):
        return job.chooser.choose(Shortlist(found[0]), rows), found[1]
    logits, state, _ = job.model.step(ids, state)
    next_token = apply_rules(job.rules, NextToken(logits), rows)
    choice = job.chooser.choose(next_token, rows)
    if job.watcher is not None:
        job.watcher.on_choice(rows, choice, next_token, job.rules)
    return choice, state


def all_continue(job: Search, rows: Rows, choice: Choice) -> bool:
    """Whether every hypothesis continues and none has ended so far: then there is nothing to decide."""
    return bool(
        rows.length < job.smallest_limit
        and not (choice.token == job.eos).any()
        and rows.scores.min() > DEAD
        and rows.left.min() == job.chooser.width
    )


def parent_rows(before: Rows, rows: Rows, choice: Choice) -> Ints:
    """The old row that each row continues, (R,)."""
    sentence, place = rows.alive.nonzero()
    return before.row_numbers()[sentence, choice.parent[sentence, place]]


def to_device(job: Search, numbers: Ints) -> Tensor:
    tensor = torch.from_numpy(numbers)
    return tensor if job.device.type == "cpu" else tensor.to(job.device)


def apply_rules(rules: Sequence[Rule], next_token: NextToken, rows: Rows) -> NextToken:
    if rules:
        next_token.after_rules = next_token.log_probs.clone()
        for rule in rules:
            rule.apply(next_token.after_rules, next_token.log_probs, rows)
    return next_token


def set_finished_aside(job: Search, rows: Rows, completed: Sequence[Completed]) -> None:
    """Moves hypotheses that just reached the end mark to `completed`; their sentence has fewer left to follow."""
    done = rows.tokens[:, :, -1] == job.eos  # (B, k)
    if not done.any():
        return
    done &= rows.alive
    for b, j in zip(*done.nonzero(), strict=True):
        completed[rows.sentence[b]].all.append(hypothesis(job, rows, b, j, finished=True))
    rows.left = rows.left - done.sum(axis=1)
    rows.scores = np.where(done, DEAD, rows.scores)


def cut_stuck(job: Search, before: Rows, rows: Rows, completed: Sequence[Completed]) -> None:
    """Where the rules forbid every token, the hypotheses end as they are."""
    best = rows.scores.max(axis=1)
    if np.isnan(best).any():
        raise ModelError(
            "The model's output is not a number (NaN). Its weights are damaged, or too large for this precision: "
            "check them, or compute in float32."
        )
    if best.min() == DEAD:
        for b in np.flatnonzero((best == DEAD) & before.alive.any(axis=1)).tolist():
            cut(job, before, b, completed)


def close_decided(job: Search, rows: Rows, completed: Sequence[Completed]) -> NDArray[np.bool_]:
    """(B,) whether a sentence continues; the rows of the others are dead from here on.

    The open hypotheses of a sentence at its limit are cut.
    """
    best = rows.scores.max(axis=1)  # (B,)
    active: NDArray[np.bool_] = best > DEAD
    if rows.length >= job.smallest_limit:
        full = rows.length >= job.limits[rows.sentence]
        for b in np.flatnonzero(full & active).tolist():
            cut(job, rows, b, completed)
        active &= ~full
    if rows.left.min(initial=job.chooser.width) == job.chooser.width and active.all():
        return active
    for b in np.flatnonzero(active & (rows.left < job.chooser.width)).tolist():  # some hypotheses have ended
        sentence = rows.sentence[b]
        # log P only falls with length: the best that a hypothesis can reach is its present log P at full length.
        attainable = job.ranked(float(best[b]), int(job.limits[sentence]))
        active[b] = not completed[sentence].settled(job.n_best, attainable)
    rows.scores[~active] = DEAD
    return active


def cut(job: Search, rows: Rows, b: int, completed: Sequence[Completed]) -> None:
    """The open hypotheses of a sentence end without an end mark."""
    for j in rows.alive[b].nonzero()[0]:
        completed[rows.sentence[b]].all.append(hypothesis(job, rows, b, j, finished=False))


def hypothesis(job: Search, rows: Rows, b: int, j: int, *, finished: bool) -> Hypothesis:
    ids, log_probs = rows.tokens[b, j].tolist(), rows.log_probs[b, j].tolist()
    score = job.ranked(float(rows.scores[b, j]), len(ids))
    return Hypothesis(tuple(ids[:-1] if finished else ids), tuple(log_probs), score, finished)
