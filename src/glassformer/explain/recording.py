"""Records an explanation: one pass of a model over one input, read at every tap.

A model that writes is recorded in one teacher-forced pass over the tokens that decoding chose. Decoding step by step
with a cache computes the same values (a test compares them), so these are the numbers that decoding used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from glassformer.errors import ModelError
from glassformer.explain.explanation import Attention, Candidate, Explanation, Prediction, Tokens
from glassformer.explain.tap_values import attentions, recorded_pass, sublayers
from glassformer.text import Tokenizer

Name = Callable[[int], str]  # id -> its piece or class


def record(
    model: nn.Module,
    batch: Any,
    *,
    kind: str,
    text: str,
    tokens: Mapping[str, Tokens],
    predict: Callable[[Tensor], Sequence[Prediction]],
    predicted: str,
    in_order: bool = False,
    answer: str = "",
    written: Tokens | None = None,
) -> Explanation:
    """One pass of `model` over a batch of one.

    `tokens` are the tokens of each stack, by the stack's name in the taps ("" if it is the only one); the first stack
    has the keys of cross-attention. `predict` reads the model's output; `in_order`: its predictions are of one text,
    from left to right. `written` are the tokens that the decoder's steps chose.
    """
    output, values = recorded_pass(model, batch)
    memory = next(iter(tokens.values()))
    found = [
        Attention("cross", written or tokens[stack], memory, patterns)
        if how == "cross"
        else Attention(stack or "self", tokens[stack], tokens[stack], patterns)
        for (stack, how), patterns in attentions(values).items()
    ]
    for one in found:
        check_lengths(one)
    made = tuple(predict(output))
    return Explanation(
        kind=kind,
        text=text,
        answer=answer,
        tokens=dict(tokens),
        written=written,
        attentions=tuple(found),
        sublayers=tuple(sublayers(values)),
        predictions=made,
        predicted=predicted,
        score=sum(one.log_probability or 0.0 for one in made) if in_order else None,
        values=values,
        batch=batch,
    )


def record_writing(
    model: nn.Module,
    batch: Any,
    *,
    kind: str,
    text: str,
    answer: str,
    source: Tokens,
    start: int,
    written: Sequence[int],
    name: Name,
    top: int = 5,
) -> Explanation:
    """One pass of an encoder-decoder over what it read and what it wrote.

    `written` are all chosen ids, including the end token if it was reached; `start` is the id that decoding began
    with. So the batch's `target_in` is `start` followed by all of `written` except the last.
    """
    read = (start, *written[:-1])

    def predict(logits: Tensor) -> Sequence[Prediction]:
        if logits.size(1) != len(written):
            raise ModelError(f"The batch has {logits.size(1)} target tokens, but {len(written)} ids were written.")
        at = [str(step + 1) for step in range(len(written))]
        return predictions(logits[0], name, at=at, known=written, top=top)

    return record(
        model,
        batch,
        kind=kind,
        text=text,
        answer=answer,
        tokens={"encoder": source, "decoder": tokens_of("target", read, name)},
        written=tokens_of("target", written, name),
        predict=predict,
        predicted="Decoding, step by step",
        in_order=True,
    )


def predictions(
    logits: Tensor, name: Name, *, at: Sequence[str], known: Sequence[int | None], top: int
) -> list[Prediction]:
    """One prediction for each row of logits (P, V), with its place, and the chosen or actual id if known."""
    log_probabilities = logits.float().log_softmax(-1)
    best = log_probabilities.topk(min(top, logits.size(-1)), dim=-1)
    rows = zip(at, known, log_probabilities, best.values.exp().tolist(), best.indices.tolist(), strict=True)
    return [
        Prediction(
            at=place,
            top=tuple(Candidate(name(i), i, p) for i, p in zip(ids, probabilities, strict=True)),
            chosen="" if actual is None else name(actual),
            id=actual,
            log_probability=None if actual is None else float(row[actual]),
        )
        for place, actual, row, probabilities, ids in rows
    ]


def names_of(tokenizer: Tokenizer) -> Name:
    """The piece of an id. Some models have vectors for more ids than their tokenizer knows."""
    return lambda number: tokenizer.pieces_of([number])[0] if number < len(tokenizer) else f"#{number}"


def tokens_of(side: str, ids: Sequence[int], name: Name) -> Tokens:
    return Tokens(side, tuple(map(name, ids)), tuple(ids))


def check_lengths(attention: Attention) -> None:
    expected = (len(attention.queries.pieces), len(attention.keys.pieces))
    if attention.patterns.shape[-2:] != torch.Size(expected):
        got = tuple(attention.patterns.shape[-2:])
        raise ModelError(
            f"An explanation is of one input without padding: the {attention.name} attention is {got[0]} x {got[1]}, "
            f"but there are {expected[0]} and {expected[1]} tokens."
        )
