"""The page of an explanation: what happened to one text or image, in a file in which the same model runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from glassformer import limits
from glassformer.data.readers.images import NamedPicture
from glassformer.errors import DataError, ModelError, SettingsError
from glassformer.explain.explanation import Explanation
from glassformer.explain.glass.contents import Contents, contents_of
from glassformer.explain.glass.page import render, shared_size
from glassformer.explain.glass.tiers import MEGABYTE, Plan, Stored, plan_of
from glassformer.explain.glass.trace import Subject, Watched
from glassformer.models.registry import build_without_init, values_of
from glassformer.store.weights import load_weights, weights_of
from glassformer.tasks import explaining
from glassformer.tasks.classifying import is_pair
from glassformer.tasks.generation import GenerateOptions
from glassformer.tasks.glass.subjects import subject_of
from glassformer.tasks.glass.traces import trace_of
from glassformer.tasks.model import LoadedModel
from glassformer.tasks.translation import looking
from glassformer.tasks.translation.translator import Translator
from glassformer.tasks.vision import ImageModel

LIVE = "Live: it has all weights and computes any text that you type."
WRONG = 1e-3  # relative: with a larger difference at any tap, the page would show other numbers than the model's
Ask = Callable[[Any, Any], Explanation]  # a model and a text or image


@dataclass(frozen=True)
class ModelPages:
    """Makes pages of one model."""

    model: LoadedModel
    shown: Any  # the text, pair of texts or image that was explained
    ask: Ask
    beam: int | None = None

    def page(self, found: Explanation, *, also: Sequence[Any] = (), max_mb: float = limits.USUAL_PAGE_MB) -> str:
        return render(self.contents(found, also=also, max_mb=max_mb))

    def contents(self, found: Explanation, *, also: Sequence[Any], max_mb: float) -> Contents:
        check_size(max_mb)
        more = listed(also, self.model.bundle.extras.get("texts"))
        subject, each = subject_of(self.model), [self.shown, *more]
        explained = [found, *(self.ask(self.model, one) for one in more)]
        traces = self.watched(self.model, subject, explained, each)
        bare = Plan("live", (), (Stored({}),) * len(traces))
        rest = shared_size() + contents_of(subject, traces, bare).size
        plan = plan_of(subject.program, subject.weights, traces, space=int(max_mb * MEGABYTE) - rest)
        if plan.precision == "float32":
            return contents_of(subject, traces, plan)
        del traces  # the rounded model has its own, and those of long texts are large
        return self.in_half(explained, each, plan)

    def in_half(self, exact: Sequence[Explanation], each: Sequence[Any], plan: Plan) -> Contents:
        """The same of the rounded model: what it computed with these weights, not what the exact model did."""
        model = rounded(self.model)
        subject, explained = subject_of(model), [self.ask(model, one) for one in each]
        same = sum(conclusion(one) == conclusion(other) for one, other in zip(exact, explained, strict=True))
        note = f"the last bits of the weights: rounded to 16, they give the same answer to {same} of {len(each)} texts"
        return contents_of(subject, self.watched(model, subject, explained, each), plan, notes=[note])

    def watched(
        self, model: LoadedModel, subject: Subject, explained: Sequence[Explanation], each: Sequence[Any]
    ) -> list[Watched]:
        found = []
        for one, shown in zip(explained, each, strict=True):
            made = Watched.of(trace_of(model, subject, one, shown, beam=self.beam), subject)
            if not made.error <= WRONG:
                raise ModelError(
                    f"No page: at {made.worst} the program of this {subject.kind} model differs from the model itself, "
                    f"by {made.error:.2g} of the largest value."
                )
            check_finite(made)
            found.append(made)
        return found


def check_finite(one: Watched) -> None:
    """A page shows no NaN: nothing could be compared with it."""
    if wrong := next((name for name, value in one.values.items() if np.isnan(value).any()), ""):
        raise ModelError(
            f"No page: {wrong} is not a number (NaN). The weights of the model are damaged, or too large for this "
            "precision: check them, or load the model in float32."
        )


def explain_with_pages(
    model: LoadedModel,
    shown: explaining.Text | NamedPicture,
    *,
    top: int = 5,
    beam: int | None = None,
    options: GenerateOptions | None = None,
) -> Explanation:
    """Explains with any loaded model; the explanation can also become a page in which the model runs."""
    chosen = options or explaining.ANSWER

    def ask(asked: Any, one: Any) -> Explanation:
        if isinstance(asked, Translator):
            return looking.explain(asked, one, beam=beam, top=top)
        if isinstance(asked, ImageModel):
            picture = one if isinstance(one, NamedPicture) else explaining.one_image(asked, one)
            return explaining.explain_picture(asked, picture, top=top, options=chosen)
        return explaining.explain(asked.bundle, one, top=top, options=chosen)

    pages = ModelPages(model, shown, ask, chosen.beam if beam is None else beam)
    return replace(ask(model, shown), pages=pages)


def check_size(max_mb: float) -> None:
    if not 1 <= max_mb <= limits.PAGE_MB:
        raise SettingsError(f"max_mb = {max_mb:g}: a page can have 1 to {limits.PAGE_MB} million bytes.")


def listed(also: Any, texts_each: int | None) -> list[Any]:
    """The further texts: one alone is one text, or one pair."""
    found = [also] if isinstance(also, str | NamedPicture) or is_pair(also, texts_each) else [*also]
    for number, one in enumerate(found, 1):
        if isinstance(one, str) and not one.strip():
            raise DataError(f"also (--also): text {number} of {len(found)} is blank. Leave it out, or give a text.")
    return found


def tier_in_words(contents: Contents, model: LoadedModel, *, max_mb: float) -> str:
    """What a page can do, why, and what to do for more."""
    header, numbers = contents.header, sum(one.numel() for one in model.bundle.model.parameters())
    if header["tier"] == "live":
        if header["precision"] == "float32":
            why = next((one["why"] for one in header["tokenizers"].values() if "why" in one), "")
            return f"Live: it has all weights; no other text can be typed: {why}." if why else LIVE
        return (
            f"Live, rounded: with 32 bits each the {numbers:,} weights do not fit in {max_mb:g} MB, so the page has a "
            f"model that is rounded to 16.{larger(max_mb)}"
        )
    return (
        f"Recorded: the {numbers:,} weights do not fit in {max_mb:g} MB, even with 16 bits each, so the page shows "
        f"only the texts that you gave.{larger(max_mb)}"
    )


def larger(max_mb: float) -> str:
    most = limits.PAGE_MB
    return f" Allow a larger page for more: --max-mb {most} is the most." if max_mb < most else ""


def conclusion(found: Explanation) -> Any:
    """What a model said about an input: its answer, or its most likely predictions."""
    return found.answer or [one.top[0].id for one in found.predictions if one.top]


def rounded(model: LoadedModel) -> LoadedModel:
    """The same model with every weight rounded to 16 bits."""
    bundle = model.bundle
    copy = build_without_init(bundle.kind, values_of(bundle.model), origin=bundle.kind)
    load_weights(copy, {name: one.half().float() for name, one in weights_of(bundle.model).items()}, origin=bundle.kind)
    copy.to(next(bundle.model.parameters()).device).eval()
    if isinstance(model, Translator):
        return model.with_model(copy)
    return type(model).of(replace(bundle, model=copy))
