"""A tiny random Transformer and one sentence pair explained by it; primes, so that a swapped axis cannot pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
import torch
from torch import Tensor

from glassformer.explain.explanation import Explanation
from glassformer.explain.recording import record_writing, tokens_of
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


def name(token: int) -> str:
    return {1: "<s>", 2: "</s>"}.get(token, f"p{token}")


@pytest.fixture
def model() -> Transformer:
    config = TransformerConfig(size="nano", N=3, d=14, h=2, d_ff=11)
    return Transformer(config, source_vocabulary=19, target_vocabulary=19)


@pytest.fixture
def explain(model: Transformer) -> Callable[..., Explanation]:
    """Explains the pair, with other arguments where a test gives them."""

    def explained(**changed) -> Explanation:
        named = changed.get("name", name)
        usual = {
            "kind": "transformer",
            "text": "a text",
            "answer": "Text",
            "source": tokens_of("source", SOURCE_IDS, named),
            "start": START,
            "written": TARGET_IDS,
            "name": named,
        }
        return record_writing(model, pair(), **{**usual, **changed})

    return explained


@pytest.fixture
def explanation(explain: Callable[..., Explanation]) -> Explanation:
    return explain()
