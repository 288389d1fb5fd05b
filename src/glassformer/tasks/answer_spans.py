"""Answer spans: where in a passage the answer to a question begins and ends. BERT-type models with a span head.

Question and passage are read together. A long passage is read in several windows; a window without the answer has its
answer at the first token. Shapes: B windows, T tokens.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any, Literal

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor

from glassformer.data.answer_windows import Layout, SpanBatch, SpanWindows, encode_questions
from glassformer.data.columns import Columns, Encoded, Pool
from glassformer.data.settings import AnswerDataSettings
from glassformer.data.sources.answers import Question, files_changed, read_answer_examples, read_held_answers
from glassformer.errors import DataError
from glassformer.evaluate.answers import METRICS, best_of, best_threshold, overlap_f1
from glassformer.models.bert import BertConfig
from glassformer.models.registry import build, sizes
from glassformer.models.roformer import RoFormerConfig
from glassformer.store.bundle import Bundle, SpecialIds, frame_for
from glassformer.tasks.answer_report import answer_tables
from glassformer.tasks.embedding import TextEncoder
from glassformer.tasks.evaluating import Evaluation
from glassformer.tasks.sentence_classes import LADDERS
from glassformer.text import Tokenizer, tokenizer_for
from glassformer.text.framing import with_frame
from glassformer.text.settings import TextSettings
from glassformer.training.budget_rules import BudgetRules
from glassformer.training.fine_tune import GENTLER
from glassformer.training.fine_tune_length import rate_for
from glassformer.training.recipe import Recipe
from glassformer.training.settings import TrainSettings
from glassformer.training.task import TOKENIZER, Listener, Material, ReportParts, Setup, Task, Tokenizers

NO_ANSWER = "no answer"  # as people read it
THRESHOLD = "threshold"  # what is settled on validation questions
FORMAT = "spans 1"  # of the token cache


class AnswerRecipe(Recipe):
    """All settings of the training of a model that answers questions."""

    task: Literal["answer"] = Field("answer", description="What is learned, named by the verb that uses it.")
    no_answer: bool = Field(
        False, description="Whether a passage may lack the answer. Default: whether a question of the data has none."
    )
    data: AnswerDataSettings = Field(default_factory=AnswerDataSettings)
    model: Annotated[BertConfig | RoFormerConfig, Field(discriminator="kind")]

    metrics = METRICS
    usual_model = MappingProxyType({"kind": "bert"})
    usual_train = MappingProxyType({"label_smoothing": 0.0})  # probabilities are to be believed


class AnswerSpans(Task):
    """Learns where the answer to a question is in a passage."""

    name = "answer"
    title = "A Transformer that learns to answer questions"
    unit, units = "window", "windows"
    recipe = AnswerRecipe
    kinds = ("bert", "roformer")
    rules = BudgetRules(
        rate=1e-3,
        train={"optimiser": "adamw"},
        batch_tokens=(2048, 4096),
        weights_per_token=20,
    )
    new_heads = ("head.",)
    decided_names = ("no_answer", "model.vocabulary", "model.head", "model.pooler")
    held_units = "questions"
    predictions = "answers"

    def read(self, recipe: AnswerRecipe, listener: Listener) -> Material:
        found = read_answer_examples(recipe.data, seed=recipe.train.seed, listener=listener)
        return Material(found.train, found.count, found.valid, found.fingerprints, facts=found.facts)

    def changed_files(self, recipe: AnswerRecipe, begun: Mapping[str, str]) -> list[str]:
        return ["the files to learn from have changed"] if files_changed(recipe.data, begun) else []

    def read_held(self, files: Sequence[str], recipe: AnswerRecipe, listener: Listener) -> list[Question]:
        found = read_held_answers(files, recipe.data.columns, listener)
        if found is None:
            raise DataError("Got no file; give files with questions, such as dev-v1.1.json.")
        return found

    def from_json(self, example: Any) -> Question:
        return Question(*super().from_json(example))

    def decided(self, recipe: AnswerRecipe, material: Material) -> AnswerRecipe:
        changes: dict[str, Any] = {"model": recipe.model.decided(head_of(recipe.model.kind))}
        if "no_answer" not in recipe.model_fields_set:
            changes["no_answer"] = recipe.no_answer or bool(material.facts["no_answer"])
        return recipe.decided(changes)

    def inherited(self, recipe: AnswerRecipe, base: AnswerRecipe) -> AnswerRecipe:
        given = "no_answer" in recipe.model_fields_set
        return recipe if given else recipe.decided({"no_answer": base.no_answer})

    def make_tokenizers(self, recipe: AnswerRecipe, material: Material, listener: Listener) -> dict[str, Tokenizer]:
        """Trained on the questions and on each passage once; its file puts the marks around texts."""
        texts = different_texts(material.train())
        tokenizer = tokenizer_for(recipe.text, texts, progress=listener.on_count)
        return {TOKENIZER: with_frame(tokenizer, frame_for(tokenizer, SpecialIds.of_encoder(tokenizer)))}

    def fitted(self, recipe: AnswerRecipe, tokenizers: Tokenizers) -> AnswerRecipe:
        if recipe.text.kind == "imported":  # some of these have more rows than tokens
            return recipe
        return recipe.decided({"model": recipe.model.decided({"vocabulary": len(tokenizers[TOKENIZER])})})

    def encoding(self, recipe: AnswerRecipe) -> str:
        data = recipe.data
        return json.dumps([FORMAT, longest_of(recipe), data.overlap, data.max_question])

    def encode(self, setup: Setup, examples: Sequence[Question]) -> Encoded:
        return encode_questions(examples, setup.tokenizer, layout_of(setup))

    def limit(self, recipe: AnswerRecipe, *, held: bool) -> str:  # noqa: ARG002
        return "of questions whose answer has no token of its own"

    def cut_to(self, recipe: AnswerRecipe) -> str:
        return f"data.max_question = {recipe.data.max_question} tokens of the question"

    def pool(self, setup: Setup, columns: Columns) -> Pool:
        return SpanWindows(columns, setup.tokenizer.pad_id or 0, after=len(layout_of(setup).frame.after))

    def build(self, setup: Setup) -> Any:
        return build(setup.recipe.model.kind, setup.recipe.model.model_dump())

    def ladder(self, recipe: AnswerRecipe) -> list[dict[str, Any]]:
        known = sizes(recipe.model.kind)
        return [{"size": name, **known[name]} for name in LADDERS[recipe.model.kind]]

    def model_for(self, config: Any) -> Any:
        return build(config.kind, {**config.model_dump(), "vocabulary": 1})

    def output_width(self, setup: Setup) -> int:  # noqa: ARG002
        return 2

    def loss(self, setup: Setup, model: Any, batch: SpanBatch) -> tuple[Tensor, int]:
        return window_losses(model, batch, setup.recipe.train.label_smoothing).sum(), batch.weight

    def losses(self, setup: Setup, model: Any, batch: SpanBatch) -> list[tuple[float, float]]:  # noqa: ARG002
        return [(loss, 1.0) for loss in window_losses(model, batch).tolist()]

    def user(self, setup: Setup, model: Any, *, origin: str = "") -> TextEncoder:
        data = setup.recipe.data
        extras = {
            "texts": 2,
            "max_length": longest_of(setup.recipe),
            "overlap": data.overlap,
            "max_question": data.max_question,
            "max_answer": data.max_answer,
            "no_answer": setup.recipe.no_answer,
        }
        found = TextEncoder(
            Bundle(setup.recipe.model.kind, model, setup.tokenizer, SpecialIds.of_encoder(setup.tokenizer), extras)
        )
        found.origin = origin
        return found

    def settled(self, user: TextEncoder, examples: Sequence[Question]) -> dict[str, Any]:
        """The threshold for no answer with the highest F1 on these questions."""
        if not user.extras["no_answer"] or not examples:
            return {}
        questions, passages = [one.question for one in examples], [one.passage for one in examples]
        found = user.answer(questions, passages, no_answer=True)
        best = [one.spans[0].text if one.spans else "" for one in found]
        answered = [best_of(overlap_f1, text, one.answers) for text, one in zip(best, examples, strict=True)]
        unanswered = [best_of(overlap_f1, "", one.answers) for one in examples]
        return {THRESHOLD: best_threshold([one.margin for one in found], answered, unanswered)}

    def closing_cost(self, recipe: AnswerRecipe) -> float:
        return 2.0 if recipe.no_answer else 1.0  # the threshold is chosen first

    def predict(self, user: TextEncoder, examples: Sequence[Question]) -> list[str]:
        found = user.answer([one.question for one in examples], [one.passage for one in examples])
        return [one.text for one in found]

    def tried_with(self, recipe: Any) -> str:  # noqa: ARG002
        return '--passage passage.txt "...?"'

    def shown(self, example: Question, prediction: str) -> str:  # noqa: ARG002
        return prediction or NO_ANSWER

    def question(self, example: Question) -> tuple[str, tuple[str, ...]]:
        return example.question, tuple(dict.fromkeys(example.answers)) or (NO_ANSWER,)

    def report_parts(self, user: TextEncoder, found: Evaluation, prepared: Any) -> ReportParts:  # noqa: ARG002
        """Scores by kind of question and by length of the passage, and the most wrong answers."""
        record = {THRESHOLD: user.extras[THRESHOLD]} if THRESHOLD in user.extras else {}
        return ReportParts({"tables": answer_tables(user, found)}, record)

    def in_words(self, setup: Setup, batch: SpanBatch) -> list[dict[str, str]]:
        rows = zip(*(part.tolist() for part in (batch.ids, batch.lengths, batch.begins, batch.ends)), strict=True)
        decode = setup.tokenizer.decode
        return [
            {"text": decode(ids[:length]), "answer": decode(ids[begin : end + 1]) if begin else NO_ANSWER}
            for ids, length, begin, end in rows
        ]

    def texts(self, examples: Sequence[Question]) -> dict[str, Sequence[str]]:
        return {TOKENIZER: different_texts(examples)}

    # Starting from another model

    def recipe_of(self, bundle: Bundle) -> AnswerRecipe | None:
        """A model with a span head answers questions as it is."""
        config: Any = bundle.model.config
        if getattr(config, "head", None) != "span":
            return None
        text, train = TextSettings(kind="imported"), TrainSettings(lr=GENTLER * rate_for(config.d), label_smoothing=0.0)
        return AnswerRecipe(text=text, model=config, train=train, no_answer=bool(bundle.extras.get("no_answer")))


def head_of(kind: str) -> dict[str, Any]:
    return {"head": "span", "pooler": False} if kind == "bert" else {"head": "span"}


def longest_of(recipe: AnswerRecipe) -> int:
    return min(recipe.data.max_tokens, recipe.model.max_length)


def layout_of(setup: Setup) -> Layout:
    data = setup.recipe.data
    frame = frame_for(setup.tokenizer, SpecialIds.of_encoder(setup.tokenizer))
    return Layout(frame, longest_of(setup.recipe), data.overlap, data.max_question)


def different_texts(questions: Any) -> list[str]:
    return list(dict.fromkeys(text for one in questions for text in (one.question, one.passage)))


def window_losses(model: Any, batch: SpanBatch, smoothing: float = 0.0) -> Tensor:
    """(B,): cross-entropy of where the answer begins plus that of where it ends, among the places that are allowed."""
    logits = model(batch)  # (B, T, 2)
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    logits = logits.masked_fill(~batch.allowed[:, :, None], float("-inf"))
    parts = ((0, batch.begins), (1, batch.ends))
    return sum(losses_at(logits[:, :, i], place, smoothing) for i, place in parts)  # type: ignore[return-value]


def losses_at(logits: Tensor, places: Tensor, smoothing: float) -> Tensor:
    """(B, T), (B,) -> (B,). Smoothing spreads its share over the allowed places."""
    logs = F.log_softmax(logits, dim=-1)
    plain = -logs.gather(1, places[:, None])[:, 0]
    if not smoothing:
        return plain
    allowed = logits.isfinite()
    even = -logs.masked_fill(~allowed, 0.0).sum(dim=1) / allowed.sum(dim=1)
    return (1 - smoothing) * plain + smoothing * even
