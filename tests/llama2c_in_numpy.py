"""llama2.c's files read and run in plain numpy, one token after the other, as its run.c does: nothing of ours in it."""

from __future__ import annotations

import struct
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
BOS = 1


class NumpyLlama:
    """Weights as they lie in the file; float64 inside."""

    def __init__(self, content: bytes) -> None:
        self.dim, self.hidden, self.layers, self.heads, self.kv_heads, vocabulary, self.longest = struct.unpack(
            "<7i", content[:28]
        )
        self.vocabulary, self.shared = abs(vocabulary), vocabulary > 0
        self.width = self.dim // self.heads
        self.flat, self.at = np.frombuffer(content[28:], dtype="<f4").astype(np.float64), 0
        n, d, kv = self.layers, self.dim, self.kv_heads * self.width
        self.tokens = self.take(self.vocabulary, d)
        self.norm_1 = self.take(n, d)
        self.q, self.k, self.v, self.o = (
            self.take(n, d, d),
            self.take(n, kv, d),
            self.take(n, kv, d),
            self.take(n, d, d),
        )
        self.norm_2 = self.take(n, d)
        self.w1, self.w2, self.w3 = (
            self.take(n, self.hidden, d),
            self.take(n, d, self.hidden),
            self.take(n, self.hidden, d),
        )
        self.norm_3 = self.take(d)
        self.take(2, self.longest, self.width // 2)  # cosines and sines, which run.c computes itself
        self.out = self.tokens if self.shared else self.take(self.vocabulary, d)
        assert self.at == len(self.flat)
        self.past: list[tuple[list[Floats], list[Floats]]] = [([], []) for _ in range(n)]

    def take(self, *shape: int) -> Floats:
        size = int(np.prod(shape))
        self.at += size
        return self.flat[self.at - size : self.at].reshape(shape)

    def step(self, token: int, position: int) -> Floats:
        """The logits (V,) after one more token."""
        x = self.tokens[token]
        for i in range(self.layers):
            h = rms(x, self.norm_1[i])
            q, k = turned(self.q[i] @ h, position, self.width), turned(self.k[i] @ h, position, self.width)
            keys, values = self.past[i]
            keys.append(k)
            values.append(self.v[i] @ h)
            x = x + self.o[i] @ self.mixed(q, keys, values)
            h = rms(x, self.norm_2[i])
            gate = self.w1[i] @ h
            x = x + self.w2[i] @ (gate / (1 + np.exp(-gate)) * (self.w3[i] @ h))
        return self.out @ rms(x, self.norm_3)

    def mixed(self, q: Floats, keys: list[Floats], values: list[Floats]) -> Floats:
        found = []
        for head in range(self.heads):
            own = slice(head * self.width, (head + 1) * self.width)
            group = head * self.kv_heads // self.heads
            shared = slice(group * self.width, (group + 1) * self.width)
            scores = np.array([q[own] @ k[shared] for k in keys]) / np.sqrt(self.width)
            weights = np.exp(scores - scores.max())
            found.append(weights / weights.sum() @ np.array([v[shared] for v in values]))
        return np.concatenate(found)

    def greedy(self, prompt: list[int], new: int) -> tuple[list[int], list[Floats]]:
        """So many more tokens, and the logits that each was chosen from."""
        said, found = list(prompt), []
        for position in range(len(prompt) + new - 1):
            logits = self.step(said[position], position)
            if position >= len(prompt) - 1:
                found.append(logits)
                said.append(int(logits.argmax()))
        return said[len(prompt) :], found


def rms(x: Floats, gain: Floats) -> Floats:
    return x / np.sqrt((x**2).mean() + 1e-5) * gain


def turned(x: Floats, position: int, width: int) -> Floats:
    x = x.copy()
    for i in range(0, len(x), 2):
        angle = position / 10000.0 ** ((i % width) / width)
        a, b = x[i], x[i + 1]
        x[i], x[i + 1] = a * np.cos(angle) - b * np.sin(angle), a * np.sin(angle) + b * np.cos(angle)
    return x


class NumpyVocabulary:
    """Pieces and scores; the best-scored neighbours are joined first."""

    def __init__(self, content: bytes, size: int) -> None:
        self.pieces, self.scores, at = [], [], 4
        for _ in range(size):
            score, length = struct.unpack("<fi", content[at : at + 8])
            self.pieces.append(content[at + 8 : at + 8 + length])
            self.scores.append(score)
            at += 8 + length
        self.numbers: dict[bytes, int] = {}
        for number, piece in enumerate(self.pieces):
            self.numbers.setdefault(piece, number)

    def encode(self, text: str) -> list[int]:
        ids = [BOS]
        if text:
            ids.append(self.numbers[b" "])
        for letter in text:
            number = self.numbers.get(letter.encode())
            ids += [byte + 3 for byte in letter.encode()] if number is None else [number]
        while True:
            joined = [(self.number_of(a, b), place) for place, (a, b) in enumerate(pairwise(ids))]
            best = max(((self.scores[n], -place, n) for n, place in joined if n is not None), default=None)
            if best is None:
                return ids
            _, place, number = best
            ids[-place : -place + 2] = [number]

    def number_of(self, a: int, b: int) -> Any:
        return self.numbers.get(self.pieces[a] + self.pieces[b])
