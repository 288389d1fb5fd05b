"""Hand-written gradients that have no gradients of their own."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import torch

from glassformer.errors import ModelError

Backward = Callable[..., Any]


def first_derivative_only(backward: Backward) -> Backward:
    """A backward pass that refuses to be differentiated. torch's `once_differentiable` is silent where a second path,
    such as a residual connection, leads to the same input: its own terms would then be missing."""

    @wraps(backward)
    def checked(ctx: Any, *grads: Any) -> Any:
        if torch.is_grad_enabled():
            raise ModelError(
                "Second derivatives are not available through attention and the loss of a vocabulary. Compute "
                "gradients without create_graph=True."
            )
        return backward(ctx, *grads)

    return checked
