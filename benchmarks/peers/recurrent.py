"""Peers of the recurrent translators, written as one writes them with torch.nn; they import nothing of ours.

`PlainLstm` is the LSTM encoder-decoder of 2014 on `torch.nn.LSTM`, with sources packed by length. `StepByStep` computes
as JoeyNMT's recurrent decoder does: for each target position one call of a one-layer GRU on the last token and the last
attention vector, then additive attention with keys that are projected once, then the attention vector.
Shapes: B sentences, S source tokens, T target tokens, D width.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


class PlainLstm(nn.Module):
    """Deep LSTM encoder and decoder with one embedding, which is also the output layer."""

    def __init__(self, vocabulary: int, *, layers: int, width: int, dropout: float) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.dropout = nn.Dropout(dropout)
        between = dropout if layers > 1 else 0.0
        self.encoder = nn.LSTM(width, width, layers, batch_first=True, dropout=between)
        self.decoder = nn.LSTM(width, width, layers, batch_first=True, dropout=between)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.embedding.weight
        nn.init.normal_(self.embedding.weight, std=width**-0.5)

    def forward(self, source: Tensor, lengths: Tensor, target: Tensor) -> Tensor:
        read = pack_padded_sequence(
            self.dropout(self.embedding(source)), lengths, batch_first=True, enforce_sorted=False
        )
        _, states = self.encoder(read)
        hidden, _ = self.decoder(self.dropout(self.embedding(target)), states)
        return self.head(self.dropout(hidden))


class UnpackedLstm(PlainLstm):
    """The same without packing: padding changes its states, but torch can use its fastest kernel."""

    def forward(self, source: Tensor, lengths: Tensor, target: Tensor) -> Tensor:  # noqa: ARG002
        _, states = self.encoder(self.dropout(self.embedding(source)))
        hidden, _ = self.decoder(self.dropout(self.embedding(target)), states)
        return self.head(self.dropout(hidden))


class StepByStep(nn.Module):
    """Bidirectional GRU encoder, and a decoder whose every position is a step of Python."""

    def __init__(self, vocabulary: int, *, width: int, dropout: float) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.dropout = nn.Dropout(dropout)
        self.encoder = nn.GRU(width, width, batch_first=True, bidirectional=True)
        self.bridge = nn.Linear(2 * width, width)
        self.cell = nn.GRU(2 * width, width, batch_first=True)
        self.key = nn.Linear(2 * width, width, bias=False)
        self.query = nn.Linear(width, width, bias=False)
        self.energy = nn.Linear(width, 1, bias=False)
        self.combine = nn.Linear(3 * width, width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.embedding.weight
        nn.init.normal_(self.embedding.weight, std=width**-0.5)

    def forward(self, source: Tensor, lengths: Tensor, target: Tensor) -> Tensor:
        packed = pack_padded_sequence(
            self.dropout(self.embedding(source)), lengths, batch_first=True, enforce_sorted=False
        )
        memory, last = self.encoder(packed)
        memory = self.dropout(pad_packed_sequence(memory, batch_first=True)[0])
        state = torch.tanh(self.bridge(torch.cat([last[0], last[1]], dim=-1)))[None]
        padding = (torch.arange(memory.size(1)) >= lengths[:, None])[:, None]  # (B, 1, S)
        keys, read = self.key(memory), self.dropout(self.embedding(target))
        vector, vectors = memory.new_zeros(memory.size(0), 1, keys.size(2)), []
        for t in range(target.size(1)):
            _, state = self.cell(torch.cat([read[:, t : t + 1], vector], dim=-1), state)
            query = state.transpose(0, 1)  # (B, 1, D)
            scores = self.energy(torch.tanh(self.query(query) + keys)).squeeze(2).unsqueeze(1)
            pattern = torch.softmax(scores.masked_fill(padding, float("-inf")), dim=-1)
            joined = torch.cat([query, pattern @ memory], dim=-1)
            vector = torch.tanh(self.combine(self.dropout(joined)))
            vectors.append(vector)
        return self.head(torch.cat(vectors, dim=1))
