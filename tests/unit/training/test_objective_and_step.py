"""The loss and the update, against formulas in float64."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from glassformer.data.batches import Batch, EncodedPairs, Marks
from glassformer.data.columns import Ragged
from glassformer.errors import ModelError, RunError
from glassformer.models.transformer import Transformer, TransformerConfig
from glassformer.training.objective import compiled, token_loss
from glassformer.training.optimiser import load_optimiser, make_optimiser, optimiser_tensors
from glassformer.training.settings import TrainSettings
from glassformer.training.step import StepReport, autocast_for, seed_step, train_step

V = 19
MARKS = Marks(pad=0, bos=1, eos=2)
LENGTHS = [(3, 5), (1, 2), (7, 1), (2, 11), (5, 3), (4, 4), (6, 2), (1, 7)]  # ragged on both sides


@pytest.fixture
def pairs() -> EncodedPairs:
    random = np.random.default_rng(5)
    rows = [[random.integers(3, V, n).tolist() for n in lengths] for lengths in LENGTHS]
    return EncodedPairs(Ragged.of([s for s, _ in rows]), Ragged.of([t for _, t in rows]), MARKS, MARKS)


def make_model(**changed: object) -> Transformer:
    torch.manual_seed(3)
    config = TransformerConfig(**{"size": "nano", "N": 1, "d": 14, "h": 2, "d_ff": 11, "dropout": 0.0} | changed)
    return Transformer(config, source_vocabulary=V, target_vocabulary=V)


def weights(model: nn.Module) -> dict[str, Tensor]:
    return {name: parameter.detach().clone() for name, parameter in model.named_parameters()}


def step(model: Transformer, optimiser: torch.optim.Optimizer, batches: list[Batch], **changed: object) -> StepReport:
    arguments = {
        "loss": partial(token_loss, model, label_smoothing=0.1),
        "lr": 1e-2,
        "clip": 1.0,
        "weight": sum(batch.weight for batch in batches),
    }
    return train_step(optimiser, batches, **{**arguments, **changed})


# The loss


def test_a_compiled_model_can_be_called(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tasks with a class head call the model; `hidden` alone is not enough."""
    made: list[str] = []
    monkeypatch.setattr(torch, "compile", lambda function, **_: made.append(function.__name__) or function)
    model = nn.Linear(2, 3)
    model.hidden = lambda batch: batch
    found = compiled(model)
    batch = torch.ones(1, 2)
    assert torch.equal(found(batch), model(batch))
    assert "forward" in made
    assert found.out_features == 3


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.5])
def test_the_loss_is_the_formula_summed_over_real_tokens(pairs: EncodedPairs, smoothing: float) -> None:
    model = make_model()
    batch = pairs.batch(np.arange(len(LENGTHS)))
    loss, count = token_loss(model, batch, label_smoothing=smoothing)
    log_p = model(batch).detach().log_softmax(-1)
    by_hand, tokens = 0.0, 0
    for row, (_, length) in enumerate(LENGTHS):
        for t in range(length + 1):
            label = int(batch.target_out[row, t])
            wanted = torch.full((V,), smoothing / V)
            wanted[label] += 1 - smoothing
            by_hand -= float((wanted * log_p[row, t]).sum())
            tokens += 1
    assert count == tokens
    assert loss.item() == pytest.approx(by_hand, rel=1e-12)


@pytest.mark.usefixtures("double")
def test_padding_never_counts(pairs: EncodedPairs) -> None:
    model = make_model()
    together, count = token_loss(model, pairs.batch(np.arange(8)), label_smoothing=0.1)
    alone = [token_loss(model, pairs.batch(np.array([i])), label_smoothing=0.1) for i in range(8)]
    assert together.item() == pytest.approx(sum(loss.item() for loss, _ in alone), rel=1e-12)
    assert count == sum(number for _, number in alone)


# The update


def felt(name: str, weight: Tensor) -> Tensor:
    """Without the biases of keys: softmax does not feel them, and Adam makes a step of their gradient's rounding."""
    if name.endswith("qkv.bias"):
        return torch.cat([weight[:14], weight[28:]])
    return weight[14:] if name.endswith("key_value.bias") else weight


@pytest.mark.usefixtures("double")
def test_eight_batches_of_one_two_of_four_and_one_of_eight_are_the_same_updates(pairs: EncodedPairs) -> None:
    found = {}
    for size in (1, 4, 8):
        model = make_model()
        optimiser = make_optimiser(model, TrainSettings())
        losses = []
        for update in range(5):
            order = np.random.default_rng(update).permutation(8)
            batches = [pairs.batch(order[i : i + size]) for i in range(0, 8, size)]
            losses.append(step(model, optimiser, batches, lr=1e-2 / (update + 1)).loss)
        found[size] = losses, weights(model)
    for size in (1, 4):
        assert found[size][0] == pytest.approx(found[8][0], rel=1e-12, abs=1e-12)
        for name, weight in found[8][1].items():
            torch.testing.assert_close(felt(name, found[size][1][name]), felt(name, weight), rtol=0, atol=1e-12)
    assert found[8][0][-1] < found[8][0][0]


@pytest.mark.usefixtures("double")
def test_an_update_is_adamw_written_by_hand(pairs: EncodedPairs) -> None:
    model, lr, decay, b1, b2 = make_model(output_bias=True), 1e-2, 0.3, 0.8, 0.9
    before, batch = weights(model), pairs.batch(np.arange(8))
    count = int(batch.target_lengths.sum())
    settings = TrainSettings(weight_decay=decay, beta1=b1, beta2=b2)
    step(model, make_optimiser(model, settings), [batch], clip=1e9, lr=lr)
    again = make_model(output_bias=True)
    (token_loss(again, batch, label_smoothing=0.1)[0] / count).backward()
    for name, parameter in again.named_parameters():
        g = parameter.grad
        assert g is not None
        first, second = (1 - b1) * g / (1 - b1), (1 - b2) * g * g / (1 - b2)
        decayed = before[name] * (1 - lr * decay) if parameter.dim() > 1 else before[name]
        wanted = decayed - lr * first / (second.sqrt() + 1e-9)
        torch.testing.assert_close(dict(model.named_parameters())[name].detach(), wanted, rtol=1e-9, atol=1e-12)


def test_gains_and_biases_are_not_decayed_and_no_parameter_is_forgotten() -> None:
    model = make_model(output_bias=True)
    decayed, spared = make_optimiser(model, TrainSettings(weight_decay=0.3)).members[0].param_groups
    assert (decayed["weight_decay"], spared["weight_decay"]) == (0.3, 0.0)
    assert all(p.dim() >= 2 for p in decayed["params"])
    assert all(p.dim() < 2 for p in spared["params"])
    assert {id(p) for group in (decayed, spared) for p in group["params"]} == {id(p) for p in model.parameters()}


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("clip", [1e-3, 1e9])
def test_gradients_above_the_clip_are_scaled_down_to_it(pairs: EncodedPairs, clip: float) -> None:
    model, batch = make_model(), pairs.batch(np.arange(8))
    report = step(model, make_optimiser(model, TrainSettings()), [batch], clip=clip)
    norm = float(torch.stack([p.grad.norm() for p in model.parameters() if p.grad is not None]).norm())
    assert report.grad_norm > 1e-3
    assert norm == pytest.approx(min(report.grad_norm, clip), rel=1e-5)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_loss_that_is_not_finite_stops_before_the_update(pairs: EncodedPairs, value: float) -> None:
    model = make_model()
    optimiser = make_optimiser(model, TrainSettings())
    batch = pairs.batch(np.arange(8))
    step(model, optimiser, [batch])
    before, memory = weights(model), {n: t.clone() for n, t in optimiser_tensors(model, optimiser).items()}

    def broken(batch: Batch) -> tuple[Tensor, int]:
        loss, count = token_loss(model, batch, label_smoothing=0.1)
        return loss * value, count

    with pytest.raises(ModelError, match=r"training has diverged; the weights were not changed.*lower train\.lr"):
        step(model, optimiser, [batch], loss=broken)
    assert all(torch.equal(weight, weights(model)[name]) for name, weight in before.items())
    assert all(torch.equal(t, optimiser_tensors(model, optimiser)[name]) for name, t in memory.items())


def test_the_report_is_the_mean_over_target_tokens(pairs: EncodedPairs) -> None:
    model, batches = make_model(), [pairs.batch(np.arange(3)), pairs.batch(np.arange(3, 8))]
    summed = [token_loss(model, batch, label_smoothing=0.1) for batch in batches]
    report = step(model, make_optimiser(model, TrainSettings()), batches)
    assert report.weight == sum(count for _, count in summed)
    assert report.loss == pytest.approx(sum(loss.item() for loss, _ in summed) / report.weight)


def test_the_optimisers_memory_makes_a_round_trip(pairs: EncodedPairs) -> None:
    """Two updates in one go, or with the memory carried over into a new optimiser in between: the same bits."""
    batch = pairs.batch(np.arange(8))
    straight = make_model()
    optimiser = make_optimiser(straight, TrainSettings())
    for _ in range(3):
        step(straight, optimiser, [batch])

    halted = make_model()
    first = make_optimiser(halted, TrainSettings())
    step(halted, first, [batch])
    second = make_optimiser(halted, TrainSettings())
    load_optimiser(halted, second, {n: t.clone() for n, t in optimiser_tensors(halted, first).items()})
    for _ in range(2):
        step(halted, second, [batch])
    assert all(torch.equal(weight, weights(straight)[name]) for name, weight in weights(halted).items())


def test_a_memory_of_another_model_is_refused_by_the_name_of_the_parameter() -> None:
    model = make_model()
    with pytest.raises(RunError, match=r"no step for .*weight: it belongs to another model"):
        load_optimiser(model, make_optimiser(model, TrainSettings()), {})


@pytest.mark.parametrize("optimiser", ["adamw", "muon"])
def test_a_parameter_without_a_gradient_has_no_memory_to_restore(optimiser: str) -> None:
    settings, model = TrainSettings(optimiser=optimiser), torch.nn.ModuleList(torch.nn.Linear(2, 2) for _ in range(2))
    first, second = (make_optimiser(model, settings) for _ in range(2))
    model[0](torch.ones(1, 2)).sum().backward()
    first.step(0.1)
    saved = optimiser_tensors(model, first)
    load_optimiser(model, second, saved)
    assert optimiser_tensors(model, second).keys() == saved.keys()
    model[1](torch.ones(1, 2)).sum().backward()
    second.step(0.1)
    assert len(optimiser_tensors(model, second)) == 2 * len(saved)


# Random numbers and precision


def test_the_random_numbers_of_a_step_are_a_function_of_seed_step_and_rank() -> None:
    def drawn(*arguments: int) -> list[float]:
        seed_step(*arguments)
        return torch.rand(4).tolist()

    assert drawn(1, 7) == drawn(1, 7, 0)
    places = [(1, 7, 0), (1, 8, 0), (2, 7, 0), (1, 7, 1), (2, 8, 1), (0, 0, 0), (7, 1, 0)]
    assert len({tuple(drawn(*place)) for place in places}) == len(places)


@pytest.mark.parametrize("seed", [0, 2**31, 2**62])
def test_any_seed_will_do(seed: int) -> None:
    seed_step(seed, 10**9, 63)


def test_bf16_computes_matrix_products_in_bf16_and_the_loss_in_full(pairs: EncodedPairs) -> None:
    model, batch = make_model(), pairs.batch(np.arange(8))
    heard: list[torch.dtype] = []
    model.head.register_forward_hook(lambda _module, _inputs, output: heard.append(output.dtype))
    full = token_loss(model, batch, label_smoothing=0.1)[0].item()
    with autocast_for(torch.device("cpu"), "bf16"):
        loss, _ = token_loss(model, batch, label_smoothing=0.1)
    assert heard == [torch.bfloat16]  # in full precision the loss makes the logits itself
    assert loss.dtype == torch.float32
    assert loss.item() == pytest.approx(full, rel=0.02)
    assert loss.item() != full


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_a_training_in_either_precision_learns(pairs: EncodedPairs, precision: str) -> None:
    model, batches = make_model(), [pairs.batch(np.arange(8))]
    optimiser = make_optimiser(model, TrainSettings())
    autocast = autocast_for(torch.device("cpu"), precision)
    losses = [step(model, optimiser, batches, autocast=autocast).loss for _ in range(15)]
    assert losses[-1] < 0.8 * losses[0]
    assert all(parameter.dtype == torch.float32 for parameter in model.parameters())
