"""Where the time of a step goes: traces sorted into groups, every microsecond once."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
import torch

from glassformer.data.batches import EncodedPairs, Marks
from glassformer.data.columns import Ragged
from glassformer.errors import SettingsError
from glassformer.models.transformer import Transformer, TransformerConfig
from glassformer.training import profile_groups as groups
from glassformer.training.objective import token_loss
from glassformer.training.profile import Profile, profile
from glassformer.training.settings import TrainSettings
from glassformer.training.step_trace import Account, flops_of, nested

MARKS = Marks(pad=0, bos=1, eos=2)
ENGINE = "autograd::engine::evaluate_function: "


def event(name: str, start: float, long: float, **args: Any) -> dict[str, Any]:
    return {"ph": "X", "cat": "cpu_op", "tid": 1, "name": name, "ts": start, "dur": long, "args": args}


def account_of(*trace: dict[str, Any]) -> Account:
    account = Account()
    account.add(nested([event(groups.STEP, 0, 1_000_000), *trace]))
    return account


def told(account: Account) -> dict[str, float]:
    return {name: round(1e6 * seconds) for name, seconds in account.groups.items() if seconds}


# Traces made by hand


def test_an_operation_is_counted_without_what_is_inside_it() -> None:
    account = account_of(event("aten::linear", 10, 100), event("aten::addmm", 20, 70), event("aten::copy_", 30, 20))
    assert told(account) == {groups.PRODUCTS: 80, groups.ELEMENTS: 20, groups.PYTHON: 1_000_000 - 100}


def test_what_is_inside_the_optimiser_is_the_optimisers() -> None:
    inside = (
        event("Optimizer.step#Muon.step", 0, 500),
        event("aten::bmm", 100, 300, **{"Input Dims": [[2, 3, 4], [2, 4, 5]]}),
    )
    account = account_of(*inside)
    assert told(account)[groups.OPTIMISER] == 500
    assert account.flops == 0  # only the model's own products count


def test_backward_work_belongs_where_its_forward_operation_did() -> None:
    account = account_of(
        event(groups.DROPPING, 0, 50),
        event("aten::mul", 10, 30, **{"Sequence number": 7}),
        event("aten::mul", 60, 30, **{"Sequence number": 8}),
        event(ENGINE + "MulBackward0", 100, 200, **{"Sequence number": 8}),
        event("aten::mul", 110, 100),
        event(ENGINE + "MulBackward0", 300, 200, **{"Sequence number": 7}),
        event("aten::mul", 310, 100),
    )
    assert told(account)[groups.DROPOUT] == 50 + 200
    assert told(account)[groups.ELEMENTS] == 30 + 100


def test_what_nobody_knows_is_shown_by_name() -> None:
    account = account_of(event("aten::strange", 0, 70), event("aten::stranger", 100, 20), event("some_kernel", 200, 30))
    assert told(account)[groups.OTHERS] == 120
    assert [name for name, _ in account.largest_others(2)] == ["aten::strange", "some_kernel"]


def test_other_threads_and_what_came_before_are_left_out() -> None:
    before, elsewhere = event("aten::mm", -50, 20), {**event("aten::mm", 5, 20), "tid": 2}
    assert told(account_of(before, elsewhere)) == {groups.PYTHON: 1_000_000}


@pytest.mark.parametrize(
    ("name", "shapes", "flops"),
    [
        ("mm", [[3, 5], [5, 7]], 2 * 3 * 5 * 7),
        ("addmm", [[7], [3, 5], [5, 7], [], []], 2 * 3 * 5 * 7),
        ("addmm_", [[3, 7], [3, 5], [5, 7], [], []], 2 * 3 * 5 * 7),
        ("bmm", [[2, 3, 5], [2, 5, 7]], 2 * 2 * 3 * 5 * 7),
        ("baddbmm", [[2, 3, 7], [2, 3, 5], [2, 5, 7], [], []], 2 * 2 * 3 * 5 * 7),
        (
            "_scaled_dot_product_flash_attention_for_cpu",
            [[2, 3, 5, 7], [2, 3, 11, 7], [2, 3, 11, 7]],
            4 * 2 * 3 * 5 * 7 * 11,
        ),
        ("mul", [[3, 5], [3, 5]], 0),
    ],
)
def test_the_arithmetic_of_products(name: str, shapes: list[list[int]], flops: float) -> None:
    (found,) = nested([event(groups.STEP, 0, 1), event(f"aten::{name}", 0, 1, **{"Input Dims": shapes})])[1:]
    assert flops_of(found) == flops


def test_the_arithmetic_of_attention_in_c() -> None:
    shapes = [[2, 3, 5, 8], [2, 3, 11, 8], [2, 3, 11, 8], [], [], []]
    account = account_of(
        event("_Attention", 0, 30, **{"Sequence number": 3, "Input Dims": shapes}),
        event(ENGINE + "_AttentionBackward", 50, 60, **{"Sequence number": 3}),
        event("_AttentionBackward", 60, 40, **{"Sequence number": 3, "Input Dims": [[2, 5, 3, 8]]}),
    )
    assert account.flops == (4 + 10) * 2 * 3 * 5 * 8 * 11
    assert account.product_seconds == pytest.approx((30 + 40) / 1e6)


# A real model


@pytest.fixture(scope="module")
def real() -> tuple[Transformer, Profile]:
    random = np.random.default_rng(1)
    rows = [random.integers(3, 97, 4 + i % 7).tolist() for i in range(60)]
    torch.manual_seed(0)
    config = TransformerConfig(size="nano", N=2, d=16, h=2, d_ff=24, dropout=0.1)
    model = Transformer(config, source_vocabulary=97, target_vocabulary=97)
    pairs = EncodedPairs(Ragged.of(rows), Ragged.of(rows), MARKS, MARKS)
    settings = TrainSettings(steps=9, batch_tokens=200, accumulate=2, optimiser="muon")
    settings = settings.resolved(batches_per_epoch=5, threads=1, device="cpu")
    return model, profile(
        model, pairs, settings, loss=lambda twin: partial(token_loss, twin, label_smoothing=0.1), steps=3
    )


def test_every_part_of_a_real_step_is_found(real: tuple[Transformer, Profile]) -> None:
    found = real[1]
    silent = [name for name in groups.GROUPS if name != groups.OTHERS and found.groups[name] <= 0]
    assert silent == []
    assert sum(found.shares.values()) == pytest.approx(1)
    assert found.shares[groups.OTHERS] < 0.05  # the groups know what this model does
    assert found.tokens > 100
    assert found.plain_rate > 0


def test_the_products_of_a_real_step_are_those_of_the_model(real: tuple[Transformer, Profile]) -> None:
    """Forward a multiplication and an addition for each weight and token, backward twice that, and attention's."""
    model, found = real
    weights = sum(m.weight.numel() for m in model.modules() if isinstance(m, torch.nn.Linear))
    low = 6 * weights * found.tokens / 2 / 2  # each side's tokens meet about half of the weights
    assert low < found.product_flops < 30 * low


def test_the_model_is_not_touched(real: tuple[Transformer, Profile]) -> None:
    model = real[0]
    torch.manual_seed(0)
    fresh = Transformer(model.config, source_vocabulary=97, target_vocabulary=97)
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), fresh.parameters(), strict=True))
    assert not any(module._forward_hooks for module in model.modules())


def test_a_profile_is_of_the_cpu() -> None:
    model: Any = torch.nn.Linear(2, 2, device="meta")
    nothing: Any = None
    with pytest.raises(SettingsError, match=r"Add --set train\.device=cpu"):
        profile(model, nothing, TrainSettings(), loss=nothing)
