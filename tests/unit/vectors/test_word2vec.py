"""word2vec: its gradient, its samples, the kernel against the steps in torch, and the same bytes for the same seed."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from glassformer.errors import DataError, SettingsError
from glassformer.nn.native import word2vec as native
from glassformer.nn.native.compiler import kernels
from glassformer.vectors import train, training, word2vec, word2vec_steps
from glassformer.vectors.corpus import Corpus, corpus_of
from glassformer.vectors.settings import VectorSettings
from glassformer.vectors.word2vec import Rates, alias_table, as_bits, draws_of, first_tables, kept_share

needs_kernel = pytest.mark.skipif(kernels() is None, reason="there is no C compiler here")
LETTERS = "abcdefghijk"
Tables = tuple[np.ndarray, np.ndarray]


def random_corpus(lines: int = 60) -> Corpus:
    random = np.random.default_rng(5)
    weights = np.arange(len(LETTERS), 0, -1.0) ** 2
    texts = [
        " ".join(random.choice(list(LETTERS), random.integers(1, 23), p=weights / weights.sum())) for _ in range(lines)
    ]
    return corpus_of([f"{text}\n" for text in texts], min_count=1)


# The step


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("skip_gram", [True, False])
def test_the_change_is_minus_the_gradient_of_the_loss(skip_gram: bool) -> None:
    x, y = torch.randn(3, 4, 5, requires_grad=True), torch.randn(3, 6, 5, requires_grad=True)
    in_context = torch.tensor([[1, 1, 0, 1], [1, 0, 0, 0], [1, 1, 1, 1]], dtype=torch.bool)
    in_targets = torch.tensor([[1, 1, 1, 0, 1, 1], [1] * 6, [1, 0, 1, 1, 1, 1]], dtype=torch.bool)

    def loss(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:  # the formula of word2vec.py, pair by pair
        total = torch.zeros(())
        for b in range(3):
            inputs = x[b][in_context[b]]
            for v in inputs if skip_gram else [inputs.mean(0)]:
                total = total - torch.nn.functional.logsigmoid(v @ y[b, 0])
                for n in range(1, 6):
                    if in_targets[b, n]:
                        total = total - torch.nn.functional.logsigmoid(-v @ y[b, n])
        return total

    found = word2vec_steps.step(x.detach(), y.detach(), (in_context, in_targets), skip_gram=skip_gram)
    expected = loss(x, y)
    dx, dy = torch.autograd.grad(expected, (x, y))
    assert found.loss == pytest.approx(float(expected.detach()))
    torch.testing.assert_close(found.inputs * in_context[:, :, None], -dx, atol=1e-10, rtol=0)
    torch.testing.assert_close(found.outputs, -dy, atol=1e-10, rtol=0)


def learned(corpus: Corpus, learn, spans: list[tuple[int, int]], *, threads: int = 1, **given) -> Tables:  # type: ignore[no-untyped-def]
    width = 13
    tables = first_tables(len(corpus.words), width, native.padded_width(width) or width, seed=3)
    random = np.random.default_rng(1)
    tables[0][:, :width] *= 20
    tables[1][:, :width] = 0.1 * random.standard_normal((len(corpus.words), width))
    draws = draws_of(corpus.counts, sample=0.05, power=0.75)
    usual = {"window": 3, "negatives": 5, "skip_gram": True, "seed": 2**63 + 12345}
    for span in spans:
        learn(corpus.ids, span, tables, draws, Rates(0.05, 1e-6, 1e-4), **{**usual, **given}, threads=threads)
    return tables


@needs_kernel
@pytest.mark.parametrize("skip_gram", [True, False])
@pytest.mark.parametrize(("window", "negatives"), [(1, 1), (2, 5), (5, 7)])
def test_the_kernel_equals_the_steps_one_by_one(skip_gram: bool, window: int, negatives: int) -> None:
    corpus = random_corpus()
    given = {"skip_gram": skip_gram, "window": window, "negatives": negatives}
    whole = [(0, len(corpus.ids))]
    for ours, theirs in zip(
        learned(corpus, native.learn, whole, **given),
        learned(corpus, word2vec_steps.learn, whole, batch=1, **given),
        strict=True,
    ):
        assert ours == pytest.approx(theirs, abs=1e-5)
        assert np.abs(ours).max() > 0.1


@needs_kernel
def test_how_a_text_is_divided_changes_nothing() -> None:
    corpus = random_corpus(400)
    size = len(corpus.ids)
    whole = learned(corpus, native.learn, [(0, size)])
    cut = learned(corpus, native.learn, [(0, 1), (1, 17), (17, 1000), (1000, size)])
    assert all(np.array_equal(a, b) for a, b in zip(whole, cut, strict=True))


@needs_kernel
def test_several_threads_learn_nearly_the_same() -> None:
    corpus = random_corpus(1500)
    one = learned(corpus, native.learn, [(0, len(corpus.ids))])
    two = learned(corpus, native.learn, [(0, len(corpus.ids))], threads=2)
    assert np.isfinite(two[0]).all()
    for a, b in zip(one[0], two[0], strict=True):
        assert a @ b / np.linalg.norm(a) / np.linalg.norm(b) > 0.7


# Sampling


def test_negative_samples_follow_the_counts() -> None:
    weights = np.array([8.0, 4.0, 2.0, 1.0, 1.0])
    stay, alias = alias_table(weights)
    share = (stay.astype(np.float64) + 1) / 2**32
    found = share / len(weights)
    np.add.at(found, alias, (1 - share) / len(weights))
    assert found == pytest.approx(weights / weights.sum(), abs=1e-6)
    draws = draws_of(np.array([16, 1]), sample=0, power=0.75)
    assert draws.keep.tolist() == [2**32 - 1, 2**32 - 1]


def test_frequent_words_are_kept_less_often() -> None:
    counts = np.array([900, 99, 1])
    assert kept_share(counts, 0.01) == pytest.approx(
        [(0.01 / 0.9) ** 0.5 + 0.01 / 0.9, (0.01 / 0.099) ** 0.5 + 0.01 / 0.099, 1]
    )
    assert as_bits(np.array([1.0, 0.5])).tolist() == [2**32 - 1, 2**31 - 1]


def test_windows_stay_in_their_line_and_reach_over_skipped_words() -> None:
    corpus = corpus_of(["a b c d e f g\n", "h i\n"], min_count=1)
    draws = draws_of(corpus.counts, sample=0, power=0.75)
    found = word2vec_steps.windows_of(corpus.ids, (0, len(corpus.ids)), draws, window=3, negatives=2, seed=1)
    lines = {word: number for number, line in enumerate(("abcdefg", "hi")) for word in line}
    for centre, context, inside in zip(found.centre, found.context, found.in_context, strict=True):
        words = [corpus.words[i] for i in context[inside]]
        assert 1 <= len(words) <= 6
        assert {lines[word] for word in words} == {lines[corpus.words[corpus.ids[centre]]]}


# Training


TEXTS = [f"{a} {b} {a} {b}" for a in ("red", "green", "blue") for b in ("light", "paint")] * 30
TEXTS += [f"{a} {b} {a} {b}" for a in ("two", "three", "four") for b in ("times", "hours")] * 30


@pytest.mark.parametrize("method", ["skip-gram", "cbow"])
@pytest.mark.parametrize("compiled", [True, False])
def test_it_learns_and_repeats_itself(method: str, compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not compiled:
        monkeypatch.setattr(native, "kernels", lambda: None)
    rate = {"skip-gram": 0.1, "cbow": 0.5}[method]
    given = {"method": method, "width": 8, "window": 2, "min_count": 1, "epochs": 10, "sample": 0, "rate": rate}
    vectors = train(texts=TEXTS, **given)  # type: ignore[arg-type]
    assert {one.word for one in vectors.neighbours("red", top=2)} == {"green", "blue"}
    assert vectors.odd_one_out(["red", "green", "blue", "four"])[0].word == "four"
    assert np.array_equal(vectors.matrix, train(texts=TEXTS, **given).matrix)  # type: ignore[arg-type]
    assert not np.array_equal(vectors.matrix, train(texts=TEXTS, seed=2, **given).matrix)  # type: ignore[arg-type]


def test_small_texts_get_more_epochs_and_progress_reaches_the_end() -> None:
    settings = VectorSettings(min_count=1, width=3)
    assert [settings.epochs_for(n) for n in (10, 1_000_000, 10_000_000)] == [200, 20, 5]
    told: list[word2vec.Learning] = []
    corpus = corpus_of(["a b c\n"] * 5, min_count=1)
    word2vec.learn_word2vec(corpus, VectorSettings(min_count=1, width=3, epochs=2, window=1), report=told.append)
    assert told[-1].done == told[-1].total == 2 * len(corpus.ids)
    assert [one.epoch for one in told] == [0, 1]


@pytest.mark.parametrize(
    "wrong", [{"width": 0}, {"window": 10_000}, {"method": "glove"}, {"rate": -1.0}, {"epochs": 0}]
)
def test_wrong_settings_are_named(wrong: dict[str, object]) -> None:
    with pytest.raises(SettingsError, match=next(iter(wrong))):
        train(texts=["a b"], **wrong)  # type: ignore[arg-type]


def test_a_wrong_method_is_answered_with_the_right_ones() -> None:
    with pytest.raises(SettingsError, match="it must be one of skip-gram, cbow, ppmi"):
        train(texts=["a b"], method="glove")  # type: ignore[arg-type]


def test_vectors_that_became_nan_are_not_saved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "learn_word2vec", lambda corpus, *_, **__: np.full((len(corpus.words), 3), np.nan))
    with pytest.raises(DataError, match="rate 10 is too large"):
        train(texts=TEXTS, min_count=1, width=3, rate=10)
