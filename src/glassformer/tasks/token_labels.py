"""Token labels: a label for each word, for named entities, parts of speech and the like. BERT-type models.

A word is labelled at its first piece. Entities are learnt in the scheme of the recipe, and decoded by its rules.
Shapes: B windows, T pieces, W words, K labels, D width.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any, Literal, cast

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor

from glassformer.data.columns import Columns, Encoded, Pool, Ragged
from glassformer.data.schemes import BIO, IO, OUTSIDE, PLAIN, converted, label_names, split_label
from glassformer.data.settings import TagDataSettings
from glassformer.data.sources.tagged import ALONE, Tagged, files_changed, read_held_tagged, read_tagged_examples
from glassformer.data.tagged_windows import IGNORED, Hiding, TaggedBatch, TaggedWindows, WordPieces, windows_of
from glassformer.errors import DataError, SettingsError
from glassformer.evaluate.entities import PLAIN_METRICS, SPAN_METRICS
from glassformer.evaluate.metric import Metric
from glassformer.models.bert import BertConfig
from glassformer.models.bilstm import BiLstmConfig
from glassformer.models.registry import build, sizes
from glassformer.models.roformer import RoFormerConfig
from glassformer.models.sizes import longest_text
from glassformer.store.bundle import Bundle, SpecialIds, frame_for
from glassformer.tasks.embedding import TextEncoder
from glassformer.tasks.evaluating import Evaluation
from glassformer.tasks.tag_report import tag_tables
from glassformer.text import Tokenizer, tokenizer_for
from glassformer.text.framing import with_frame
from glassformer.text.settings import TextSettings
from glassformer.training.budget_rules import BudgetRules
from glassformer.training.recipe import Recipe
from glassformer.training.task import TOKENIZER, Listener, Material, ReportParts, Setup, Task, Tokenizers

FORMAT = "tags 1"  # of the token cache
LADDERS = {"bert": ("mini", "tiny"), "roformer": ("small", "tiny"), "bilstm": ("mini", "tiny")}
HELD = "held"  # a column of held-out windows
GROUP = 64  # sentences that are predicted together, at least


class TagRecipe(Recipe):
    """All settings of the training of a tagger."""

    task: Literal["tag"] = Field("tag", description="What is learned, named by the verb that uses it.")
    scheme: Literal["bio", "bilou", "iobes", "io", "plain"] | None = Field(
        None,
        description="The labels that are learned, whatever the files have: bio (B- begins an entity), bilou (also its "
        "end and single words), iobes (the same with other letters), io; plain for labels that mark no entities. "
        "Default: io for files in IO, plain for plain labels, else bio.",
    )
    labels: tuple[str, ...] = Field((), description="Names of the labels. Default: those of the data, by the scheme.")
    data: TagDataSettings = Field(default_factory=TagDataSettings)
    model: Annotated[BertConfig | RoFormerConfig | BiLstmConfig, Field(discriminator="kind")]

    metrics = SPAN_METRICS
    usual_model = MappingProxyType({"kind": "bert"})
    usual_train = MappingProxyType({"label_smoothing": 0.0})  # probabilities are to be believed


class TokenLabels(Task):
    """Learns to predict a label for each word."""

    name = "tag"
    title = "A model that learns to tag words"
    unit, units = "window", "windows"
    held_units = "sentences"
    has_columns = True
    recipe = TagRecipe
    kinds = ("bert", "roformer", "bilstm")
    rules = BudgetRules(
        rate=1e-3,
        train={"optimiser": "adamw"},
        batch_tokens=(512, 2048),
        weights_per_token=40,
        quick_predictions=True,
    )
    # A window holds several sentences: an update needs only a few windows.
    fine_tuning: Mapping[str, Any] = MappingProxyType({"epochs": 10.0, "warmup": None, "batch_tokens": 768})
    rate_factor = 2.5  # 2.5e-4 for MiniLM's width
    new_heads = ("head.", "inputs.casing.")
    reads_casing = True
    decided_names = ("scheme", "labels", "model.vocabulary", "model.head", "model.classes", "model.pooler")
    adjusted_names = ("model.casing",)

    def read(self, recipe: TagRecipe, listener: Listener) -> Material:
        found = read_tagged_examples(recipe.data, seed=recipe.train.seed, listener=listener)
        return Material(found.train, found.count, found.valid, found.fingerprints, facts=found.facts)

    def changed_files(self, recipe: TagRecipe, begun: Mapping[str, str]) -> list[str]:
        return ["the files to learn from have changed"] if files_changed(recipe.data, begun) else []

    def read_held(self, files: Sequence[str], recipe: TagRecipe, listener: Listener) -> list[Tagged]:
        found = read_held_tagged(files, recipe.data.columns, recipe.scheme or BIO, listener)
        if found is None:
            raise DataError("Got no file; give files with words and labels, such as test.conll.")
        return found[0]

    def decided(self, recipe: TagRecipe, material: Material) -> TagRecipe:
        plain = material.facts["scheme"] == PLAIN
        scheme = PLAIN if plain else recipe.scheme or (IO if material.facts["scheme"] == IO else BIO)
        if not plain and scheme == PLAIN:
            raise SettingsError(
                f"scheme = 'plain', but the labels are {material.facts['scheme']}. Set data.scheme = 'plain' too, or "
                "leave scheme out."
            )
        found = label_names(material.facts["kinds"], scheme)
        unknown = [label for label in found if label not in recipe.labels]
        if unknown and "labels" in recipe.model_fields_set:
            raise DataError(f"The label {unknown[0]!r} is not one of labels = {', '.join(recipe.labels)}.")
        if plain and recipe.train.best_by not in ("auto", "loss", PLAIN_METRICS[0].key):
            raise SettingsError(
                f"train.best_by = {recipe.train.best_by!r} is a score of entities; the labels are plain."
            )
        labels = found if unknown else recipe.labels  # those of the base run, if the data has no others
        shape = {"head": "tokens", "classes": len(labels)}
        model = recipe.model.decided(shape | ({"pooler": False} if recipe.model.kind == "bert" else {}))
        return recipe.decided({"labels": labels, "scheme": scheme, "model": model})

    def inherited(self, recipe: TagRecipe, base: TagRecipe) -> TagRecipe:
        taken = {name: getattr(base, name) for name in ("labels", "scheme") if name not in recipe.model_fields_set}
        return recipe.decided(taken)

    def keeps_heads(self, recipe: TagRecipe, base: TagRecipe) -> bool:
        """Outputs belong to labels by their place."""
        return (recipe.labels, recipe.scheme) == (base.labels, base.scheme) and (
            recipe.model.casing in (None, base.model.casing)
        )

    def recipe_of(self, bundle: Bundle) -> TagRecipe | None:
        """An imported model for token classification, to evaluate it."""
        labels, config = tuple(bundle.extras.get("labels", ())), cast(BertConfig | RoFormerConfig, bundle.model.config)
        if config.head != "tokens" or not labels:
            return None
        plain = any(not split_label(label)[0] for label in labels)
        text, data = TextSettings(kind="imported"), TagDataSettings(context="sentence")
        values: dict[str, Any] = {"labels": labels, "scheme": PLAIN if plain else "bio"}
        return TagRecipe(text=text, data=data, model=config.model_dump(), **values)

    def metrics_for(self, recipe: TagRecipe) -> tuple[Metric, ...]:
        return PLAIN_METRICS if recipe.scheme == PLAIN else SPAN_METRICS

    def make_tokenizers(self, recipe: TagRecipe, material: Material, listener: Listener) -> dict[str, Tokenizer]:
        """Its file puts the begin and end marks around texts, for other programs too."""
        texts = (" ".join(words) for _, words, _ in material.train())
        tokenizer = tokenizer_for(recipe.text, texts, progress=listener.on_count)
        return {TOKENIZER: with_frame(tokenizer, frame_for(tokenizer, SpecialIds.of_encoder(tokenizer)))}

    def fitted(self, recipe: TagRecipe, tokenizers: Tokenizers) -> TagRecipe:
        """A vocabulary in lower case loses capitals, so the model gets them in another way."""
        tokenizer, model = tokenizers[TOKENIZER], recipe.model
        if model.casing is None:
            model = model.decided({"casing": tokenizer.encode("Paris") == tokenizer.encode("paris")})
        if recipe.text.kind != "imported":  # some of these have more rows than tokens
            model = model.decided({"vocabulary": len(tokenizer)})
        return recipe.decided({"model": model})

    # Ids and batches

    def encoding(self, recipe: TagRecipe) -> str:
        return json.dumps([FORMAT, recipe.scheme, recipe.labels, window_of(recipe), recipe.data.context])

    def encode(self, setup: Setup, examples: Sequence[Tagged]) -> Encoded:
        """Windows of whole sentences of a document, or of parts of a long sentence."""
        recipe, number = setup.recipe, {label: i for i, label in enumerate(setup.recipe.labels, 1)}
        words, documents = [list(one[1]) for one in examples], documents_of(recipe, examples)
        labels = [converted(one[2], recipe.scheme) for one in examples]
        frame = frame_for(setup.tokenizer, SpecialIds.of_encoder(setup.tokenizer))
        found = windows_of(words, documents, WordPieces(setup.tokenizer), frame, most=window_of(recipe))
        targets = []
        for window in found:
            row = [0] * len(window.ids)
            for place, sentence, word in window.own:
                row[place] = number.get(labels[sentence][word], 0)  # 0: a label that the model does not know
            targets.append(row)
        columns = {"text": [one.ids for one in found], "casing": [one.casing for one in found], "target": targets}
        return Encoded(Columns({name: Ragged.of(rows) for name, rows in columns.items()}))

    def encode_held(self, setup: Setup, examples: Sequence[Tagged]) -> Encoded:
        """The same; one column more says that no words are to be hidden."""
        columns = self.encode(setup, examples).columns
        return Encoded(Columns({**columns.columns, HELD: Ragged.of([[]] * len(columns))}))

    def pool(self, setup: Setup, columns: Columns) -> Pool:
        tokenizer, casing = setup.tokenizer, bool(setup.recipe.model.casing)
        hiding = None if HELD in columns.columns else hiding_of(setup)
        return TaggedWindows(columns, tokenizer.pad_id or 0, casing, hiding)

    # The model

    def build(self, setup: Setup) -> Any:
        return build(setup.recipe.model.kind, setup.recipe.model.model_dump())

    def ladder(self, recipe: TagRecipe) -> list[dict[str, Any]]:
        known = sizes(recipe.model.kind)
        return [{"size": name, **known[name]} for name in LADDERS[recipe.model.kind]]

    def model_for(self, config: Any) -> Any:
        return build(config.kind, {**config.model_dump(), "vocabulary": 1})

    def output_width(self, setup: Setup) -> int:
        return len(setup.recipe.labels)

    def loss(self, setup: Setup, model: Any, batch: TaggedBatch) -> tuple[Tensor, int]:
        """Summed over the words."""
        real = batch.targets != IGNORED
        hidden = model.hidden(batch)[real]  # (W, D)
        smoothing = setup.recipe.train.label_smoothing
        return model.head.loss(hidden, batch.targets[real], label_smoothing=smoothing), batch.weight

    def losses(self, setup: Setup, model: Any, batch: TaggedBatch) -> list[tuple[float, float]]:  # noqa: ARG002
        logits = model(batch).float()  # (B, T, K)
        found = F.cross_entropy(logits.mT, batch.targets, ignore_index=IGNORED, reduction="none")  # (B, T)
        counts = (batch.targets != IGNORED).sum(1)
        return list(zip(found.sum(1).tolist(), counts.to(torch.float32).tolist(), strict=True))

    # Using it

    def user(self, setup: Setup, model: Any, *, origin: str = "") -> TextEncoder:
        recipe = setup.recipe
        extras = {"labels": list(recipe.labels), "scheme": recipe.scheme, "window": window_of(recipe)}
        marks = SpecialIds.of_encoder(setup.tokenizer)
        found = TextEncoder(Bundle(recipe.model.kind, model, setup.tokenizer, marks, extras))
        found.origin, found.context_of_documents = origin, recipe.data.context == "document"
        return found

    def groups(self, user: TextEncoder, examples: Sequence[Tagged]) -> list[list[int]]:  # noqa: ARG002
        """Sentences of a document stay together."""
        found: list[list[int]] = [[]]
        for at, one in enumerate(examples):
            new = one[0] == ALONE or at == 0 or one[0] != examples[at - 1][0]
            if new and len(found[-1]) >= GROUP:
                found.append([])
            found[-1].append(at)
        return [group for group in found if group]

    def predict(self, user: TextEncoder, examples: Sequence[Tagged]) -> list[list[str]]:
        together = user.context_of_documents
        documents = [one[0] if together else ALONE for one in examples]
        return user.tagger.predicted([list(one[1]) for one in examples], documents)

    def shown(self, example: Tagged, prediction: Any) -> str:
        """The words, each with its label unless that is O."""
        pairs = zip(example[1], prediction, strict=True)
        return " ".join(word if label == OUTSIDE else f"{word}/{label}" for word, label in pairs)

    def question(self, example: Tagged) -> tuple[str, tuple[str, ...]]:
        return " ".join(example[1]), (self.shown(example, example[2]),)

    def report_parts(self, user: TextEncoder, found: Evaluation, prepared: Any) -> ReportParts:  # noqa: ARG002
        return ReportParts({"tables": tag_tables(found, plain=prepared.recipe.scheme == PLAIN)})

    def check_held(self, setup: Setup, examples: Sequence[Tagged]) -> None:
        """Refuses labels of which the model knows none. Entities of a type that it does not know count as missed."""
        recipe = setup.recipe
        known = {split_label(label)[1] or label for label in recipe.labels}
        found = {split_label(label)[1] or label for _, _, labels in examples for label in labels}
        if found - {OUTSIDE} and not (found & known) - {OUTSIDE}:
            raise DataError(
                f"None of the labels of the held-out sentences is known to the model: {', '.join(sorted(found)[:5])}. "
                f"It knows {', '.join(sorted(known)[:20])}."
            )

    def compared_by(self, setups: Mapping[str, Setup], examples: Sequence[Tagged]) -> tuple[Metric, ...]:
        if len({setup.recipe.scheme == PLAIN for setup in setups.values()}) > 1:
            raise DataError(f"{' and '.join(setups)} cannot be compared: only some of them have plain labels.")
        return super().compared_by(setups, examples)

    def in_words(self, setup: Setup, batch: TaggedBatch) -> list[dict[str, str]]:
        rows = zip(batch.ids.tolist(), batch.lengths.tolist(), batch.targets.tolist(), strict=True)
        labels = setup.recipe.labels
        return [
            {
                "text": setup.tokenizer.decode(ids[:length]),
                "labels": " ".join(labels[target] for target in targets if target != IGNORED),
            }
            for ids, length, targets in rows
        ]

    def texts(self, examples: Sequence[Tagged]) -> dict[str, Sequence[str]]:
        return {TOKENIZER: [" ".join(words) for _, words, _ in examples]}

    def from_json(self, example: Any) -> Tagged:
        document, words, labels = example
        return Tagged(document, tuple(words), tuple(labels))


def window_of(recipe: TagRecipe) -> int:
    """Tokens that are read together."""
    return min(recipe.data.max_tokens, longest_text(recipe.model))


def hiding_of(setup: Setup) -> Hiding | None:
    """The mask of the vocabulary replaces hidden words, or the unknown token."""
    tokenizer, share = setup.tokenizer, setup.recipe.data.hidden_words
    known = (tokenizer.id("[MASK]"), tokenizer.id("<mask>"), tokenizer.unk_id)
    mask = next((number for number in known if number is not None), None)
    frame = frame_for(tokenizer, SpecialIds.of_encoder(tokenizer))
    return Hiding(share, mask, len(frame.before), len(frame.after)) if share and mask is not None else None


def documents_of(recipe: TagRecipe, examples: Sequence[Tagged]) -> list[int]:
    return [one[0] if recipe.data.context == "document" else ALONE for one in examples]
