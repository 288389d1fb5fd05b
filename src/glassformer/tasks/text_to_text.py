"""Text to text: one model that writes a text for another, of one task or of several that a prefix distinguishes.

T5 (Raffel et al. 2019) and the 2017 encoder-decoder. The task is called `rewrite`, after the command that uses the
result: every task is named by a verb, and `generate` is that of language models. Shapes: B examples, S source tokens, T
target tokens.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import Field
from torch import Tensor, nn

from glassformer import limits
from glassformer.config import Settings
from glassformer.data.batches import Batch, Marks
from glassformer.data.columns import Columns, Encoded, Pool, Pools, Ragged
from glassformer.data.prompt_pairs import PromptPairs, takes_of
from glassformer.data.sources.written import Written, files_changed, read_held_files, read_written_examples
from glassformer.data.written_settings import WrittenDataSettings
from glassformer.decode import search
from glassformer.errors import DataError, SettingsError
from glassformer.evaluate.metric import Metric
from glassformer.evaluate.several import MEAN, same_in_keys, several_metrics, usual_measure
from glassformer.models.registry import build, sizes
from glassformer.models.t5 import T5Config
from glassformer.models.transformer import Transformer, TransformerConfig
from glassformer.store.bundle import Bundle, SpecialIds
from glassformer.tasks.evaluating import Evaluation
from glassformer.tasks.generation.options import GenerateOptions
from glassformer.tasks.rewriting import Rewriter, prompt_of, refuse_without_vector
from glassformer.tasks.text_generator import batches_by_length
from glassformer.tasks.written_report import worst_table
from glassformer.text import Tokenizer, tokenizer_for
from glassformer.text.framing import frame_of
from glassformer.training.budget_rules import BudgetRules
from glassformer.training.first_vectors import start_from_pairs
from glassformer.training.objective import token_loss, token_losses
from glassformer.training.recipe import Recipe
from glassformer.training.task import TOKENIZER, Listener, Material, ReportParts, Setup, Task, Tokenizers

LADDERS = {"t5": ("small", "medium", "mini", "tiny"), "transformer": ("base", "small", "tiny", "nano")}
BEAM_COST = 2.5  # the run's own search takes about this many times as long as greedy decoding
PREDICTED = 4096  # tokens of inputs and outputs that are predicted together


class WritingSettings(Settings):
    """How outputs are written, after training; validations are greedy."""

    beam: int = Field(4, ge=1, le=limits.HYPOTHESES, description="Beam width; 1 is greedy.")
    alpha: float = Field(1.0, ge=0, le=5, description="Length normalisation: scores are divided by length^alpha.")
    no_repeat: int = Field(
        0, ge=0, le=limits.NO_REPEAT, description="Never repeat an n-gram of this length; 0 allows it."
    )
    min_new: int = Field(0, ge=0, le=limits.TOKENS, description="The fewest tokens of an output.")


class RewriteRecipe(Recipe):
    """All settings of the training of a text-to-text model."""

    task: Literal["rewrite"] = Field("rewrite", description="What is learned, named by the verb that uses it.")
    data: WrittenDataSettings = Field(default_factory=WrittenDataSettings)
    model: Annotated[T5Config | TransformerConfig, Field(discriminator="kind")]
    decode: WritingSettings = Field(default_factory=WritingSettings)

    metrics = (MEAN,)
    usual_model = MappingProxyType({"kind": "t5"})


class TextToText(Task):
    """Learns to write one text for another."""

    name = "rewrite"
    title = "A Transformer that learns to rewrite texts"
    unit, units = "example", "examples"
    recipe: type[Recipe] = RewriteRecipe
    kinds = ("t5", "transformer")
    rules = BudgetRules(
        train={"optimiser": "muon", "first_vectors": "pairs"}, batch_tokens=(1024, 4096), weights_per_token=10
    )
    fine_tuning = MappingProxyType({"epochs": 10.0, "warmup": None})
    rate_factor, highest_rate = 20 / 3, 4e-3  # 5e-4 for T5 small's width; narrow models learn faster
    predicted_by = "greedy"
    predictions = "outputs"
    decided_names = ("model.vocabulary", "data.names", "data.measures", "data.takes")
    adjusted_names = ("data.max_tokens",)

    # Data

    def read(self, recipe: Any, listener: Listener) -> Material:
        found = read_written_examples(recipe.data, seed=recipe.train.seed, listener=listener)
        return Material(found.train, found.count, found.valid, found.fingerprints, facts=found.facts)

    def changed_files(self, recipe: Any, begun: Mapping[str, str]) -> list[str]:
        return ["the files to learn from have changed"] if files_changed(recipe.data, begun) else []

    def read_held(self, files: Sequence[str], recipe: Any, listener: Listener) -> list[Written]:
        return read_held_files(files, recipe.data, listener)

    def sentences(self, material: Material) -> int:
        """An input may have many sentences."""
        words: int = material.facts["findings"].words
        return words // 15

    def decided(self, recipe: Any, material: Material) -> Any:
        """The tasks of the data, how each is measured, and how often its examples are used."""
        found, data = material.facts["tasks"], recipe.data
        if pair := same_in_keys(list(found)):
            raise DataError(f"The tasks {pair[0]!r} and {pair[1]!r} differ only in marks or case. Rename one of them.")
        chosen = {name: one.metric for name, one in data.tasks.items()}
        measures = [chosen.get(name, "auto") for name in found]
        measures = [
            usual_measure(name, one.mean_output) if measure == "auto" else measure
            for measure, (name, one) in zip(measures, found.items(), strict=True)
        ]
        weights = [data.tasks[name].weight if name in data.tasks else 1.0 for name in found]
        counts = [one.outputs for one in found.values()]
        takes = takes_of(counts, weights, cap=data.cap, temperature=data.temperature)
        return with_data(recipe, {"names": tuple(found), "measures": tuple(measures), "takes": takes})

    def make_tokenizers(self, recipe: Any, material: Material, listener: Listener) -> dict[str, Tokenizer]:
        """One vocabulary for inputs, with their prefixes, and outputs."""
        texts = (part for one in material.train() for part in (self.prompt(recipe, one), one.references[0]))
        tokenizer = tokenizer_for(recipe.text, texts, progress=listener.on_count)
        return {TOKENIZER: tokenizer}

    def fitted(self, recipe: Any, tokenizers: Tokenizers) -> Any:
        if TOKENIZER not in tokenizers:
            raise SettingsError(f"{self.name} needs one vocabulary for inputs and outputs; this model has two.")
        model = recipe.model
        if model.kind == "t5" and recipe.text.kind != "imported":  # some of these have more rows than tokens
            recipe = recipe.decided({"model": model.decided({"vocabulary": len(tokenizers[TOKENIZER])})})
        if getattr(model, "positions", "") == "learned" and model.max_length < recipe.data.max_tokens:
            recipe = with_data(recipe, {"max_tokens": model.max_length})
        return recipe

    def prompt(self, recipe: Any, example: Written) -> str:  # noqa: ARG002
        return prompt_of(example[0], example[1])

    def encoding(self, recipe: Any) -> str:
        data = recipe.data
        return json.dumps([data.max_tokens, data.max_target, data.names, recipe.model.kind])

    def encode(self, setup: Setup, examples: Sequence[Written]) -> Encoded:
        """Prompts that are too long are cut; examples with too long an output are left out."""
        return self.encoded(setup, examples, held=False)

    def encode_held(self, setup: Setup, examples: Sequence[Written]) -> Encoded:
        return self.encoded(setup, examples, held=True)

    def encoded(self, setup: Setup, examples: Sequence[Written], *, held: bool) -> Encoded:
        recipe, tokenizer = setup.recipe, setup.tokenizer
        before = list(frame_of(tokenizer).before)  # <s> in BART; the end mark is added to every row of a batch
        longest, most = recipe.data.max_tokens - 1 - len(before), recipe.data.max_target - 1 - len(before)
        sources = tokenizer.encode_batch([self.prompt(recipe, one) for one in examples])
        targets = tokenizer.encode_batch([one[-1][0] for one in examples])
        refuse_without_vector(recipe.text.rows, tokenizer, (*sources, *targets))
        number = {name: i for i, name in enumerate(recipe.data.names)}
        kept = [i for i, ids in enumerate(targets) if held or (ids and len(ids) <= most)]
        columns = {
            "source": Ragged.of([before + sources[i][:longest] for i in kept]),
            "target": Ragged.of([before + targets[i][:most] for i in kept]),
            "task": Ragged.of([[number.get(examples[i][0], 0)] for i in kept]),
        }
        cut = sum(len(sources[i]) > longest for i in kept)
        return Encoded(Columns(columns), left_out=len(examples) - len(kept), cut=cut)

    def limit(self, recipe: Any, *, held: bool) -> str:  # noqa: ARG002
        return f"the output is longer than data.max_target = {recipe.data.max_target} tokens"

    def pool(self, setup: Setup, columns: Columns) -> Pool:
        marks = marks_of(setup)
        assert marks.eos is not None
        assert marks.start is not None
        own = Marks(marks.pad or 0, marks.start, marks.eos)
        return PromptPairs(columns["source"], columns["target"], own, own, columns["task"], setup.recipe.data.takes)

    # The model

    def build(self, setup: Setup) -> Any:
        config = setup.recipe.model
        if config.kind == "t5":
            return build("t5", config.model_dump())
        size = setup.recipe.text.rows or len(setup.tokenizer)
        return Transformer(config, source_vocabulary=size, target_vocabulary=size)

    def sides(self, model: Any) -> tuple[nn.Module, ...]:
        return model.encoder, model.decoder

    def first_weights(self, setup: Setup, model: Any, examples: Pools, listener: Listener) -> None:
        """Gives words of inputs and of their outputs similar first vectors, if the recipe asks for it."""
        if setup.recipe.train.first_vectors == "pairs":
            listener.on_stage("Making first word vectors from the inputs and outputs")
            start_from_pairs(model.encoder.inputs.embedding.weight, examples, seed=setup.recipe.train.seed)

    def ladder(self, recipe: Any) -> list[dict[str, Any]]:
        known = sizes(recipe.model.kind)
        return [{"size": name, **known[name]} for name in LADDERS[recipe.model.kind]]

    def model_for(self, config: Any) -> Any:
        if config.kind == "t5":
            return build("t5", {**config.model_dump(), "vocabulary": 1})
        return Transformer(config, source_vocabulary=1, target_vocabulary=1)

    def loss(self, setup: Setup, model: Any, batch: Batch) -> tuple[Tensor, int]:
        return token_loss(model, batch, label_smoothing=setup.recipe.train.label_smoothing)

    def losses(self, setup: Setup, model: Any, batch: Batch) -> list[tuple[float, float]]:
        return token_losses(model, batch, vocabulary=len(setup.tokenizer))

    def shape(self, recipe: Any) -> str:
        model = recipe.model
        return f"{model.N}+{model.N_decoder or model.N} layers, d {model.d}, {model.h} heads, d_ff {model.d_ff}"

    # Using it

    def user(self, setup: Setup, model: Any, *, origin: str = "") -> Rewriter:
        found = Rewriter(Bundle(setup.recipe.model.kind, model, setup.tokenizer, marks_of(setup), self.extras(setup)))
        found.origin = origin
        return found

    def extras(self, setup: Setup) -> dict[str, Any]:
        data, decode = setup.recipe.data, setup.recipe.decode.model_dump()
        writing = {**decode, "max_new": data.max_target}
        writing["min_new"] = min(writing["min_new"], writing["max_new"])
        return {"tasks": list(self.names(setup.recipe)), "max_source": data.max_tokens, "writing": writing}

    def names(self, recipe: Any) -> tuple[str, ...]:
        """The tasks as prompts name them."""
        return tuple(recipe.data.names)

    def groups(self, user: Rewriter, examples: Sequence[Written]) -> list[list[int]]:
        lengths = [len(user.row_of(example[1], example[0])[0]) for example in examples]
        extra = user.usual_options.max_new
        return list(batches_by_length(lengths, tokens=PREDICTED, extra=extra)) if examples else []

    def predict(self, user: Rewriter, examples: Sequence[Written]) -> list[str]:
        return self.outputs(user, examples, replace(user.usual_options, beam=1))

    def outputs(
        self, user: Rewriter, examples: Sequence[Written], options: GenerateOptions, progress: Any = None
    ) -> list[str]:
        """Examples of different tasks together."""
        rows = [user.row_of(example[1], self.task_of(user, example))[0] for example in examples]
        found = user.generator.continuations(rows, options, numbers=range(len(rows)), progress=progress)
        return [own[0].text.strip() for own in found]

    def task_of(self, user: Rewriter, example: Written) -> str:  # noqa: ARG002
        return example[0]

    def predict_best(
        self,
        user: Rewriter,
        examples: Sequence[Written],
        *,
        beam: int | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> tuple[list[str], str]:
        """By the run's own search."""
        options = user.options(beam=beam)
        found: dict[int, str] = {}
        for index in self.groups(user, examples):
            for i, text in zip(index, self.outputs(user, [examples[i] for i in index], options), strict=True):
                found[i] = text
            if progress is not None:
                progress(len(index))
        return [found[i] for i in range(len(examples))], "greedy" if options.beam == 1 else f"beam {options.beam}"

    def rehearse(self, user: Rewriter, pool: Pool, examples: Sequence[Written]) -> None:
        """An untrained model does not know where to end, so it writes as many tokens as the references have."""
        for index in self.groups(user, examples):
            rows = [user.row_of(examples[i][1], self.task_of(user, examples[i]))[0] for i in index]
            job = user.generator.search_rows(rows, replace(user.usual_options, beam=1), numbers=range(len(rows)))
            search(replace(job, limits=pool.lengths[index, 1]))

    def closing_cost(self, recipe: Any) -> float:
        return BEAM_COST if recipe.decode.beam > 1 else 1.0

    def metrics_for(self, recipe: Any) -> tuple[Metric, ...]:
        data = recipe.data
        if not data.measures:
            return self.metrics
        mean, first, *others = several_metrics(data.names, data.measures)
        if len(data.names) == 1:  # the mean is the score of the only task
            return replace(mean, label=first.label, signature=first.signature), *others
        return mean, first, *others

    def tried_with(self, recipe: Any) -> str:
        names = self.names(recipe)
        return f'--as {shlex.quote(names[0])} "..."' if len(names) > 1 else '"..."'

    def shown(self, example: Written, prediction: Any) -> str:  # noqa: ARG002
        return str(prediction)

    def from_json(self, example: Any) -> Written:
        return Written(example[0], example[1], tuple(example[2]))

    def question(self, example: Written) -> tuple[str, tuple[str, ...]]:
        return prompt_of(example[0], example[1]), tuple(example[-1])

    def in_words(self, setup: Setup, batch: Batch) -> list[dict[str, str]]:
        return list(rows_in_words(setup.tokenizer, batch))

    def report_parts(self, user: Rewriter, found: Evaluation, prepared: Any) -> ReportParts:  # noqa: ARG002
        """The examples with the lowest scores, by each task's own metric."""
        metrics = self.metrics_for(prepared.recipe)
        return ReportParts({"tables": worst_table(found, prepared.recipe.data, metrics)})

    def texts(self, examples: Sequence[Written]) -> dict[str, Sequence[str]]:
        return {TOKENIZER: [part for one in examples for part in (one[1], one[-1][0])]}

    def check_held(self, setup: Setup, examples: Sequence[Written]) -> None:
        known = setup.recipe.data.names
        if unknown := [example for example in examples if example[0] not in known]:
            raise DataError(
                f"Held-out examples of the task {unknown[0][0]!r}, which training does not have: {len(unknown):,}. It "
                f"has {', '.join(map(repr, known))}."
            )


def rows_in_words(tokenizer: Tokenizer, batch: Batch) -> Iterator[dict[str, str]]:
    sides = ((batch.source, batch.source_lengths), (batch.target_out, batch.target_lengths))
    sources, targets = (
        [tokenizer.decode(row[: int(length) - 1].tolist()) for row, length in zip(ids, lengths, strict=True)]
        for ids, lengths in sides
    )
    for source, target in zip(sources, targets, strict=True):
        yield {"input": source, "output": target}


def with_data(recipe: Any, values: Mapping[str, Any]) -> Any:
    return recipe.decided({"data": recipe.data.decided(values)})


def marks_of(setup: Setup) -> SpecialIds:
    """Special ids. Outputs start from <pad> in a T5, from <s> in a 2017 model; BART starts them from </s>."""
    tokenizer, recipe = setup.tokenizer, setup.recipe
    pad, bos, eos = tokenizer.pad_id, tokenizer.bos_id, tokenizer.eos_id
    if eos is None:
        raise SettingsError("The vocabulary has no end mark such as </s>, so outputs would have no end.")
    start = pad if recipe.model.kind == "t5" or recipe.text.kind == "imported" else bos
    start = eos if frame_of(tokenizer).before else start
    named = recipe.text.start and tokenizer.id(recipe.text.start)
    return SpecialIds(bos=bos, eos=eos, pad=pad, unk=tokenizer.unk_id, start=named or (0 if start is None else start))
