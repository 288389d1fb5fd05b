"""One trainer of a question answering model at the end of a wire (see wire.py): ours, or a loop of `transformers`.

    ours           `glassformer train --task answer` itself, paused between two updates while it is not its turn
    transformers   `AutoModelForQuestionAnswering` as its examples train it: windows of 384 tokens with a stride of 128,
                   padded to 384 (pad = "max") or to the longest of the batch ("longest"), random batches of 12, AdamW

Both count windows: one for most questions, several for long passages. With a `total`, the peer lowers its rate to zero
over that many seconds. `predict` answers the questions of a file, by the 20 best begins and ends of every window.
"""

from __future__ import annotations

import itertools
import json
import random
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from peers.ours import FAR, Held
from peers.wire import Turn, Wire, memory, take_turn

LONGEST, STRIDE, BATCH, BEST, MOST = 384, 128, 12, 20, 30


def rows_in(path: str) -> list[tuple[str, str, str, int, str]]:
    """(id, question, passage, offset and text of the first answer) of every question."""
    data = json.loads(Path(path).read_text())["data"]
    paragraphs = [paragraph for article in data for paragraph in article["paragraphs"]]
    return [
        (one["id"], one["question"], paragraph["context"], first["answer_start"], first["text"])
        for paragraph in paragraphs
        for one in paragraph["qas"]
        for first in one["answers"][:1]
    ]


def ours(wire: Wire) -> None:
    import glassformer as gf

    told = wire.told
    told["memory_at_start"] = memory()["now"]
    gf.train(
        task="answer",
        data={"files": told["data"], "valid": "1%"},
        start_from=told["model"],
        out=tempfile.mkdtemp() + "/run",
        train={"steps": FAR, "valid_every": FAR, "valid_sentences": 10, "threads": told["threads"]},
        watcher=Held(wire),
    )


class Loop:
    """The usual loop."""

    def __init__(self, told: dict[str, Any]) -> None:
        import torch
        from transformers import AutoModelForQuestionAnswering, AutoTokenizer

        self.told = told
        torch.set_num_threads(told["threads"])
        torch.manual_seed(1)
        self.tokenizer = AutoTokenizer.from_pretrained(told["model"])
        self.model = AutoModelForQuestionAnswering.from_pretrained(told["model"]).train()
        self.optimiser = torch.optim.AdamW(self.model.parameters(), lr=told["lr"])
        self.windows = self.features(rows_in(told["data"]), labelled=True)
        self.order = self.shuffled()
        self.began = 0.0

    def features(self, rows: list[Any], *, labelled: bool) -> list[dict[str, Any]]:
        pad = {"max_length": LONGEST, "truncation": "only_second", "stride": STRIDE}
        pad["padding"] = "max_length" if self.told["pad"] == "max" else False
        found = self.tokenizer(
            [row[1] for row in rows],
            [row[2] for row in rows],
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
            **pad,
        )
        made = []
        for number, owner in enumerate(found["overflow_to_sample_mapping"]):
            names = ("input_ids", "attention_mask", "token_type_ids")
            one = {name: found[name][number] for name in names if name in found}
            inside = [i for i, part in enumerate(found.sequence_ids(number)) if part == 1]
            spans = {i: found["offset_mapping"][number][i] for i in inside}
            if labelled:
                one["labels"] = place_of(spans, rows[owner][3], rows[owner][3] + len(rows[owner][4]))
            else:
                one |= {"spans": spans, "owner": owner}
            made.append(one)
        return made

    def shuffled(self) -> Any:
        for epoch in itertools.count():
            order = random.Random(epoch).sample(self.windows, len(self.windows))
            yield from (order[start : start + BATCH] for start in range(0, len(order), BATCH))

    def batch(self, rows: list[dict[str, Any]]) -> dict[str, Any]:
        import torch

        longest = max(len(row["input_ids"]) for row in rows)
        names = [name for name in ("input_ids", "attention_mask", "token_type_ids") if name in rows[0]]
        return {name: torch.tensor([row[name] + [0] * (longest - len(row[name])) for row in rows]) for name in names}

    def step(self, turn: Turn) -> None:
        import torch

        self.began = self.began or time.perf_counter()
        rows = next(self.order)
        if total := self.told.get("total"):
            left = max(0.0, 1 - (time.perf_counter() - self.began) / total)
            for group in self.optimiser.param_groups:
                group["lr"] = self.told["lr"] * left
        given = self.batch(rows)
        places = torch.tensor([row["labels"] for row in rows])
        out = self.model(**given, start_positions=places[:, 0], end_positions=places[:, 1])
        out.loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimiser.step()
        self.optimiser.zero_grad(set_to_none=True)
        turn.count(tokens=int(given["attention_mask"].sum()), targets=len(rows), loss=out.loss.item())

    def predict(self, path: str) -> dict[str, str]:
        import torch

        rows = rows_in(path)
        windows = self.features(rows, labelled=False)
        best: dict[int, tuple[float, str]] = defaultdict(lambda: (float("-inf"), ""))
        self.model.eval()
        for start in range(0, len(windows), 4 * BATCH):
            part = windows[start : start + 4 * BATCH]
            with torch.no_grad():
                out = self.model(**self.batch(part))
            for one, begins, ends in zip(part, out.start_logits.tolist(), out.end_logits.tolist(), strict=True):
                score, span = best_span(one["spans"], begins, ends)
                text = "" if span is None else rows[one["owner"]][2][slice(*span)]
                best[one["owner"]] = max(best[one["owner"]], (score, text))
        self.model.train()
        return {row[0]: best[number][1] for number, row in enumerate(rows)}


def place_of(spans: dict[int, tuple[int, int]], start: int, end: int) -> tuple[int, int]:
    """The first and last token of an answer; 0, 0 if the window does not have all of it."""
    inside = [i for i, (low, high) in spans.items() if high > start and low < end]
    whole = inside and spans[inside[0]][0] <= start and spans[inside[-1]][1] >= end
    return (inside[0], inside[-1]) if whole else (0, 0)


def best_span(
    spans: dict[int, tuple[int, int]], begins: list[float], ends: list[float]
) -> tuple[float, tuple[int, int] | None]:
    firsts = sorted(spans, key=lambda i: -begins[i])[:BEST]
    lasts = sorted(spans, key=lambda i: -ends[i])[:BEST]
    pairs = [(begins[i] + ends[j], i, j) for i in firsts for j in lasts if i <= j < i + MOST]
    if not pairs:
        return float("-inf"), None
    score, first, last = max(pairs)
    return score, (spans[first][0], spans[last][1])


def transformers(wire: Wire) -> None:
    loop = Loop(wire.told)
    wire.answer(windows=len(loop.windows))
    for command in wire.commands():
        if command["do"] == "train":
            wire.answer(**take_turn(command, loop.step))
        else:
            wire.answer(answers=loop.predict(command["file"]))


if __name__ == "__main__":
    line = Wire()
    {"ours": ours, "transformers": transformers}[line.told["engine"]](line)
