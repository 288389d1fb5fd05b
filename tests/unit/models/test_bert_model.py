"""BERT and RoFormer: settings, padding, what is refused, and the tape that may stand in for the modules."""

from __future__ import annotations

import copy
import pickle
import threading
from dataclasses import dataclass

import pytest
import torch
from pydantic import ValidationError
from torch import Tensor

from glassformer.errors import ModelError
from glassformer.models.bert import SIZES, Bert, BertConfig
from glassformer.models.roformer import SIZES as ROFORMER_SIZES
from glassformer.models.roformer import RoFormer, RoFormerConfig
from glassformer.nn.native import compiler
from glassformer.nn.pooling import real_rows
from glassformer.nn.taps import listen

needs_kernels = pytest.mark.skipif(compiler.kernels() is None, reason="there is no C compiler here")


@dataclass
class Batch:
    ids: Tensor
    lengths: Tensor
    segments: Tensor | None = None


def batch_of(*lengths: int, vocabulary: int = 31) -> Batch:
    return Batch(torch.randint(0, vocabulary, (len(lengths), max(lengths))), torch.tensor(lengths))


def small_bert(**changed: object) -> Bert:
    values = {"vocabulary": 31, "N": 2, "d": 21, "h": 3, "d_ff": 13, "max_length": 17, "head": "none"}
    return wild(Bert(BertConfig.model_validate({**values, **changed})))


def small_roformer(**changed: object) -> RoFormer:
    values = {"vocabulary": 31, "N": 2, "d": 18, "d_token": 11, "h": 3, "d_ff": 13, "max_length": 17}
    return wild(RoFormer(RoFormerConfig.model_validate({**values, **changed})))


def wild(model: torch.nn.Module) -> torch.nn.Module:
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(0.4 * torch.randn_like(parameter))
    return model.eval()


both = pytest.mark.parametrize("make", [small_bert, small_roformer])


@both
@pytest.mark.parametrize("gradients", [False, True])
def test_padding_changes_nothing_and_is_never_no_number(make: object, gradients: bool) -> None:
    model, batch = make(), batch_of(11, 4, 1)  # type: ignore[operator]
    with torch.set_grad_enabled(gradients):
        hidden = model.hidden(batch)
        assert torch.isfinite(hidden).all(), "rows of padding too"
        for row, length in enumerate(batch.lengths.tolist()):
            alone = Batch(batch.ids[row : row + 1, :length], torch.tensor([length]))
            torch.testing.assert_close(model.hidden(alone)[0], hidden[row, :length], rtol=1e-5, atol=1e-5)
        other = Batch(batch.ids.clone(), batch.lengths)
        other.ids[1, 4:] = 7
        assert torch.equal(real_rows(model.hidden(other), batch.lengths), real_rows(hidden, batch.lengths))


@both
def test_a_listener_changes_nothing_but_the_kernel(make: object) -> None:
    model, batch = make(head="words"), batch_of(11, 4)  # type: ignore[operator]
    expected = model(batch)
    with listen(model) as heard:
        found = model(batch)
    torch.testing.assert_close(*(real_rows(x, batch.lengths) for x in (found, expected)), rtol=1e-5, atol=1e-5)
    names = {"inputs.token", "inputs.segment", "inputs.sum", "logits", "blocks.1.self_attention.core.pattern"}
    assert names <= heard.keys()
    pattern = heard["blocks.1.self_attention.core.pattern"][0]
    assert (pattern[1, :, :, 4:] == 0).all(), "nobody looks at padding"


@both
def test_a_text_that_is_too_long_is_reported(make: object) -> None:
    with pytest.raises(ModelError, match="has 18 tokens; this model reads at most 17"):
        make().hidden(batch_of(18))  # type: ignore[operator]


@both
def test_weights_of_a_head_are_tied_by_being_one(make: object) -> None:
    tied, untied = make(head="words"), make(head="words", tied=False)  # type: ignore[operator]
    assert tied.head.vocabulary.weight is tied.inputs.embedding.weight
    assert untied.head.vocabulary.weight is not untied.inputs.embedding.weight


def test_a_missing_part_is_reported() -> None:
    model, batch = small_bert(pooler=False), batch_of(5)
    with pytest.raises(ModelError, match="no pooler"):
        model.pool(model.hidden(batch))


@pytest.mark.parametrize(
    ("kind", "values", "told"),
    [
        (BertConfig, {"d": 20, "h": 3}, "not a multiple of h = 3"),
        (BertConfig, {"head": "sentence", "pooler": False}, "needs pooler = true"),
        (RoFormerConfig, {"d": 15, "h": 3}, "not a multiple of 2 h = 6"),
        (BertConfig, {"size": "huge"}, "Input should be"),
    ],
)
def test_settings_that_do_not_fit_are_refused(kind: type, values: dict[str, object], told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        kind.model_validate({"vocabulary": 31, **values})


def test_published_sizes_have_their_published_number_of_weights() -> None:
    with torch.device("meta"):
        counts = {
            "base": sum(p.numel() for p in Bert(BertConfig(size="base")).parameters()),
            "large": sum(p.numel() for p in Bert(BertConfig(size="large")).parameters()),
            "minilm": sum(p.numel() for p in Bert(BertConfig(size="minilm")).parameters()),
            "roberta-base": sum(p.numel() for p in Bert(BertConfig(size="roberta-base")).parameters()),
        }
    assert counts == {"base": 109_482_240, "large": 335_141_888, "minilm": 22_713_216, "roberta-base": 124_645_632}
    assert all(BertConfig.model_validate({"size": name}).d for name in SIZES)
    assert all(RoFormerConfig.model_validate({"size": name}).d for name in ROFORMER_SIZES)


# The tape


def taped(model: Bert, batch: Batch) -> Tensor:
    with torch.inference_mode():
        assert model.tapes.ready(model)
        return model.rows(batch)


def by_modules(model: Bert, batch: Batch) -> Tensor:
    with torch.no_grad():
        return real_rows(model.hidden(batch), batch.lengths)


@needs_kernels
@pytest.mark.parametrize("lengths", [(5, 5, 5), (17, 9, 8, 1), (1,), (2, 17)])
@pytest.mark.parametrize("changed", [{}, {"first_position": 3, "segments": 1, "activation": "relu"}, {"d": 32, "h": 1}])
def test_on_a_tape_the_numbers_are_the_same(lengths: tuple[int, ...], changed: dict[str, object]) -> None:
    model, batch = small_bert(**changed), batch_of(*lengths)
    torch.testing.assert_close(taped(model, batch), by_modules(model, batch), rtol=1e-5, atol=1e-5)


@needs_kernels
def test_on_a_tape_a_sentence_has_the_same_bits_in_any_company() -> None:
    model, batch = small_bert(), batch_of(13, 12, 4, 12)
    together = taped(model, batch).split(batch.lengths.tolist())
    for row, length in enumerate(batch.lengths.tolist()):
        alone = Batch(batch.ids[row : row + 1, :length], torch.tensor([length]))
        assert torch.equal(taped(model, alone), together[row])


@needs_kernels
def test_a_tape_is_rewritten_when_necessary() -> None:
    model, batch = small_bert(), batch_of(4, 3)
    first = taped(model, batch)
    with torch.no_grad():
        model.blocks[1].feed_forward.down.weight.mul_(2)
    torch.testing.assert_close(taped(model, batch), by_modules(model, batch), rtol=1e-5, atol=1e-5)
    assert not torch.equal(taped(model, batch), first)
    larger = batch_of(17, 16, 15)
    torch.testing.assert_close(taped(model, larger), by_modules(model, larger), rtol=1e-5, atol=1e-5)


@needs_kernels
def test_modules_run_where_a_tape_cannot() -> None:
    model, batch = small_bert(), batch_of(4, 3)
    assert not model.tapes.ready(model), "gradients are wanted"
    with torch.inference_mode():
        assert model.tapes.ready(model)
        with listen(model):
            assert not model.tapes.ready(model), "someone listens"
        model.train()
        assert not model.tapes.ready(model), "dropout"
        double = model.double().eval()
        assert not double.tapes.ready(double)
        with_segments = Batch(batch.ids, batch.lengths, torch.ones_like(batch.ids))
        torch.testing.assert_close(
            double.rows(with_segments), real_rows(double.hidden(with_segments), batch.lengths), rtol=0, atol=0
        )


@needs_kernels
def test_copies_and_threads_have_tapes_of_their_own() -> None:
    model, batch = small_bert(), batch_of(7, 3)
    expected = taped(model, batch)
    assert torch.equal(taped(copy.deepcopy(model), batch), expected)
    assert torch.equal(taped(pickle.loads(pickle.dumps(model)), batch), expected)
    found: list[Tensor] = []
    threads = [threading.Thread(target=lambda: found.append(taped(model, batch))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 3
    assert all(torch.equal(one, expected) for one in found)


@needs_kernels
def test_an_id_that_there_is_not_is_no_reading_elsewhere() -> None:
    model = small_bert()
    with pytest.raises(IndexError, match="not in the vocabulary"):
        taped(model, Batch(torch.tensor([[3, 31]]), torch.tensor([2])))


def test_a_class_by_the_mean_of_all_tokens_needs_no_pooler() -> None:
    model, batch = small_bert(head="sentence", pooling="mean", pooler=False, classes=5), batch_of(11, 4, 1)
    hidden = model.hidden(batch)
    means = torch.stack([row[:length].mean(0) for row, length in zip(hidden, batch.lengths, strict=True)])
    torch.testing.assert_close(model(batch), model.head(means))
    with pytest.raises(ValidationError, match="pooler = true"):
        small_bert(head="sentence", pooler=False)


@pytest.mark.parametrize("segments", [False, True])
def test_in_training_the_last_block_computes_what_the_pooler_reads(segments: bool) -> None:
    """The same logits and gradients as by the hidden states of all tokens."""
    model, batch = small_bert(head="sentence", dropout=0.0, classes=5).double(), batch_of(11, 4, 1)
    if segments:
        batch.segments = torch.randint(0, 2, batch.ids.shape)
    plain = model.head(model.pool(model.hidden(batch)))
    found = model.train()(batch)
    torch.testing.assert_close(found, plain, rtol=1e-10, atol=1e-10)
    weights = torch.randn_like(plain)
    ours, theirs = (
        torch.autograd.grad((one * weights).sum(), list(model.parameters()), retain_graph=True)
        for one in (found, plain)
    )
    for mine, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-9, atol=1e-10)
