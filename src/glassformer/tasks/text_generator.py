"""The one text generator: what translators, language models and captioners share.

A `TextGenerator` holds a model, the tokenizer of its outputs and the tokens that end them. `Decoding` says how to
decode: by which search or sampling, with which rules. Together they make a `Search` of one batch, whose results come
all at once (`decode.search`) or piece by piece (`text_pieces`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

import torch

from glassformer.decode import Best, BestRefilled, Sample, Search, steps
from glassformer.decode.protocol import Ranked, mean_per_token
from glassformer.decode.rows import Completed, Ints
from glassformer.decode.rules import (
    BannedWords,
    Forbidden,
    ForcedPrefix,
    MergedEnds,
    MinLength,
    NoRepeatNgram,
    RepetitionPenalty,
    StopTexts,
    WithPrompts,
)
from glassformer.decode.search import Chooser, Rule
from glassformer.tasks.sampling import Sampling
from glassformer.text import Tokenizer
from glassformer.text.unfolding import Unfolding

NO_END = -1  # no token has this id


@dataclass(frozen=True)
class Decoding:
    """How to decode: search or sampling, and the rules that do not depend on the input."""

    width: int = 1  # hypotheses of each input: the beam, or the samples
    n_best: int = 1
    sampling: Sampling | None = None  # None: search
    refill: bool = False  # the beam stays full when a hypothesis ends
    ranked: Ranked = mean_per_token
    cut_last: bool = True  # hypotheses that were cut rank after finished ones
    no_repeat: int = 0
    repetition_penalty: float = 1.0
    ban: Sequence[str] = ()
    stop: Sequence[str] = ()

    def chooser(self, numbers: Sequence[int], eos: int) -> Chooser:
        """`numbers` are those of the inputs: their samples depend on them."""
        sampling = self.sampling
        if sampling is not None:
            return Sample(self.width, numbers, sampling.seed, sampling.temperature, sampling.top_k, sampling.top_p)
        return BestRefilled(self.width, eos) if self.refill and self.width > 1 else Best(self.width)

    def repetition_rules(self) -> Iterator[Rule]:
        if self.no_repeat:
            yield NoRepeatNgram(self.no_repeat)
        if self.repetition_penalty != 1:
            yield RepetitionPenalty(self.repetition_penalty)

    def word_rules(self, tokenizer: Tokenizer) -> Iterator[Rule]:
        if self.ban:
            words = {spelled for word in self.ban for spelled in spellings(tokenizer.normalize(word.strip()))}
            yield BannedWords(sorted(words), tokenizer.surfaces)


class TextGenerator:
    """Makes searches for the outputs of one model."""

    def __init__(self, model: Any, tokenizer: Tokenizer, *, ends: Sequence[int], forbidden: Sequence[int] = ()) -> None:
        """`ends`: the tokens that end an output; `forbidden`: tokens that the model must not produce."""
        self.model, self.tokenizer = model, tokenizer
        self.vocabulary: int = model.head.weight.size(0)
        self.ends = [end for end in ends if end < self.vocabulary]
        tokens = (*forbidden, *range(len(tokenizer), self.vocabulary))  # some models have more ids than the tokenizer
        self.forbidden: list[Rule] = [Forbidden(tokens)] if tokens else []

    @property
    def device(self) -> torch.device:
        device: torch.device = self.model.head.weight.device
        return device

    @property
    def eos(self) -> int:
        return self.ends[0] if self.ends else NO_END

    def search(
        self,
        batch: Any,
        decoding: Decoding,
        *,
        start: int | Ints,
        limits: Ints,
        numbers: Sequence[int],
        min_lengths: Ints | None = None,
        prompts: Sequence[Sequence[int]] = (),
        prefixes: Sequence[Sequence[int]] = (),
        rules: Sequence[Rule] = (),
        chooser: Chooser | None = None,
    ) -> Search:
        """The search for the outputs of one batch.

        `start` is the token that outputs start from; `limits` and `min_lengths` are their most and fewest tokens.
        Repetition rules also see the `prompts`; outputs begin with the `prefixes`. `rules` and `chooser` are further
        rules, and the chooser if it is not the usual one.
        """
        if self.model.training:  # eval() visits every module, which takes longer than a step
            self.model.eval()
        made = self.rules(decoding, min_lengths=min_lengths, prompts=prompts, prefixes=prefixes, more=rules)
        return Search(
            model=self.model,
            batch=batch.to(self.device),
            limits=limits,
            bos=start,
            eos=self.eos,
            device=self.device,
            chooser=decoding.chooser(numbers, self.eos) if chooser is None else chooser,
            rules=list(made),
            ranked=decoding.ranked,
            n_best=decoding.n_best,
            cut_last=decoding.cut_last,
        )

    def rules(
        self,
        decoding: Decoding,
        *,
        min_lengths: Ints | None,
        prompts: Sequence[Sequence[int]],
        prefixes: Sequence[Sequence[int]],
        more: Sequence[Rule],
    ) -> Iterator[Rule]:
        """All rules of a search, in the order in which they apply."""
        yield from self.forbidden
        if len(self.ends) > 1:
            yield MergedEnds(self.eos, tuple(self.ends), sampled=decoding.sampling is not None)
        yield from more
        if min_lengths is not None and self.ends:
            yield MinLength(min_lengths, self.eos)
        for rule in (*decoding.repetition_rules(), *decoding.word_rules(self.tokenizer)):
            yield WithPrompts(rule, prompts) if any(map(len, prompts)) else rule
        if decoding.stop and self.ends:
            yield StopTexts([text.encode() for text in decoding.stop], self.tokenizer.surfaces, self.eos)
        if any(map(len, prefixes)):
            yield ForcedPrefix(prefixes)


def spellings(word: str) -> list[bytes]:
    """A word with and without a capital first letter."""
    return [one.encode() for one in (word, word[:1].upper() + word[1:], word[:1].lower() + word[1:])]


def batches_by_length(lengths: Sequence[int], *, tokens: int, width: int = 1, extra: int = 0) -> Iterator[list[int]]:
    """Indices of inputs of similar length together, longest first.

    A batch holds at most `tokens` tokens, or one input; an input counts `width` times its batch's longest plus `extra`.
    """
    order = sorted(range(len(lengths)), key=lambda i: -lengths[i])
    while order:
        size = max(1, tokens // (width * (lengths[order[0]] + extra)))
        yield order[:size]
        order = order[size:]


# Piece by piece


def text_pieces(job: Search, tokenizer: Tokenizer, prompt: Sequence[int] = ()) -> Iterator[str]:
    """The best output of a search for one text, in pieces: each comes as soon as all hypotheses agree on it."""
    unfolding, completed, known = Unfolding(tokenizer, prompt), [Completed()], 0
    for rows in steps(job, completed):
        open_ = rows.tokens[0, :, known:][rows.alive[0]].tolist() if len(rows.tokens) else []
        agreed = common_prefix([*open_, *(list(one.ids[known:]) for one in completed[0].all)])
        known += len(agreed)
        if agreed and (piece := unfolding.add(agreed)):
            yield piece
    if piece := unfolding.add(completed[0].best(1, cut_last=job.cut_last)[0].ids[known:]) + unfolding.rest():
        yield piece


def common_prefix(rows: Sequence[list[int]]) -> list[int]:
    if len(rows) < 2:
        return rows[0] if rows else []
    first, last = min(rows), max(rows)  # first and last in sorted order: what these two share, all share
    shared = takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False))
    return [token for token, _ in shared]


def until_stop(pieces: Iterator[str], stops: Sequence[str]) -> Iterator[str]:
    """The pieces up to the first stop text. Text that may be the beginning of a stop text is held back."""
    waiting = ""
    for piece in pieces:
        waiting += piece
        end, stopped = stop_place(waiting, stops)
        safe = end if stopped else len(waiting) - held_back(waiting, stops)
        if safe:
            yield waiting[:safe]
        if stopped:
            return
        waiting = waiting[safe:]
    if waiting:
        yield waiting


def stop_place(text: str, stops: Sequence[str]) -> tuple[int, bool]:
    """Where a text ends before the first stop text, and whether it contains one."""
    places = [place for stop in stops if (place := text.find(stop)) >= 0]
    return (min(places), True) if places else (len(text), False)


def held_back(text: str, stops: Sequence[str]) -> int:
    """How many characters at the end of a text may be the beginning of a stop text."""
    sizes = [size for stop in stops for size in range(1, min(len(stop), len(text)) + 1) if text.endswith(stop[:size])]
    return max(sizes, default=0)
