"""A tiny random Transformer and one sentence pair explained by it; primes, so that a swapped axis cannot pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
import torch
from torch import Tensor

from glassformer.explain.trace import Explanation, explain_pass
from glassformer.models.transformer import Transformer, TransformerConfig

SOURCE_IDS, TARGET_IDS, START = (5, 11, 7, 3, 2), (13, 4, 9, 17, 6, 8, 2), 1


@dataclass(frozen=True)
class Pair:
    source: Tensor
    source_lengths: Tensor
    target_in: Tensor


def pair() -> Pair:
    return Pair(
        source=torch.tensor([SOURCE_IDS]),
        source_lengths=torch.tensor([len(SOURCE_IDS)]),
        target_in=torch.tensor([(START, *TARGET_IDS[:-1])]),
    )


def name(side: str, token: int) -> str:
    return "</s>" if token == 2 else f"{side[0]}{token}"


@pytest.fixture
def model() -> Transformer:
    config = TransformerConfig(size="nano", N=3, d=14, h=2, d_ff=11)
    return Transformer(config, source_vocabulary=19, target_vocabulary=19)


@pytest.fixture
def explain(model: Transformer) -> Callable[..., Explanation]:
    """Explains the pair, with other arguments where a test gives them."""
    usual = {"source_ids": SOURCE_IDS, "target_ids": TARGET_IDS, "piece": name, "text": "a text", "translation": "Text"}
    return lambda **changed: explain_pass(model, pair(), **{**usual, **changed})


@pytest.fixture
def explanation(explain: Callable[..., Explanation]) -> Explanation:
    return explain()
