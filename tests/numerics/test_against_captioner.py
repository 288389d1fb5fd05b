"""The same logits, hidden states, gradients and captions as `transformers`' VisionEncoderDecoder of ViT and GPT-2."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from decoder_peers import close, randomised, read, their_weights, upto_end
from test_against_vit import linear, norm
from torch import Tensor
from transformers import GPT2Config, VisionEncoderDecoderConfig, VisionEncoderDecoderModel, ViTConfig

from glassformer.decode import Best, BestRefilled, Search, search
from glassformer.errors import ImportingError
from glassformer.hub.huggingface.folders import read_folder, write_folder
from glassformer.models.captioner import Captioner, CaptionerConfig
from glassformer.nn.taps import listen

V, EOS, START = 29, 1, 2
LONGEST = 13


@dataclass
class Batch:
    images: Tensor
    target_in: Tensor


VARIANTS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "two widths": ({"hidden_size": 15, "num_attention_heads": 3}, {"n_embd": 14, "n_head": 7}),
    "one width": ({"hidden_size": 14, "num_attention_heads": 1}, {"n_embd": 14, "n_head": 2}),
    "untied, relu": (
        {"hidden_size": 8, "num_attention_heads": 2, "qkv_bias": False, "image_size": [10, 12], "num_channels": 1},
        {"n_embd": 15, "n_head": 3, "tie_word_embeddings": False, "activation_function": "relu", "n_inner": 13},
    ),
}


def make(name: str, *, std: float = 0.3) -> VisionEncoderDecoderModel:
    encoder, decoder = VARIANTS[name]
    shape = {"image_size": 12, "patch_size": 4, "num_hidden_layers": 2, "intermediate_size": 11}
    text = {"vocab_size": V, "n_positions": 16, "n_layer": 2, "is_decoder": True, "add_cross_attention": True}
    ids = {"eos_token_id": EOS, "bos_token_id": START, "pad_token_id": 0, "decoder_start_token_id": START}
    config = VisionEncoderDecoderConfig.from_encoder_decoder_configs(
        ViTConfig(**shape | encoder), GPT2Config(**text | decoder, **ids)
    )
    theirs = VisionEncoderDecoderModel(config)
    for key, value in ids.items():
        setattr(theirs.generation_config, key, value)
    return randomised(theirs, std=std)


def random_batch(theirs: VisionEncoderDecoderModel) -> Batch:
    size = theirs.config.encoder.image_size
    size = size if isinstance(size, list) else [size, size]
    target = torch.cat([torch.full((3, 1), START), torch.randint(3, V, (3, 10))], dim=1)
    return Batch(torch.randn(3, theirs.config.encoder.num_channels, *size), target)


@pytest.mark.parametrize("name", VARIANTS)
@torch.no_grad()
def test_logits_and_hidden_states_equal_theirs(name: str, tmp_path: Path) -> None:
    theirs = make(name)
    batch, ours = random_batch(theirs), read(theirs, tmp_path).model
    expected = theirs(batch.images, decoder_input_ids=batch.target_in, output_hidden_states=True)
    with listen(ours) as heard:
        close(ours(batch), expected.logits)
    states = {"encoder": expected.encoder_hidden_states, "decoder": expected.decoder_hidden_states[:-1]}  # not normed
    for side, found in states.items():
        taps = [
            f"{side}.inputs.sum",
            *(f"{side}.blocks.{i}.feed_forward_residual.after" for i in range(len(found) - 1)),
        ]
        for tap, state in zip(taps, found, strict=True):
            close(heard[tap][0], state)
    if ours.bridge is None:
        close(heard["memory"][0], expected.encoder_last_hidden_state)


@pytest.mark.parametrize("name", VARIANTS)
def test_gradients_equal_theirs(name: str, tmp_path: Path) -> None:
    """Of the decoder and the encoder, by the names in the file that they write."""
    theirs = make(name)
    batch, ours = random_batch(theirs), read(theirs, tmp_path).model
    weights = torch.randn(3, 11, V)
    (theirs(batch.images, decoder_input_ids=batch.target_in).logits.tanh() * weights).sum().backward()
    (ours(batch).tanh() * weights).sum().backward()
    found = their_weights(ours, "vision-encoder-decoder", gradients=True)
    compared = 0
    for key, parameter in theirs.named_parameters():
        if key in found and parameter.grad is not None:
            largest = parameter.grad.abs().max()
            scale = largest if largest > 1e-3 else 1.0  # biases of keys have no gradient but rounding
            close(found[key] / scale, parameter.grad / scale)
            compared += 1
    assert compared > 40
    assert torch.count_nonzero(ours.encoder.inputs.patches.weight.grad) > 0


@pytest.mark.parametrize("name", VARIANTS)
@torch.no_grad()
def test_an_export_has_their_logits(name: str, tmp_path: Path) -> None:
    theirs = make(name)
    batch, ours = random_batch(theirs), read(theirs, tmp_path / "theirs")
    (tmp_path / "ours").mkdir()
    write_folder(ours, tmp_path / "ours")
    again = VisionEncoderDecoderModel.from_pretrained(tmp_path / "ours").eval()
    expected = theirs(batch.images, decoder_input_ids=batch.target_in).logits
    assert torch.equal(again(batch.images, decoder_input_ids=batch.target_in).logits, expected)
    assert again.config.decoder_start_token_id == START
    assert torch.equal(again.encoder.pooler.dense.weight, theirs.encoder.pooler.dense.weight), "kept, though not used"


def our_captions(ours: Captioner, images: Tensor, *, beam: int = 1) -> list[list[int]]:
    limits, chooser = np.full(len(images), LONGEST), Best(1) if beam == 1 else BestRefilled(beam, EOS)
    batch, device = Batch(images, torch.empty(0)), images.device
    task = Search(ours, batch, limits, bos=START, eos=EOS, device=device, chooser=chooser, cut_last=beam == 1)
    return [list(options[0].ids) for options in search(task)]


def talkative(name: str) -> tuple[VisionEncoderDecoderModel, Batch, list[list[int]]]:
    """The first random model that says something else of each image, and not one token over and over."""
    for seed in range(14, 100):
        torch.manual_seed(seed)
        theirs = make(name, std=1.3)
        batch = random_batch(theirs)
        found = theirs.generate(batch.images, max_new_tokens=LONGEST, do_sample=False, num_beams=1).tolist()
        said = [upto_end(row[1:]) for row in found]
        if len({tuple(row) for row in said}) == 3 and all(len(set(row)) > 2 for row in said):
            return theirs, batch, said
    raise AssertionError("no model of these says anything")


@pytest.mark.parametrize("name", VARIANTS)
def test_greedy_captions_equal_theirs(name: str, tmp_path: Path) -> None:
    theirs, batch, expected = talkative(name)
    assert our_captions(read(theirs, tmp_path).model, batch.images) == expected


@pytest.mark.parametrize("name", VARIANTS)
def test_beams_equal_theirs(name: str, tmp_path: Path) -> None:
    how = {"num_beams": 3, "early_stopping": "never", "length_penalty": 1.0, "do_sample": False}
    mattered = 0
    for seed in range(3):
        torch.manual_seed(seed)
        theirs = make(name, std=0.5)
        batch, ours = random_batch(theirs), read(theirs, tmp_path / str(seed)).model
        expected = [upto_end(row[1:]) for row in theirs.generate(batch.images, max_new_tokens=LONGEST, **how).tolist()]
        assert our_captions(ours, batch.images, beam=3) == expected
        mattered += our_captions(ours, batch.images) != expected
    assert mattered, "the beam must find others than the greedy search"


@pytest.mark.parametrize(
    ("side", "field", "value", "message"),
    [
        ("encoder", "model_type", "swin", "encoder.model_type = 'swin' is not supported"),
        ("decoder", "model_type", "bert", "decoder.model_type = 'bert' is not supported"),
        ("decoder", "add_cross_attention", False, "add_cross_attention = False"),
        ("decoder", "n_embd", 28, "has shape"),
    ],
)
def test_what_cannot_be_read_is_named(side: str, field: str, value: Any, message: str, tmp_path: Path) -> None:
    make("two widths").save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    config[side][field] = value
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(ImportingError, match=message):
        read_folder(tmp_path)


# Plain formulas: the decoder; the encoder's are those of the ViT.


def logits_by_hand(model: Captioner, memory: Tensor, ids: Tensor) -> Tensor:
    """What is known of one image (S, D) and the text so far (T,) -> (T, V)."""
    config, w = model.config, model.state_dict()
    x = w["decoder.inputs.embedding.weight"][ids] + w["decoder.inputs.positions.weight"][: len(ids)]
    hidden = torch.ones(len(ids), len(ids)).triu(1).bool()

    def mixed(q: Tensor, k: Tensor, v: Tensor, out: str, *, hidden: Tensor | None) -> Tensor:
        z = []
        for part in np.array_split(np.arange(config.d), config.h):
            scores = q[:, part] @ k[:, part].T / len(part) ** 0.5
            scores = scores if hidden is None else scores.masked_fill(hidden, -torch.inf)
            z.append(scores.softmax(-1) @ v[:, part])
        return linear(torch.cat(z, dim=1), w, f"{out}.out.linear")

    for i in range(config.N):
        block, eps = f"decoder.blocks.{i}", config.norm_eps
        y = norm(x, w, f"{block}.self_attention_residual.norm", eps)
        q, k, v = linear(y, w, f"{block}.self_attention.qkv").split(config.d, dim=1)
        x = x + mixed(q, k, v, f"{block}.self_attention", hidden=hidden)
        q = linear(norm(x, w, f"{block}.cross_attention_residual.norm", eps), w, f"{block}.cross_attention.query")
        k, v = linear(memory, w, f"{block}.cross_attention.key_value").split(config.d, dim=1)
        x = x + mixed(q, k, v, f"{block}.cross_attention", hidden=None)
        up = linear(norm(x, w, f"{block}.feed_forward_residual.norm", eps), w, f"{block}.feed_forward.up")
        inner = 0.5 * up * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (up + 0.044715 * up**3)))
        x = x + linear(inner, w, f"{block}.feed_forward.down")
    return norm(x, w, "decoder.final_norm", config.norm_eps) @ w["head.weight"].T


@pytest.mark.usefixtures("double")
@torch.no_grad()
def test_logits_equal_the_plain_formulas_in_float64() -> None:
    encoder = {"N": 1, "d": 10, "h": 2, "d_ff": 7, "patch": 3, "image": 7, "channels": 2}
    config = CaptionerConfig(vocabulary=V, N=2, d=15, h=3, d_ff=11, max_length=13, encoder=encoder)
    model = Captioner(config).eval()
    for parameter in model.parameters():
        parameter.normal_(std=0.5)
    batch = Batch(torch.randn(3, 2, 7, 7), torch.randint(0, V, (3, 11)))
    with listen(model, lambda name: name == "memory") as heard:
        got = model(batch)
    bridged = model.bridge(model.encoder.hidden(batch))
    torch.testing.assert_close(heard["memory"][0], bridged, rtol=0, atol=1e-12)
    for row in range(3):
        expected = logits_by_hand(model, bridged[row], batch.target_in[row])
        torch.testing.assert_close(got[row], expected, rtol=0, atol=1e-9)
