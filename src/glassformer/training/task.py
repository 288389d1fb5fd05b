"""The interface between the training engine and what is learned.

A task is a class of stateless functions: how its data is read, which ids are stored, how a batch, a loss, a prediction
and a score are made. The engine (this package) does the rest: exact resume, several ranks, budgets, forecasts,
divergence reports, averaging, validation, the choice of the weights. `tasks/sentence_classes.py` is a small task.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from torch import Tensor, nn

from glassformer.data.columns import Columns, Encoded, Pool, Pools
from glassformer.data.sources.examples import Listener as Listener
from glassformer.evaluate.metric import Counts, Metric
from glassformer.text import Tokenizer
from glassformer.training.budget_rules import BudgetRules
from glassformer.training.recipe import Recipe
from glassformer.training.task_parts import TOKENIZER as TOKENIZER
from glassformer.training.task_parts import Example, Material, ReportParts, Setup, Tokenizers


class Task:
    """One task. Implement the functions that raise NotImplementedError; override the others if they do not fit.

    Before step 1 they are called in this order: `inherited` (only with --from a run of this task), `read`, `decided`,
    `make_tokenizers` (unless they come from --from), `fitted`, `encode`, `pool`, `build`. With --from a run,
    `keeps_heads` then says whether its heads fit; if not, everything is done again from its body alone.
    """

    name: str  # the verb that uses the result: "translate", "classify", ...
    verb: str = ""  # the same, if several tasks share a verb
    title: str  # for reports: "A Transformer that learns to translate"
    unit: str  # what an example is called, with its plural: "pair", "pairs"
    units: str
    recipe: type[Recipe]
    kinds: tuple[str, ...]  # of models that it can train
    metrics: tuple[Metric, ...] = ()  # besides the loss, the first one is the headline; taken from `recipe`
    rules: BudgetRules = BudgetRules()  # how a time budget is spent
    # Settings of [train] for a model that starts from another task's body, where they are open. Without lr, the width
    # decides it (training/fine_tune_length.py).
    fine_tuning: Mapping[str, Any] = MappingProxyType({"epochs": 3.0, "warmup": None})
    rate_factor: float = 1.0  # of that rate, against the usual one for the model's width
    highest_rate: float = 3e-4  # of that rate, however narrow the model
    is_oldest: bool = False  # runs that name no task have this one
    decided_names: tuple[str, ...] = ()  # settings that `decided` and `fitted` choose
    adjusted_names: tuple[str, ...] = ()  # settings that `fitted` may change although the user may set them
    new_heads: tuple[str, ...] = ()  # parameters, by prefix, that are new after starting from another task's model
    reads_casing: bool = False  # its batches say how words are capitalised (`model.casing`)
    counts_words: bool = False  # its models may have a table of words beside them (`model.word_odds`)
    predicted_by: str = ""  # how predictions at validations are made, in a word: "greedy"
    held_units: str = "examples"  # what held-out examples are called in reports: "sentences"
    predictions: str = "predictions"  # what is made of them: "translations"
    reports_loss: bool = True  # the report has the loss in addition to the metrics
    has_columns: bool = False  # its files always have columns, whatever their names
    no_prediction: Any = ""  # for an example that nothing can be predicted for, such as an empty text
    has_text: bool = True  # examples have text, so there is a vocabulary to learn
    tokens: str = "tokens"  # what the length of an example is counted in: "patches"

    def __init_subclass__(cls) -> None:
        if "recipe" in vars(cls) and "metrics" not in vars(cls):
            cls.metrics = cls.recipe.metrics

    def rules_for(self, recipe: Any) -> BudgetRules:  # noqa: ARG002
        """How a time budget is spent with what `decided` has chosen."""
        return self.rules

    # Data, on rank 0, before step 1

    def read(self, recipe: Any, listener: Listener) -> Material:
        """The training and held-out examples; every unusable one is counted and reported."""
        raise NotImplementedError

    def changed_files(self, recipe: Any, begun: Mapping[str, str]) -> list[str]:  # noqa: ARG002
        """Which files of a finished run have changed, in words; only what can be checked quickly.

        `begun` are the fingerprints of its data.
        """
        return []

    def sentences(self, material: Material) -> int:
        """About how many sentences there are to learn from, which decides the size of a vocabulary."""
        return material.count

    def read_held(self, files: Sequence[str], recipe: Any, listener: Listener) -> Sequence[Example]:
        """Examples of files to evaluate a trained model on."""
        raise NotImplementedError

    def decided(self, recipe: Any, material: Material) -> Any:  # noqa: ARG002
        """The recipe with what only the data can decide, such as the names of the classes.

        What the user has set, or `inherited` has taken over, stays as it is; name these settings in `decided_names`.
        """
        return recipe

    def make_tokenizers(self, recipe: Any, material: Material, listener: Listener) -> dict[str, Tokenizer]:
        """Tokenizers trained on the material, by file name; {} if there is no text."""
        raise NotImplementedError

    def fitted(self, recipe: Any, tokenizers: Tokenizers) -> Any:  # noqa: ARG002
        """The recipe with what depends on the tokenizers, such as the model's vocabulary."""
        return recipe

    # Ids and batches

    def stream(self, setup: Setup, material: Material) -> Iterator[Example]:  # noqa: ARG002
        """The training examples before encoding; override it to change them, for instance to augment them."""
        return material.train()

    def encoding(self, recipe: Any) -> str:
        """All settings that `stream` and `encode` depend on: a cache made with other values is not used."""
        return str(recipe.data.max_tokens)

    def encode(self, setup: Setup, examples: Sequence[Example]) -> Encoded:
        """Training examples as columns of ids."""
        raise NotImplementedError

    def encode_held(self, setup: Setup, examples: Sequence[Example]) -> Encoded:
        """Held-out examples as columns of ids. Cut long ones rather than leave them out: predictions are of all."""
        return self.encode(setup, examples)

    def limit(self, recipe: Any, *, held: bool) -> str:  # noqa: ARG002
        """What `encode` leaves out, in words."""
        return f"longer than data.max_tokens = {recipe.data.max_tokens} tokens, or empty"

    def cut_to(self, recipe: Any) -> str:
        """What `encode` cuts examples to, in words."""
        return f"data.max_tokens = {recipe.data.max_tokens} tokens"

    def pool(self, setup: Setup, columns: Columns) -> Pool:
        """The examples with their lengths, ready to become batches. Random parts come from `batch`'s generator."""
        raise NotImplementedError

    def pool_held(self, setup: Setup, columns: Columns) -> Pool:
        """The same for held-out examples, which are never changed at random."""
        return self.pool(setup, columns)

    def to_json(self, example: Example) -> Any:
        return example

    def from_json(self, example: Any) -> Example:
        """A held-out example from the JSON of `to_json`, which has lists but no tuples."""
        return tuple(tuple(part) if isinstance(part, list) else part for part in example)

    # The model

    def build(self, setup: Setup) -> nn.Module:
        """A new model with its heads; its first weights depend only on torch's seed."""
        raise NotImplementedError

    def sides(self, model: Any) -> tuple[nn.Module, ...]:
        """The parts of the model that the tokens of each column of `Pool.lengths` go through."""
        return (model,)

    def ladder(self, recipe: Any) -> Sequence[Mapping[str, Any]]:
        """Settings of the models that a time budget chooses from, largest first."""
        raise NotImplementedError

    def trial_model(self, recipe: Any) -> Mapping[str, Any]:
        """Settings of a small model for measuring the machine's speed."""
        return self.ladder(recipe)[-1]

    def model_for(self, config: Any) -> nn.Module:
        """A model with these settings and the smallest possible vocabulary, to count its inner weights."""
        raise NotImplementedError

    def output_width(self, setup: Setup) -> int:
        """How many outputs are computed for each target token: the size of the vocabulary; 0 for one per text."""
        return len(setup.tokenizer)

    def loss(self, setup: Setup, model: Any, batch: Any) -> tuple[Tensor, int]:
        """The summed loss, including auxiliary losses, and the weight to divide it by."""
        raise NotImplementedError

    def losses(self, setup: Setup, model: Any, batch: Any) -> Sequence[tuple[float, ...]]:
        """For validation: each example's plain loss (no smoothing, nothing added), its weight, what else is counted."""
        raise NotImplementedError

    def first_weights(self, setup: Setup, model: Any, examples: Pools, listener: Listener) -> None:
        """Changes the first weights before step 1, if the recipe asks for it."""

    def counted_weights(self, setup: Setup, model: Any, examples: Pools, listener: Listener) -> None:
        """Fills weights that are counted from the training examples, also if training starts from another body."""

    def about(self, setup: Setup, examples: Pools) -> dict[str, Any]:  # noqa: ARG002
        """What the manifest of a run records about its training data, for use when the run is loaded."""
        return {}

    def shape(self, recipe: Any) -> str:
        """The model in a few words."""
        model = recipe.model
        own: str | None = getattr(model, "shape", None)
        return own or f"{model.N} layers, d {model.d}, {model.h} heads, d_ff {model.d_ff}"

    # Using it

    def user(self, setup: Setup, model: nn.Module, *, origin: str = "") -> Any:
        """What `gf.load` returns: a `tasks.model.LoadedModel` whose attribute `origin` says which weights these are."""
        raise NotImplementedError

    def settled(self, user: Any, examples: Sequence[Example]) -> dict[str, Any]:  # noqa: ARG002
        """What is chosen with the final weights on validation examples; added to `Bundle.extras` of a loaded run."""
        return {}

    def groups(self, user: Any, examples: Sequence[Example]) -> list[list[int]]:  # noqa: ARG002
        """Which examples are predicted together; several ranks share the groups."""
        size = 64
        return [list(range(start, min(start + size, len(examples)))) for start in range(0, len(examples), size)]

    def predict(self, user: Any, examples: Sequence[Example]) -> list[Any]:
        """The prediction for each example of a group, as JSON values; must be fast enough for every validation."""
        raise NotImplementedError

    def metrics_for(self, recipe: Any) -> tuple[Metric, ...]:  # noqa: ARG002
        """The metrics, with what the recipe decides about them, such as the language."""
        return self.metrics

    def predict_best(
        self,
        user: Any,
        examples: Sequence[Example],
        *,
        beam: int | None = None,  # noqa: ARG002
        progress: Callable[[int], None] | None = None,
    ) -> tuple[list[Any], str]:
        """The predictions that a user would get, and how they were made in words ("beam 5"). [] without predictions."""
        found: dict[int, Any] = {}
        for index in self.groups(user, examples):
            for i, prediction in zip(index, self.predict(user, [examples[i] for i in index]), strict=True):
                found[i] = prediction
            if progress is not None:
                progress(len(index))
        return [found.get(i, self.no_prediction) for i in range(len(examples))] if found else [], ""

    def baselines(self, examples: Sequence[Example]) -> Mapping[str, Sequence[Any]]:  # noqa: ARG002
        """Predictions of simple methods that need no training, by name; their scores are shown too."""
        return {}

    def shown(self, example: Example, prediction: Any) -> Any:  # noqa: ARG002
        """A prediction as a person reads it at each validation."""
        return str(prediction)

    def watched(self, examples: Sequence[Example], count: int) -> list[int]:
        """Which held-out examples are shown again at every validation."""
        return list(range(min(count, len(examples))))

    def rehearse(self, user: Any, pool: Pool, examples: Sequence[Example]) -> None:  # noqa: ARG002
        """Does the prediction work of one validation with an untrained model."""
        for index in self.groups(user, examples):
            self.predict(user, [examples[i] for i in index])

    def closing_cost(self, recipe: Any) -> float:  # noqa: ARG002
        """How many times longer a prediction for the final report takes than one in a validation."""
        return 1.0

    def in_words(self, setup: Setup, batch: Any) -> list[dict[str, str]]:
        """The examples of a batch as text, for the report on a step that diverged."""
        raise NotImplementedError

    def tried_with(self, recipe: Any) -> str:
        """What follows the verb and the run folder in the command that is shown after training."""
        return " ".join(['"..."'] * getattr(recipe.data, "texts_each", 1))

    # Reports and comparisons; parts of a page are of `explain/`, which the engine does not know

    def question(self, example: Example) -> tuple[str, tuple[str, ...]]:
        """A held-out example as text: what is asked, and what is right."""
        return str(example[0]), (str(example[-1]),)

    def vocabulary(self, setup: Setup) -> int | None:
        """Tokens of the vocabulary, where there is one."""
        return len(setup.tokenizer) if TOKENIZER in setup.tokenizers else None

    def model_facts(self, setup: Setup, parameters: int) -> list[tuple[str, str]]:
        """The model in a few rows of name and value, for the report."""
        rows = [("Kind", setup.recipe.model.kind), ("Shape", self.shape(setup.recipe))]
        size = self.vocabulary(setup)
        named = [] if size is None else [("Vocabulary", f"{size:,} tokens ({setup.tokenizer.kind})")]
        return [*rows, ("Parameters", f"{parameters:,}"), *named]

    def report_parts(self, user: Any, found: Any, prepared: Any) -> ReportParts:  # noqa: ARG002
        """What only this task reports; `found` is a `tasks.evaluating.Evaluation`, `prepared` the finished run."""
        return ReportParts()

    def held_again(self, recipe: Any, listener: Listener) -> tuple[Sequence[Example], str, Sequence[Example] | None]:
        """The validation examples of a run, read again, with their fingerprint; and its test examples, if any."""
        material = self.read(recipe, listener)
        return material.valid, material.fingerprints["valid"], material.test

    def compared_by(self, setups: Mapping[str, Setup], examples: Sequence[Example]) -> tuple[Metric, ...]:  # noqa: ARG002
        """The metrics that runs, given by name, can be compared by; an error if they cannot be compared."""
        return self.metrics_for(next(iter(setups.values())).recipe)

    def paired_counts(self, counts: Sequence[Counts], pools: Sequence[Pool | None]) -> list[Counts]:  # noqa: ARG002
        """One metric's counts of several runs, row by row of the same text; `pools` are the rows of each run."""
        return list(counts)

    # Checks before training starts; all may raise

    def check_held(self, setup: Setup, examples: Sequence[Example]) -> None:
        """Refuses held-out examples that would make the first validation fail."""

    def texts(self, examples: Sequence[Example]) -> Mapping[str, Sequence[str]]:  # noqa: ARG002
        """The texts of examples, by the file name of their tokenizer, to check whether a vocabulary fits."""
        return {}

    def check_start(self, start: Any, recipe: Any, listener: Listener) -> None:
        """Refuses a start model that cannot learn what the recipe asks for."""

    def recipe_of(self, bundle: Any) -> Any:  # noqa: ARG002
        """The recipe of an imported model that can already do this task; None if only its body can be used."""
        return None

    def inherited(self, recipe: Any, base: Any) -> Any:  # noqa: ARG002
        """The recipe with what it takes over from the run of this task that it starts from, such as the classes."""
        return recipe

    def with_body(self, recipe: Any, extras: Mapping[str, Any]) -> Any:  # noqa: ARG002
        """The recipe with what it takes over from an imported model's folder if only its body is used."""
        return recipe

    def keeps_heads(self, recipe: Any, base: Any) -> bool:  # noqa: ARG002
        """Whether the heads of a run of this task fit a run that starts from it; only its body is used if not."""
        return True

    def check_loaded(self, setup: Setup, model: Any, material: Material, origin: str) -> None:
        """Like `check_start`, once the start weights are loaded into the model."""
