"""Scores of texts: by a head that was trained on numbers, or the cosine of two texts' vectors.

Shapes: B texts, D width.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import torch

from glassformer.errors import ModelError
from glassformer.store.bundle import Bundle
from glassformer.store.weights import weights_of
from glassformer.tasks.classifying import BATCH_TOKENS, Text, framed_texts, inputs_of, parts_of, with_segments

if TYPE_CHECKING:
    from glassformer.tasks.embedding import TextEncoder

SCALE = ("centre", "spread")  # extras of a run: what an output of 0 means, and how much 1 adds


def gives_scores(encoder: TextEncoder) -> bool:
    """Whether the model has a head that was trained on numbers."""
    return predicts_number(encoder.bundle)


def predicts_number(bundle: Bundle) -> bool:
    has_head = getattr(bundle.model.config, "head", None) == "sentence"
    return has_head and bundle.extras.get("problem_type") == "regression"


def scale_of(bundle: Bundle) -> tuple[float, float]:
    """What an output of 0 means, and how much 1 adds."""
    return bundle.extras.get(SCALE[0], 0.0), bundle.extras.get(SCALE[1], 1.0)


def texts_each(encoder: TextEncoder) -> int | None:
    """How many texts belong to a score: always two if it is a cosine."""
    return encoder.texts_each if gives_scores(encoder) else 2


def scores_of(
    encoder: TextEncoder,
    texts: object,
    *,
    progress: Callable[[int], None] | None = None,
    cut: list[int] | None = None,
) -> list[float]:
    """The score of each text or pair. The numbers of shortened texts are added to `cut`."""
    if not gives_scores(encoder) and getattr(encoder.model.config, "head", None) == "sentence":
        raise ModelError(
            "This model predicts classes, not scores: use `classify`. Scores need a model that was trained with "
            "--task similar, or one for sentence vectors."
        )
    given = inputs_of(texts, texts_each(encoder))
    if not gives_scores(encoder):
        return cosines(encoder, given, progress=progress, cut=cut)
    return by_head(encoder, given, progress=progress, cut=cut)


def by_head(
    encoder: TextEncoder, texts: Sequence[Text], *, progress: Callable[[int], None] | None, cut: list[int] | None
) -> list[float]:
    from glassformer.tasks.embedding import by_length

    rows, results = framed_texts(encoder, texts, cut), [0.0] * len(texts)
    centre, spread = scale_of(encoder.bundle)
    for part in by_length([ids for ids, _ in rows], BATCH_TOKENS):
        with torch.inference_mode():
            batch = with_segments(encoder.batch([rows[i][0] for i in part]), [rows[i][1] for i in part])
            found = encoder.model(batch).float()[:, 0]  # (B,)
        for i, output in zip(part, found.tolist(), strict=True):
            results[i] = centre + spread * output
        if progress is not None:
            progress(len(part))
    return results


def cosines(
    encoder: TextEncoder, pairs: Sequence[Text], *, progress: Callable[[int], None] | None, cut: list[int] | None
) -> list[float]:
    """The cosine of the vectors of the two texts of each pair; each different text is read once."""
    parts = [parts_of(pair) for pair in pairs]
    place = {text: i for i, text in enumerate(dict.fromkeys(text for pair in parts for text in pair))}
    shortened: list[int] = []
    vectors = encoder.embed(list(place), normalise=True, cut=shortened) if place else np.empty((0, encoder.width))
    if cut is not None:
        cut += [i for i, pair in enumerate(parts) if {place[text] for text in pair} & set(shortened)]
    if progress is not None:
        progress(len(parts))
    return [float(np.dot(vectors[place[first]], vectors[place[second]])) for first, second in parts]


def in_their_scale(bundle: Bundle) -> Bundle:
    """The model of a run with its scale inside the head, for programs that know no scale; others unchanged."""
    if SCALE[0] not in bundle.extras:
        return bundle
    import copy

    centre, spread = (bundle.extras[name] for name in SCALE)
    model = copy.deepcopy(bundle.model)
    with torch.no_grad():
        weights = weights_of(model)
        weights["head.linear.weight"].mul_(spread)
        weights["head.linear.bias"].mul_(spread).add_(centre)
    extras = {name: value for name, value in bundle.extras.items() if name not in SCALE}
    return replace(bundle, model=model, extras=extras)
