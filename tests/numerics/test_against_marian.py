"""The same logits and greedy sentences as `transformers`' MarianMTModel and Pegasus, tiny and random, both ways.

Their models are saved to a folder and read from it; ours are written to one, and they read that.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import MarianConfig, MarianMTModel, PegasusConfig, PegasusForConditionalGeneration, PreTrainedModel

from glassformer.errors import ExportError, ImportingError
from glassformer.hub.huggingface.checkpoint import open_checkpoint
from glassformer.hub.huggingface.folders import read_folder, write_folder
from glassformer.models.transformer import Transformer, TransformerConfig
from glassformer.store.bundle import Bundle, SpecialIds

PAD, EOS = 22, 0
MARKS = SpecialIds(eos=EOS, pad=PAD, start=PAD)


@dataclass
class Batch:
    source: Tensor
    source_lengths: Tensor
    target_in: Tensor


def make_marian(
    *, activation: str = "swish", blocks: tuple[int, int] = (2, 3), width: int = 20, kind: str = "marian", **more: Any
) -> PreTrainedModel:
    config_class, model_class = {
        "marian": (MarianConfig, MarianMTModel),
        "pegasus": (PegasusConfig, PegasusForConditionalGeneration),
    }[kind]
    config = config_class(
        **{"vocab_size": 23, "d_model": width, "encoder_layers": blocks[0], "decoder_layers": blocks[1]},
        **{f"{side}_attention_heads": 2 for side in ("encoder", "decoder")},
        **{f"{side}_ffn_dim": 13 for side in ("encoder", "decoder")},
        **{"activation_function": activation, "scale_embedding": True, "max_position_embeddings": 64, "init_std": 0.5},
        **{"pad_token_id": PAD, "eos_token_id": EOS, "decoder_start_token_id": PAD, "forced_eos_token_id": None},
        **more,
    )
    theirs = model_class(config).eval()
    with torch.no_grad():
        theirs.final_logits_bias.normal_(std=0.1)
        for name, parameter in theirs.named_parameters():
            if "embed_positions" in name:
                continue  # the table of sines and cosines
            parameter.copy_(mean_of(name) + spread_of(name) * torch.randn_like(parameter))
    return theirs


def mean_of(name: str) -> float:
    return 1.0 if name.endswith("layer_norm.weight") else 0.0


def spread_of(name: str) -> float:
    """Chosen so that greedy sentences differ from each other and do not repeat one token over and over."""
    if name.endswith("bias"):
        return 0.1
    if "q_proj" in name:
        return 1.0
    return 0.3 if "out_proj" in name or "fc2" in name or "norm" in name else 0.4


def convert(theirs: PreTrainedModel, folder: Path) -> Transformer:
    theirs.save_pretrained(folder)
    ours = read_folder(folder).model
    assert isinstance(ours, Transformer)
    return ours


def random_batch(*, target: int = 22) -> Batch:
    lengths = torch.tensor([7, 5, 3])
    source = torch.randint(1, 22, (3, 7))
    for row, length in enumerate(lengths.tolist()):
        source[row, length - 1] = EOS
        source[row, length:] = PAD
    target_in = torch.cat([torch.full((3, 1), PAD), torch.randint(1, target, (3, 10))], dim=1)
    return Batch(source, lengths, target_in)


def their_logits(theirs: PreTrainedModel, batch: Batch) -> Tensor:
    seen = (torch.arange(batch.source.size(1)) < batch.source_lengths[:, None]).long()
    return theirs(batch.source, attention_mask=seen, decoder_input_ids=batch.target_in).logits


VARIANTS = [
    {},
    {"activation": "relu", "blocks": (1, 1)},
    {"activation": "gelu", "blocks": (3, 1), "width": 14},
    {"kind": "pegasus"},
    {"kind": "pegasus", "activation": "relu", "blocks": (1, 2), "width": 14},
]
APART = {"share_encoder_decoder_embeddings": False, "decoder_vocab_size": 29}


@pytest.mark.parametrize("variant", [*VARIANTS, APART, {**APART, "tie_word_embeddings": False}])
@torch.no_grad()
def test_logits_are_equal(variant: dict, tmp_path: Path) -> None:
    """In float64: in float32, rounding alone differs by more than 1e-5 on some processors."""
    theirs, batch = make_marian(**variant), random_batch(target=22 + 6 * ("decoder_vocab_size" in variant))
    ours = convert(theirs, tmp_path).double()
    torch.testing.assert_close(ours(batch), their_logits(theirs.double(), batch), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("variant", VARIANTS)
@torch.no_grad()
def test_in_double_precision_nothing_is_left_of_the_difference(variant: dict, tmp_path: Path) -> None:
    theirs, ours = in_double(make_marian(**variant), tmp_path)
    batch = random_batch()
    torch.testing.assert_close(ours(batch), their_logits(theirs, batch), rtol=0, atol=1e-9)


def in_double(theirs: PreTrainedModel, folder: Path) -> tuple[PreTrainedModel, Transformer]:
    """Both, with tables of positions that were not rounded to float32 before."""
    ours = convert(theirs, folder).double()
    with torch.no_grad():
        for side in (theirs.double().model.encoder, theirs.model.decoder):
            side.embed_positions.weight.copy_(ours.encoder.inputs.positions.make(64))
    for inputs in (ours.encoder.inputs, ours.decoder.inputs):
        inputs.positions.table = inputs.positions.make(64)
    return theirs, ours


def test_gradients_are_equal(tmp_path: Path) -> None:
    theirs, ours = in_double(make_marian(), tmp_path)
    batch, weights = random_batch(), torch.randn(3, 11, 23, dtype=torch.float64)
    (their_logits(theirs, batch) * weights).sum().backward()
    (ours(batch) * weights).sum().backward()
    pairs = [
        (ours.decoder.blocks[1].cross_attention.key_value.weight, theirs.model.decoder.layers[1].encoder_attn.k_proj),
        (ours.encoder.blocks[0].feed_forward.up.weight, theirs.model.encoder.layers[0].fc1),
        (ours.encoder.inputs.embedding.weight, theirs.model.shared),
    ]
    for found, expected in pairs:
        rows = min(len(expected.weight), PAD)  # the gradient of the pad's vector is always 0 there
        torch.testing.assert_close(found.grad[:rows], expected.weight.grad[:rows], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("variant", VARIANTS[:3])
@torch.no_grad()
def test_greedy_sentences_equal_marians_generate(variant: dict, tmp_path: Path) -> None:
    torch.manual_seed(3)  # a model whose sentences differ from each other
    theirs = make_marian(**variant)
    batch = random_batch()
    steps = 11
    attention_mask = (batch.source != PAD).long()
    expected = theirs.generate(
        batch.source, attention_mask=attention_mask, num_beams=1, do_sample=False, max_new_tokens=steps
    )
    ours = convert(theirs, tmp_path)
    state, ids, sentence = ours.start(batch), torch.full((3,), PAD), [torch.full((3,), PAD)]
    for _ in range(expected.size(1) - 1):
        logits, state, _ = ours.step(ids, state)
        ended = torch.stack([(s == EOS) for s in sentence]).any(0)
        ids = torch.where(ended, PAD, logits.argmax(-1))
        sentence.append(ids)
    assert len(set(expected.flatten().tolist())) >= 4, "more than one token over and over"
    assert len({tuple(row) for row in expected.tolist()}) == 3, "the sentences must differ"
    assert torch.equal(torch.stack(sentence, dim=1), expected)


# And back


OURS: list[dict[str, Any]] = [
    {"norm": "post", "positions": "sinusoidal-halves"},
    {"norm": "post", "positions": "sinusoidal", "output_bias": True, "activation": "gelu_tanh"},
    {"norm": "post", "positions": "sinusoidal", "tied": "output", "N_decoder": 3},
    {"norm": "post", "positions": "sinusoidal", "tied": "none"},
    {"norm": "pre", "positions": "sinusoidal"},
    {"norm": "pre", "positions": "sinusoidal-halves", "output_bias": True, "activation": "silu", "d": 14},
]


def make_ours(**config: Any) -> Transformer:
    shape = {"N": 2, "d": 20, "h": 2, "d_ff": 13, **config}
    target = 23 if shape.get("tied", "all") == "all" else 17
    ours = Transformer(TransformerConfig(**shape), source_vocabulary=23, target_vocabulary=target).eval()
    for parameter in ours.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return ours


@pytest.mark.parametrize("config", OURS)
@torch.no_grad()
def test_what_we_write_they_read(config: dict, tmp_path: Path) -> None:
    ours, batch = make_ours(**config), random_batch(target=16)
    batch.target_in[:, 0] = 3
    layout = write_folder(Bundle("transformer", ours, marks=SpecialIds(eos=EOS, pad=1, start=3)), tmp_path)
    model_class = MarianMTModel if config["norm"] == "post" else PegasusForConditionalGeneration
    theirs, loading = model_class.from_pretrained(tmp_path, output_loading_info=True)
    missing = {name for name in loading["missing_keys"] if not name.endswith("embed_positions.weight")}
    assert missing <= {"final_logits_bias"}
    assert not loading["unexpected_keys"]
    assert not loading["mismatched_keys"]
    assert layout.model_types == ("marian" if config["norm"] == "post" else "pegasus",)
    torch.testing.assert_close(ours(batch), their_logits(theirs.eval(), batch), rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(read_folder(tmp_path).model(batch), ours(batch), rtol=1e-5, atol=1e-5)


def test_tied_matrices_are_written_once_and_stay_tied(tmp_path: Path) -> None:
    write_folder(Bundle("transformer", make_ours(norm="post"), marks=MARKS), tmp_path)
    names = set(open_checkpoint(tmp_path))
    assert "model.shared.weight" in names
    assert not names & {"lm_head.weight", "model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight"}
    again = read_folder(tmp_path).model
    assert again.head.weight is again.encoder.inputs.embedding.weight


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        ({"positions": "rotary"}, "positions = 'rotary'"),
        ({"positions": "learned", "norm": "post"}, "positions = 'learned'"),
        ({"tied": "output", "norm": "pre"}, "only with one matrix"),
    ],
)
def test_what_they_cannot_express_is_told(config: dict, reason: str, tmp_path: Path) -> None:
    with pytest.raises(ExportError, match=reason):
        write_folder(Bundle("transformer", make_ours(**config), marks=MARKS), tmp_path)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("scale_embedding", False), ("decoder_ffn_dim", 11), ("decoder_attention_heads", 4), ("normalize_before", True),
        ("normalize_embedding", True), ("activation_function", "tanh"), ("d_model", "20"), ("encoder_layers", None),
        ("static_position_embeddings", False), ("tie_word_embeddings", False),
    ],
)  # fmt: skip
def test_a_field_that_cannot_be_honoured_is_named(field: str, value: Any, tmp_path: Path) -> None:
    write_folder(Bundle("transformer", make_ours(norm="post"), marks=MARKS), tmp_path)
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), field: value}))
    with pytest.raises(ImportingError, match=rf"config.json: {field} = "):
        read_folder(tmp_path)
