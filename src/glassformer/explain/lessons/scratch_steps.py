"""The program of the lesson from-scratch: each function is one step, and the lesson shows its source as it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.optim import Adam

from glassformer.data.batches import Batch, SourceBatch, padded
from glassformer.decode.choosers import Best
from glassformer.decode.search import Search, search
from glassformer.models.transformer import Transformer, TransformerConfig
from glassformer.nn.taps import listen
from glassformer.text import Tokenizer, train_tokenizer

Progress = Callable[[int, int], None]
Ids = list[tuple[list[int], list[int]]]


def make_tokenizer(pairs: Mapping[str, str]) -> Tokenizer:
    texts = [*pairs, *pairs.values()]
    return train_tokenizer("word", texts, vocab_size=1000, min_frequency=1)


def make_ids(pairs: Mapping[str, str], tokenizer: Tokenizer) -> Ids:
    encode = tokenizer.encode
    return [(encode(source), encode(target)) for source, target in pairs.items()]


def marks(tokenizer: Tokenizer) -> tuple[int, int, int]:
    """The ids of padding, start and end."""
    pad, sos, eos = (tokenizer.id(name) or 0 for name in ("<pad>", "<s>", "</s>"))
    return pad, sos, eos


def make_batch(ids: Ids, tokenizer: Tokenizer) -> Batch:
    pad, sos, eos = marks(tokenizer)
    source = [[*s, eos] for s, _ in ids]
    target = [[sos, *t, eos] for _, t in ids]
    return Batch(
        source=padded(source, pad),
        source_lengths=torch.tensor(list(map(len, source))),
        target_in=padded([t[:-1] for t in target], pad),  # shifted right
        target_out=padded([t[1:] for t in target], pad),
        target_lengths=torch.tensor([len(t) - 1 for t in target]),
        index=np.arange(len(ids)),
    )


def make_model(tokenizer: Tokenizer, seed: int) -> Transformer:
    torch.manual_seed(seed)
    shape = {"N": 1, "d": 32, "h": 2, "d_ff": 64, "dropout": 0.0}
    config = TransformerConfig(size="nano", **shape)
    size = len(tokenizer)
    return Transformer(config, source_vocabulary=size, target_vocabulary=size)


def values_inside(model: Transformer, batch: Batch) -> dict[str, Tensor]:
    with torch.no_grad(), listen(model) as heard:
        model(batch)
    return {name: values[0] for name, values in heard.items()}


def loss_of(model: Transformer, batch: Batch) -> Tensor:
    logits = model(batch)  # (B, T, V)
    real = batch.target_mask  # padding has no loss
    return F.cross_entropy(logits[real], batch.target_out[real])


def update(model: Transformer, batch: Batch, adam: Adam) -> float:
    loss = loss_of(model, batch)
    adam.zero_grad()
    loss.backward()  # the gradient of every weight
    adam.step()  # every weight moves against it
    return float(loss.detach())


def train(
    model: Transformer,
    batch: Batch,
    updates: int,
    after: Progress,
) -> list[float]:
    adam = Adam(model.parameters(), lr=0.005)
    losses = []
    for number in range(updates):
        losses.append(update(model, batch, adam))
        after(number + 1, updates)
    return losses


def translate(model: Transformer, tokenizer: Tokenizer, text: str) -> str:
    _, sos, eos = marks(tokenizer)
    ids = [*tokenizer.encode(text), eos]
    job = Search(
        model=model.eval(),
        batch=SourceBatch(torch.tensor([ids]), torch.tensor([len(ids)])),
        limits=np.array([20]),
        bos=sos,
        eos=eos,
        device=torch.device("cpu"),
        chooser=Best(1),  # greedy
    )
    return tokenizer.decode(search(job)[0][0].ids)
