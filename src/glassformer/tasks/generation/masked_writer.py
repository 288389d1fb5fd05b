"""Text from an encoder: a model that finds masked words fills the gaps of a text, or gaps after it.

Shapes: M gaps, D width, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from glassformer.decode.choosers import Sample
from glassformer.decode.mask_predict import GapFilling, Gapped, Row
from glassformer.errors import DataError, SettingsError
from glassformer.tasks.filling import check_words
from glassformer.tasks.generation.generator import Continuation
from glassformer.tasks.generation.options import GenerateOptions
from glassformer.tasks.model import one_or_many, texts_of
from glassformer.tasks.sampling import Sampling
from glassformer.tasks.text_generator import stop_place
from glassformer.text.unfolding import text_after

if TYPE_CHECKING:
    from glassformer.tasks.embedding import TextEncoder

TOGETHER = 32  # texts of a batch
USUAL_NEW = 16  # tokens; all of them are found together, so a few are better than many
DECODERS_ONLY = {"beam": 1, "min_new": 0, "ban": (), "no_repeat": 0, "repetition_penalty": 1.0}


class MaskedWriter:
    """Continues a text with `max_new` tokens, or fills its [MASK]s, by a model with a head for words."""

    usual_new = USUAL_NEW

    def __init__(self, encoder: TextEncoder) -> None:
        check_words(encoder)
        self.encoder, self.tokenizer = encoder, encoder.tokenizer

    def whole_text(self, prompt: str, text: str) -> str:
        """A result with its prompt: a text with masks is returned whole anyway."""
        return text if self.encoder.mask.search(prompt) else prompt + text

    def generate(
        self, texts: str | Sequence[str], *, max_new: int, rounds: int, left_to_right: bool, sampling: Sampling | None
    ) -> str | list[str]:
        options = GenerateOptions(max_new=max_new, rounds=rounds, left_to_right=left_to_right, sampling=sampling)
        return one_or_many(texts, lambda all_: [found[0].text for found in self.continuations(all_, options)])

    def continuations(
        self,
        texts: str | Sequence[str],
        options: GenerateOptions,
        *,
        first_number: int = 0,
        progress: Callable[[int], None] | None = None,
    ) -> list[list[Continuation]]:
        """The results of each text: `options.n_best` samples, or one."""
        refuse_decoder_options(options)
        found: list[list[Continuation]] = []
        given = texts_of(texts)
        for start in range(0, len(given), TOGETHER):
            part = given[start : start + TOGETHER]
            gapped = [
                self.gapped(text, options, [first_number + start + i, rank])
                for i, text in enumerate(part)
                for rank in range(options.n_best)
            ]
            self.fill(gapped, options, progress)
            each = [self.continuation(one, options) for one in gapped]
            for at in range(0, len(each), options.n_best):
                found.append(sorted(each[at : at + options.n_best], key=lambda one: -one.score))
        return found

    def gapped(self, text: str, options: GenerateOptions, number: Sequence[int]) -> Gapped:
        """A text with masks, or with masks after it, as many as the model has positions for."""
        encoder, mask = self.encoder, self.mask
        seed = 0 if options.sampling is None else options.sampling.seed
        random = np.random.default_rng([seed, *number])
        if encoder.mask.search(text):
            ids, places = encoder.with_gaps(text)
            self.refuse_too_long(len(ids))
            return Gapped(list(ids), places, random)
        frame = encoder.frame
        before = [*frame.before, *self.tokenizer.encode(text)]
        self.refuse_too_long(len(before) + len(frame.after) + min(1, options.max_new))
        room = options.max_new
        if encoder.max_length is not None:
            room = min(room, encoder.max_length - len(before) - len(frame.after))
        tail = list(frame.after)
        ids = [*before, *[mask] * room, *tail]
        return Gapped(ids, list(range(len(before), len(before) + room)), random, tail=tail)

    def refuse_too_long(self, tokens: int) -> None:
        longest = self.encoder.max_length
        if longest is not None and tokens > longest:
            raise DataError(f"The text needs {tokens:,} tokens; this model reads at most {longest:,}. Shorten it.")

    def fill(self, texts: Sequence[Gapped], options: GenerateOptions, progress: Callable[[int], None] | None) -> None:
        drawn = options.sampling
        sample = None
        if drawn is not None:
            sample = Sample(1, (), drawn.seed, drawn.temperature, drawn.top_k, drawn.top_p)
        filling = GapFilling(self.log_probs, self.mask, sample)
        if options.left_to_right:
            filling.left_to_right(texts, progress=progress)
        else:
            filling.mask_predict(texts, rounds=options.rounds, progress=progress)

    @torch.inference_mode()
    def log_probs(self, rows: Sequence[Row], places: Sequence[Row]) -> Tensor:
        """The log-probabilities of all tokens except special ones at the given places of each row (M, V)."""
        model = self.encoder.model
        hidden = model.hidden(self.encoder.batch(rows))  # (B, T, D)
        row = torch.tensor([i for i, own in enumerate(places) for _ in own], device=hidden.device)
        column = torch.tensor([place for own in places for place in own], device=hidden.device)
        logits = model.head(hidden[row, column]).float()
        return logits.masked_fill_(self.special, float("-inf")).log_softmax(dim=-1)

    @cached_property
    def special(self) -> Tensor:
        """(V,) tokens that no text contains."""
        never = {self.mask, self.tokenizer.unk_id}
        known = [i >= len(self.tokenizer) or self.tokenizer.is_special(i) or i in never for i in range(self.vocabulary)]
        return torch.tensor(known, device=self.encoder.device)

    @property
    def vocabulary(self) -> int:
        size: int = self.encoder.model.config.vocabulary
        return size

    @property
    def mask(self) -> int:
        assert self.encoder.marks.mask is not None  # `check_words` has refused it
        return self.encoder.marks.mask

    def continuation(self, found: Gapped, options: GenerateOptions) -> Continuation:
        ids = [found.ids[place] for place in found.places]
        if found.tail is None:
            text = self.tokenizer.decode(found.ids)
        else:
            end = len(found.ids) - len(found.tail) - len(ids)
            text = text_after(self.tokenizer, ids, found.ids[len(self.encoder.frame.before) : end])
        end, stopped = stop_place(text, options.stop)
        cut = found.tail is not None and len(ids) < options.max_new
        return Continuation(
            text=text[:end],
            ids=tuple(ids),
            tokens=tuple(self.tokenizer.pieces_of(ids)),
            log_probs=tuple(found.log_probs),
            score=sum(found.log_probs) / max(1, len(ids)),
            why="stop" if stopped else "positions" if cut else "length",
        )


def refuse_decoder_options(options: GenerateOptions) -> None:
    for name, usual in DECODERS_ONLY.items():
        if getattr(options, name) != usual:
            raise SettingsError(
                f"{name} = {getattr(options, name)!r}: only for models that write from left to right (GPT, Llama, T5). "
                "A model that finds masked words takes max_new, rounds, left_to_right, stop and sampling."
            )
