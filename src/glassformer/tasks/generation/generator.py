"""Continuations: what a model writes after a prompt, in answer to a source, or as the caption of an image."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np

from glassformer.decode import Hypothesis, Search, search
from glassformer.store.bundle import Bundle
from glassformer.tasks.generation.inputs import Inputs, Rows
from glassformer.tasks.generation.options import GenerateOptions
from glassformer.tasks.text_generator import TextGenerator, batches_by_length, stop_place, text_pieces, until_stop
from glassformer.text import Tokenizer
from glassformer.text.unfolding import text_after

BATCH_TOKENS = 8192  # the most tokens of a batch: inputs, possible outputs, all hypotheses
Ending = Literal["end", "stop", "length", "positions"]


@dataclass(frozen=True)
class Continuation:
    """A generated text and its log-probabilities."""

    text: str
    ids: tuple[int, ...]
    tokens: tuple[str, ...]
    log_probs: tuple[float, ...]  # of each token, and of the end mark if it was reached
    score: float  # hypotheses are ranked by it: log-probability, normalised by length; rules may have lowered it
    why: Ending  # why it ended: the end mark, a stop text, max_new, or the model's last position

    @property
    def log_prob(self) -> float:
        return sum(self.log_probs)


class ContinuationGenerator(TextGenerator):
    """Generates continuations with a pretrained model; `inputs` defines how it reads a prompt or a source."""

    def __init__(self, bundle: Bundle, inputs: Inputs) -> None:
        ends = bundle.extras.get("ends") or [bundle.marks.eos]
        tokenizer = cast(Tokenizer, bundle.target or bundle.tokenizer)
        model = cast(Any, bundle.model).eval()
        super().__init__(model, tokenizer, ends=[end for end in ends if end is not None])
        self.bundle, self.inputs = bundle, inputs
        first = bundle.extras.get("first")  # some models are given the first token of an output
        self.first: list[int] = [] if first is None else [first]

    def continuations(
        self,
        rows: Rows,
        options: GenerateOptions,
        *,
        numbers: Sequence[int],
        progress: Callable[[int], None] | None = None,
    ) -> list[list[Continuation]]:
        """The n best continuations of each row, best first. Samples of a row depend on the seed and its number."""
        results: list[list[Continuation]] = [[] for _ in rows]
        lengths = [len(row) for row in rows]
        for index in batches_by_length(lengths, tokens=BATCH_TOKENS, width=options.width, extra=options.max_new):
            job = self.search_rows([rows[i] for i in index], options, numbers=[numbers[i] for i in index])
            for i, found in zip(index, search(job, progress), strict=True):
                results[i] = [self.continuation(one, rows[i], options) for one in found]
        return results

    def stream(self, row: Sequence[int], options: GenerateOptions) -> Iterator[str]:
        """The continuation of one row, in pieces."""
        pieces = text_pieces(self.search_rows([row], options), self.tokenizer, self.inputs.prompt(row))
        return until_stop(pieces, options.stop)

    def search_rows(self, rows: Rows, options: GenerateOptions, *, numbers: Sequence[int] = (0,)) -> Search:
        """The search for the continuations of one batch."""
        budgets = [self.inputs.budget(row) for row in rows]
        most = [options.max_new if budget is None else min(options.max_new, budget) for budget in budgets]
        limits = np.array(most, dtype=np.int64)
        return self.search(
            self.inputs.batch(rows),
            options.decoding,
            start=self.inputs.start_tokens(rows),
            limits=limits,
            numbers=numbers,
            min_lengths=np.minimum(limits, options.min_new) if options.min_new else None,
            prompts=[self.inputs.prompt(row) for row in rows],
            prefixes=[self.first for _ in rows] if self.first else (),
        )

    def continuation(self, found: Hypothesis, row: Sequence[int], options: GenerateOptions) -> Continuation:
        text = text_after(self.tokenizer, found.ids, self.inputs.prompt(row))
        end, stopped = stop_place(text, options.stop)
        forced = stopped and found.finished  # then the end mark was not the model's choice
        return Continuation(
            text=text[:end],
            ids=found.ids,
            tokens=tuple(self.tokenizer.pieces_of(found.ids)),
            log_probs=found.log_probs[: len(found.ids)] if forced else found.log_probs,
            score=found.score,
            why=ending(found, options, stopped=stopped),
        )


def ending(found: Hypothesis, options: GenerateOptions, *, stopped: bool) -> Ending:
    if stopped:
        return "stop"
    if found.finished:
        return "end"
    return "length" if len(found.ids) >= options.max_new else "positions"
