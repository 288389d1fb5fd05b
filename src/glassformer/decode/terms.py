"""Beam search in which given terms must be said: a glossary's, or placeholders.

Hypotheses that have said more of what they must compete only with their like (Post and Vilar 2018): each sentence's
beam is shared evenly among those that still need as many tokens. So a term enters where the model finds it fits best,
and not only when nothing else is left to say. A sentence without terms is searched as if there were no terms at all.
Where the room left is just enough for the terms, nothing else may be said any more: no hypothesis ends without them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from glassformer.decode.chances import Chances, Shortlist
from glassformer.decode.choosers import Best
from glassformer.decode.rows import DEAD, Choice, Floats, Ints, Rows, T


class Form(NamedTuple):
    """One way to say a term."""

    tokens: tuple[int, ...]
    word: bool = True  # it ends as a word does: letters after it would make another word of it


@dataclass(frozen=True)
class Term:
    """What must be said, in one of several forms; a term that must be said twice stands there twice."""

    forms: tuple[Form, ...]
    opening: tuple[Form, ...] = ()  # the same at the very beginning of a sentence, where no space stands before
    ordered: bool = False  # it is said only after the ordered ones that stand before it

    @property
    def shortest(self) -> int:
        return min(len(form.tokens) for form in self.forms)

    def longer_than(self, form: Form) -> Iterator[Form]:
        """Forms that begin as this one does and go on: `Hunde`, after `Hund`."""
        size = len(form.tokens)
        for other in (*self.forms, *self.opening):
            if len(other.tokens) > size and other.tokens[:size] == form.tokens:
                yield other


def tokens_of(terms: Sequence[Term]) -> int:
    """The fewest tokens that say all of them."""
    return sum(term.shortest for term in terms)


class Begun(NamedTuple):
    """A form that is under way."""

    place: int  # of its term among the open ones
    form: Form
    said: int  # tokens of it

    @property
    def following(self) -> int:
        return self.form.tokens[self.said]


@dataclass(frozen=True)
class Said:
    """What a hypothesis has said of its terms."""

    open: tuple[Term, ...]  # still to be said
    begun: tuple[Begun, ...] = ()
    longer: tuple[tuple[Term, Begun], ...] = ()  # of the term that has just ended: how it could still go on
    closing: bool = False  # a term just ended: its last word must not go on otherwise
    first: bool = True  # nothing was said yet

    @cached_property
    def needed(self) -> int:
        """The fewest tokens that say all that is still open."""
        fresh = tokens_of(self.open)
        rest = (fresh - self.open[one.place].shortest + len(one.form.tokens) - one.said for one in self.begun)
        return min([fresh, *rest])

    @property
    def prolonged_by(self) -> set[int]:
        """The tokens that may go on with the term that has just ended."""
        return {one.following for _, one in self.longer}

    def beginnings(self) -> Iterator[Begun]:
        """The forms that could begin now."""
        waiting = False
        for place, term in enumerate(self.open):
            if not (waiting and term.ordered):
                forms = term.opening if self.first and term.opening else term.forms
                yield from (Begun(place, form, 0) for form in forms)
            waiting = waiting or term.ordered

    def wanted(self) -> set[int]:
        """The tokens that bring it further."""
        return {one.following for one in (*self.begun, *self.beginnings())}

    def after(self, token: int) -> Iterator[Said]:
        """With one more token. There are two ways where a term said may also be a part of another that is under way."""
        before = self.reopened(token)
        under_way = (*before.begun, *before.beginnings())
        matching = [one._replace(said=one.said + 1) for one in under_way if one.following == token]
        ended = [one for one in matching if one.said == len(one.form.tokens)]
        going_on = tuple(one for one in matching if one.said < len(one.form.tokens))
        if not ended:
            yield Said(before.open, going_on, first=False)
            return
        longest = {one.place: one for one in sorted(ended, key=lambda one: one.said)}
        yield from (before.without(one) for one in longest.values())
        others = tuple(one for one in going_on if all(one.place != other.place for other in ended))
        if others:
            yield Said(before.open, others, first=False)

    def reopened(self, token: int) -> Said:
        """As if the term that has just ended had not, where this token goes on with a longer form of it."""
        found = [(term, one) for term, one in self.longer if one.following == token]
        if not found:
            return self
        term, place = found[0][0], found[0][1].place
        kept = (*self.open[:place], term, *self.open[place:])
        return Said(kept, tuple(one for _, one in found), first=False)

    def without(self, said: Begun) -> Said:
        """One term less to say."""
        term, size = self.open[said.place], len(said.form.tokens)
        longer = tuple((term, Begun(said.place, form, size)) for form in term.longer_than(said.form))
        rest = (*self.open[: said.place], *self.open[said.place + 1 :])
        return Said(rest, longer=longer, closing=said.form.word, first=False)


class Candidate(NamedTuple):
    parent: int
    token: int
    score: float
    log_prob: float
    said: Said


@dataclass(frozen=True)
class Vocabulary:
    """What tokens do to the word before them."""

    eos: int
    prolonging: NDArray[np.bool_]  # (V,) they would go on with it
    silent: NDArray[np.bool_]  # (V,) they add nothing to the text


@dataclass(frozen=True)
class BestWithTerms:
    """The most likely hypotheses in which all terms of a sentence are said. It remembers, so it is for one search."""

    widths: Ints  # (B,) hypotheses of each sentence
    terms: Sequence[Sequence[Term]]  # of each sentence
    limits: Ints  # (B,) how many tokens each sentence may have
    begins: Ints  # (B,) how many tokens of each sentence are given: there the rules alone decide
    vocabulary: Vocabulary
    said: dict[int, list[Said]] = field(default_factory=dict)  # of each sentence's hypotheses
    looks_at: ClassVar[int] = 0

    @property
    def width(self) -> int:
        return int(self.widths.max())

    def left(self, count: int) -> Ints:  # noqa: ARG002
        return self.widths.copy()

    def choose(self, chances: Chances | Shortlist, rows: Rows) -> Choice:
        assert isinstance(chances, Chances)
        choice = Best(self.width).choose(chances, rows)
        bound = [b for b, sentence in enumerate(rows.sentence) if self.terms[sentence] and rows.alive[b].any()]
        if not bound:
            return choice
        _, tokens, _ = chances.best(2 * self.width)
        step = Step(rows, rows.numbers(), tokens, *(x.cpu().numpy() for x in (chances.log_probs, chances.allowed)))
        wide = Choice(
            parent=widened(choice.parent, self.width),
            token=widened(choice.token, self.width),
            log_prob=widened(choice.log_prob, self.width),
            scores=widened(choice.scores, self.width, DEAD),
        )
        for b in bound:
            self.fill(
                wide, rows, b, [one for j in rows.alive[b].nonzero()[0] for one in self.candidates(step, b, int(j))]
            )
        return wide

    def candidates(self, step: Step, b: int, j: int) -> Iterator[Candidate]:
        """How hypothesis j of sentence b may go on: with tokens that say more of its terms, and with the likeliest."""
        sentence, row = int(step.rows.sentence[b]), int(step.numbers[b, j])
        states = self.said.setdefault(sentence, [Said(tuple(self.terms[sentence]))])
        state, base = states[j], float(step.rows.scores[b, j])
        room = int(self.limits[sentence]) - step.rows.length - 2  # after this token, before the end mark
        most = max(room, state.needed - 1, 0)  # that may be needed after it
        wanted = state.wanted() if step.rows.length >= self.begins[sentence] else set()
        for token in sorted(wanted | state.prolonged_by):
            value = step.log_probs[row, token] if token in wanted else step.allowed[row, token]
            if value > DEAD and (token in state.prolonged_by or self.may_follow(state, np.array([token]))[0]):
                said = (after for after in state.after(token) if after.needed <= most)
                log_prob = float(step.log_probs[row, token])
                yield from (Candidate(j, token, base + float(value), log_prob, after) for after in said)
        plain = Said(state.open, first=False)  # what any other token leads to
        if plain.needed <= most:
            for token in self.likely(step, row, state, wanted, width=int(self.widths[sentence])).tolist():
                score = base + float(step.allowed[row, token])
                yield Candidate(j, token, score, float(step.log_probs[row, token]), plain)

    def likely(self, step: Step, row: int, state: Said, wanted: set[int], *, width: int) -> Ints:
        """The likeliest tokens that say nothing of the terms; after a term only those that may follow it."""
        tokens = step.best[row, : 2 * width]
        if state.closing:
            free = np.where(self.vocabulary.prolonging, DEAD, step.allowed[row])
            tokens = np.argpartition(-free, min(width, len(free) - 1))[: width + 1]
        if not state.open:
            tokens = np.union1d(tokens, [self.vocabulary.eos])
        known = np.isin(tokens, [*wanted, *state.prolonged_by])
        return tokens[self.may_follow(state, tokens) & ~known & (step.allowed[row, tokens] > DEAD)]

    def may_follow(self, state: Said, tokens: Ints) -> NDArray[np.bool_]:
        """No end before all is said, the last word of a term stays as it is, and nothing is said that says nothing."""
        ends = tokens == self.vocabulary.eos
        barred = self.vocabulary.silent[tokens] & ~ends
        if state.closing:
            barred |= self.vocabulary.prolonging[tokens]
        return ~barred & ~(ends & bool(state.open))

    def fill(self, choice: Choice, rows: Rows, b: int, found: list[Candidate]) -> None:
        """Writes the chosen ones of sentence b into the choice."""
        chosen = shared_out(found, int(rows.left[b]))
        self.said[int(rows.sentence[b])] = [one.said for one in chosen] or [Said(())]
        choice.scores[b] = DEAD
        for j, one in enumerate(chosen):
            choice.parent[b, j], choice.token[b, j] = one.parent, one.token
            choice.log_prob[b, j], choice.scores[b, j] = one.log_prob, one.score


@dataclass(frozen=True)
class Step:
    """What the model says now, in numpy."""

    rows: Rows
    numbers: Ints  # (B, k) of the hypotheses among the rows
    best: Ints  # (R, n) the likeliest tokens
    log_probs: Floats  # (R, V) the model's own
    allowed: Floats  # (R, V) after the rules


def shared_out(found: Sequence[Candidate], places: int) -> list[Candidate]:
    """The best of each kind in turn, those that need the fewest tokens first, until all places are taken."""
    groups: dict[int, list[Candidate]] = {}
    for one in sorted(found, key=lambda one: -one.score):
        groups.setdefault(one.said.needed, []).append(one)
    queues = [groups[needed] for needed in sorted(groups)]
    taken: list[Candidate] = []
    while len(taken) < places and any(queues):
        taken += [queue.pop(0) for queue in queues if queue][: places - len(taken)]
    return sorted(taken, key=lambda one: -one.score)


def widened(values: NDArray[T], width: int, filling: float = 0) -> NDArray[T]:
    """(B, k') -> (B, k), a copy."""
    room = np.full((len(values), width), filling, dtype=values.dtype)
    room[:, : values.shape[1]] = values
    return room
