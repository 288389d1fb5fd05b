"""Translation as a task of the training engine: sentence pairs in, translations out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from torch import Tensor, nn

from glassformer.data.batches import Batch, EncodedPairs, Marks, encode_pairs
from glassformer.data.columns import Columns, Encoded, Pool, Pools
from glassformer.decode import search
from glassformer.errors import DataError, SettingsError
from glassformer.evaluate.bleu_tokenizer import bleu_tokenizer
from glassformer.evaluate.lengths import Lengths
from glassformer.evaluate.metric import Metric
from glassformer.evaluate.translation import translation_metrics
from glassformer.models.registry import TRANSLATORS, sizes, translator
from glassformer.store.bundle import Bundle
from glassformer.tasks.translation.constraints import Request, Sentences
from glassformer.tasks.translation.loading import LENGTHS, SHARED, SOURCE, TARGET
from glassformer.tasks.translation.mask_teaching import MASK_FORMAT, with_masks
from glassformer.tasks.translation.material import (
    Pair,
    changed_files,
    pairs_fingerprint,
    read_material,
    read_questions,
    target_language,
)
from glassformer.tasks.translation.recipe import TranslationRecipe, positions_of
from glassformer.tasks.translation.starting import check_direction, refuse_reversed
from glassformer.tasks.translation.translator import Translator, marks_of
from glassformer.text import Tokenizer, train_tokenizer
from glassformer.text.masks import MASK_TOKENS, MaskCodec, mask_ids
from glassformer.training.budget_rules import BudgetRules
from glassformer.training.fine_tune import Start
from glassformer.training.first_vectors import start_from_pairs, turn_towards, vectors_of_pairs
from glassformer.training.objective import token_loss, token_losses
from glassformer.training.task import Listener, Material, ReportParts, Setup, Task, Tokenizers

HELD_TIMES = 10  # times data.max_tokens: validation keeps longer pairs than training
BEAM_COST = 2.5  # the run's own search takes about this many times as long as greedy decoding
Question = tuple[str, tuple[str, ...]]  # a held-out sentence with its references


class Translation(Task):
    """Learns to translate sentences from one language into another."""

    name = "translate"
    title = "A model that learns to translate"
    unit, units = "pair", "pairs"
    recipe = TranslationRecipe
    kinds = TRANSLATORS
    is_oldest = True
    predicted_by = "greedy"
    held_units, predictions = "sentences", "translations"
    reports_loss = False  # the time at the end of a run is limited, and translations say more
    rules = BudgetRules(train={"optimiser": "muon", "first_vectors": "pairs"})

    # Data

    def read(self, recipe: TranslationRecipe, listener: Listener) -> Material:
        return read_material(recipe.data, seed=recipe.train.seed, listener=listener)

    def changed_files(self, recipe: TranslationRecipe, begun: Mapping[str, str]) -> list[str]:
        return changed_files(recipe.data, begun)

    def read_held(self, files: Sequence[str], recipe: TranslationRecipe, listener: Listener) -> list[Question]:
        return read_questions(files, recipe.data, listener).questions()

    def make_tokenizers(
        self, recipe: TranslationRecipe, material: Material, listener: Listener
    ) -> dict[str, Tokenizer]:
        """One tokenizer for both sides, or one for each."""
        text = recipe.text
        learn = partial(
            train_tokenizer,
            text.kind,
            vocab_size=text.vocab_size,
            lowercase=text.lowercase,
            normalization=text.normalization,
            extra=MASK_TOKENS if recipe.data.masks else (),
            progress=listener.on_count,
        )
        if text.shared:
            return {SHARED: learn(sentence for pair in material.train() for sentence in pair)}
        return {
            SOURCE: learn(source for source, _ in material.train()),
            TARGET: learn(target for _, target in material.train()),
        }

    # Ids

    def stream(self, setup: Setup, material: Material) -> Iterator[Pair]:
        data = setup.recipe.data
        if not data.masks:
            return material.train()
        refuse_without_masks(*sides(setup.tokenizers))
        return with_masks(material.train, share=data.masks, seed=setup.recipe.train.seed)

    def encoding(self, recipe: TranslationRecipe) -> str:
        masks = f" masks {recipe.data.masks} {recipe.train.seed} {MASK_FORMAT}" if recipe.data.masks else ""
        return f"{recipe.data.max_tokens}{masks}"

    def encode(self, setup: Setup, examples: Sequence[Pair]) -> Encoded:
        source, target = sides(setup.tokenizers)
        if setup.recipe.data.masks:
            return encode_pairs(examples, MaskCodec(source), MaskCodec(target), most=setup.recipe.data.max_tokens)
        return encode_pairs(examples, source, target, most=setup.recipe.data.max_tokens)

    def encode_held(self, setup: Setup, examples: Sequence[Question]) -> Encoded:
        most = HELD_TIMES * setup.recipe.data.max_tokens
        return encode_pairs(first_references(examples), *sides(setup.tokenizers), most=most)

    def limit(self, recipe: TranslationRecipe, *, held: bool) -> str:
        most = recipe.data.max_tokens
        limit = f"{HELD_TIMES} x data.max_tokens = {HELD_TIMES * most}" if held else f"data.max_tokens = {most}"
        return f"longer than {limit} tokens, or empty"

    def pool(self, setup: Setup, columns: Columns) -> Pool:
        return EncodedPairs.of(columns, *both_marks(setup))

    # Model

    def build(self, setup: Setup) -> nn.Module:
        source, target = sides(setup.tokenizers)
        return translator(setup.recipe.model, source_vocabulary=len(source), target_vocabulary=len(target))

    def ladder(self, recipe: TranslationRecipe) -> list[dict[str, Any]]:
        known = sizes(recipe.model.kind)
        return [{"size": size, **known[size]} for size in ("base", "small", "tiny", "nano")]

    def trial_model(self, recipe: TranslationRecipe) -> dict[str, Any]:
        own = {"N_decoder": None} if recipe.model.kind == "transformer" else {}
        return {"size": "tiny", **sizes(recipe.model.kind)["tiny"], **own}

    def model_for(self, config: Any) -> nn.Module:
        return translator(config, source_vocabulary=1, target_vocabulary=1)

    def sides(self, model: Any) -> tuple[nn.Module, ...]:
        return model.encoder, model.decoder

    def output_width(self, setup: Setup) -> int:
        return len(sides(setup.tokenizers)[1])

    def loss(self, setup: Setup, model: Any, batch: Batch) -> tuple[Tensor, int]:
        return token_loss(model, batch, label_smoothing=setup.recipe.train.label_smoothing)

    def losses(self, setup: Setup, model: Any, batch: Batch) -> list[tuple[float, float]]:
        return token_losses(model, batch, vocabulary=self.output_width(setup))

    def first_weights(self, setup: Setup, model: Any, examples: Pools, listener: Listener) -> None:
        """Gives words that translate each other similar first vectors, if the recipe asks for it."""
        recipe, (source, target) = setup.recipe, sides(setup.tokenizers)
        if recipe.train.first_vectors != "pairs":
            return
        listener.on_stage("Making first word vectors from the sentence pairs")
        weight, seed = model.encoder.inputs.embedding.weight, recipe.train.seed
        if recipe.model.tied == "all":
            start_from_pairs(weight, examples, seed=seed)
            return
        sizes = (len(source), len(target))
        vectors = vectors_of_pairs(examples, width=recipe.model.d, vocabularies=sizes, seed=seed).to(weight.device)
        turn_towards(weight, vectors[: len(source)], seed=seed)
        turn_towards(model.decoder.inputs.embedding.weight, vectors[len(source) :], seed=seed)

    def about(self, setup: Setup, examples: Pools) -> dict[str, Any]:
        """The lengths of the training pairs; for a large corpus, some shards are enough."""
        pool = next(examples.pools(seed=setup.recipe.train.seed, epoch=0))
        return {LENGTHS: Lengths.of(pool.columns["source"].lengths, pool.columns["target"].lengths).to_dict()}

    def shape(self, recipe: TranslationRecipe) -> str:
        return str(recipe.model.shape)

    # Using it

    def user(self, setup: Setup, model: Any, *, origin: str = "") -> Translator:
        return Translator(model, *sides(setup.tokenizers), setup.recipe, origin=origin)

    def groups(self, user: Translator, examples: Sequence[Question]) -> list[list[int]]:
        rows = user.source.encode_batch([source.strip() for source, _ in examples])
        return [list(index) for index in Request(user.recipe.decode, beam=1).batches_of(rows)]  # no blank texts

    def predict(self, user: Translator, examples: Sequence[Question]) -> list[str]:
        """Greedy translations without the guard: wrong ones must count."""
        rows = user.source.encode_batch([source.strip() for source, _ in examples])
        request = Request(user.recipe.decode, beam=1)
        return [options[0].text for options in user.found(Sentences.of_ids(rows), request)]

    def predict_best(
        self,
        user: Translator,
        examples: Sequence[Question],
        *,
        beam: int | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> tuple[list[str], str]:
        """By the run's own search."""
        found = user.candidates([source for source, _ in examples], beam=beam, progress=progress)
        return [options[0].text for options in found], Request(user.recipe.decode, beam=beam).words

    def metrics_for(self, recipe: TranslationRecipe) -> tuple[Metric, ...]:
        return translation_metrics(target_language(recipe.data))

    def watched(self, examples: Sequence[Question], count: int) -> list[int]:
        """A few examples of suitable length, from the whole sample."""
        fitting = [i for i, (source, _) in enumerate(examples) if 5 <= len(source.split()) <= 16]
        places = fitting if len(fitting) >= count else list(range(len(examples)))
        return [places[i * len(places) // count] for i in range(count)] if len(places) > count else places

    def rehearse(self, user: Translator, pool: Pool, examples: Sequence[Question]) -> None:
        """An untrained model does not know where to end, so it writes as many tokens as the references have."""
        rows = [pool.columns["source"][i].tolist() for i in range(min(len(examples), len(pool)))]
        request = Request(user.recipe.decode, beam=1)
        for index in request.batches_of(rows):
            batch = Sentences.of_ids([rows[i] for i in index])
            search(user.task(batch, request, limits=pool.lengths[index, 1]))

    def closing_cost(self, recipe: TranslationRecipe) -> float:
        return BEAM_COST if recipe.decode.beam > 1 else 1.0

    def in_words(self, setup: Setup, batch: Batch) -> list[dict[str, str]]:
        source, target = sides(setup.tokenizers)
        sources, targets = (
            [tokenizer.decode(row[: int(length) - 1].tolist()) for row, length in zip(ids, lengths, strict=True)]
            for tokenizer, ids, lengths in (
                (source, batch.source, batch.source_lengths),
                (target, batch.target_out, batch.target_lengths),
            )
        )
        return [{"source": one, "target": other} for one, other in zip(sources, targets, strict=True)]

    # Reports and comparisons

    def question(self, example: Question) -> Question:
        return example[0], tuple(example[1])

    def vocabulary(self, setup: Setup) -> int:
        return len(sides(setup.tokenizers)[1])

    def model_facts(self, setup: Setup, parameters: int) -> list[tuple[str, str]]:
        model, (source, target) = setup.recipe.model, sides(setup.tokenizers)
        tokens = f"{len(target):,} {'shared' if source is target else 'target'} tokens ({target.kind})"
        return [
            ("Kind", f"{model.kind}, {model.norm}-norm" if hasattr(model, "norm") else model.kind),
            ("Shape", model.shape),
            ("Parameters", f"{parameters:,}"),
            ("Vocabulary", tokens),
        ]

    def report_parts(self, user: Translator, found: Any, prepared: Any) -> ReportParts:
        from glassformer.tasks.translation.report import report_parts  # imports loading, which imports this file

        return report_parts(user, found, prepared)

    def held_again(
        self, recipe: TranslationRecipe, listener: Listener
    ) -> tuple[list[Question], str, Sequence[Question] | None]:
        """If validation files were given, only these are read."""
        data = recipe.data
        if data.valid_files and data.corpus is None:
            held = read_questions(data.valid, data, listener)
            return held.questions(), pairs_fingerprint(held.pairs()), None
        valid, mark, test = super().held_again(recipe, listener)
        return list(valid), mark, test

    def compared_by(self, setups: Mapping[str, Setup], examples: Sequence[Question]) -> tuple[Metric, ...]:
        """All runs must have the same target language, if known: BLEU must split words in the same way for all."""
        languages = {name: target_language(setup.recipe.data) for name, setup in setups.items()}
        check_languages(languages, [references for _, references in examples])
        return translation_metrics(next((one for one in languages.values() if one), None))

    # Checks

    def check_held(self, setup: Setup, examples: Sequence[Question]) -> None:
        """Refuses held-out sentences longer than the model's positions: the first validation would fail."""
        longest = positions_of(setup.recipe.model)
        if longest is None:
            return
        texts_of_sides = zip(*first_references(examples), strict=True)
        for tokenizer, texts in zip(sides(setup.tokenizers), texts_of_sides, strict=True):
            rows = zip(tokenizer.encode_batch(list(texts)), texts, strict=True)
            needed, text = max((len(row) + 1, text) for row, text in rows)
            if needed > longest:
                raise DataError(
                    f"model.max_length = {longest} is too small for a held-out sentence of {needed} tokens: "
                    f"{text[:40]!r}... Raise it, or use positions that are not learned."
                )

    def texts(self, examples: Sequence[Pair]) -> dict[str, Sequence[str]]:
        sources, targets = zip(*examples, strict=True)
        return {SOURCE: sources, TARGET: targets}

    def check_start(self, start: Start, recipe: TranslationRecipe, listener: Listener) -> None:
        check_direction(start, recipe, listener)

    def recipe_of(self, bundle: Bundle) -> TranslationRecipe | None:
        """None for BART: its inputs have another frame."""
        is_bart = getattr(bundle.model.config, "embedding_norm", False)
        return None if is_bart else Translator.of(bundle).recipe

    def check_loaded(self, setup: Setup, model: Any, material: Material, origin: str) -> None:
        refuse_reversed(self, setup, model, material.valid, origin)


def sides(tokenizers: Tokenizers) -> tuple[Tokenizer, Tokenizer]:
    """Source and target tokenizer; one shared vocabulary is both."""
    shared = tokenizers.get(SHARED)
    return (shared, shared) if shared is not None else (tokenizers[SOURCE], tokenizers[TARGET])


def both_marks(setup: Setup) -> tuple[Marks, Marks]:
    source, target = (marks_of(tokenizer, setup.recipe.text.start) for tokenizer in sides(setup.tokenizers))
    return source, target


def first_references(examples: Sequence[Question]) -> list[Pair]:
    """Each sentence with its first reference."""
    return [(source, references[0]) for source, references in examples]


def check_languages(languages: Mapping[str, str | None], references: Sequence[Sequence[str]]) -> None:
    """Raises an error for runs, by name, whose translations cannot be compared."""
    (first, language), *others = languages.items()
    for name, other in others:
        known = {code.split("-")[0].lower() for code in (language, other) if code}
        if len(known) > 1:
            raise DataError(
                f"{first} translates into {language} and {name} into {other}: they cannot be compared on the same "
                "sentences."
            )
        ways = [bleu_tokenizer(code, references) for code in (language, other)]
        if ways[0] != ways[1]:
            raise DataError(
                f"BLEU would split words with {ways[0]} for {first} and with {ways[1]} for {name}: such scores cannot "
                "be compared."
            )


def refuse_without_masks(source: Tokenizer, target: Tokenizer) -> None:
    """Refuses `data.masks` if the start run has no mask tokens: its weights fix the size of the vocabulary."""
    if not (mask_ids(source) and mask_ids(target)):
        raise SettingsError(
            "data.masks needs mask tokens, and the vocabulary of the run to start from has none: it was trained with "
            "data.masks = 0. Leave data.masks out, or train a new run."
        )
