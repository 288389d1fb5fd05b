"""Mixtral: Llama whose feed-forward networks are mixtures of experts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from glassformer.errors import ExportError
from glassformer.hub.huggingface import fields
from glassformer.hub.huggingface.ends import read_ends
from glassformer.hub.huggingface.keys import Line
from glassformer.hub.huggingface.layout import Layout, Theirs
from glassformer.hub.huggingface.layouts import llama
from glassformer.models.llama import LlamaConfig
from glassformer.store.bundle import Bundle

PARTS = {"gate": "w1", "down": "w2", "up": "w3"}


def to_config(theirs: Theirs, _: frozenset[str]) -> dict[str, Any]:
    fields.must_be(theirs, "router_jitter_noise", 0, None)
    return {
        **llama.common_values(theirs),
        "window": llama.window_of(theirs),
        "experts": fields.whole(theirs, "num_local_experts", 8),
        "experts_per_token": fields.whole(theirs, "num_experts_per_tok", 2),
        "balance": fields.number(theirs, "router_aux_loss_coef", 0.001),
    }


def from_config(bundle: Bundle) -> dict[str, Any]:
    config = cast(LlamaConfig, bundle.model.config)
    fields.refuse_class_head(config.head, "Mixtral")
    if not config.experts:
        raise ExportError("model.experts = 0: Mixtral has experts; Llama has none.")
    if config.biases != "none":
        raise ExportError(f"model.biases = {config.biases!r}: Mixtral has none.")
    return {
        "model_type": "mixtral",
        "architectures": ["MixtralForCausalLM"],
        **llama.common_fields(bundle),
        "sliding_window": config.window,
        "num_local_experts": config.experts,
        "num_experts_per_tok": config.experts_per_token,
        "router_aux_loss_coef": config.balance,
    }


def lines(config: LlamaConfig) -> Sequence[Line]:
    ours, theirs = "blocks.{i}.feed_forward", "{p}layers.{i}.block_sparse_moe"
    experts = [
        Line(f"{ours}.each.{{e}}.{part}.weight", f"{theirs}.experts.{{e}}.{name}.weight")
        for part, name in PARTS.items()
    ]
    return [*llama.common_lines(config), Line(f"{ours}.router.linear.weight", f"{theirs}.gate.weight"), *experts]


LAYOUT = Layout(
    model_types=("mixtral",),
    kind="llama",
    to_config=to_config,
    from_config=from_config,
    lines=lines,
    counts=llama.counts,
    tied=llama.tied,
    ignored=llama.LAYOUT.ignored,
    prefixes=llama.LAYOUT.prefixes,
    read_extras=read_ends,
)
