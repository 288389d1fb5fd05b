"""A language model: goes on from texts, tells how likely it finds them, and what it makes of them inside."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast, overload

import numpy as np
import torch
from torch import Tensor

from glassformer.data.batches import Index
from glassformer.decode import Best, BestRefilled, Hypothesis, Sample, Task, steps
from glassformer.decode.rows import Ended
from glassformer.decode.rules import AtLeast
from glassformer.decode.search import Chooser, Rule
from glassformer.errors import DataError, ModelError, TokenizerError
from glassformer.hub.huggingface.pretrained import Pretrained
from glassformer.models.decoder_only import DecoderOnly
from glassformer.nn.taps import listen
from glassformer.tasks.asking import Lots, rules_of_speech
from glassformer.tasks.generation.asked import Asked
from glassformer.tasks.generation.inputs import GoneOnFrom, Inputs, Rows, TokenBatch, inputs_of
from glassformer.tasks.generation.rules import AfterTexts, Known, OneEnd, StopAfter
from glassformer.text import Tokenizer
from glassformer.text.unfolding import Unfolding, text_after

TOGETHER = 8192  # tokens of a batch: of the texts, of what may come, of all hypotheses
NO_END = -1  # no token has this number
Ending = Literal["end", "stop", "length", "positions"]


@dataclass(frozen=True)
class Continuation:
    """What was written, and how likely the model finds it."""

    text: str
    ids: tuple[int, ...]
    tokens: tuple[str, ...]
    log_probs: tuple[float, ...]  # of each token, and of the end mark if it was reached
    score: float  # what hypotheses are ranked by: log-probability, normalised by length; rules may have lowered it
    why: Ending  # it ended: the end mark, a text to stop at, max_new, or the model's last position

    @property
    def log_prob(self) -> float:
        return sum(self.log_probs)


@dataclass(frozen=True)
class Scored:
    """How likely each token of a text is after those before it."""

    tokens: tuple[str, ...]
    log_probs: tuple[float, ...]

    @property
    def log_prob(self) -> float:
        return sum(self.log_probs)

    @property
    def perplexity(self) -> float:
        """exp of the mean: as if so many tokens had been equally likely each time."""
        return math.exp(-self.log_prob / len(self.log_probs))


class LanguageModel:
    """Writes texts with one model: decoders go on from a prompt, encoder-decoders answer a source."""

    def __init__(self, pretrained: Pretrained, *, inputs: Inputs | None = None) -> None:
        self.inputs = inputs_of(pretrained) if inputs is None else inputs
        self.pretrained, self.model = pretrained, cast(Any, pretrained.model).eval()
        self.reader = cast(Tokenizer, pretrained.tokenizer)
        self.writer = pretrained.target or self.reader
        self.vocabulary: int = self.model.head.weight.size(0)
        ends = pretrained.extras.get("ends") or [pretrained.marks.eos]
        self.ends = [end for end in ends if end is not None and end < self.vocabulary]

    @property
    def device(self) -> torch.device:
        device: torch.device = self.model.head.weight.device
        return device

    @property
    def goes_on(self) -> bool:
        """Whether what it writes belongs to the text that was given."""
        return isinstance(self.inputs, GoneOnFrom)

    # Writing

    @overload  # a str is also a sequence of str, but never meant as one
    def generate(self, texts: str, *, max_new: int = ..., beam: int = ..., lots: Lots | None = ...) -> str: ...  # type: ignore[overload-overlap]
    @overload
    def generate(
        self, texts: Sequence[str], *, max_new: int = ..., beam: int = ..., lots: Lots | None = ...
    ) -> list[str]: ...
    def generate(
        self, texts: str | Sequence[str], *, max_new: int = 128, beam: int = 1, lots: Lots | None = None
    ) -> str | list[str]:
        """What the model writes after, or in answer to, each text; a single text gives a single one."""
        asked = Asked(max_new=max_new, beam=beam, lots=lots)
        found = [options[0].text for options in self.continuations(texts, asked)]
        return found[0] if isinstance(texts, str) else found

    def continuations(
        self,
        texts: str | Sequence[str],
        asked: Asked = Asked(),  # noqa: B008 (it cannot change)
        *,
        first_number: int = 0,
        progress: Callable[[int], None] | None = None,
    ) -> list[list[Continuation]]:
        """The same with all that can be asked for, and all that is known: the n best of each text, best first.

        Samples of a text depend on the seed and on its number, counted from `first_number`. `progress` is told how many
        more tokens are written.
        """
        texts = [texts] if isinstance(texts, str) else texts
        rows = [self.read(text, first_number + i, alone=len(texts) == 1) for i, text in enumerate(texts)]
        return self.continued(rows, asked, numbers=range(first_number, first_number + len(rows)), progress=progress)

    def continued(
        self, rows: Rows, asked: Asked, *, numbers: Sequence[int], progress: Callable[[int], None] | None = None
    ) -> list[list[Continuation]]:
        """The same of what has been read."""
        results: list[list[Continuation]] = [[] for _ in rows]
        for index in batches_of(rows, asked):
            task = self.task([rows[i] for i in index], asked, numbers=[numbers[i] for i in index])
            for i, found in zip(index, self.searched(task, progress), strict=True):
                results[i] = [self.continuation(one, rows[i], asked) for one in found]
        return results

    def read(self, text: str, number: int, *, alone: bool) -> list[int]:
        try:
            return self.inputs.ids(text)
        except (DataError, TokenizerError) as error:
            raise (error if alone else type(error)(f"Text {number + 1:,}: {error}")) from None

    def searched(self, task: Task, progress: Callable[[int], None] | None) -> list[list[Hypothesis]]:
        ended = [Ended() for _ in task.limits]
        for rows in steps(task, ended):
            if progress is not None:
                progress(rows.scores.size)
        return [one.best(task.n_best, cut_last=task.cut_last) for one in ended]

    def stream(
        self, text: str, asked: Asked | None = None, *, max_new: int = 128, lots: Lots | None = None
    ) -> Iterator[str]:
        """The text piece by piece, as soon as each is certain. Greedy, or by lot: what is searched comes at its end.

        `asked` says all that can be said; without it, `max_new` and `lots` do.
        """
        asked = Asked(max_new=max_new, lots=lots) if asked is None else asked
        if asked.width > 1:
            raise ModelError("Only one text can be written piece by piece: ask for a beam of 1 and one sample.")
        row, ended = self.inputs.ids(text), [Ended()]
        unfolding = Unfolding(self.writer, self.inputs.before(row))
        waiting = ""  # it may be the beginning of a text to stop at
        for rows in steps(self.task([row], asked), ended):
            if not rows.alive[0, 0]:  # it has just ended
                break
            waiting += unfolding.add([int(rows.tokens[0, 0, -1])])
            upto, stopped = cut(waiting, asked.stop)
            safe = upto if stopped else held_back(waiting, asked.stop)
            if piece := waiting[:safe]:
                yield piece
            if stopped:
                return
            waiting = waiting[safe:]
        waiting += unfolding.rest()
        if piece := waiting[: cut(waiting, asked.stop)[0]]:
            yield piece

    def task(self, rows: Sequence[Sequence[int]], asked: Asked, *, numbers: Sequence[int] = (0,)) -> Task:
        """The search for what follows one batch of texts."""
        room = [self.inputs.room(row) for row in rows]
        limits = np.array(
            [asked.max_new if most is None else min(asked.max_new, most) for most in room], dtype=np.int64
        )
        eos = self.ends[0] if self.ends else NO_END
        return Task(
            model=self.model,
            batch=self.inputs.batch(rows).to(self.device),
            limits=limits,
            bos=self.inputs.firsts(rows),
            eos=eos,
            device=self.device,
            chooser=chooser_for(asked, numbers, eos=eos),
            rules=list(self.rules(rows, asked, limits)),
            ranked=asked.ranked,
            n_best=asked.n_best,
            cut_last=False,  # most texts could go on
        )

    def rules(self, rows: Sequence[Sequence[int]], asked: Asked, limits: Index) -> Iterator[Rule]:
        if self.vocabulary > len(self.writer):
            yield Known(len(self.writer))
        if len(self.ends) > 1:
            yield OneEnd(self.ends[0], self.ends, by_lot=asked.lots is not None)
        if asked.min_new and self.ends:
            yield AtLeast(np.minimum(limits, asked.min_new), self.ends[0])
        before = [self.inputs.before(row) for row in rows]
        for rule in rules_of_speech(
            self.writer, no_repeat=asked.no_repeat, repetition_penalty=asked.repetition_penalty, ban=asked.ban
        ):
            yield AfterTexts(rule, before)
        if asked.stop and self.ends:
            yield StopAfter([text.encode() for text in asked.stop], self.writer.surfaces, self.ends[0])

    def continuation(self, found: Hypothesis, row: Sequence[int], asked: Asked) -> Continuation:
        text = text_after(self.writer, found.ids, self.inputs.before(row))
        upto, stopped = cut(text, asked.stop)
        forced = stopped and found.finished  # then the end mark was not the model's choice
        return Continuation(
            text=text[:upto],
            ids=found.ids,
            tokens=tuple(self.writer.pieces_of(found.ids)),
            log_probs=found.log_probs[: len(found.ids)] if forced else found.log_probs,
            score=found.score,
            why=self.why(found, asked, stopped=stopped),
        )

    def why(self, found: Hypothesis, asked: Asked, *, stopped: bool) -> Ending:
        if stopped:
            return "stop"
        if found.finished:
            return "end"
        return "length" if len(found.ids) >= asked.max_new else "positions"

    # Looking

    @torch.inference_mode()
    def score(self, text: str) -> Scored:
        """The log-probability of every token of a text after those before it.

        The first token counts only where texts begin with a mark of their own: otherwise nothing stands before it.
        """
        row = self.own_row(text)
        if len(row) < 2:
            raise DataError("Nothing to score: a text of at least two tokens is needed.")
        logits = self.model(TokenBatch.of([row]).to(self.device))[0, :-1].float()  # (T-1, V)
        labels = torch.tensor(row[1:], device=logits.device)
        found = logits.log_softmax(dim=-1).gather(1, labels[:, None])[:, 0]
        return Scored(tuple(self.writer.pieces_of(row[1:])), tuple(found.tolist()))

    @torch.inference_mode()
    def hidden_states(self, text: str) -> Tensor:
        """(N + 1, T, D): the vectors of every token after the embedding and after each block; the last ones normed."""
        row = self.own_row(text)
        with listen(self.model, lambda name: name.endswith(("inputs.sum", "feed_forward_residual.after"))) as heard:
            last = self.model.hidden(TokenBatch.of([row]).to(self.device))
        blocks = [heard[f"blocks.{i}.feed_forward_residual.after"][0] for i in range(len(self.model.blocks) - 1)]
        return torch.cat([heard["inputs.sum"][0], *blocks, last])

    def own_row(self, text: str) -> list[int]:
        if not isinstance(self.model, DecoderOnly):
            raise ModelError(f"A {self.pretrained.kind} has no texts of its own to look at, only answers to others.")
        return self.inputs.ids(text)


def batches_of(rows: Sequence[Sequence[int]], asked: Asked) -> Iterator[list[int]]:
    """The indices of texts alike in length together, by a budget of tokens."""
    order = sorted(range(len(rows)), key=lambda i: -len(rows[i]))
    while order:
        size = max(1, TOGETHER // (asked.width * (len(rows[order[0]]) + asked.max_new)))
        yield order[:size]
        order = order[size:]


def chooser_for(asked: Asked, numbers: Sequence[int], *, eos: int) -> Chooser:
    """A beam stays full, as users of `transformers` know it."""
    lots = asked.lots
    if lots is None:
        return Best(1) if asked.beam == 1 else BestRefilled(asked.beam, eos)
    return Sample(asked.n_best, numbers, lots.seed, lots.temperature, lots.top_k, lots.top_p)


def cut(text: str, stops: Sequence[str]) -> tuple[int, bool]:
    """How far a text goes before the first text to stop at, and whether there is one."""
    places = [place for stop in stops if (place := text.find(stop)) >= 0]
    return (min(places), True) if places else (len(text), False)


def held_back(text: str, stops: Sequence[str]) -> int:
    """How far a text goes before what may be the beginning of a text to stop at."""
    ends = [size for stop in stops for size in range(1, min(len(stop), len(text)) + 1) if text.endswith(stop[:size])]
    return len(text) - max(ends, default=0)
