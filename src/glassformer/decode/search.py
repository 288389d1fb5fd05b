"""The one loop of all decoding: step the model, let rules speak, let a chooser choose, put the ended aside.

Greedy, beam search and sampling are choosers; what may or must be said is a rule. Neither knows the model.
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

from glassformer.decode.chances import Chances, Shortlist
from glassformer.decode.protocol import Generator, Hypothesis, Ranked, mean_per_token
from glassformer.decode.rows import DEAD, Choice, Ended, Ints, Rows
from glassformer.errors import ModelError
from glassformer.nn.tape import Best


class Chooser(Protocol):
    """Decides how hypotheses go on."""

    @property
    def width(self) -> int:
        """Hypotheses of a sentence that are followed to their end, at the most."""

    @property
    def looks_at(self) -> int:
        """How many of the most likely tokens of a row it asks for; 0: it must know of all."""

    def left(self, count: int) -> Ints:
        """How many hypotheses to follow of each of `count` sentences."""

    def choose(self, chances: Chances | Shortlist, rows: Rows) -> Choice:
        """From what may come next."""


class Rule(Protocol):
    """Changes what is likely: -inf forbids."""

    def apply(self, allowed: Tensor, log_probs: Tensor, rows: Rows) -> None:
        """Changes `allowed` (R, V) in place; `log_probs` are the model's own."""


class Watcher(Protocol):
    """Sees every step, to draw the tree of a search."""

    def on_choice(self, rows: Rows, choice: Choice) -> None:
        """`rows` as they were, and how they go on."""


@dataclass(frozen=True)
class Task:
    """What is to be decoded, and how."""

    model: Generator
    batch: Any
    limits: Ints  # (B,) how many tokens each sentence may have, the end mark included
    bos: int | Ints  # what every hypothesis begins from; of each sentence, where they differ
    eos: int
    device: torch.device
    chooser: Chooser
    rules: Sequence[Rule] = ()
    ranked: Ranked = mean_per_token
    n_best: int = 1
    cut_last: bool = True  # hypotheses that were cut come after those that ended; else their scores decide
    watcher: Watcher | None = None

    @cached_property
    def shortlisting(self) -> Callable[[Tensor, Any, int], tuple[Best, Any] | None] | None:
        """The model's quicker step, where it has one and nobody needs to know more."""
        return None if self.rules or not self.chooser.looks_at else getattr(self.model, "step_to_best", None)

    @cached_property
    def shortest(self) -> int:
        """Of the limits."""
        return int(self.limits.min()) if len(self.limits) else 0


def search(task: Task) -> list[list[Hypothesis]]:
    """The n best hypotheses of each sentence, best first."""
    ended = [Ended() for _ in task.limits]
    with torch.inference_mode():
        for _ in going_on(task, ended):
            pass
    return [one.best(task.n_best, cut_last=task.cut_last) for one in ended]


@torch.inference_mode()
def steps(task: Task, ended: Sequence[Ended]) -> Iterator[Rows]:
    """The same, step by step: gives the rows after each; fills `ended`."""
    yield from going_on(task, ended)


def going_on(task: Task, ended: Sequence[Ended]) -> Iterator[Rows]:
    """The loop: until every sentence is decided."""
    rows = Rows.first(np.arange(len(task.limits)), left=task.chooser.left(len(task.limits)))
    going = close_decided(task, rows, ended)
    state, last = task.model.start(task.batch), np.full(len(rows.sentence), task.bos)
    if not going.all():
        state, rows, last = task.model.select(state, told(task, np.flatnonzero(going))), rows.keep(going), last[going]
    while len(last):  # R
        choice, state = chosen(task, last, state, rows)
        if task.watcher is not None:
            task.watcher.on_choice(rows, choice)
        before, rows = rows, rows.grown(choice)
        if uneventful(task, rows, choice):
            yield rows
            if rows.width == 1:
                last = choice.token.ravel()
                continue
            going = np.ones(len(rows.sentence), dtype=bool)
        else:
            give_up_stuck(task, before, rows, ended)
            collect(task, rows, ended)
            yield rows
            going = close_decided(task, rows, ended)
        index = continued(before, rows, choice)
        if len(index) and not np.array_equal(index, np.arange(len(last))):
            state = task.model.select(state, told(task, index))
        rows = rows if going.all() else rows.keep(going)
        last = rows.tokens[:, :, -1][rows.alive]


def chosen(task: Task, last: Ints, state: Any, rows: Rows) -> tuple[Choice, Any]:
    """How the rows go on after their last tokens, and the state that follows."""
    ids = told(task, last)
    if task.shortlisting is not None and (found := task.shortlisting(ids, state, task.chooser.looks_at)):
        return task.chooser.choose(Shortlist(found[0]), rows), found[1]
    logits, state, _ = task.model.step(ids, state)
    return task.chooser.choose(obeying(task.rules, Chances(logits), rows), rows), state


def uneventful(task: Task, rows: Rows, choice: Choice) -> bool:
    """Whether every hypothesis just goes on, and none has ended before: then there is nothing to decide."""
    return bool(
        rows.length < task.shortest
        and not (choice.token == task.eos).any()
        and rows.scores.min() > DEAD
        and rows.left.min() == task.chooser.width
    )


def continued(before: Rows, rows: Rows, choice: Choice) -> Ints:
    """The old row that each row goes on from, (R,)."""
    sentence, place = rows.alive.nonzero()
    return before.numbers()[sentence, choice.parent[sentence, place]]


def told(task: Task, numbers: Ints) -> Tensor:
    here = torch.from_numpy(numbers)
    return here if task.device.type == "cpu" else here.to(task.device)


def obeying(rules: Sequence[Rule], chances: Chances, rows: Rows) -> Chances:
    """With what the rules leave."""
    if rules:
        chances.ruled = chances.log_probs.clone()
        for rule in rules:
            rule.apply(chances.ruled, chances.log_probs, rows)
    return chances


def collect(task: Task, rows: Rows, ended: Sequence[Ended]) -> None:
    """Hypotheses that just ended are put aside, and their sentence has one less to follow."""
    done = rows.tokens[:, :, -1] == task.eos  # (B, k)
    if not done.any():
        return
    done &= rows.alive
    for b, j in zip(*done.nonzero(), strict=True):
        ended[rows.sentence[b]].all.append(hypothesis(task, rows, b, j, finished=True))
    rows.left = rows.left - done.sum(axis=1)
    rows.scores = np.where(done, DEAD, rows.scores)


def give_up_stuck(task: Task, before: Rows, rows: Rows, ended: Sequence[Ended]) -> None:
    """Where the rules forbid everything, the hypotheses end as they are."""
    best = rows.scores.max(axis=1)
    if np.isnan(best).any():
        raise ModelError(
            "What the model says next is not a number. Its weights are damaged, or too large for this precision: "
            "check them, or compute in float32."
        )
    if best.min() == DEAD:
        for b in np.flatnonzero((best == DEAD) & before.alive.any(axis=1)).tolist():
            cut(task, before, b, ended)


def close_decided(task: Task, rows: Rows, ended: Sequence[Ended]) -> NDArray[np.bool_]:
    """(B,) whether a sentence goes on; the rows of the others are dead from here on.

    A sentence at its limit gives up its open hypotheses as they are.
    """
    best = rows.scores.max(axis=1)  # (B,)
    verdicts: NDArray[np.bool_] = best > DEAD
    if rows.length >= task.shortest:
        full = rows.length >= task.limits[rows.sentence]
        for b in np.flatnonzero(full & verdicts).tolist():
            cut(task, rows, b, ended)
        verdicts &= ~full
    if rows.left.min(initial=task.chooser.width) == task.chooser.width and verdicts.all():
        return verdicts
    for b in np.flatnonzero(verdicts & (rows.left < task.chooser.width)).tolist():  # some hypotheses have ended
        sentence = rows.sentence[b]
        # log P only falls with length: the best a hypothesis can reach is its present log P at full length.
        attainable = task.ranked(float(best[b]), int(task.limits[sentence]))
        verdicts[b] = not ended[sentence].settled(task.n_best, attainable)
    rows.scores[~verdicts] = DEAD
    return verdicts


def cut(task: Task, rows: Rows, b: int, ended: Sequence[Ended]) -> None:
    """The open hypotheses of a sentence end without an end mark."""
    for j in rows.alive[b].nonzero()[0]:
        ended[rows.sentence[b]].all.append(hypothesis(task, rows, b, j, finished=False))


def hypothesis(task: Task, rows: Rows, b: int, j: int, *, finished: bool) -> Hypothesis:
    ids, log_probs = rows.tokens[b, j].tolist(), rows.log_probs[b, j].tolist()
    score = task.ranked(float(rows.scores[b, j]), len(ids))
    return Hypothesis(tuple(ids[:-1] if finished else ids), tuple(log_probs), score, finished)
