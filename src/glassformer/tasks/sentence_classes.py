"""Sentence classes: the label of a text or of a pair of texts. BERT-type models, and GPT-type ones.

The columns of the data decide what is learned: text,label or text,text,label. Shapes: B texts, K classes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any, Literal

import numpy as np
import torch.nn.functional as F
from pydantic import Field, field_validator
from torch import Tensor

from glassformer.data.columns import Columns, Encoded, Pool, Pools, Ragged
from glassformer.data.labelled_batches import LabelledBatch, LabelledTexts
from glassformer.data.settings import LabelledDataSettings
from glassformer.data.sources.labelled import files_changed, read_held_labelled, read_labelled_examples
from glassformer.errors import DataError
from glassformer.evaluate.classes import class_metrics, confusion, with_positive
from glassformer.evaluate.metric import Metric
from glassformer.explain.report import ShownTable
from glassformer.models.bert import BertConfig
from glassformer.models.bilstm import BiLstmConfig
from glassformer.models.gpt import GptConfig
from glassformer.models.llama import LlamaConfig
from glassformer.models.lstm_lm import LstmLmConfig
from glassformer.models.registry import build, sizes
from glassformer.models.roformer import RoFormerConfig
from glassformer.models.sizes import longest_text
from glassformer.store.bundle import Bundle, SpecialIds
from glassformer.tasks.decoder_classes import (
    DECODERS,
    class_settings,
    frame_around,
    logits_and_auxiliary,
    refuse_auxiliary,
)
from glassformer.tasks.embedding import TextEncoder
from glassformer.tasks.evaluating import Evaluation
from glassformer.tasks.label_start import LABEL_RULES, LABELS, starting_from_labels, with_odds_of
from glassformer.text import Tokenizer, tokenizer_for
from glassformer.text.framing import Frame, framed, with_frame
from glassformer.training.budget_rules import BudgetRules
from glassformer.training.count_words import counted_table
from glassformer.training.label_vectors import label_ratios, start_as_naive_bayes
from glassformer.training.recipe import Recipe
from glassformer.training.task import TOKENIZER, Listener, Material, ReportParts, Setup, Task, Tokenizers

MOST_CLASSES, MOST_WRONG, MOST_TEXT = 20, 12, 400  # limits for the report
HELD = "held"  # a column of held-out examples
LADDERS = {
    "bert": ("mini", "tiny"),
    "roformer": ("small", "tiny"),
    "gpt": ("mini", "tiny", "nano"),
    "llama": ("tiny", "nano"),
    "lstm_lm": ("mini", "tiny"),
    "bilstm": ("mini", "tiny"),
}
Example = tuple[tuple[str, ...], str]  # one or two texts, and the label


class ClassRecipe(Recipe):
    """All settings of the training of a classifier."""

    task: Literal["classify"] = Field("classify", description="What is learned, named by the verb that uses it.")
    labels: tuple[str, ...] = Field((), description="Names of the classes. Default: the labels of the data.")
    positive: str | None = Field(
        None, description="The class whose own F1 is also measured. Default: 1, if the classes are 0 and 1."
    )
    data: LabelledDataSettings = Field(default_factory=LabelledDataSettings)
    model: Annotated[
        BertConfig | RoFormerConfig | GptConfig | LlamaConfig | LstmLmConfig | BiLstmConfig, Field(discriminator="kind")
    ]

    metrics = class_metrics()
    usual_model = MappingProxyType({"kind": "bert", "size": "tiny", "vocabulary": 1})  # the tokenizer decides the last
    auxiliary_kinds = DECODERS
    usual_train = MappingProxyType({"label_smoothing": 0.0})  # probabilities are to be believed

    @field_validator("labels")
    @classmethod
    def _each_once(cls, labels: tuple[str, ...]) -> tuple[str, ...]:
        if twice := [label for i, label in enumerate(labels) if label in labels[:i]]:
            raise ValueError(f"{twice[0]!r} is given twice; each class has one name")
        return labels


class SentenceClasses(Task):
    """Learns to predict the label of a text."""

    name = "classify"
    title = "A model that learns to classify texts"
    unit, units = "example", "examples"
    recipe: type[Recipe] = ClassRecipe
    kinds: tuple[str, ...] = ("bert", "roformer", "bilstm", *DECODERS)
    rules = BudgetRules(
        rate=1e-3,
        train={"optimiser": "adamw"},
        batch_tokens=(512, 2048),
        weights_per_token=20,
        quick_predictions=True,
    )
    counts_words = True
    new_heads = ("head.", "classifier.", "attention.", "word_odds.")
    decided_names: tuple[str, ...] = ("labels", "model.vocabulary", "model.head", "model.classes", "model.pooler")

    def read(self, recipe: ClassRecipe, listener: Listener) -> Material:
        found = read_labelled_examples(recipe.data, seed=recipe.train.seed, listener=listener)
        return Material(found.train, found.count, found.valid, found.fingerprints, facts=found.facts)

    def changed_files(self, recipe: ClassRecipe, begun: Mapping[str, str]) -> list[str]:
        return ["the files to learn from have changed"] if files_changed(recipe.data, begun) else []

    def read_held(self, files: Sequence[str], recipe: ClassRecipe, listener: Listener) -> list[Example]:
        found = read_held_labelled(files, recipe.data.columns, listener)
        if found is None:
            raise DataError("Got no file; give files with texts and labels, such as test.tsv.")
        return [(one.texts, one.label) for one in found[0]]

    def decided(self, recipe: ClassRecipe, material: Material) -> ClassRecipe:
        found = tuple(material.facts["labels"])
        unknown = [label for label in found if label not in recipe.labels]
        if unknown and "labels" in recipe.model_fields_set:
            raise DataError(f"The label {unknown[0]!r} is not one of the classes {', '.join(recipe.labels)}.")
        labels = found if unknown else recipe.labels  # those of the base run, if the data has no others
        refuse_auxiliary(recipe.model.kind, recipe.train.auxiliary)
        recipe = starting_from_labels(recipe, len(labels), material)
        model = recipe.model.decided(class_settings(recipe.model, len(labels)))
        if recipe.positive is not None and recipe.positive not in labels:
            raise DataError(f"positive = {recipe.positive!r} is not one of the classes {', '.join(labels)}.")
        data = recipe.data.decided({"columns": material.facts["columns"]})
        positive = recipe.positive or ("1" if labels == ("0", "1") else None)
        return recipe.decided({"labels": labels, "model": model, "data": data, "positive": positive})

    def inherited(self, recipe: ClassRecipe, base: ClassRecipe) -> ClassRecipe:
        recipe = with_odds_of(recipe, base)
        return recipe if "labels" in recipe.model_fields_set else recipe.decided({"labels": base.labels})

    def keeps_heads(self, recipe: ClassRecipe, base: ClassRecipe) -> bool:
        """Outputs belong to classes by their place."""
        return recipe.labels == base.labels

    def metrics_for(self, recipe: ClassRecipe) -> tuple[Metric, ...]:
        metrics = class_metrics(recipe.labels or None)
        return metrics if recipe.positive is None else with_positive(metrics, recipe.positive)

    def make_tokenizers(self, recipe: ClassRecipe, material: Material, listener: Listener) -> dict[str, Tokenizer]:
        """Its file puts the begin and end marks around texts, for other programs too."""
        texts = (one for texts, _ in material.train() for one in texts)
        tokenizer = tokenizer_for(recipe.text, texts, progress=listener.on_count)
        return {TOKENIZER: with_frame(tokenizer, frame_in(Setup(recipe, {TOKENIZER: tokenizer})))}

    def fitted(self, recipe: ClassRecipe, tokenizers: Tokenizers) -> ClassRecipe:
        if recipe.text.kind == "imported":  # some of these have more rows than tokens
            return recipe
        return recipe.decided({"model": recipe.model.decided({"vocabulary": len(tokenizers[TOKENIZER])})})

    def encoding(self, recipe: ClassRecipe) -> str:
        longest = min(recipe.data.max_tokens, longest_text(recipe.model))
        return json.dumps([longest, recipe.labels, recipe.model.kind])  # the kind decides the special tokens

    def encode(self, setup: Setup, examples: Sequence[Example]) -> Encoded:
        """Texts with their special tokens. Texts that are too long are shortened; of two texts, the longer one."""
        number = {label: i for i, label in enumerate(setup.recipe.labels)}
        labels = Ragged.of([[number[label]] for _, label in examples])
        text, first, cut = framed_columns(setup, [texts for texts, _ in examples])
        return Encoded(Columns({"text": text, "first": first, "label": labels}), cut=cut)

    def cut_to(self, recipe: ClassRecipe) -> str:
        if longest_text(recipe.model) < recipe.data.max_tokens:
            return f"model.max_length = {longest_text(recipe.model)} tokens"
        return super().cut_to(recipe)

    def pool(self, setup: Setup, columns: Columns) -> Pool:
        hidden = 0.0 if HELD in columns.columns else setup.recipe.data.hidden_words
        return LabelledTexts(columns, setup.tokenizer.pad_id or 0, hidden, setup.tokenizer.unk_id)

    def encode_held(self, setup: Setup, examples: Sequence[Example]) -> Encoded:
        """The same; one column more says that nothing is to be hidden."""
        found = self.encode(setup, examples)
        held = {HELD: Ragged.of([[]] * len(found.columns))}
        return Encoded(Columns({**found.columns.columns, **held}), found.left_out, found.cut)

    def build(self, setup: Setup) -> Any:
        return build(setup.recipe.model.kind, setup.recipe.model.model_dump())

    def ladder(self, recipe: ClassRecipe) -> list[dict[str, Any]]:
        known = sizes(recipe.model.kind)
        return [{"size": name, **known[name]} for name in LADDERS[recipe.model.kind]]

    def model_for(self, config: Any) -> Any:
        return build(config.kind, {**config.model_dump(), "vocabulary": 1})

    def rules_for(self, recipe: ClassRecipe) -> BudgetRules:
        return LABEL_RULES if recipe.train.first_vectors == LABELS else self.rules

    def first_weights(self, setup: Setup, model: Any, examples: Pools, listener: Listener) -> None:
        """Lets the model start as naive Bayes, if the recipe asks for it."""
        recipe = setup.recipe
        if recipe.train.first_vectors != LABELS:
            return
        listener.on_stage("Making first word vectors from the labels")
        sizes = {"vocabulary": len(setup.tokenizer), "classes": recipe.model.classes}
        ratios = label_ratios(examples, **sizes, seed=recipe.train.seed)
        start_as_naive_bayes(model, ratios, seed=recipe.train.seed)

    def counted_weights(self, setup: Setup, model: Any, examples: Pools, listener: Listener) -> None:
        """Counts the table of words beside the model, if there is one."""
        recipe = setup.recipe
        if rows := getattr(recipe.model, "word_odds", 0):
            listener.on_stage("Counting what each word says about the class")
            sizes = {"rows": rows, "classes": recipe.model.classes}
            model.word_odds.fill(*counted_table(examples, **sizes, seed=recipe.train.seed))

    def output_width(self, setup: Setup) -> int:  # noqa: ARG002
        return 0  # one prediction per text costs little compared with its tokens

    def loss(self, setup: Setup, model: Any, batch: LabelledBatch) -> tuple[Tensor, int]:
        smoothing = setup.recipe.train.label_smoothing
        auxiliary: Tensor | float = 0.0
        if setup.recipe.model.kind in DECODERS:
            logits, auxiliary = logits_and_auxiliary(model, batch, setup.recipe.train.auxiliary)
        else:
            logits = model(batch)  # (B, K)
        summed = F.cross_entropy(logits.float(), batch.labels, reduction="sum", label_smoothing=smoothing)
        return summed + auxiliary, batch.weight

    def losses(self, setup: Setup, model: Any, batch: LabelledBatch) -> list[tuple[float, float]]:  # noqa: ARG002
        found = F.cross_entropy(model(batch).float(), batch.labels, reduction="none")
        return [(loss, 1.0) for loss in found.tolist()]

    def user(self, setup: Setup, model: Any, *, origin: str = "") -> TextEncoder:
        labels = list(getattr(setup.recipe, "labels", ()))
        extras: dict[str, Any] = {"labels": labels, "max_length": setup.recipe.data.max_tokens}
        extras["texts"] = setup.recipe.data.texts_each
        kind, tokenizer = setup.recipe.model.kind, setup.tokenizer
        if kind in DECODERS:
            tokenizer = with_frame(tokenizer, frame_in(setup))
        found = TextEncoder(Bundle(kind, model, tokenizer, SpecialIds.of_encoder(setup.tokenizer), extras))
        found.origin = origin
        return found

    def predict(self, user: TextEncoder, examples: Sequence[Example]) -> list[Any]:
        return [guesses[0].label for guesses in user.classify([texts for texts, _ in examples], top=1)]

    def question(self, example: Example) -> tuple[str, tuple[str, ...]]:
        return " / ".join(example[0]), (example[1],)

    def report_parts(self, user: TextEncoder, found: Evaluation, prepared: Any) -> ReportParts:  # noqa: ARG002
        """The confusion matrix, and the wrong predictions with the highest loss."""
        return ReportParts({"tables": [confusion_table(found, prepared.recipe.labels), *wrong_table(found)]})

    def check_held(self, setup: Setup, examples: Sequence[Example]) -> None:
        """Refuses labels that the model has no class for."""
        known = setup.recipe.labels
        if unknown := [label for _, label in examples if label not in known]:
            raise DataError(
                f"Labels of held-out examples that the model does not know: {len(unknown):,}, first {unknown[0]!r}. "
                f"It knows {', '.join(map(repr, known))}. Remove these examples, or train with such labels."
            )

    def compared_by(self, setups: Mapping[str, Setup], examples: Sequence[Example]) -> tuple[Metric, ...]:
        """Runs with different classes cannot be compared."""
        (first, one), *others = setups.items()
        for name, setup in others:
            if set(setup.recipe.labels) != set(one.recipe.labels):
                only = sorted(set(setup.recipe.labels) ^ set(one.recipe.labels))
                raise DataError(
                    f"{first} and {name} cannot be compared: only one of them has the classes {', '.join(only)}."
                )
        return super().compared_by(setups, examples)

    def in_words(self, setup: Setup, batch: LabelledBatch) -> list[dict[str, str]]:
        rows = zip(batch.ids.tolist(), batch.lengths.tolist(), batch.labels.tolist(), strict=True)
        labels = setup.recipe.labels
        return [{"text": setup.tokenizer.decode(ids[:length]), "label": labels[label]} for ids, length, label in rows]

    def texts(self, examples: Sequence[Example]) -> dict[str, Sequence[str]]:
        return {TOKENIZER: [text for texts, _ in examples for text in texts]}


def framed_columns(setup: Setup, all_texts: Sequence[Sequence[str]]) -> tuple[Ragged, Ragged, int]:
    """The ids of each text or pair, how many of them are before the second text, and how many texts were shortened."""
    frame = frame_in(setup)
    longest = min(setup.recipe.data.max_tokens, longest_text(setup.recipe.model))
    rows = [framed(frame, setup.tokenizer.encode_batch(list(texts)), most=longest) for texts in all_texts]
    text, first = Ragged.of([ids for ids, _, _ in rows]), Ragged.of([[first] for _, first, _ in rows])
    return text, first, sum(cut for _, _, cut in rows)


def confusion_table(found: Evaluation, labels: Sequence[str]) -> ShownTable:
    """Rows are true classes, columns are predicted ones; if there are many classes, the most frequent ones."""
    names, table = confusion(found.predictions, found.examples, labels)
    often = sorted(np.argsort(-table.sum(axis=1), kind="stable")[:MOST_CLASSES].tolist())
    rows: tuple[tuple[str | int, ...], ...] = tuple((names[i], *(int(table[i, j]) for j in often)) for i in often)
    cut = f" The {MOST_CLASSES} most frequent of {len(names)} classes." if len(often) < len(names) else ""
    note = f"Rows: the true class. Columns: the predicted class. Shaded by the share of the row.{cut}"
    return ShownTable(
        "confusion", "Which classes are confused", note, ("", *(str(names[j]) for j in often)), rows, True
    )


def wrong_table(found: Evaluation) -> list[ShownTable]:
    """Wrong predictions, lowest probability of the true class first."""
    if found.losses is None or len(found.losses) != len(found.examples):
        return []
    rows = zip(found.losses[:, 0].tolist(), found.examples, found.predictions, strict=True)
    wrong = sorted((row for row in rows if row[1][1] != row[2]), key=lambda row: -row[0])[:MOST_WRONG]
    cells = tuple(
        (label, predicted, f"{math.exp(-loss):.3f}", " / ".join(texts)[:MOST_TEXT])
        for loss, (texts, label), predicted in wrong
    )
    note = "Wrong predictions, lowest probability of the true class first."
    head = ("True class", "Predicted", "Probability of the true class", "Text")
    return [ShownTable("wrong", "The clearest mistakes", note, head, cells)] if cells else []


def frame_in(setup: Setup) -> Frame:
    return frame_around(setup.recipe.model.kind, setup.tokenizer, SpecialIds.of_encoder(setup.tokenizer))
