"""Text from a model that finds masked words: the gaps of a text are filled in several rounds.

Mask-predict (Ghazvininejad et al. 2019, arXiv 1904.09324): all gaps are predicted at once, each from the text alone.
Then the least certain ones are masked again and predicted from the others, fewer in every round: of N gaps,
N (T - t) / T in round t of T. From left to right, one gap is filled at a time, and those after it are masked.
Shapes: M masked places of all texts, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from glassformer.decode.choosers import Sample

Row = list[int]
Predict = Callable[[Sequence[Row], Sequence[Row]], Tensor]  # rows of ids, places in each -> log-probabilities (M, V)
Progress = Callable[[int], None]  # how many more gaps are filled


@dataclass
class Gapped:
    """A text with gaps, as ids, and what was found for them."""

    ids: Row  # with any token in its gaps
    places: Row  # of the gaps
    random: np.random.Generator
    tail: Row | None = None  # the ids after the gaps, if these continue a text; None: they are inside it
    log_probs: list[float] = field(default_factory=list)  # of the token in each gap, when it was chosen

    def least_certain(self, count: int) -> list[int]:
        """The numbers of the gaps with the lowest probabilities, in the order of the text."""
        order = np.argsort(self.log_probs, kind="stable")[:count]
        return sorted(order.tolist())


@dataclass(frozen=True)
class GapFilling:
    """Fills the gaps of many texts together; `sample` draws tokens, None takes the most likely ones."""

    predict: Predict
    mask: int
    sample: Sample | None = None

    def mask_predict(self, texts: Sequence[Gapped], *, rounds: int, progress: Progress | None = None) -> None:
        for text in texts:
            text.log_probs = [0.0] * len(text.places)
        for done in range(rounds):
            again = [text.least_certain(len(text.places) * (rounds - done) // rounds) for text in texts]
            for text, gaps in zip(texts, again, strict=True):
                for gap in gaps:
                    text.ids[text.places[gap]] = self.mask
            self.fill(texts, again)
            if progress is not None:
                before = [len(text.places) * (rounds - done - 1) // rounds for text in texts]
                progress(sum(len(gaps) - left for gaps, left in zip(again, before, strict=True)))

    def left_to_right(self, texts: Sequence[Gapped], *, progress: Progress | None = None) -> None:
        for text in texts:
            text.log_probs = [0.0] * len(text.places)
            for place in text.places:
                text.ids[place] = self.mask
        for gap in range(max((len(text.places) for text in texts), default=0)):
            open_ = [text for text in texts if gap < len(text.places)]
            self.fill(open_, [[gap] for _ in open_])
            if progress is not None:
                progress(len(open_))

    def fill(self, texts: Sequence[Gapped], gaps: Sequence[list[int]]) -> None:
        """Fills these gaps of each text, which are masked."""
        chosen = [(text, own) for text, own in zip(texts, gaps, strict=True) if own]
        if not chosen:
            return
        places = [[text.places[gap] for gap in own] for text, own in chosen]
        log_probs = self.predict([text.ids for text, _ in chosen], places)  # (M, V)
        tokens = self.tokens(log_probs, [(text, len(own)) for text, own in chosen])
        found = zip(tokens.tolist(), log_probs.gather(1, tokens[:, None])[:, 0].tolist(), strict=True)
        for text, own in chosen:
            for gap in own:
                text.ids[text.places[gap]], text.log_probs[gap] = next(found)

    def tokens(self, log_probs: Tensor, counts: Sequence[tuple[Gapped, int]]) -> Tensor:
        """(M, V) -> (M,)."""
        if self.sample is None:
            return log_probs.argmax(dim=-1)
        uniform = np.concatenate([text.random.random(count) for text, count in counts])
        return self.sample.sampled(log_probs, torch.as_tensor(uniform, device=log_probs.device))
