"""One fine-tuner of a BERT classifier at the end of a wire (see wire.py): ours, a plain loop, or transformers' Trainer.

Everyone starts from the same folder, reads the same texts with the same labels, and makes updates of the same number
of texts with AdamW, clipping, dropout 0.1 and a linear schedule. A turn counts whole updates, with
the making of the batch.

    ours      `glassformer train` itself, paused between two updates while it is not its turn
    loop      `BertForSequenceClassification` in a well-written loop: texts of similar length together, fused AdamW
    trainer   the same model in transformers' Trainer as it is usually run: random batches, padded to their longest
"""

from __future__ import annotations

import itertools
import random
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from peers.ours import FAR, Held
from peers.wire import Turn, Wire, memory, take_turn

Row = tuple[list[int], int]  # ids and class


def ours(wire: Wire) -> None:
    import glassformer as gf

    told = wire.told
    told["memory_at_start"] = memory()["now"]
    train = {"steps": FAR, "valid_every": FAR, "lr": told["lr"], "threads": told["threads"]}
    train["batch_tokens"] = told["batch_tokens"]
    gf.train(
        task="classify",
        data={"files": told["texts"], "columns": "text,label"},
        start_from=told["model"],
        out=told["out"],
        train=train,
        watcher=Held(wire),
    )


def rows_of(told: dict[str, Any]) -> tuple[list[Row], int]:
    """The texts as ids, with the number of their class; and the number of classes."""
    from transformers import AutoTokenizer

    lines = [line.split("\t") for line in Path(told["texts"]).read_text().splitlines()[1:]]
    labels = sorted({label for _, label in lines})
    ids = AutoTokenizer.from_pretrained(told["model"])([text for text, _ in lines])["input_ids"]
    return [(one, labels.index(label)) for one, (_, label) in zip(ids, lines, strict=True)], len(labels)


def their_model(told: dict[str, Any], classes: int) -> Any:
    import torch
    from transformers import AutoModelForSequenceClassification

    torch.set_num_threads(told["threads"])
    torch.manual_seed(told.get("seed", 1))
    return AutoModelForSequenceClassification.from_pretrained(told["model"], num_labels=classes).train()


def grouped(rows: list[Row], size: int) -> Iterator[list[Row]]:
    """Epoch after epoch: sorted by length, cut into batches, in random order."""
    for epoch in itertools.count():
        source = random.Random(epoch)
        order = sorted(source.sample(rows, len(rows)), key=lambda row: len(row[0]))
        batches = [order[start : start + size] for start in range(0, len(order), size)]
        yield from source.sample(batches, len(batches))


def padded(rows: list[Row]) -> dict[str, Any]:
    import torch

    longest = max(len(ids) for ids, _ in rows)
    ids = torch.tensor([ids + [0] * (longest - len(ids)) for ids, _ in rows])
    mask = torch.tensor([[1] * len(ids) + [0] * (longest - len(ids)) for ids, _ in rows])
    return {"input_ids": ids, "attention_mask": mask, "labels": torch.tensor([label for _, label in rows])}


def stepped(model: Any, *, lr: float, steps: int) -> Callable[[list[Row]], float]:
    """A function that makes one update with a batch and returns its loss; the rate falls to 0 in `steps` updates."""
    import torch

    optimiser = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=0.01, fused=True)
    schedule = torch.optim.lr_scheduler.LinearLR(optimiser, 1.0, 0.0, steps)

    def step(batch: list[Row]) -> float:
        loss = model(**padded(batch)).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        schedule.step()
        optimiser.zero_grad()
        return float(loss.item())

    return step


def loop(wire: Wire) -> None:
    told = wire.told
    rows, classes = rows_of(told)
    model, batches = their_model(told, classes), grouped(rows, told["texts_each"])
    update = stepped(model, lr=told["lr"], steps=FAR)

    def step(turn: Turn) -> None:
        batch = next(batches)
        turn.count(tokens=sum(len(ids) for ids, _ in batch), targets=len(batch), loss=update(batch))

    wire.answer(parameters=model.num_parameters())
    for command in wire.commands():
        wire.answer(**partial(take_turn, command, step)())


def trainer(wire: Wire) -> None:
    sys.modules["datasets"] = None  # type: ignore[assignment]  # lists are enough, and some versions cannot be imported
    from transformers import AutoTokenizer, DataCollatorWithPadding, Trainer, TrainerCallback, TrainingArguments

    told = wire.told
    rows, classes = rows_of(told)
    data: Any = [{"input_ids": ids, "attention_mask": [1] * len(ids), "labels": label} for ids, label in rows]
    mean = sum(len(ids) for ids, _ in rows) / len(rows)

    class Paused(TrainerCallback):  # type: ignore[misc]
        """Pauses between two updates until the next turn."""

        turn = Turn()

        def wait(self) -> None:
            for command in wire.commands():
                self.turn = Turn(seconds=command.get("seconds", 0.0), steps=command.get("steps", 1))
                return
            sys.exit()

        def on_train_begin(self, *_: Any, **__: Any) -> None:
            wire.answer(parameters=0)
            self.wait()

        def on_step_end(self, *_: Any, **__: Any) -> None:
            texts = told["texts_each"]
            self.turn.count(tokens=round(texts * mean), targets=texts, loss=0.0)
            if self.turn.over:
                wire.answer(**self.turn.result())
                self.wait()

    settings = TrainingArguments(
        output_dir=told["out"],
        per_device_train_batch_size=told["texts_each"],
        learning_rate=told["lr"],
        weight_decay=0.01,
        max_steps=10**6,
        save_strategy="no",
        logging_strategy="no",
        report_to=[],
        disable_tqdm=True,
        use_cpu=True,
    )
    collator = DataCollatorWithPadding(AutoTokenizer.from_pretrained(told["model"]))
    model = their_model(told, classes)
    Trainer(model, settings, train_dataset=data, data_collator=collator, callbacks=[Paused()]).train()


def main() -> None:
    wire = Wire()
    {"ours": ours, "loop": loop, "trainer": trainer}[wire.told["engine"]](wire)


if __name__ == "__main__":
    main()
