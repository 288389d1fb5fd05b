"""Beam search in which given terms must be in the output: a glossary's terms, or given words.

Hypotheses that have produced more of their terms compete only with each other (Post and Vilar 2018): each sentence's
beam is divided evenly among hypotheses that still need the same number of tokens. So a term appears where the model
finds it fits best, and not only when nothing else is left to add. A sentence without terms is searched as if no
sentence had any. When the remaining length is just enough for the terms, no other token is allowed: no hypothesis ends
without its terms.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from glassformer.decode.choosers import Best
from glassformer.decode.next_token import NextToken, Shortlist
from glassformer.decode.rows import DEAD, Choice, Floats, Ints, Rows, T


class Form(NamedTuple):
    """One way to write a term."""

    tokens: tuple[int, ...]
    word: bool = True  # it ends like a word: letters right after it would make another word


@dataclass(frozen=True)
class Term:
    """What the output must contain, in one of several forms; a term that must occur twice is listed twice."""

    forms: tuple[Form, ...]
    opening: tuple[Form, ...] = ()  # the forms at the very beginning of an output, where no space precedes them
    ordered: bool = False  # it comes only after the ordered terms listed before it

    @property
    def shortest(self) -> int:
        return min(len(form.tokens) for form in self.forms)

    def longer_than(self, form: Form) -> Iterator[Form]:
        """Forms that begin with this one and continue: `Hunde`, after `Hund`."""
        size = len(form.tokens)
        for other in (*self.forms, *self.opening):
            if len(other.tokens) > size and other.tokens[:size] == form.tokens:
                yield other


def tokens_of(terms: Sequence[Term]) -> int:
    """The fewest tokens that all of them take."""
    return sum(term.shortest for term in terms)


class PartialForm(NamedTuple):
    """A form of which some tokens are already in the output."""

    place: int  # the index of its term among the open ones
    form: Form
    done: int  # how many of its tokens the output has

    @property
    def following(self) -> int:
        return self.form.tokens[self.done]


@dataclass(frozen=True)
class TermState:
    """How far a hypothesis is with its terms."""

    open: tuple[Term, ...]  # not in the output yet
    partial: tuple[PartialForm, ...] = ()
    longer: tuple[tuple[Term, PartialForm], ...] = ()  # longer forms of the term that was just completed
    closing: bool = False  # a term was just completed: its last word must not continue in any other way
    first: bool = True  # the output is still empty

    @cached_property
    def needed(self) -> int:
        """The fewest tokens that complete all open terms."""
        whole = tokens_of(self.open)
        rest = (whole - self.open[one.place].shortest + len(one.form.tokens) - one.done for one in self.partial)
        return min([whole, *rest])

    @property
    def extended_by(self) -> set[int]:
        """The tokens that may extend the term that was just completed to a longer form."""
        return {one.following for _, one in self.longer}

    def starting(self) -> Iterator[PartialForm]:
        """The forms that could start now."""
        waiting = False
        for place, term in enumerate(self.open):
            if not (waiting and term.ordered):
                forms = term.opening if self.first and term.opening else term.forms
                yield from (PartialForm(place, form, 0) for form in forms)
            waiting = waiting or term.ordered

    def wanted(self) -> set[int]:
        """The tokens that advance a term."""
        return {one.following for one in (*self.partial, *self.starting())}

    def after(self, token: int) -> Iterator[TermState]:
        """The state after one more token; two where a completed term may also be part of another partial one."""
        before = self.reopened(token)
        possible = (*before.partial, *before.starting())
        matching = [one._replace(done=one.done + 1) for one in possible if one.following == token]
        completed = [one for one in matching if one.done == len(one.form.tokens)]
        partial = tuple(one for one in matching if one.done < len(one.form.tokens))
        if not completed:
            yield TermState(before.open, partial, first=False)
            return
        longest = {one.place: one for one in sorted(completed, key=lambda one: one.done)}
        yield from (before.without(one) for one in longest.values())
        others = tuple(one for one in partial if all(one.place != other.place for other in completed))
        if others:
            yield TermState(before.open, others, first=False)

    def reopened(self, token: int) -> TermState:
        """The state with the term that was just completed open again, if this token extends it to a longer form."""
        found = [(term, one) for term, one in self.longer if one.following == token]
        if not found:
            return self
        term, place = found[0][0], found[0][1].place
        kept = (*self.open[:place], term, *self.open[place:])
        return TermState(kept, tuple(one for _, one in found), first=False)

    def without(self, completed: PartialForm) -> TermState:
        """The state without the term that was just completed."""
        term, size = self.open[completed.place], len(completed.form.tokens)
        longer = tuple((term, PartialForm(completed.place, form, size)) for form in term.longer_than(completed.form))
        rest = (*self.open[: completed.place], *self.open[completed.place + 1 :])
        return TermState(rest, longer=longer, closing=completed.form.word, first=False)


class Candidate(NamedTuple):
    parent: int
    token: int
    score: float
    log_prob: float
    state: TermState


@dataclass(frozen=True)
class Vocabulary:
    """What tokens do to the word before them."""

    eos: int
    prolonging: NDArray[np.bool_]  # (V,) they would continue it
    empty_tokens: NDArray[np.bool_]  # (V,) they add nothing to the text


@dataclass(frozen=True)
class BestWithTerms:
    """The most likely hypotheses that contain all terms of their sentence. It has state, so it is for one search."""

    widths: Ints  # (B,) the beam width of each sentence
    terms: Sequence[Sequence[Term]]  # of each sentence
    limits: Ints  # (B,) the most tokens of each sentence's output
    prefixes: Ints  # (B,) the length of each forced prefix: there the rules alone decide
    vocabulary: Vocabulary
    states: dict[int, list[TermState]] = field(default_factory=dict)  # of each sentence's hypotheses
    shortlist_size: ClassVar[int] = 0

    @property
    def width(self) -> int:
        return int(self.widths.max())

    def beam_widths(self, count: int) -> Ints:  # noqa: ARG002
        return self.widths.copy()

    def choose(self, next_token: NextToken | Shortlist, rows: Rows) -> Choice:
        assert isinstance(next_token, NextToken)
        choice = Best(self.width).choose(next_token, rows)
        bound = [b for b, sentence in enumerate(rows.sentence) if self.terms[sentence] and rows.alive[b].any()]
        if not bound:
            return choice
        _, tokens, _ = next_token.best(2 * self.width)
        both = (x.cpu().numpy() for x in (next_token.log_probs, next_token.allowed))
        step = Step(rows, rows.row_numbers(), tokens, *both)
        wide = Choice(
            parent=widened(choice.parent, self.width),
            token=widened(choice.token, self.width),
            log_prob=widened(choice.log_prob, self.width),
            scores=widened(choice.scores, self.width, DEAD),
        )
        for b in bound:
            found = [one for j in rows.alive[b].nonzero()[0] for one in self.candidates(step, b, int(j))]
            self.fill(wide, rows, b, found)
        return wide

    def candidates(self, step: Step, b: int, j: int) -> Iterator[Candidate]:
        """How hypothesis j of sentence b may continue: with tokens that advance its terms, and with the likely ones."""
        sentence, row = int(step.rows.sentence[b]), int(step.numbers[b, j])
        states = self.states.setdefault(sentence, [TermState(tuple(self.terms[sentence]))])
        state, base = states[j], float(step.rows.scores[b, j])
        budget = int(self.limits[sentence]) - step.rows.length - 2  # tokens after this one and before the end mark
        most = max(budget, state.needed - 1, 0)  # the most that may be needed after this token
        wanted = state.wanted() if step.rows.length >= self.prefixes[sentence] else set()
        for token in sorted(wanted | state.extended_by):
            value = step.log_probs[row, token] if token in wanted else step.allowed[row, token]
            if value > DEAD and (token in state.extended_by or self.may_follow(state, np.array([token]))[0]):
                following = (after for after in state.after(token) if after.needed <= most)
                log_prob = float(step.log_probs[row, token])
                yield from (Candidate(j, token, base + float(value), log_prob, after) for after in following)
        plain = TermState(state.open, first=False)  # after any other token
        if plain.needed <= most:
            for token in self.likely(step, row, state, wanted, width=int(self.widths[sentence])).tolist():
                score = base + float(step.allowed[row, token])
                yield Candidate(j, token, score, float(step.log_probs[row, token]), plain)

    def likely(self, step: Step, row: int, state: TermState, wanted: set[int], *, width: int) -> Ints:
        """The most likely tokens that advance no term; after a term, only those that may follow it."""
        tokens = step.best[row, : 2 * width]
        if state.closing:
            free = np.where(self.vocabulary.prolonging, DEAD, step.allowed[row])
            tokens = np.argpartition(-free, min(width, len(free) - 1))[: width + 1]
        if not state.open:
            tokens = np.union1d(tokens, [self.vocabulary.eos])
        used = np.isin(tokens, [*wanted, *state.extended_by])
        return tokens[self.may_follow(state, tokens) & ~used & (step.allowed[row, tokens] > DEAD)]

    def may_follow(self, state: TermState, tokens: Ints) -> NDArray[np.bool_]:
        """No end before all terms are complete, no change to the last word of a term, no empty tokens."""
        ends = tokens == self.vocabulary.eos
        barred = self.vocabulary.empty_tokens[tokens] & ~ends
        if state.closing:
            barred |= self.vocabulary.prolonging[tokens]
        return ~barred & ~(ends & bool(state.open))

    def fill(self, choice: Choice, rows: Rows, b: int, found: list[Candidate]) -> None:
        """Writes the chosen candidates of sentence b into the choice."""
        chosen = divide_beam(found, int(rows.left[b]))
        self.states[int(rows.sentence[b])] = [one.state for one in chosen] or [TermState(())]
        choice.scores[b] = DEAD
        for j, one in enumerate(chosen):
            choice.parent[b, j], choice.token[b, j] = one.parent, one.token
            choice.log_prob[b, j], choice.scores[b, j] = one.log_prob, one.score


@dataclass(frozen=True)
class Step:
    """The next token of each row at this step, in numpy."""

    rows: Rows
    numbers: Ints  # (B, k) the row of each hypothesis
    best: Ints  # (R, n) the most likely tokens
    log_probs: Floats  # (R, V) the model's own
    allowed: Floats  # (R, V) after the rules


def divide_beam(found: Sequence[Candidate], width: int) -> list[Candidate]:
    """The best of each group in turn until the beam is full; groups that need the fewest tokens come first."""
    groups: dict[int, list[Candidate]] = {}
    for one in sorted(found, key=lambda one: -one.score):
        groups.setdefault(one.state.needed, []).append(one)
    queues = [groups[needed] for needed in sorted(groups)]
    taken: list[Candidate] = []
    while len(taken) < width and any(queues):
        taken += [queue.pop(0) for queue in queues if queue][: width - len(taken)]
    return sorted(taken, key=lambda one: -one.score)


def widened(values: NDArray[T], width: int, filling: float = 0) -> NDArray[T]:
    """(B, k') -> (B, k), a copy."""
    wide = np.full((len(values), width), filling, dtype=values.dtype)
    wide[:, : values.shape[1]] = values
    return wide
