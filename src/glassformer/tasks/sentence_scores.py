"""Sentence scores: a number for a text or a pair of texts, such as how similar two sentences are. BERT-type models.

What a classifier does, with one output instead of classes. The model learns the score in standard deviations from the
mean of the training scores (`centre` and `spread`), so that scores of 0 to 1 and of 0 to 100 need the same rate.
Shapes: B texts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor

from glassformer import limits
from glassformer.data.columns import Columns, Encoded, Pool, Ragged
from glassformer.data.labelled_batches import LabelledBatch, LabelledTexts
from glassformer.data.settings import LabelledDataSettings
from glassformer.data.sources.scored import Scored, read_held_scored, read_scored_examples
from glassformer.errors import DataError, SettingsError
from glassformer.evaluate.correlation import PEARSON, SPEARMAN
from glassformer.evaluate.metric import Metric
from glassformer.explain.report import ShownTable
from glassformer.models.bert import BertConfig
from glassformer.models.roformer import RoFormerConfig
from glassformer.tasks.embedding import TextEncoder
from glassformer.tasks.evaluating import Evaluation
from glassformer.tasks.label_start import refuse_impossible
from glassformer.tasks.scoring import SCALE
from glassformer.tasks.sentence_classes import HELD, MOST_TEXT, MOST_WRONG, SentenceClasses, framed_columns
from glassformer.training.recipe import Recipe
from glassformer.training.task import Listener, Material, ReportParts, Setup


class ScoredDataSettings(LabelledDataSettings):
    """Texts with one number each."""

    example: ClassVar = "text,score or a,b,score"


class ScoreRecipe(Recipe):
    """All settings of the training of a model that gives scores."""

    task: Literal["similar"] = Field("similar", description="What is learned, named by the verb that uses it.")
    centre: float | None = Field(
        None, ge=-limits.RATIO, le=limits.RATIO, description="The score of the output 0. Default: the mean of the data."
    )
    spread: float | None = Field(
        None,
        gt=0,
        le=limits.RATIO,
        description="How much an output of 1 adds. Default: the standard deviation of the data.",
    )
    data: ScoredDataSettings = Field(default_factory=ScoredDataSettings)
    model: Annotated[BertConfig | RoFormerConfig, Field(discriminator="kind")]

    metrics = (PEARSON, SPEARMAN)
    usual_model = MappingProxyType({"kind": "bert"})
    usual_train = MappingProxyType({"label_smoothing": 0.0})


class SentenceScores(SentenceClasses):
    """Learns to predict the score of a text, or of two texts."""

    name = "similar"
    title = "A Transformer that learns to score texts"
    recipe = ScoreRecipe
    kinds = ("bert", "roformer")
    decided_names = ("model.vocabulary", "model.head", "model.classes", "model.pooler")
    counts_words = False
    no_prediction = 0.0

    def read(self, recipe: Any, listener: Listener) -> Material:
        found = read_scored_examples(recipe.data, seed=recipe.train.seed, listener=listener)
        return Material(found.train, found.count, found.valid, found.fingerprints, facts=found.facts)

    def changed_files(self, recipe: Any, begun: Mapping[str, str]) -> list[str]:
        return super().changed_files(recipe, begun)

    def read_held(self, files: Sequence[str], recipe: Any, listener: Listener) -> list[Any]:
        found = read_held_scored(files, recipe.data.columns, listener)
        if found is None:
            raise DataError("Got no file; give files with texts and scores, such as test.tsv.")
        return [(one.texts, one.score) for one in found]

    def decided(self, recipe: Any, material: Material) -> Any:
        refuse_impossible(recipe, possible=False)
        if getattr(recipe.model, "word_odds", None):
            raise SettingsError("model.word_odds is for classes of texts: a table cannot say scores. Leave it out.")
        facts = material.facts
        pooler = getattr(recipe.model, "pooling", "first") == "first"
        model = recipe.model.decided({"head": "sentence", "classes": 1, "pooler": pooler})
        scale = {name: facts[name] for name in SCALE if getattr(recipe, name) is None}  # neither set nor inherited
        return recipe.decided({"model": model, "data": recipe.data.decided({"columns": facts["columns"]}), **scale})

    def inherited(self, recipe: Any, base: Any) -> Any:
        """The scale of the other run, so that its head continues; what the user sets comes first."""
        return recipe.decided({name: getattr(base, name) for name in SCALE if name not in recipe.model_fields_set})

    def keeps_heads(self, recipe: Any, base: Any) -> bool:
        """A base run's head gives scores on its own scale."""
        return (recipe.centre, recipe.spread) == (base.centre, base.spread)

    def metrics_for(self, recipe: Any) -> tuple[Metric, ...]:  # noqa: ARG002
        return (PEARSON, SPEARMAN)

    def encoding(self, recipe: Any) -> str:
        return json.dumps([min(recipe.data.max_tokens, recipe.model.max_length), "scores"])

    def encode(self, setup: Setup, examples: Sequence[Any]) -> Encoded:
        """Texts with their special tokens. A column holds whole numbers: a score is the bits of its float32."""
        text, first, cut = framed_columns(setup, [texts for texts, _ in examples])
        bits = np.array([score for _, score in examples], dtype=np.float32).view(np.int32)
        scores = Ragged(bits, np.ones(len(bits), dtype=np.int64))
        return Encoded(Columns({"text": text, "first": first, "label": scores}), cut=cut)

    def pool(self, setup: Setup, columns: Columns) -> Pool:
        hidden = 0.0 if HELD in columns.columns else setup.recipe.data.hidden_words
        return ScoredTexts(columns, setup.tokenizer.pad_id or 0, hidden, setup.tokenizer.unk_id)

    def from_json(self, example: Any) -> Scored:
        return Scored(tuple(example[0]), float(example[1]))

    def loss(self, setup: Setup, model: Any, batch: LabelledBatch) -> tuple[Tensor, int]:
        """The squared error in standard deviations of the training scores."""
        return F.mse_loss(model(batch).float()[:, 0], standard(setup, batch), reduction="sum"), batch.weight

    def losses(self, setup: Setup, model: Any, batch: LabelledBatch) -> list[tuple[float, float]]:
        found = F.mse_loss(model(batch).float()[:, 0], standard(setup, batch), reduction="none")
        return [(loss, 1.0) for loss in found.tolist()]

    def user(self, setup: Setup, model: Any, *, origin: str = "") -> TextEncoder:
        found = super().user(setup, model, origin=origin)
        recipe = setup.recipe
        found.extras |= {"problem_type": "regression", "centre": recipe.centre, "spread": recipe.spread}
        found.extras["labels"] = ["score"]
        return found

    def predict(self, user: TextEncoder, examples: Sequence[Any]) -> list[float]:
        return user.scores([texts for texts, _ in examples])

    def shown(self, example: Any, prediction: float) -> str:  # noqa: ARG002
        return f"{prediction:.3g}"

    def question(self, example: Any) -> tuple[str, tuple[str, ...]]:
        return " / ".join(example[0]), (f"{example[1]:g}",)

    def report_parts(self, user: TextEncoder, found: Evaluation, prepared: Any) -> ReportParts:  # noqa: ARG002
        """The predictions that are farthest from the true score."""
        return ReportParts({"tables": farthest_table(found)})

    def check_held(self, setup: Setup, examples: Sequence[Any]) -> None:
        """Any number can be compared with."""

    def compared_by(self, setups: Mapping[str, Setup], examples: Sequence[Any]) -> tuple[Metric, ...]:  # noqa: ARG002
        return (PEARSON, SPEARMAN)

    def in_words(self, setup: Setup, batch: LabelledBatch) -> list[dict[str, str]]:
        rows = zip(batch.ids.tolist(), batch.lengths.tolist(), batch.labels.tolist(), strict=True)
        return [{"text": setup.tokenizer.decode(ids[:length]), "score": f"{score:g}"} for ids, length, score in rows]


class ScoredTexts(LabelledTexts):
    """Columns as for classes; the labels of a batch are the scores, in float32."""

    def batch(self, index: Any, random: Any = None) -> LabelledBatch:
        found = super().batch(index, random)
        return replace(found, labels=torch.from_numpy(self.columns["label"].flat[index].view(np.float32).copy()))


def standard(setup: Setup, batch: LabelledBatch) -> Tensor:
    """(B,) The true scores in standard deviations from the mean."""
    return (batch.labels - setup.recipe.centre) / setup.recipe.spread


def farthest_table(found: Evaluation) -> list[ShownTable]:
    rows = zip(found.examples, found.predictions, strict=True)
    wrong = sorted(rows, key=lambda row: -abs(row[0][1] - row[1]))[:MOST_WRONG]
    cells = tuple((f"{s:g}", f"{p:.3g}", f"{p - s:+.3g}", " / ".join(texts)[:MOST_TEXT]) for (texts, s), p in wrong)
    head = ("True score", "Predicted", "Difference", "Text")
    note = "Predictions that are farthest from the true score."
    return [ShownTable("wrong", "The largest mistakes", note, head, cells)] if cells else []
