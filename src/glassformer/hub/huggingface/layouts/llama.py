"""Llama, and models of the same structure: Mistral (with an attention window) and Qwen2 (with biases on q, k and v).

Their rotary positions pair the first half of each head with the second; ours pair neighbours ("pairs" in the key map).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from glassformer.errors import ExportError, ImportingError
from glassformer.hub.huggingface import fields
from glassformer.hub.huggingface.ends import read_ends
from glassformer.hub.huggingface.keys import Counts, Line
from glassformer.hub.huggingface.layout import Layout, Theirs
from glassformer.models.llama import LlamaConfig, RopeScaling
from glassformer.store.bundle import Bundle

ARCHITECTURES = {"llama": "LlamaForCausalLM", "mistral": "MistralForCausalLM", "qwen2": "Qwen2ForCausalLM"}
EPS = {"llama": 1e-6, "mistral": 1e-6, "qwen2": 1e-6, "mixtral": 1e-5}
HEADS = {"mistral": 8, "mixtral": 8, "qwen2": 32}  # heads of keys and values, if a file does not say
POSITIONS = {"llama": 2048, "mistral": 131072, "mixtral": 131072, "qwen2": 32768}
PLAIN = ("default", None)

# config.json


def to_config(theirs: Theirs, _: frozenset[str]) -> dict[str, Any]:
    kind = theirs["model_type"]
    biases = "attention" if fields.flag(theirs, "attention_bias", False) else "none"
    return {
        **common_values(theirs),
        "biases": "qkv" if kind == "qwen2" else biases,
        "feed_forward_bias": fields.flag(theirs, "mlp_bias", False),
        "window": window_of(theirs),
    }


def common_values(theirs: Theirs) -> dict[str, Any]:
    """The fields that Llama and Mixtral have in common."""
    kind, heads = theirs["model_type"], fields.whole(theirs, "num_attention_heads")
    fields.must_be(theirs, "pretraining_tp", 1, None)
    head_width = theirs.get("head_dim")
    return {
        "vocabulary": fields.whole(theirs, "vocab_size"),
        "N": fields.whole(theirs, "num_hidden_layers"),
        "d": fields.whole(theirs, "hidden_size"),
        "h": heads,
        "kv_heads": fields.whole(theirs, "num_key_value_heads", HEADS.get(kind, heads)),
        "head_width": None if head_width is None else fields.whole(theirs, "head_dim"),
        "d_ff": fields.whole(theirs, "intermediate_size"),
        "activation": fields.one_of(theirs, "hidden_act", fields.ACTIVATIONS, "silu"),
        "norm_eps": fields.number(theirs, "rms_norm_eps", EPS[kind]),
        **rotary_values(theirs),
        "max_length": fields.whole(theirs, "max_position_embeddings", POSITIONS[kind]),
        "tied": fields.flag(theirs, "tie_word_embeddings", False),
    }


def window_of(theirs: Theirs) -> int | None:
    if theirs["model_type"] == "qwen2":  # there it applies only to some blocks
        fields.must_be(theirs, "use_sliding_window", False)
        return None
    fields.must_be(theirs, "layer_types", None)
    return None if theirs.get("sliding_window") is None else fields.whole(theirs, "sliding_window")


def rotary_values(theirs: Theirs) -> dict[str, Any]:
    """Base and scaling of the rotary angles; older files have them in two places."""
    default = 1e6 if theirs["model_type"] == "mixtral" else 10000.0
    given = fields.mapped(theirs, "rope_parameters", object) or fields.mapped(theirs, "rope_scaling", object)
    fields.must_be(theirs, "partial_rotary_factor", 1, None)
    fields.must_be(given, "partial_rotary_factor", 1, None)
    theta = fields.number(given, "rope_theta", fields.number(theirs, "rope_theta", default))
    return {"rope_theta": theta, "rope_scaling": scaling(given)}


def scaling(given: Mapping[str, Any]) -> dict[str, Any] | None:
    kind = fields.text(given, "rope_type") or fields.text(given, "type")
    if kind in PLAIN:
        return None
    if kind == "linear":
        return {"kind": "linear", "factor": fields.number(given, "factor")}
    if kind != "llama3":
        raise ImportingError(
            f"config.json: rope_type = {kind!r} is not supported. Allowed: 'default', 'linear', 'llama3'."
        )
    return {
        "kind": "llama3",
        "factor": fields.number(given, "factor"),
        "slow": fields.number(given, "low_freq_factor"),
        "fast": fields.number(given, "high_freq_factor"),
        "length": fields.whole(given, "original_max_position_embeddings"),
    }


def from_config(bundle: Bundle) -> dict[str, Any]:
    config = cast(LlamaConfig, bundle.model.config)
    fields.refuse_class_head(config.head, "Llama")
    if config.experts:
        raise ExportError(f"model.experts = {config.experts}: Llama has none; Mixtral has.")
    kind = model_type(config, bundle.extras.get("model_type"))
    own = {"attention_bias": config.biases == "attention", "mlp_bias": config.feed_forward_bias}
    window = {} if kind == "llama" else {"sliding_window": config.window}
    return {
        "model_type": kind,
        "architectures": [ARCHITECTURES[kind]],
        **common_fields(bundle),
        **(own if kind == "llama" else {}),
        **window,
    }


def model_type(config: LlamaConfig, came_from: str | None) -> str:
    """The model type the model came from if it can express the model, else the first that can."""
    able = list(dict.fromkeys(able_to_express(config)))
    if not able:
        raise ExportError(
            f"No Llama of `transformers` has biases = {config.biases!r}, feed_forward_bias = "
            f"{config.feed_forward_bias}, window = {config.window} and d = {config.d} with h = {config.h} together."
        )
    return came_from if came_from in able else able[0]


def able_to_express(config: LlamaConfig) -> Iterator[str]:
    if config.biases != "qkv" and config.window is None and config.d % config.h == 0:
        yield "llama"
    if config.biases == "none" and not config.feed_forward_bias:
        yield "mistral"
    if config.biases == "qkv" and not config.feed_forward_bias and config.window is None:
        yield "qwen2"


def common_fields(bundle: Bundle) -> dict[str, Any]:
    config, marks = cast(LlamaConfig, bundle.model.config), bundle.marks
    return {
        "vocab_size": config.vocabulary,
        "hidden_size": config.d,
        "num_hidden_layers": config.N,
        "num_attention_heads": config.h,
        "num_key_value_heads": config.groups,
        "head_dim": config.width_of_head,
        "intermediate_size": config.d_ff,
        "hidden_act": fields.THEIR_ACTIVATIONS[config.activation],
        "rms_norm_eps": config.norm_eps,
        "rope_parameters": {"rope_theta": config.rope_theta, **scaling_fields(config.rope_scaling)},
        "max_position_embeddings": config.max_length,
        "tie_word_embeddings": config.tied,
        "attention_dropout": 0.0,
        "bos_token_id": marks.bos,
        "eos_token_id": bundle.extras.get("ends", marks.eos),
        "pad_token_id": marks.pad,
        "dtype": "float32",
    }


def scaling_fields(given: RopeScaling | None) -> dict[str, Any]:
    if given is None:
        return {"rope_type": "default"}
    if given.kind == "linear":
        return {"rope_type": "linear", "factor": given.factor}
    return {
        "rope_type": "llama3",
        "factor": given.factor,
        "low_freq_factor": given.slow,
        "high_freq_factor": given.fast,
        "original_max_position_embeddings": given.length,
    }


# The key map


def lines(config: LlamaConfig) -> Sequence[Line]:
    return [*common_lines(config), *feed_forward(config)]


def common_lines(config: LlamaConfig) -> list[Line]:
    """All but the feed-forward networks."""
    ours, theirs = "blocks.{i}", "{p}layers.{i}"
    return [
        Line("inputs.embedding.weight", "{p}embed_tokens.weight"),
        *(queries_keys_values(kind) for kind in ("weight", *(["bias"] if config.biases != "none" else []))),
        Line(f"{ours}.attention.out.linear.weight", f"{theirs}.self_attn.o_proj.weight"),
        *([Line(f"{ours}.attention.out.linear.bias", f"{theirs}.self_attn.o_proj.bias")] if out_bias(config) else []),
        Line(f"{ours}.attention_residual.norm.gain", f"{theirs}.input_layernorm.weight"),
        Line(f"{ours}.feed_forward_residual.norm.gain", f"{theirs}.post_attention_layernorm.weight"),
        Line("final_norm.gain", "{p}norm.weight"),
        *([] if config.tied else [Line("head.weight", "lm_head.weight")]),
    ]


def out_bias(config: LlamaConfig) -> bool:
    return config.biases == "attention"


def queries_keys_values(kind: str) -> Line:
    parts = tuple(f"{{p}}layers.{{i}}.self_attn.{part}_proj.{kind}" for part in "qkv")
    return Line(f"blocks.{{i}}.attention.qkv.{kind}", parts, ("pairs", "pairs", "same"), rows=("q", "kv", "kv"))


def feed_forward(config: LlamaConfig) -> Iterator[Line]:
    for kind in ("weight", *(["bias"] if config.feed_forward_bias else [])):
        for part in ("up", "gate", "down"):
            yield Line(f"blocks.{{i}}.feed_forward.{part}.{kind}", f"{{p}}layers.{{i}}.mlp.{part}_proj.{kind}")


def counts(config: LlamaConfig) -> Counts:
    width = config.width_of_head
    rows = {"q": config.h * width, "kv": config.groups * width}
    return {"i": config.N, "e": config.experts, "head_width": width, **rows}


def tied(config: LlamaConfig) -> Mapping[str, str]:
    return {"lm_head.weight": "{p}embed_tokens.weight"} if config.tied else {}


LAYOUT = Layout(
    model_types=tuple(ARCHITECTURES),
    kind="llama",
    to_config=to_config,
    from_config=from_config,
    lines=lines,
    counts=counts,
    tied=tied,
    ignored=("*.rotary_emb.inv_freq",),
    prefixes=("model.", ""),
    read_extras=read_ends,
)
