"""Language models as classifiers: the last token of a text decides (Radford et al. 2018, sections 3.2 and 3.3).

A text is <begin> text <end>, a pair <begin> a <end> b <end>; the class head reads the last token. With
train.auxiliary, the model also learns to predict each next token: class loss + auxiliary * language-model loss.
Shapes: B texts, T tokens, D width, M next tokens of all texts.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from glassformer.data.labelled_batches import LabelledBatch
from glassformer.errors import SettingsError
from glassformer.printable import with_article
from glassformer.store.bundle import SpecialIds, frame_for
from glassformer.text import Tokenizer
from glassformer.text.framing import Frame

DECODERS = ("gpt", "llama", "lstm_lm")


def frame_around(kind: str, tokenizer: Tokenizer, marks: SpecialIds) -> Frame:
    """The special tokens around a text. For a decoder, an end mark closes every text: the class is read there."""
    if kind not in DECODERS:
        return frame_for(tokenizer, marks)
    known = [mark for mark in (marks.bos, marks.eos, marks.pad) if mark is not None]
    if not known:
        raise SettingsError(
            "The vocabulary has no special token that could end a text. Train a new one without --from."
        )
    begin = marks.bos if marks.bos is not None else known[0]
    end = marks.eos if marks.eos is not None else known[0]
    return Frame((begin,), (end,), (end,))


def class_settings(model: Any, classes: int) -> dict[str, Any]:
    """The settings of a model that classifies texts. A mean of all tokens needs no pooler."""
    pooler = (
        {} if "pooler" not in type(model).model_fields else {"pooler": getattr(model, "pooling", "first") == "first"}
    )
    return {"head": "sentence", "classes": classes, **pooler}


def refuse_auxiliary(kind: str, auxiliary: float) -> None:
    """Refuses train.auxiliary for models that do not predict next tokens."""
    if auxiliary and kind not in DECODERS:
        raise SettingsError(
            f"train.auxiliary = {auxiliary:g}: {with_article(kind)} model does not predict next tokens. Leave it "
            f"out, or start from a {' or '.join(DECODERS)} model."
        )


def logits_and_auxiliary(model: Any, batch: LabelledBatch, weight: float) -> tuple[Tensor, Tensor | float]:
    """(B, classes), and what the language-model loss adds to the loss summed over the texts.

    It is weight * B * (mean loss of the batch's next tokens), as the class loss is a sum over B texts.
    """
    hidden = model.hidden(batch)  # (B, T, D)
    logits = model.logits(model.classifier(hidden, batch.lengths))
    if not weight:
        # An output layer of its own is not used then; it must have a gradient all the same.
        unused = 0.0 if model.config.tied else 0.0 * model.head.weight[0, 0]
        return logits, unused
    places = torch.arange(hidden.size(1) - 1, device=hidden.device)
    real = places < (batch.lengths - 1)[:, None]  # (B, T-1): after the last token there is nothing to predict
    if not bool(real.any()):
        return logits, 0.0 * hidden.sum()
    summed = model.head.loss(hidden[:, :-1][real], batch.ids[:, 1:][real])
    return logits, weight * len(batch.labels) / int(real.sum()) * summed
