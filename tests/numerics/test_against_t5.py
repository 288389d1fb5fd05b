"""The same logits, hidden states, gradients and greedy sentences as `transformers`' T5, tiny and random.

The reference takes the mean of squares inside its norms in float32 whatever the model's precision, so it is compared
in float32; in float64 the plain formulas at the end are the measure.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from decoder_peers import close, close_gradients, randomised, read, upto_end
from torch import Tensor
from transformers import MT5Config, MT5ForConditionalGeneration, T5ForConditionalGeneration
from transformers import T5Config as TheirConfig

from glassformer.decode import Best, BestRefilled, Search, search
from glassformer.errors import ExportError, ImportingError
from glassformer.hub.huggingface.folders import read_folder, write_folder
from glassformer.models.t5 import T5, T5Config
from glassformer.nn.taps import listen
from glassformer.store.bundle import Bundle

PAD, EOS, V = 0, 1, 29
LONGEST = 23  # tokens said


@dataclass
class Batch:
    source: Tensor
    source_lengths: Tensor
    target_in: Tensor


OLD = {"feed_forward_proj": "relu", "tie_word_embeddings": True}
NEW = {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False}
VARIANTS = {
    "1.0": {**OLD},
    "1.1": {**NEW},
    "1.0, odd heads, few buckets": {
        **OLD, "num_heads": 3, "d_kv": 7, "d_model": 10, "num_layers": 3, "num_decoder_layers": 1,
        "relative_attention_num_buckets": 6, "relative_attention_max_distance": 9, "layer_norm_epsilon": 1e-3,
    },
    "1.1, wide heads": {**NEW, "num_heads": 2, "d_kv": 13, "d_model": 6, "num_layers": 1, "num_decoder_layers": 2},
    "silu": {**NEW, "feed_forward_proj": "gated-silu"},
}  # fmt: skip


def make_theirs(name: str, *, std: float = 0.4) -> T5ForConditionalGeneration:
    settings = {
        "vocab_size": V, "d_model": 12, "d_kv": 5, "d_ff": 17, "num_heads": 4, "num_layers": 2,
        "relative_attention_num_buckets": 8, "relative_attention_max_distance": 11, "pad_token_id": PAD,
        "eos_token_id": EOS, "decoder_start_token_id": PAD,
    }  # fmt: skip
    theirs = T5ForConditionalGeneration(TheirConfig(**settings | VARIANTS[name])).eval()
    if "tie_word_embeddings" in VARIANTS[name] and not VARIANTS[name]["tie_word_embeddings"]:
        theirs.lm_head.weight = torch.nn.Parameter(torch.randn(V, theirs.config.d_model))
    with torch.no_grad():
        for parameter_name, parameter in theirs.named_parameters():
            mean = 1.0 if "layer_norm" in parameter_name else 0.0
            parameter.normal_(mean, 1.0 if "bias" in parameter_name else std)
    return theirs


def random_batch(length: int = 19, target: int = 31) -> Batch:
    """Longer than the furthest distance that has a bucket of its own; padding on both sides."""
    lengths = torch.tensor([length, 5, 3])
    source = torch.randint(2, V, (3, length))
    for row, size in enumerate(lengths.tolist()):
        source[row, size - 1] = EOS
        source[row, size:] = PAD
    target_in = torch.cat([torch.full((3, 1), PAD), torch.randint(2, V, (3, target - 1))], dim=1)
    target_in[1, 7:] = PAD
    return Batch(source, lengths, target_in)


def their_pass(theirs: T5ForConditionalGeneration, batch: Batch, **options):
    mask = (torch.arange(batch.source.size(1)) < batch.source_lengths[:, None]).long()
    return theirs(batch.source, attention_mask=mask, decoder_input_ids=batch.target_in, use_cache=False, **options)


@pytest.mark.parametrize("name", VARIANTS)
@torch.no_grad()
def test_logits_and_hidden_states_equal_theirs(name: str, tmp_path: Path) -> None:
    theirs, batch = make_theirs(name, std=0.25), random_batch()
    ours = read(theirs, tmp_path).model
    expected = their_pass(theirs, batch, output_hidden_states=True)
    with listen(ours, lambda tap: tap.endswith(("inputs.sum", "feed_forward_residual.after", "memory"))) as heard:
        logits = ours(batch)
    close(logits, expected.logits)
    real = torch.arange(batch.source.size(1)) < batch.source_lengths[:, None]
    close(heard["memory"][0][real], expected.encoder_last_hidden_state[real])
    for side, states in (("encoder", expected.encoder_hidden_states), ("decoder", expected.decoder_hidden_states)):
        blocks = [f"{side}.blocks.{i}.feed_forward_residual.after" for i in range(len(states) - 2)]
        for tap, state in zip([f"{side}.inputs.sum", *blocks], states[:-1], strict=True):  # the last is after a norm
            got = heard[tap][0]
            close(got[real] if side == "encoder" else got, state[real] if side == "encoder" else state)


@pytest.mark.parametrize("name", VARIANTS)
def test_gradients_equal_theirs(name: str, tmp_path: Path) -> None:
    """Also of the tables of distances, whose gradient comes through the mask of every block."""
    theirs, batch, weights = make_theirs(name, std=0.25), random_batch(), torch.randn(3, 31, V)
    ours = read(theirs, tmp_path).model
    (their_pass(theirs, batch).logits.tanh() * weights).sum().backward()
    (ours(batch).tanh() * weights).sum().backward()
    close_gradients(ours, theirs)


@pytest.mark.parametrize("name", VARIANTS)
@torch.no_grad()
def test_an_export_has_their_logits(name: str, tmp_path: Path) -> None:
    theirs, batch = make_theirs(name), random_batch()
    ours = read(theirs, tmp_path / "theirs")
    (tmp_path / "ours").mkdir()
    write_folder(ours, tmp_path / "ours")
    again = T5ForConditionalGeneration.from_pretrained(tmp_path / "ours").eval()
    assert (again.lm_head.weight is again.shared.weight) == ours.model.config.tied
    close(their_pass(again, batch).logits, their_pass(theirs, batch).logits)
    for key, value in theirs.state_dict().items():
        assert torch.equal(again.state_dict()[key], value), key


def their_sentences(theirs: T5ForConditionalGeneration, batch: Batch, **options: Any) -> list[list[int]]:
    mask = (batch.source != PAD).long()
    # Without their cache: it has too few layers where the decoder has more than the encoder.
    how = {"max_new_tokens": LONGEST, "use_cache": False, "do_sample": False, **options}
    return [upto_end(row[1:]) for row in theirs.generate(batch.source, attention_mask=mask, **how).tolist()]


def our_sentences(ours: T5, batch: Batch, *, beam: int = 1) -> list[list[int]]:
    device, limits = torch.device("cpu"), np.full(len(batch.source), LONGEST)
    chooser = Best(1) if beam == 1 else BestRefilled(beam, EOS)
    task = Search(ours, batch, limits, bos=PAD, eos=EOS, device=device, chooser=chooser, cut_last=beam == 1)
    return [list(options[0].ids) for options in search(task)]


@pytest.mark.parametrize("name", VARIANTS)
def test_greedy_sentences_equal_theirs(name: str, tmp_path: Path) -> None:
    torch.manual_seed(16)  # models that say different things about different sentences
    theirs, batch = make_theirs(name), random_batch()
    expected = their_sentences(theirs, batch)
    assert len({token for row in expected for token in row}) >= 5, "more than one token over and over"
    assert len({tuple(row) for row in expected}) == 3, "the sentences must differ"
    assert our_sentences(read(theirs, tmp_path).model, batch) == expected


@pytest.mark.parametrize("name", VARIANTS)
def test_beams_equal_theirs(name: str, tmp_path: Path) -> None:
    torch.manual_seed(16)
    theirs, batch = make_theirs(name), random_batch()
    expected = their_sentences(theirs, batch, num_beams=3, early_stopping="never", length_penalty=1.0)
    assert our_sentences(read(theirs, tmp_path).model, batch, beam=3) == expected
    assert their_sentences(theirs, batch) != expected, "the beam must matter"


# What files may say, and what is refused.


def test_old_files_tell_by_the_tie_whether_the_output_is_scaled(tmp_path: Path) -> None:
    for name, tied in (("1.0", True), ("1.1", False)):
        folder = tmp_path / name
        theirs = make_theirs(name)
        theirs.save_pretrained(folder)
        config = json.loads((folder / "config.json").read_text())
        assert config.pop("scale_decoder_outputs") == tied
        (folder / "config.json").write_text(json.dumps({**config, "tie_word_embeddings": tied}))
        ours = read_folder(folder).model
        assert (ours.config.tied, ours.config.scaled_output) == (tied, tied)
        batch = random_batch()
        close(ours(batch), their_pass(theirs, batch).logits)


def test_mt5_is_read_and_never_scaled(tmp_path: Path) -> None:
    torch.manual_seed(1)
    shape = {"vocab_size": V, "d_model": 12, "d_kv": 5, "d_ff": 17, "num_heads": 4, "num_layers": 2}
    theirs, batch = randomised(MT5ForConditionalGeneration(MT5Config(**shape))), random_batch()
    ours = read(theirs, tmp_path)
    assert ours.extras["model_type"] == "mt5"
    close(ours.model(batch), their_pass(theirs, batch).logits)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("feed_forward_proj", "gated-tanh", "feed_forward_proj = 'gated-tanh' is not supported"),
        ("is_encoder_decoder", False, "is_encoder_decoder = False"),
        ("d_kv", None, "d_kv = None"),
        ("num_layers", 3, "encoder.block.2.*is missing"),
    ],
)
def test_what_cannot_be_read_is_named(field: str, value: Any, message: str, tmp_path: Path) -> None:
    make_theirs("1.0").save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**config, field: value}))
    with pytest.raises(ImportingError, match=message):
        read_folder(tmp_path)


def test_a_gate_that_transformers_has_not_is_not_exported(tmp_path: Path) -> None:
    model = T5(T5Config(vocabulary=V, gated=True, activation="gelu"))
    with pytest.raises(ExportError, match="gelu_tanh"):
        write_folder(Bundle("t5", model), tmp_path)


# Plain formulas, one sentence, one head and one pair of places at a time.


def bucket(distance: int, buckets: int, furthest: int, *, both_ways: bool) -> int:
    beyond = 0
    if both_ways:
        buckets //= 2
        beyond = buckets if distance > 0 else 0
    distance = abs(distance) if both_ways else max(-distance, 0)
    exact = buckets // 2
    if distance < exact:
        return beyond + distance
    steps = math.log(distance / exact) / math.log(furthest / exact) * (buckets - exact)
    return beyond + min(exact + int(steps + 1e-9), buckets - 1)


def norm(x: Tensor, gain: Tensor, eps: float) -> Tensor:
    return x / (x.pow(2).mean(-1, keepdim=True) + eps).sqrt() * gain


def attention_by_hand(
    q: Tensor, k: Tensor, v: Tensor, *, width: int, table: Tensor | None, config: T5Config, causal: bool
) -> Tensor:
    """q (T, H*E), k and v (K, H*E) -> (T, H*E), by loops."""
    out = torch.zeros_like(q)
    for head in range(config.h):
        part = slice(head * width, (head + 1) * width)
        for t in range(len(q)):
            scores = k[:, part] @ q[t, part]
            if table is not None:
                places = [
                    bucket(j - t, config.buckets, config.max_distance, both_ways=not causal) for j in range(len(k))
                ]
                scores = scores + table[places, head]
            visible = t + 1 if causal else len(k)
            out[t, part] = scores[:visible].softmax(0) @ v[:visible, part]
    return out


def logits_by_hand(model: T5, source: Tensor, target: Tensor) -> Tensor:
    """One sentence (S,) and its target (T,) -> (T, V)."""
    config, weights = model.config, model.state_dict()
    memory = stack_by_hand(config, weights, "encoder", source, None)
    hidden = stack_by_hand(config, weights, "decoder", target, memory)
    hidden = hidden / math.sqrt(config.d) if config.scaled_output else hidden
    return hidden @ weights["head.weight"].T


def stack_by_hand(config: T5Config, weights: dict, side: str, ids: Tensor, memory: Tensor | None) -> Tensor:
    x, inner, blocks = weights[f"{side}.inputs.embedding.weight"][ids], config.h * config.d_kv, config.N
    blocks = blocks if side == "encoder" else config.N_decoder or blocks
    table, eps = weights[f"{side}.positions.weight"], config.norm_eps
    for i in range(blocks):
        own = {key.removeprefix(f"{side}.blocks.{i}."): value for key, value in weights.items()}
        y = norm(x, own["self_attention_residual.norm.gain"], eps)
        q, k, v = (y @ part.T for part in own["self_attention.qkv.weight"].split(inner))
        options = {"width": config.d_kv, "config": config}
        z = attention_by_hand(q, k, v, table=table, causal=side == "decoder", **options)
        x = x + z @ own["self_attention.out.linear.weight"].T
        if memory is not None:
            q = norm(x, own["cross_attention_residual.norm.gain"], eps) @ own["cross_attention.query.weight"].T
            k, v = (memory @ part.T for part in own["cross_attention.key_value.weight"].split(inner))
            z = attention_by_hand(q, k, v, table=None, causal=False, **options)
            x = x + z @ own["cross_attention.out.linear.weight"].T
        y = norm(x, own["feed_forward_residual.norm.gain"], eps)
        x = x + feed_forward_by_hand(config, own, y)
    return norm(x, weights[f"{side}.final_norm.gain"], eps)


def feed_forward_by_hand(config: T5Config, own: dict[str, Tensor], y: Tensor) -> Tensor:
    up = y @ own["feed_forward.up.weight"].T
    if config.gated:
        gate = y @ own["feed_forward.gate.weight"].T
        up = 0.5 * gate * (1 + torch.tanh(math.sqrt(2 / math.pi) * (gate + 0.044715 * gate**3))) * up
    else:
        up = up.clamp(min=0)
    return up @ own["feed_forward.down.weight"].T


SHAPES = [
    {"N": 2, "N_decoder": 1, "h": 3, "d": 7, "d_kv": 5, "d_ff": 11, "buckets": 8, "max_distance": 11},
    {"N": 1, "N_decoder": 2, "h": 2, "d": 10, "d_kv": 3, "d_ff": 13, "activation": "gelu_tanh", "gated": True,
     "tied": False, "scaled_output": False},
]  # fmt: skip


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("shape", SHAPES)
@torch.no_grad()
def test_logits_equal_the_plain_formulas_in_float64(shape: dict) -> None:
    model = T5(T5Config(vocabulary=V, **shape)).eval()
    for parameter in model.parameters():
        parameter.normal_(std=0.5)
    batch = random_batch(length=13, target=17)
    got = model(batch)
    for row, length in enumerate(batch.source_lengths.tolist()):
        expected = logits_by_hand(model, batch.source[row, :length], batch.target_in[row])
        torch.testing.assert_close(got[row], expected, rtol=0, atol=1e-9)
