"""Muon against its formula, matrix by matrix."""

import math

import pytest
import torch
from torch import Tensor, nn

from glassformer.nn.attention import Projections, SelfAttention
from glassformer.store.weights import load_weights, weights_of
from glassformer.training.muon import COEFFICIENTS, RMS, Muon, newton_schulz, orthogonal_all
from glassformer.training.optimiser import (
    inner_matrices,
    load_optimiser,
    make_optimiser,
    optimiser_tensors,
    weights_to_use,
)
from glassformer.training.settings import TrainSettings


def random(*shape: int, seed: int = 1) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def plain_orthogonal(matrix: Tensor) -> Tensor:
    """Newton-Schulz as the paper writes it, for one matrix that lies."""
    x = matrix / (matrix.norm() + 1e-7)
    for a, b, c in COEFFICIENTS:
        x = a * x + (b * (x @ x.T) + c * (x @ x.T) @ (x @ x.T)) @ x
    return x


@pytest.mark.parametrize("shape", [(7, 7), (5, 11), (1, 3)])
def test_newton_schulz_is_the_formula(shape: tuple[int, int]) -> None:
    matrices = random(3, *shape)
    expected = torch.stack([plain_orthogonal(matrix) for matrix in matrices])
    torch.testing.assert_close(newton_schulz(matrices), expected, rtol=1e-10, atol=1e-12)


def test_singular_values_come_near_one_and_the_singular_vectors_stay() -> None:
    matrix = random(13, 29)
    u, _, v = torch.linalg.svd(matrix, full_matrices=False)
    result = newton_schulz(matrix[None])[0]
    inside = u.T @ result @ v.T  # diagonal, with the new singular values
    values = inside.diagonal()
    assert values.min() > 0.6
    assert values.max() < 1.3
    assert (inside - values.diag()).abs().max() < 1e-10


def test_matrices_of_all_shapes_keep_their_places() -> None:
    matrices = [random(3, 5), random(5, 3, seed=2), random(5, 5, seed=3), random(3, 5, seed=4)]
    for matrix, result in zip(matrices, orthogonal_all(matrices), strict=True):
        lying = matrix if matrix.size(0) <= matrix.size(1) else matrix.T
        expected = plain_orthogonal(lying)
        torch.testing.assert_close(result, expected if lying is matrix else expected.T, rtol=1e-10, atol=1e-12)


def test_an_update_is_the_formula() -> None:
    weight = random(5, 3).requires_grad_()
    muon = Muon([weight], lr=0.1, momentum=0.9, weight_decay=0.5)
    expected, mean = weight.detach().clone(), torch.zeros(5, 3, dtype=torch.float64)
    for step in range(3):
        gradient = random(5, 3, seed=10 + step)
        weight.grad = gradient.clone()
        muon.step()
        mean = 0.9 * mean + 0.1 * gradient
        ahead = 0.1 * gradient + 0.9 * mean
        expected = expected * (1 - 0.1 * 0.5) - 0.1 * RMS * math.sqrt(5) * plain_orthogonal(ahead.T).T
        torch.testing.assert_close(weight.detach(), expected, rtol=1e-10, atol=1e-12)


def test_the_projections_of_a_fused_matrix_are_updated_as_if_they_were_separate() -> None:
    fused = random(7 + 3 + 3, 5).requires_grad_()
    alone = [part.detach().clone().requires_grad_() for part in fused.split([7, 3, 3])]
    fused.grad = random(13, 5, seed=2)
    for part, grad in zip(alone, fused.grad.split([7, 3, 3]), strict=True):
        part.grad = grad.clone()
    Muon([fused], lr=0.1, rows={fused: [7, 3, 3]}).step()
    Muon(alone, lr=0.1).step()
    torch.testing.assert_close(fused.detach(), torch.cat([part.detach() for part in alone]), rtol=1e-10, atol=1e-12)


def test_inner_matrices_are_all_linear_layers_with_their_projections() -> None:
    attention = SelfAttention(8, heads=4, kv_heads=2)
    assert inner_matrices(attention) == {attention.qkv.weight: [8, 4, 4], attention.out.linear.weight: [8]}
    assert isinstance(attention.qkv, Projections)


def test_an_update_has_the_size_of_adamws() -> None:
    """Its entries' root mean square is near RMS times the rate, whatever the shape."""
    for shape in ((16, 64), (64, 16), (32, 32)):
        weight = torch.zeros(shape, requires_grad=True)
        weight.grad = torch.randn(shape)
        Muon([weight], lr=1.0).step()
        assert weight.detach().square().mean().sqrt().item() == pytest.approx(RMS, rel=0.4)


def test_a_batch_without_gradient_for_a_matrix_leaves_it() -> None:
    first, second = torch.ones(3, 3, requires_grad=True), torch.ones(3, 3, requires_grad=True)
    first.grad = torch.eye(3)
    Muon([first, second], lr=0.1).step()
    assert torch.equal(second.detach(), torch.ones(3, 3))
    assert not torch.equal(first.detach(), torch.ones(3, 3))


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.linear = nn.Embedding(7, 5), nn.Linear(5, 3)


def test_muon_moves_the_inner_matrices_and_adamw_the_rest_and_both_go_on_exactly() -> None:
    def step(model: Model, optimiser: object, seed: int) -> None:
        for parameter in model.parameters():
            parameter.grad = torch.randn(parameter.shape, generator=torch.Generator().manual_seed(seed))
        optimiser.step(0.01)  # type: ignore[attr-defined]

    settings = TrainSettings(optimiser="muon")
    torch.manual_seed(1)
    straight, halted = Model(), Model()
    halted.load_state_dict(straight.state_dict())
    optimiser, first = make_optimiser(straight, settings), make_optimiser(halted, settings)
    for seed in (1, 2):
        step(straight, optimiser, seed)
        step(halted, first, seed)
    saved = {name: tensor.clone() for name, tensor in optimiser_tensors(halted, first).items()}
    assert set(saved) == {
        "linear.weight/momentum",
        *(
            f"{name}/{field}"
            for name in ("embedding.weight", "linear.bias")
            for field in ("step", "exp_avg", "exp_avg_sq")
        ),
    }
    second = make_optimiser(halted, settings)
    load_optimiser(halted, second, saved)
    step(straight, optimiser, 3)
    step(halted, second, 3)
    for ours, theirs in zip(straight.parameters(), halted.parameters(), strict=True):
        assert torch.equal(ours, theirs)


def test_beside_an_average_the_weights_to_use_and_the_own_ones_come_back_each_in_its_place() -> None:
    settings = TrainSettings(ema=0.5)
    model = Model()
    optimiser = make_optimiser(model, settings)
    assert optimiser.average is not None
    for done in (1, 2, 3):
        for parameter in model.parameters():
            parameter.grad = torch.randn_like(parameter)
        optimiser.step(0.1)
        optimiser.average.update(done)
    used = {name: weight.clone() for name, weight in weights_to_use(model, optimiser).items()}
    own = {name: weight.clone() for name, weight in weights_of(model).items()}
    assert not torch.equal(used["linear.weight"], own["linear.weight"])
    saved = {name: tensor.clone() for name, tensor in optimiser_tensors(model, optimiser).items()}
    again = Model()
    load_weights(again, used, origin="here")
    second = make_optimiser(again, settings)
    load_optimiser(again, second, saved)
    assert all(torch.equal(weights_to_use(again, second)[name], used[name]) for name in used)
    assert all(torch.equal(weights_of(again)[name], own[name]) for name in own)
