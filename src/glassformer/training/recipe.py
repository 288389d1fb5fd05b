"""What every recipe has: the task, the data, the text, the model and the training."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Self

from pydantic import Field, ModelWrapValidatorHandler, model_validator

from glassformer.config import Settings, merge, validate
from glassformer.evaluate.metric import Metric, check_best_by
from glassformer.printable import with_article
from glassformer.text.settings import TextSettings
from glassformer.training.settings import TrainSettings


class Recipe(Settings):
    """Everything that decides a run. Each task has its own subclass, with its own data and models."""

    task: str = Field(description="What the model learns, named after the command that uses it.")
    out: str | None = Field(None, description="Folder of the run; the same as --out.")
    data: Any
    text: TextSettings = Field(default_factory=TextSettings)
    model: Any
    train: TrainSettings = Field(default_factory=TrainSettings)

    metrics: ClassVar[tuple[Metric, ...]] = ()  # of the task; train.best_by names one of them
    # Settings of [model] and [train] that a task usually has, where they are not given
    usual_model: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    usual_train: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    auxiliary_kinds: ClassVar[tuple[str, ...]] = ()  # models that can also learn train.auxiliary

    @model_validator(mode="wrap")
    @classmethod
    def _fill_in_usual(cls, values: Any, validated: ModelWrapValidatorHandler[Self]) -> Self:
        """The usual settings do not count as set, so a budget and a start model may choose others."""
        if not isinstance(values, dict):
            return validated(values)
        usual = {"model": cls.usual_model, "train": cls.usual_train}
        given = {name: values.get(name, {}) for name, section in usual.items() if section}
        given = {name: section for name, section in given.items() if isinstance(section, dict)}
        recipe = validated({**values, **{name: {**usual[name], **section} for name, section in given.items()}})
        for name, section in given.items():
            getattr(recipe, name).__pydantic_fields_set__.intersection_update(section)
        return recipe

    @model_validator(mode="after")
    def _known_best_by(self) -> Self:
        check_best_by(self.train.best_by, self.metrics)
        return self

    @model_validator(mode="after")
    def _can_learn_auxiliary(self) -> Self:
        kind = getattr(self.model, "kind", None)
        started = self.train.start_from and self.auxiliary_kinds  # the start model decides the kind
        if self.train.auxiliary and not started and kind not in self.auxiliary_kinds:
            allowed = " or ".join(self.auxiliary_kinds)
            hint = f"set model.kind to {allowed}" if allowed else "leave it out"
            raise ValueError(
                f"train.auxiliary = {self.train.auxiliary:g}: {with_article(str(kind))} model has no such loss here; "
                f"{hint}"
            )
        return self

    def with_open(self, section: str, values: Mapping[str, Any]) -> Self:
        """The recipe with `values` in a section; settings that the user has set do not change."""
        return self.decided({section: getattr(self, section).decided_if_open(values)})

    def as_begun(self, then: Self) -> Self:
        """This recipe with unset values taken from `then`, so that what a budget chose stays the same."""
        return validate(type(self), merge(then.model_dump(), self.model_dump(exclude_unset=True)))
