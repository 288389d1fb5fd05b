"""A toy model of every kind with one input, for tests of programs and for those of the page's engine.

Every size is another prime where a model allows it, so that a swapped axis cannot pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch import nn

from glassformer.models.registry import build

IDS = torch.tensor([[5, 10, 7, 3, 2]])
SEGMENTS = torch.tensor([[0, 0, 0, 1, 1]])
TARGET = torch.tensor([[1, 9, 4]])
LENGTHS = torch.tensor([5])
PAIR = SimpleNamespace(source=IDS, source_lengths=LENGTHS, target_in=TARGET)
TEXT = SimpleNamespace(ids=IDS, lengths=LENGTHS, segments=None)
PARTS = SimpleNamespace(ids=IDS, lengths=LENGTHS, segments=SEGMENTS, casing=torch.tensor([[0, 2, 1, 3, 0]]))
PIXELS = torch.linspace(-1, 1, 2 * 7 * 6).sin().float().view(1, 2, 7, 6)


class Image:
    """A small image in the precision of the test, and a caption."""

    target_in = TARGET

    @property
    def images(self) -> torch.Tensor:
        return PIXELS.to(torch.get_default_dtype())


IMAGE = Image()


@dataclass(frozen=True)
class Toy:
    """Settings of a model, and what it reads."""

    kind: str
    settings: dict[str, Any]
    batch: Any

    @property
    def short_batch(self) -> Any:
        """One token of everything."""
        if isinstance(self.batch, Image):
            return SimpleNamespace(images=self.batch.images, target_in=TARGET[:, :1])
        cut = {
            name: value if value is None else value[:, :1]
            for name, value in vars(self.batch).items()
            if "lengths" not in name
        }
        return SimpleNamespace(**cut, lengths=torch.tensor([1]), source_lengths=torch.tensor([1]))

    def model(self) -> nn.Module:
        return filled(build(self.kind, self.settings))


def filled(model: nn.Module) -> nn.Module:
    """The same weights on every machine, exact in float32."""
    random = np.random.RandomState(7)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            values = np.float32(0.4 * random.standard_normal(tuple(weight.shape)) + name.endswith("gain"))
            weight.copy_(torch.from_numpy(np.asarray(values)))
    return model.eval()


SHAPE: dict[str, Any] = {"N": 1, "d": 6, "h": 2, "d_ff": 5, "dropout": 0.1}
TRANSLATOR = {**SHAPE, "source_vocabulary": 11, "target_vocabulary": 11}


def translator(**changed: Any) -> Toy:
    return Toy("transformer", {**TRANSLATOR, **changed}, PAIR)


def encoder(kind: str, **changed: Any) -> Toy:
    shape = {**SHAPE, "d": 12 if kind == "roformer" else 6, "size": "tiny", "vocabulary": 11, "max_length": 7}
    return Toy(kind, {**shape, **changed}, PARTS if changed.get("casing") or changed.get("segments", 2) == 3 else TEXT)


def decoder(kind: str, **changed: Any) -> Toy:
    return Toy(kind, {**SHAPE, "vocabulary": 11, "max_length": 7, **changed}, TEXT)


def t5(**changed: Any) -> Toy:
    return Toy("t5", {**SHAPE, "vocabulary": 11, "d_kv": 5, "buckets": 6, "max_distance": 4, **changed}, PAIR)


EYE: dict[str, Any] = {**SHAPE, "image": (7, 6), "patch": (3, 2), "channels": 2}


def vit(**changed: Any) -> Toy:
    return Toy("vit", {**EYE, **changed}, IMAGE)


def captioner(**changed: Any) -> Toy:
    return Toy("captioner", {**SHAPE, "vocabulary": 11, "max_length": 7, "encoder": {**EYE, **changed}}, IMAGE)


BOTH = {"source_vocabulary": 11, "target_vocabulary": 11}


def rnn(kind: str, **changed: Any) -> Toy:
    batch = PAIR if "source_vocabulary" in changed else PARTS if changed.get("casing") else TEXT
    shape = {"dropout": 0.1} if kind == "rnn_attention" else {"N": 1, "dropout": 0.1}
    return Toy(kind, {**shape, **changed}, batch)


TOYS: dict[str, Toy] = {
    "transformer": translator(),
    "transformer-post": translator(norm="post", tied="none", output_bias=True, positions="learned", max_length=7),
    "transformer-rotary": translator(positions="rotary", N=1, N_decoder=2, d=10, tied="output", source_vocabulary=13),
    "transformer-halves": translator(positions="sinusoidal-halves", d=15, h=3, activation="gelu"),
    "transformer-bart": translator(
        norm="post", positions="learned", embedding_norm=True, scaled_embedding=False, output_bias=True,
        activation="gelu_tanh", max_length=7,
    ),
    "bert": encoder("bert", head="words"),
    "bert-own-words": encoder("bert", head="pretraining", tied=False, head_activation="relu", N=2),
    "bert-class": encoder("bert", head="sentence", classes=3, segments=3, word_odds=16),
    "bert-mean": encoder("bert", head="sentence", classes=3, pooling="mean", pooler=False, segments=3, word_odds=16),
    "bert-tags": encoder("bert", head="tokens", classes=3, casing=True),
    "bert-hidden": encoder("bert"),
    "roberta": encoder("bert", head="span", segments=1, first_position=2, norm_eps=1e-5),
    "distilbert": encoder("bert", head="sentence", segments=0, pooler_activation="relu"),
    "roformer": encoder("roformer", head="words", d_token=8),
    "roformer-class": encoder("roformer", head="sentence", classes=3, N=2),
    "roformer-tags": encoder("roformer", head="tokens", classes=3, casing=True, tied=False),
    "roformer-span": encoder("roformer", head="span", segments=1),
    "roformer-hidden": encoder("roformer", segments=3),
    "gpt": decoder("gpt"),
    "gpt-class": decoder("gpt", head="sentence", classes=3, N=2, tied=False),
    "llama": decoder("llama", d=12, h=4, kv_heads=2, window=3, tied=True),
    "llama-biases": decoder("llama", biases="attention", feed_forward_bias=True, N=2, head_width=5, kv_heads=1),
    "llama-qkv": decoder(
        "llama", biases="qkv", activation="gelu", head="sentence", rope_scaling={"kind": "linear", "factor": 3.0}
    ),
    "llama-experts": decoder("llama", experts=5, experts_per_token=2, rope_theta=500.0, d=8),
    "llama-stretched": decoder(
        "llama", d=16, rope_scaling={"kind": "llama3", "factor": 8.0, "slow": 0.5, "fast": 2.0, "length": 20}
    ),
    "t5": t5(),
    "t5-gated": t5(gated=True, activation="gelu_tanh", tied=False, scaled_output=False, N=2, N_decoder=1, h=3),
    "vit": vit(classes=3),
    "vit-pooler": vit(pooler=True, qkv_bias=False, N=2),
    "vit-hidden": vit(),
    "captioner": captioner(),
    "lstm": rnn("lstm", d=5, **BOTH),
    "lstm-forwards": rnn("lstm", d=5, N=2, reverse_source=False, tied="none", **BOTH),
    "lstm-lm": rnn("lstm_lm", d=5, N=2, vocabulary=11),
    "lstm-lm-class": rnn("lstm_lm", d=5, head="sentence", classes=3, tied=False, vocabulary=11),
    "bilstm-tags": rnn("bilstm", d=6, N=2, head="tokens", classes=3, casing=True, vocabulary=11),
    "bilstm-ends": rnn("bilstm", d=6, head="sentence", classes=3, vocabulary=11),
    "bilstm-attention": rnn("bilstm", d=6, head="sentence", classes=3, pooling="attention", vocabulary=11),
    "bilstm-hidden": rnn("bilstm", d=6, vocabulary=11),
    "rnn-attention": rnn("rnn_attention", d=5, n=3, l=5, **BOTH),
    "rnn-attention-own": rnn("rnn_attention", d=5, n=4, l=7, tied="none", **BOTH),
    "captioner-bridge": captioner(d=8, N=2),
}  # fmt: skip
