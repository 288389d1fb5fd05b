"""One training step in numbers: loss, gradient, and the check of the gradient by finite differences."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from glassformer.explain.lessons.inputs import two_texts, words_of
from glassformer.explain.lessons.lesson import Asked, Cell, Curves, Lesson, Section, table
from glassformer.explain.lessons.tiny import Pair, Tiny, tiny_model

TEXTS = ("I ate an apple", "Ich habe einen Apfel gegessen")
SEED, RATE, UPDATES = 1, 0.05, 40
EPSILON = 1e-6  # for float64: smaller ones lose digits, larger ones leave the tangent
CHECKED = {
    "embedding": "encoder.inputs.embedding.weight",
    "encoder W_Q, W_K, W_V": "encoder.blocks.0.self_attention.qkv.weight",
    "cross-attention W_Q": "decoder.blocks.0.cross_attention.query.weight",
    "decoder W_1": "decoder.blocks.0.feed_forward.up.weight",
    "decoder LayerNorm gain": "decoder.blocks.0.feed_forward_residual.norm.gain",
}


@dataclass(frozen=True)
class Check:
    """One weight: its gradient by backpropagation and by two evaluations of the loss."""

    name: str
    value: float
    backward: float
    differences: float

    @property
    def gap(self) -> float:
        return abs(self.backward - self.differences) / max(abs(self.backward), 1e-12)


def loss_of(tiny: Tiny, pair: Pair) -> Tensor:
    return tiny.losses(pair).mean()


def gradients(tiny: Tiny, pair: Pair) -> float:
    """Fills every parameter's gradient and returns the loss."""
    tiny.model.zero_grad()
    loss = loss_of(tiny, pair)
    loss.backward()
    return float(loss.detach())


def checks(tiny: Tiny, pair: Pair) -> Iterator[Check]:
    """The weight with the largest gradient of some parameters."""
    parameters = dict(tiny.model.named_parameters())
    for label, name in CHECKED.items():
        weight = parameters[name]
        assert weight.grad is not None
        place = int(weight.grad.abs().argmax())
        with torch.no_grad():
            flat, before = weight.view(-1), float(weight.view(-1)[place])
            losses = []
            for moved in (before + EPSILON, before - EPSILON):
                flat[place] = moved
                losses.append(float(loss_of(tiny, pair)))
            flat[place] = before
        slope = (losses[0] - losses[1]) / (2 * EPSILON)
        yield Check(f"{label} [{place}]", before, float(weight.grad.view(-1)[place]), slope)


def descend(tiny: Tiny) -> float:
    """w <- w - rate · gradient for every parameter; returns the squared length of the gradient."""
    total = 0.0
    with torch.no_grad():
        for one in tiny.model.parameters():
            if one.grad is not None:
                one.sub_(RATE * one.grad)
                total += float(one.grad.square().sum())
    return total


def run(asked: Asked) -> list[Section]:
    source, target = (words_of(text) for text in two_texts(asked.texts, "gradient"))
    tiny = tiny_model(source, target, seed=asked.seed)
    pair = tiny.pair(source, target)
    return [logits_section(tiny, pair), check_section(tiny, pair), step_section(tiny, pair)]


def logits_section(tiny: Tiny, pair: Pair) -> Section:
    """The gradient of the loss at the logits is P - label: computed, and by backpropagation."""
    with torch.no_grad():
        logits = tiny.model(pair)[0, 0]
    logits.requires_grad_()
    torch.nn.functional.cross_entropy(logits, pair.target_out[0, 0]).backward()
    assert logits.grad is not None
    p = logits.detach().softmax(-1)
    rows = [
        (word, value, share, int(i == int(pair.target_out[0, 0])), slope)
        for i, (word, value, share, slope) in enumerate(
            zip(tiny.vocabulary, logits.tolist(), p.tolist(), logits.grad.tolist(), strict=True)
        )
    ]
    return Section(
        "The first word: logits, probabilities, gradient",
        "The softmax makes the logits probabilities. The loss is −log P of the right word, and its gradient at the "
        "logits is P − 1 for the right word and P for all others: raise one, lower the rest.",
        (table("logits", ("word", "logit", "P", "label", "gradient = P − label"), rows),),
    )


def check_section(tiny: Tiny, pair: Pair) -> Section:
    gradients(tiny, pair)
    rows: list[tuple[Cell, ...]] = [
        (one.name, one.value, one.backward, one.differences, one.gap) for one in checks(tiny, pair)
    ]
    columns = ("weight", "value", "by backpropagation", "by differences", "relative gap")
    return Section(
        "A real gradient, checked",
        f"Backpropagation gives all gradients in one pass. The check moves one weight by ±{EPSILON:g} and computes "
        "the loss again: (loss₊ − loss₋) / 2ε. Below: the weight with the largest gradient of some matrices.",
        (table("checked", columns, rows, "", ".4f", ".8f", ".8f", ".0e"),),
    )


def step_section(tiny: Tiny, pair: Pair) -> Section:
    before = gradients(tiny, pair)
    squared = descend(tiny)
    losses = [before]
    for _ in range(UPDATES):
        losses.append(gradients(tiny, pair))
        descend(tiny)
    after = losses[1]
    rows = [
        ("loss before", before),
        ("first-order forecast: − rate · |gradient|²", -RATE * squared),
        ("change of the loss", after - before),
        ("loss after one step", after),
        (f"loss after {UPDATES} steps", losses[-1]),
    ]
    return Section(
        "The step",
        f"Each weight moves against its gradient: w ← w − {RATE:g} · gradient. The forecast assumes a straight slope; "
        "the real change differs, because the loss is curved. Then the same again.",
        (table("step", ("", "value"), rows, ".4f"), Curves("loss", "step", {"loss": tuple(losses)})),
    )


LESSON = Lesson(
    "gradient",
    "One training step",
    "Loss, a gradient checked by finite differences, the update.",
    run,
    source="Rumelhart, Hinton and Williams 1986; the loss: Vaswani et al. 2017, section 5",
    files=("nn/vocabulary_loss.py:linear_cross_entropy", "training/step.py:train_step"),
    takes={"texts": TEXTS, "seed": SEED},
    examples=('"thank you" "danke schön" --seed 2',),
)
