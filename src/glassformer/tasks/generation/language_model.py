"""A language model: generates text, scores text, and shows what happens inside."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, cast, overload

import torch
from torch import Tensor

from glassformer.errors import DataError, ModelError, TokenizerError
from glassformer.models.decoding.decoder_only import DecoderOnly
from glassformer.models.decoding.recurrent import RecurrentDecoder
from glassformer.nn.taps import listen
from glassformer.printable import opening
from glassformer.store.bundle import Bundle
from glassformer.tasks.generation.generator import Continuation, ContinuationGenerator
from glassformer.tasks.generation.inputs import PromptInputs, TokenBatch, inputs_of
from glassformer.tasks.generation.options import GenerateOptions
from glassformer.tasks.model import LoadedModel, one_or_many, one_text, texts_of
from glassformer.tasks.sampling import Sampling
from glassformer.text import Tokenizer

if TYPE_CHECKING:
    from glassformer.explain.explanation import Explanation


@dataclass(frozen=True)
class Scored:
    """The log-probability of each token of a text after those before it."""

    tokens: tuple[str, ...]
    log_probs: tuple[float, ...]

    @property
    def log_prob(self) -> float:
        return sum(self.log_probs)

    @property
    def perplexity(self) -> float:
        """exp of the mean negative log-probability: the number of equally likely tokens with the same uncertainty."""
        return math.exp(-self.log_prob / len(self.log_probs))


class LanguageModel(LoadedModel):
    """Generates text with one model: decoders continue a prompt, encoder-decoders answer a source."""

    usual_new = 128  # tokens

    def __init__(self, bundle: Bundle) -> None:
        self.inputs = inputs_of(bundle)
        self.generator = ContinuationGenerator(bundle, self.inputs)
        self.bundle, self.model = bundle, self.generator.model
        self.tokenizer = self.generator.tokenizer  # of outputs
        self.input_tokenizer = cast(Tokenizer, bundle.tokenizer)

    @property
    def device(self) -> torch.device:
        return self.generator.device

    @property
    def continues_prompt(self) -> bool:
        """Whether what it writes continues the given text."""
        return isinstance(self.inputs, PromptInputs)

    def whole_text(self, prompt: str, text: str) -> str:
        """A result with the prompt that it continues."""
        return prompt + text if self.continues_prompt else text

    @property
    def kind_name(self) -> str:
        return self.bundle.kind

    def facts(self) -> list[str]:
        return [*super().facts(), f"{self.generator.vocabulary:,} tokens"]

    # Generating

    @overload  # a str is also a sequence of str, but is never meant as one
    def generate(self, texts: str, *, max_new: int = ..., beam: int = ..., sampling: Sampling | None = ...) -> str: ...  # type: ignore[overload-overlap]
    @overload
    def generate(
        self, texts: Sequence[str], *, max_new: int = ..., beam: int = ..., sampling: Sampling | None = ...
    ) -> list[str]: ...
    def generate(
        self, texts: str | Sequence[str], *, max_new: int = 128, beam: int = 1, sampling: Sampling | None = None
    ) -> str | list[str]:
        """What the model writes after, or in answer to, each text; one text gives one result."""
        options = GenerateOptions(max_new=max_new, beam=beam, sampling=sampling)
        return one_or_many(texts, lambda all_: [found[0].text for found in self.continuations(all_, options)])

    @overload
    def continuations(  # type: ignore[overload-overlap]
        self,
        texts: str,
        options: GenerateOptions = ...,
        *,
        first_number: int = ...,
        progress: Callable[[int], None] | None = ...,
    ) -> list[Continuation]: ...
    @overload
    def continuations(
        self,
        texts: Sequence[str],
        options: GenerateOptions = ...,
        *,
        first_number: int = ...,
        progress: Callable[[int], None] | None = ...,
    ) -> list[list[Continuation]]: ...
    def continuations(
        self,
        texts: str | Sequence[str],
        options: GenerateOptions = GenerateOptions(),  # noqa: B008 (frozen)
        *,
        first_number: int = 0,
        progress: Callable[[int], None] | None = None,
    ) -> list[Continuation] | list[list[Continuation]]:
        """The same with all options and full results: the n best of each text, best first.

        Samples of a text depend on the seed and on its number, counted from `first_number`. `progress` gets the number
        of new tokens of each step.
        """
        given = texts_of(texts)
        rows = [self.read(text, first_number + i, alone=len(given) == 1) for i, text in enumerate(given)]
        numbers = range(first_number, first_number + len(rows))
        found = self.generator.continuations(rows, options, numbers=numbers, progress=progress)
        return found[0] if isinstance(texts, str) else found

    def read(self, text: str, number: int, *, alone: bool) -> list[int]:
        try:
            return self.inputs.ids(text)
        except (DataError, TokenizerError) as error:
            raise (error if alone else type(error)(f"Text {number + 1:,}: {error}")) from None

    def stream(
        self, text: str, options: GenerateOptions | None = None, *, max_new: int = 128, sampling: Sampling | None = None
    ) -> Iterator[str]:
        """The text in pieces, each as soon as it is certain. Together they are what `generate` returns.

        Greedy or sampled: what a wider beam finds is known only at its end. `options` has all options; without it,
        `max_new` and `sampling` count.
        """
        options = GenerateOptions(max_new=max_new, sampling=sampling) if options is None else options
        if options.width > 1:
            raise ModelError("Only a single text can be streamed: use a beam of 1 and one sample.")
        return self.generator.stream(self.inputs.ids(one_text(text)), options)

    # Looking inside

    @overload
    def score(self, texts: str) -> Scored: ...  # type: ignore[overload-overlap]
    @overload
    def score(self, texts: Sequence[str]) -> list[Scored]: ...
    def score(self, texts: str | Sequence[str]) -> Scored | list[Scored]:
        """The log-probability of every token of a text after those before it.

        The first token has one only if the tokenizer puts a mark before the text.
        """
        return one_or_many(texts, lambda all_: [self._scored(text) for text in all_])

    @torch.inference_mode()
    def _scored(self, text: str) -> Scored:
        row = self.own_row(text)
        if len(row) < 2:
            raise DataError("Nothing to score: a text of at least two tokens is needed.")
        logits = self.model.next_tokens(TokenBatch.of([row]).to(self.device))[0, :-1].float()  # (T-1, V)
        labels = torch.tensor(row[1:], device=logits.device)
        found = logits.log_softmax(dim=-1).gather(1, labels[:, None])[:, 0]
        return Scored(tuple(self.tokenizer.pieces_of(row[1:])), tuple(found.tolist()))

    @overload
    def explain(self, texts: str, *, top: int = ..., options: GenerateOptions | None = ...) -> Explanation: ...  # type: ignore[overload-overlap]
    @overload
    def explain(
        self, texts: Sequence[str], *, top: int = ..., options: GenerateOptions | None = ...
    ) -> list[Explanation]: ...
    def explain(
        self, texts: str | Sequence[str], *, top: int = 5, options: GenerateOptions | None = None
    ) -> Explanation | list[Explanation]:
        """Everything that happens to a text inside the model, recorded at the taps; `options`: how a T5 answers."""
        from glassformer.tasks.glass.pages import explain_with_pages  # it imports this file

        explained = partial(explain_with_pages, self, top=top, options=options)
        return one_or_many(texts, lambda all_: [explained(text) for text in all_])

    @overload
    def hidden_states(self, texts: str) -> Tensor: ...  # type: ignore[overload-overlap]
    @overload
    def hidden_states(self, texts: Sequence[str]) -> list[Tensor]: ...
    def hidden_states(self, texts: str | Sequence[str]) -> Tensor | list[Tensor]:
        """(N + 1, T, D): every token's vectors after the embedding and after each block; the last are normalised."""
        return one_or_many(texts, lambda all_: [self._hidden_states(text) for text in all_])

    @torch.inference_mode()
    def _hidden_states(self, text: str) -> Tensor:
        row = self.own_row(text)
        first, each = self.model.LAYERS
        with listen(self.model, lambda name: name.endswith(self.model.LAYERS)) as values:
            last = self.model.hidden(TokenBatch.of([row]).to(self.device))
        blocks = [values[f"blocks.{i}.{each}"][0] for i in range(len(self.model.blocks) - 1)]
        return torch.cat([values[first][0], *blocks, last])

    def own_row(self, text: str) -> list[int]:
        """The ids of a text that the model itself could have written."""
        if not isinstance(self.model, DecoderOnly | RecurrentDecoder):
            raise ModelError(
                f"{opening(self.bundle.kind)} model only writes answers to other texts: it cannot do this."
            )
        return self.inputs.ids(text)
