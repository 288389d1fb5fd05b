"""A plain fine-tuning script for token classification with transformers, as its examples show it.

    python -m peers.tagger '{"model": ..., "train": ..., "test": ..., "lr": 5e-5, "epochs": 3, "seconds": null}'

AdamW with a linear decay, batches of 8 sentences padded to the longest, the label of a word at its first piece. With
`seconds` it trains for that long instead of `epochs`: the rate then falls with the time. Prints one JSON object.
"""

from __future__ import annotations

import json
import random
import sys
import time
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForTokenClassification, AutoTokenizer

BATCH = 8
Sentence = tuple[list[str], list[str]]


def read(path: Path) -> list[Sentence]:
    found: list[Sentence] = []
    for part in path.read_text(encoding="utf-8").split("\n\n"):
        rows = [line.split() for line in part.splitlines() if line.strip() and not line.startswith("-DOCSTART-")]
        if rows:
            found.append(([row[0] for row in rows], [row[-1] for row in rows]))
    return found


class Script:
    """The model with its tokenizer and labels."""

    def __init__(self, told: dict[str, Any], labels: list[str]) -> None:
        torch.manual_seed(told.get("seed", 1))
        self.labels = labels
        self.tokenizer = AutoTokenizer.from_pretrained(told["model"])
        self.model = AutoModelForTokenClassification.from_pretrained(told["model"], num_labels=len(labels))

    def batch(self, sentences: list[Sentence]) -> tuple[Any, torch.Tensor]:
        """Inputs, and the label of each piece: -100 except for the first of a word."""
        words = [words for words, _ in sentences]
        given = self.tokenizer(words, is_split_into_words=True, truncation=True, padding=True, return_tensors="pt")
        targets = torch.full_like(given["input_ids"], -100)
        for row, (_, labels) in enumerate(sentences):
            before = None
            for place, word in enumerate(given.word_ids(row)):
                if word is not None and word != before:
                    targets[row, place] = self.labels.index(labels[word])
                before = word
        return given, targets

    def train(self, sentences: list[Sentence], told: dict[str, Any]) -> float:
        """Returns the epochs made."""
        optimiser = torch.optim.AdamW(self.model.parameters(), lr=told["lr"])
        total = told["epochs"] * -(-len(sentences) // BATCH)
        began, step, order = time.perf_counter(), 0, random.Random(told.get("seed", 1))
        self.model.train()
        while True:
            order.shuffle(sentences)
            for start in range(0, len(sentences), BATCH):
                used = time.perf_counter() - began
                left = 1 - (step / total if told.get("seconds") is None else used / told["seconds"])
                if left <= 0:
                    return step * BATCH / len(sentences)
                for group in optimiser.param_groups:
                    group["lr"] = told["lr"] * left
                given, targets = self.batch(sentences[start : start + BATCH])
                self.model(**given, labels=targets).loss.backward()
                torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
                optimiser.step()
                optimiser.zero_grad()
                step += 1

    @torch.no_grad()
    def predict(self, sentences: list[Sentence]) -> list[list[str]]:
        self.model.eval()
        found = []
        for start in range(0, len(sentences), 32):
            part = sentences[start : start + 32]
            given, targets = self.batch(part)
            best = self.model(**given).logits.argmax(-1)
            for row, (words, _) in enumerate(part):
                labels = [self.labels[i] for i in best[row][targets[row] != -100].tolist()]
                found.append(labels + ["O"] * (len(words) - len(labels)))
        return found


def main() -> None:
    began = time.perf_counter()
    told = json.loads(sys.argv[1])
    torch.set_num_threads(told.get("threads", 1))
    train, test = read(Path(told["train"])), read(Path(told["test"]))
    script = Script(told, sorted({label for _, labels in train for label in labels}))
    epochs = script.train(train, told)
    seconds = time.perf_counter() - began
    found = script.predict(test)
    true = [labels for _, labels in test]
    print(json.dumps({"seconds": seconds, "epochs": epochs, "predicted": found, "true": true}))


if __name__ == "__main__":
    main()
