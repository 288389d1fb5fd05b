"""An encoder-decoder that writes one text for another: a translation, a summary, an answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, overload

from glassformer.errors import DataError, ModelError
from glassformer.printable import opening
from glassformer.store.bundle import Bundle
from glassformer.tasks.generation.generator import Continuation
from glassformer.tasks.generation.inputs import SourceInputs
from glassformer.tasks.generation.language_model import LanguageModel
from glassformer.tasks.generation.options import GenerateOptions
from glassformer.tasks.model import one_or_many, texts_of
from glassformer.text import Tokenizer

Progress = Callable[[int], None]
MAX_NEW = 128
SUMMARIZE = "summarize"  # what T5 models are asked for a summary with


class Rewriter(LanguageModel):
    """A T5, or another encoder-decoder, that rewrites texts. Inputs that are too long are cut, and counted."""

    def __init__(self, bundle: Bundle) -> None:
        super().__init__(bundle)
        if not isinstance(self.inputs, SourceInputs):
            raise ModelError(
                f"{opening(bundle.kind)} model continues texts; it does not rewrite them. Use `glassformer generate`, "
                "or an encoder-decoder such as T5."
            )
        self.tasks: tuple[str, ...] = tuple(bundle.extras.get("tasks", ()))
        limits = [bundle.extras.get("max_source"), self.inputs.longest]
        self.most: int | None = min((limit for limit in limits if limit), default=None)

    @property
    def usual_options(self) -> GenerateOptions:
        """How it writes by default: as its recipe says, or the folder that it was imported from."""
        extras = self.bundle.extras
        imported = {name: extras[name] for name in ("beam", "alpha", "no_repeat") if name in extras}
        chosen: Mapping[str, Any] = extras.get("writing", imported)
        return GenerateOptions(**{"max_new": MAX_NEW, "beam": 4, **chosen})

    def task_for(self, task: str | None) -> str:
        """The task to do: the given one, or the only one."""
        if task is None:
            if len(self.tasks) > 1:
                known = ", ".join(map(repr, self.tasks))
                raise DataError(f"This model has several tasks: say which one, {known} (task=..., --as ...).")
            return self.tasks[0] if self.tasks else ""
        if self.tasks and task not in self.tasks and self.tasks != ("",):
            raise DataError(f"{task!r} is not a task of this model. It has {', '.join(map(repr, self.tasks))}.")
        return task

    def row_of(self, text: str, task: str) -> tuple[list[int], bool]:
        """The ids of a prompt as the model reads them, and whether it was cut."""
        inputs = self.inputs
        assert isinstance(inputs, SourceInputs)
        frame = inputs.framed
        ids = self.input_tokenizer.encode(prompt_of(task, text))
        space = len(ids) if self.most is None else max(0, self.most - len(frame.single([])))
        return frame.single(ids[:space]) or [0], len(ids) > space

    def written(
        self,
        texts: Sequence[str],
        options: GenerateOptions | None = None,
        *,
        task: str | None = None,
        progress: Progress | None = None,
        cut: list[int] | None = None,
    ) -> list[list[Continuation]]:
        """The n best outputs of each text. The numbers of inputs that were cut are added to `cut`."""
        name = self.task_for(task)
        rows = [self.row_of(text, name) for text in texts_of(texts)]
        if cut is not None:
            cut += [i for i, (_, was_cut) in enumerate(rows) if was_cut]
        return self.generator.continuations(
            [row for row, _ in rows], options or self.usual_options, numbers=range(len(rows)), progress=progress
        )

    @overload
    def rewrite(  # type: ignore[overload-overlap]
        self, texts: str, *, task: str | None = ..., beam: int | None = ..., max_new: int | None = ...
    ) -> str: ...
    @overload
    def rewrite(
        self, texts: Sequence[str], *, task: str | None = ..., beam: int | None = ..., max_new: int | None = ...
    ) -> list[str]: ...
    def rewrite(
        self,
        texts: str | Sequence[str],
        *,
        task: str | None = None,
        beam: int | None = None,
        max_new: int | None = None,
    ) -> str | list[str]:
        """What the model writes for each text; `task` is the prefix of one of its tasks."""
        options = self.options(beam=beam, max_new=max_new)
        return one_or_many(texts, lambda all_: [found[0].text for found in self.written(all_, options, task=task)])

    def options(self, **given: int | None) -> GenerateOptions:
        """The usual options with those that are given."""
        return replace(self.usual_options, **{name: value for name, value in given.items() if value is not None})  # type: ignore[arg-type]

    @overload
    def summarise(  # type: ignore[overload-overlap]
        self, texts: str, *, beam: int | None = ..., max_new: int | None = ..., min_new: int | None = ...
    ) -> str: ...
    @overload
    def summarise(
        self, texts: Sequence[str], *, beam: int | None = ..., max_new: int | None = ..., min_new: int | None = ...
    ) -> list[str]: ...
    def summarise(
        self,
        texts: str | Sequence[str],
        *,
        beam: int | None = None,
        max_new: int | None = None,
        min_new: int | None = None,
    ) -> str | list[str]:
        """A summary of each text."""
        options = self.options(beam=beam, max_new=max_new, min_new=min_new)
        task = self.summary_task
        return one_or_many(texts, lambda all_: [found[0].text for found in self.written(all_, options, task=task)])

    @property
    def summary_task(self) -> str:
        """The task that asks for a summary: the one that is called so, or the only one; a T5's usual prefix."""
        if not self.tasks:
            return SUMMARIZE if self.bundle.kind == "t5" else ""
        found = [name for name in self.tasks if name.casefold().startswith("summar")]
        if not found and len(self.tasks) > 1:
            known = ", ".join(map(repr, self.tasks))
            raise DataError(f"No task of this model is called 'summarize'. It has {known}: use `rewrite`.")
        return found[0] if found else self.tasks[0]


def prompt_of(task: str, text: str) -> str:
    """`summarize: text`, on one line."""
    plain = " ".join(text.split())
    return f"{task}: {plain}" if task else plain


def refuse_without_vector(rows: int | None, tokenizer: Tokenizer, texts: Sequence[Sequence[int]]) -> None:
    """Raises an error for a token that an imported model with only `rows` vectors cannot read."""
    if rows is None or rows >= len(tokenizer):
        return
    if missing := sorted({number for ids in texts for number in ids if number >= rows}):
        word = tokenizer.decode(missing[:1]).strip() or tokenizer.token(missing[0])
        raise DataError(
            f"The model to start from has vectors for {rows:,} of its {len(tokenizer):,} tokens, not for "
            f"{word!r}, which the data has. Remove this word from the data."
        )
