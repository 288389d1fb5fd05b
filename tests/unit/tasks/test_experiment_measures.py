"""What experiments measure with: buckets of lengths, gradients by distance, chains of operations, parts taken out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from glassformer.data.phrasebook import Phrase
from glassformer.models.registry import build
from glassformer.nn.norms import LayerNorm
from glassformer.nn.residual import PostNorm, PreNorm
from glassformer.tasks.experiments.by_length import buckets_of, scores_by_length
from glassformer.tasks.experiments.claims.claim import is_above, is_within, steps_to_reach
from glassformer.tasks.experiments.claims.layers import Asked, probe
from glassformer.tasks.experiments.counted import refuse_unfinished
from glassformer.tasks.experiments.pace import decoding_pace, fastest, training_pace
from glassformer.tasks.experiments.reach import depth_of, factor_per_token, gradient_by_distance, longest_chain
from glassformer.tasks.experiments.repeated import Repeated
from glassformer.tasks.experiments.translators import NORM, RESIDUAL, NoResidual, take_out
from glassformer.tasks.translation.recipe import TranslationRecipe
from glassformer.tasks.translation.translator import Translator
from glassformer.text.training import train_tokenizer
from glassformer.training.job import Progress

SHAPES: dict[str, dict[str, Any]] = {
    "transformer": {"N": 2, "d": 8, "h": 2, "d_ff": 12, "dropout": 0.0},
    "lstm": {"N": 1, "d": 8, "dropout": 0.0},
    "rnn_attention": {"d": 8, "n": 8, "l": 8, "dropout": 0.0},
}


def translator(kind: str) -> Translator:
    tokenizer = train_tokenizer("word", ["a b c d e f g h"] * 3, vocab_size=20)
    size = len(tokenizer)
    torch.manual_seed(3)
    model = build(kind, {**SHAPES[kind], "source_vocabulary": size, "target_vocabulary": size})
    recipe = TranslationRecipe.model_validate({"model": {"kind": kind, **SHAPES[kind]}, "text": {"kind": "word"}})
    return Translator(model, tokenizer, tokenizer, recipe)


def phrase(source: str, target: str) -> Phrase:
    return Phrase(source, (target,), frozenset(), frozenset(), "", ())


def test_scores_of_buckets() -> None:
    phrases = [phrase("a b c", "one two three four")] * 10 + [phrase("a " * 12, "five six seven eight")] * 10
    buckets = buckets_of([one.source for one in phrases])
    assert [one.name for one in buckets] == ["1 to 10", "11 to 20"]
    right, wrong = [one.references[0] for one in phrases], ["nothing like it at all"] * 10
    found = scores_by_length([right, right[:10] + wrong], phrases, buckets)
    assert found.buckets[0].values == pytest.approx((100.0, 100.0))
    assert found.buckets[1].values[0] == pytest.approx(100.0)
    assert found.buckets[1].values[1] < 5
    assert found.overall.values[1] < 80
    alone = scores_by_length([right], phrases, buckets)
    assert alone.intervals[0] == pytest.approx((100.0, 100.0))  # a bootstrap, where there is one seed


def test_small_buckets_are_left_out() -> None:
    assert buckets_of(["a"] * 12 + ["a " * 30]) == buckets_of(["a"] * 12)


def test_the_slope_of_a_gradient() -> None:
    assert factor_per_token(3.0 * 0.8 ** np.arange(12)) == pytest.approx(0.8)


def test_gradients_by_distance_equal_those_of_single_inputs() -> None:
    """In a recurrent model with small weights they fall; the last token read is at distance 0."""
    one = translator("lstm")
    for layer in one.model.encoder.blocks:
        layer.recurrent.weight.data *= 0.1
    norms = gradient_by_distance(one, tokens=9, texts=3)
    assert norms.shape == (9,)
    assert (np.diff(norms) < 0).all()
    assert factor_per_token(norms) < 0.8
    assert 0.7 < factor_per_token(gradient_by_distance(translator("transformer"), tokens=9, texts=3)) < 1.3


def test_only_recurrent_chains_grow_with_the_length() -> None:
    for kind, grows in (("transformer", False), ("lstm", True), ("rnn_attention", True)):
        one = translator(kind)
        short, long = longest_chain(one, tokens=4), longest_chain(one, tokens=8)
        assert (long > 1.5 * short) if grows else (long == short)


def test_the_depth_of_a_graph() -> None:
    x = torch.ones(2, requires_grad=True)
    first = x * 2  # with the accumulation at x, two
    assert depth_of(first) == 2
    assert depth_of(first.exp() + first) == 4
    assert depth_of((x * 2) + (x * 3)) == 3


def test_speed_is_measured_and_leaves_no_gradient() -> None:
    one = translator("rnn_attention")
    assert training_pace(one, length=4, tokens=32) > 0
    assert decoding_pace(one, length=5, texts=2) > 0
    assert all(p.grad is None for p in one.model.parameters())
    assert fastest(lambda: None) > 0


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_parts_are_taken_out(norm: str) -> None:
    shape = {**SHAPES["transformer"], "norm": norm, "source_vocabulary": 9, "target_vocabulary": 9}
    whole = build("transformer", shape)
    block = whole.get_submodule("encoder.blocks.0")
    x, double = torch.randn(1, 3, 8), nn.Linear(8, 8)
    take_out(whole, (RESIDUAL,))
    residual = block.get_submodule("feed_forward_residual")
    assert isinstance(residual, NoResidual)
    own = double(residual.norm(x)) if norm == "pre" else residual.norm(double(x))
    assert torch.equal(residual(x, double), own)
    assert not any(isinstance(one, PreNorm | PostNorm) for one in whole.modules())
    assert any(isinstance(one, LayerNorm) for one in whole.modules())
    take_out(whole, (NORM,))
    assert not any(isinstance(one, LayerNorm) for one in whole.modules())
    assert torch.equal(residual(x, double), double(x))


def test_a_probe_finds_what_is_there_and_nothing_else() -> None:
    random = np.random.default_rng(0)
    answers = tuple(int(one) for one in random.integers(0, 2, 80))
    places = tuple((i, 0) for i in range(80))
    noise = [random.normal(size=(1, 5)) for _ in range(80)]
    told = [row + np.eye(5)[:1] * 4 * answer for row, answer in zip(noise, answers, strict=True)]
    assert probe(told, Asked(places, answers)) > 90
    assert 25 < probe(noise, Asked(places, answers)) < 75


def test_a_stopped_run_stops_the_experiment() -> None:
    refuse_unfinished(Progress(stopped="all steps are done"))
    with pytest.raises(KeyboardInterrupt):
        refuse_unfinished(Progress())


def test_clearly_means_the_whole_interval() -> None:
    assert is_above(Repeated((1.0, 1.1, 1.2)))
    assert not is_above(Repeated((-1.0, 1.1, 3.2)))
    assert is_above(Repeated((0.1,)))
    assert is_within(Repeated((0.1, 0.2, 0.3)), 2)
    assert not is_within(Repeated((-4.0, 0.0, 4.0)), 2)
    assert Repeated((0.5, 0.6)).below(1.0).values == (0.5, 0.4)
    assert steps_to_reach([(10, 3.0), (20, 2.0), (30, 1.0)], 2.0) == 20
    assert steps_to_reach([(10, 3.0)], 2.0) is None
