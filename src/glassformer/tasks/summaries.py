"""Summaries: a short text for a long one. T5 and the 2017 encoder-decoder (BART too), measured by ROUGE.

The machinery is that of `text_to_text`. ROUGE takes the best of several references, as the authors of SciTLDR do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import Field

from glassformer import limits
from glassformer.data.sources.written import Written
from glassformer.data.written_settings import WrittenDataSettings
from glassformer.errors import DataError
from glassformer.evaluate.metric import Metric
from glassformer.evaluate.rouge import rouge_metrics
from glassformer.models.t5 import T5Config
from glassformer.models.transformer import TransformerConfig
from glassformer.tasks.evaluating import Evaluation
from glassformer.tasks.rewriting import SUMMARIZE, Rewriter, prompt_of
from glassformer.tasks.text_to_text import RewriteRecipe, TextToText, WritingSettings
from glassformer.tasks.written_report import baseline_table, worst_by
from glassformer.text.sentences import sentence_spans
from glassformer.training.recipe import Recipe
from glassformer.training.task import Material, ReportParts


class SummaryWriting(WritingSettings):
    """How summaries are written."""

    no_repeat: int = Field(
        3, ge=0, le=limits.NO_REPEAT, description="Never repeat an n-gram of this length; 0 allows it."
    )


class SummaryRecipe(Recipe):
    """All settings of the training of a summariser."""

    task: Literal["summarise"] = Field("summarise", description="What is learned, named by the verb that uses it.")
    data: WrittenDataSettings = Field(default_factory=WrittenDataSettings)
    model: Annotated[T5Config | TransformerConfig, Field(discriminator="kind")]
    decode: SummaryWriting = Field(default_factory=SummaryWriting)

    metrics = rouge_metrics()
    usual_model = RewriteRecipe.usual_model


class Summaries(TextToText):
    """Learns to summarise documents."""

    name = "summarise"
    title = "A Transformer that learns to summarise"
    unit, units = "document", "documents"
    recipe = SummaryRecipe
    held_units, predictions = "documents", "summaries"

    def decided(self, recipe: Any, material: Material) -> Any:
        if names := [name for name in material.facts["tasks"] if name]:
            raise DataError(
                f"The data names the task {names[0]!r}. A summariser has one task: leave the prefix out, or train "
                "several with --task rewrite."
            )
        return super().decided(recipe, material)

    def tried_with(self, recipe: Any) -> str:  # noqa: ARG002
        return "document.txt"

    def prompt(self, recipe: Any, example: Written) -> str:
        return prompt_of(self.prefix(recipe), example[1])

    def prefix(self, recipe: Any) -> str:
        """T5 models know this prefix."""
        return SUMMARIZE if recipe.model.kind == "t5" else ""

    def names(self, recipe: Any) -> tuple[str, ...]:
        return (self.prefix(recipe),)

    def task_of(self, user: Rewriter, example: Written) -> str:  # noqa: ARG002
        return user.tasks[0]

    def metrics_for(self, recipe: Any) -> tuple[Metric, ...]:  # noqa: ARG002
        return self.metrics

    def question(self, example: Written) -> tuple[str, tuple[str, ...]]:
        return example[1].replace("\n", " "), tuple(example[-1])

    def baselines(self, examples: Sequence[Written]) -> Mapping[str, Sequence[str]]:
        """The first sentence of each document, and its longest one."""
        split = [sentences_of(example[1]) for example in examples]
        return MappingProxyType(
            {
                "lead-1 (first sentence)": [sentences[0] for sentences in split],
                "longest sentence": [max(sentences, key=lambda one: len(one.split())) for sentences in split],
            }
        )

    def report_parts(self, user: Rewriter, found: Evaluation, prepared: Any) -> ReportParts:  # noqa: ARG002
        tables = [*baseline_table(found), *worst_by(self.metrics[0], found)]
        return ReportParts(
            {"tables": tables}, {"baselines": {name: dict(one) for name, one in found.baselines.items()}}
        )


def sentences_of(text: str) -> list[str]:
    """The sentences of a document: those that its file gives as a list, or else as they are found."""
    lines = [line for line in text.split("\n") if line]
    if len(lines) > 1:
        return lines
    return [text[start:end] for start, end in sentence_spans(text)] or [text]
