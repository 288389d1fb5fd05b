"""Any model of the family opened up: one text, or one image, through all its taps.

What differs is how an input becomes a batch, and what is predicted; the passage itself is the same for all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from glassformer.data.readers.images import NamedPicture
from glassformer.errors import DataError
from glassformer.explain.passage import Passage, Prediction, Tokens, pass_through, predictions
from glassformer.hub.huggingface.pretrained import Pretrained
from glassformer.models.captioner import Captioner
from glassformer.models.decoder_only import DecoderOnly
from glassformer.models.encoder_decoder import EncoderDecoder
from glassformer.models.vit import Vit
from glassformer.nn.patches import grid_of
from glassformer.tasks.embedding import TextEncoder
from glassformer.tasks.generation import Asked, Continuation, LanguageModel
from glassformer.tasks.generation.inputs import TokenBatch, start_of
from glassformer.tasks.vision import ImageBatch, ImageModel
from glassformer.text import Tokenizer

WHOLE = "whole"
ANSWER = Asked(max_new=64)


def explain(pretrained: Pretrained, shown: str, *, top: int = 5, asked: Asked = ANSWER) -> Passage:
    """The passage of a text, or of an image file for models that see; `asked`: how those that write do it."""
    model = pretrained.model
    if isinstance(model, Vit):
        return explain_image(pretrained, shown, top=top)
    if isinstance(model, Captioner):
        return explain_caption(pretrained, shown, top=top, asked=asked)
    if not shown.strip():
        raise DataError("Nothing to explain: the text is blank.")
    if isinstance(model, EncoderDecoder):
        return explain_answer(pretrained, shown, top=top, asked=asked)
    if isinstance(model, DecoderOnly):
        return explain_decoder(pretrained, shown, top=top)
    return explain_encoder(pretrained, shown, top=top)


# Texts


def explain_decoder(pretrained: Pretrained, text: str, *, top: int) -> Passage:
    """A decoder alone: what it expects after each token of the text."""
    writer = LanguageModel(pretrained)
    row, name = writer.inputs.ids(text), names_of(writer.writer)

    def predict(logits: Tensor) -> Sequence[Prediction]:
        at = [name(number) for number in row]
        return predictions(logits[0].float().softmax(-1), name, at=at, what=[*row[1:], None], top=top)

    return pass_through(
        writer.model,
        TokenBatch.of([row]).to(writer.device),
        kind=pretrained.kind,
        text=text,
        tokens={"": tokens("text", row, name)},
        predict=predict,
        predicted="What is expected after each piece",
    )


def explain_answer(pretrained: Pretrained, text: str, *, top: int, asked: Asked) -> Passage:
    """An encoder-decoder: its answer, then one pass over text and answer together."""
    writer = LanguageModel(pretrained)
    row, found = writer.inputs.ids(text), writer.continuations(text, asked)[0][0]
    read = writer.inputs.batch([row]).to(writer.device)
    return explain_written(
        writer, read, found, text=text, source=tokens("source", row, names_of(writer.reader)), top=top
    )


def explain_written(
    writer: LanguageModel, read: Any, found: Continuation, *, text: str, source: Tokens, top: int
) -> Passage:
    """What was read and what was written in one pass: at each step the model saw what it had written before."""
    name = names_of(writer.writer)
    ids = [*found.ids, *([writer.ends[0]] if found.why == "end" else [])] or [start_of(writer.pretrained.marks)]
    before = [start_of(writer.pretrained.marks), *ids[:-1]]

    def predict(logits: Tensor) -> Sequence[Prediction]:
        at = [str(step + 1) for step in range(len(ids))]
        return predictions(logits[0].float().softmax(-1), name, at=at, what=ids, top=top)

    return pass_through(
        writer.model,
        SimpleNamespace(**vars(read), target_in=torch.tensor([before], device=writer.device)),
        kind=writer.pretrained.kind,
        text=text,
        answer=found.text,
        tokens={"encoder": source, "decoder": tokens("target", before, name)},
        predict=predict,
        predicted="Written, step by step",
    )


def explain_encoder(pretrained: Pretrained, text: str, *, top: int) -> Passage:
    """An encoder: what its head says of the text, of each token, or of each mask."""
    reader = TextEncoder(pretrained)
    head = getattr(reader.model.config, "head", "none")
    words = head in ("words", "pretraining")
    row, gaps = reader.with_gaps(text) if words and reader.mask.search(text) else (reader.ids_of([text])[0], [])
    name = names_of(reader.tokenizer)
    predicted, predict = head_of(pretrained, head, row, gaps, name, top)
    return pass_through(
        reader.model,
        reader.batch([row]),
        kind=pretrained.kind,
        text=text,
        tokens={"": tokens("text", row, name)},
        predict=predict,
        predicted=predicted,
    )


def head_of(
    pretrained: Pretrained, head: str, row: Sequence[int], gaps: Sequence[int], name: Callable[[int], str], top: int
) -> tuple[str, Callable[[Tensor], Sequence[Prediction]]]:
    """What an encoder's head predicts, and how it is read from what the model gives."""
    places = gaps or range(len(row))
    pieces, label = [name(number) for number in row], labels_of(pretrained)

    def words(logits: Tensor) -> Sequence[Prediction]:
        known = [None if gaps else row[place] for place in places]
        shares = logits[0, list(places)].float().softmax(-1)
        return predictions(shares, name, at=[pieces[place] for place in places], what=known, top=top)

    def whole(logits: Tensor) -> Sequence[Prediction]:
        return predictions(logits.float().softmax(-1), label, at=[WHOLE], what=[None], top=top)

    def each(logits: Tensor) -> Sequence[Prediction]:
        return predictions(logits[0].float().softmax(-1), label, at=pieces, what=[None] * len(row), top=top)

    def span(logits: Tensor) -> Sequence[Prediction]:
        shares = logits[0].float().softmax(0).mT  # (2, T), of begin and end
        return predictions(shares, lambda place: pieces[place], at=["begin", "end"], what=[None, None], top=top)

    def nothing(_: Tensor) -> Sequence[Prediction]:
        return ()

    masked = ("What words fit where the masks are" if gaps else "What words fit in each place", words)
    heads: dict[str, tuple[str, Callable[[Tensor], Sequence[Prediction]]]] = {
        "words": masked,
        "pretraining": masked,
        "sentence": ("What class the text is of", whole),
        "tokens": ("What class each piece is of", each),
        "span": ("Where the answer begins and ends", span),
    }
    return heads.get(head, ("", nothing))


# Images


def explain_image(pretrained: Pretrained, shown: str, *, top: int) -> Passage:
    """A ViT: the class of the image, if it has learned classes."""
    seeing = ImageModel(pretrained)
    picture, image = one_image(seeing, shown)

    def predict(logits: Tensor) -> Sequence[Prediction]:
        if not isinstance(seeing.model, Vit) or seeing.model.head is None:
            return ()
        return predictions(logits.float().softmax(-1), seeing.label, at=[WHOLE], what=[None], top=top)

    return pass_through(
        seeing.model,
        ImageBatch(image[None]).to(seeing.device),
        kind=pretrained.kind,
        text=picture.name,
        tokens={"": patches(image, seeing)},
        predict=predict,
        predicted="What class the image is of",
    )


def explain_caption(pretrained: Pretrained, shown: str, *, top: int, asked: Asked) -> Passage:
    """A captioner: its caption, then one pass over image and caption together."""
    seeing = ImageModel(pretrained)
    picture, image = one_image(seeing, shown)
    writer = seeing.writer()
    found = writer.continued(list(image[None]), asked, numbers=[0])[0][0]
    read = ImageBatch(image[None]).to(seeing.device)
    return explain_written(writer, read, found, text=picture.name, source=patches(image, seeing), top=top)


def one_image(seeing: ImageModel, shown: str) -> tuple[NamedPicture, Tensor]:
    pictures = list(seeing.named([shown]))
    if len(pictures) != 1:
        raise DataError(f"{shown} holds {len(pictures):,} images; one is explained at a time: {shown}:0, for instance.")
    return pictures[0], seeing.prepared(pictures)[0]


def patches(image: Tensor, seeing: ImageModel) -> Tokens:
    """The token for the whole, then the patches by row and column, counted from 1."""
    config = seeing.model.config if isinstance(seeing.model, Vit) else seeing.model.config.encoder
    down, across = grid_of((image.size(1), image.size(2)), config.patch)
    places = (f"{row + 1},{column + 1}" for row in range(down) for column in range(across))
    return Tokens("image", (WHOLE, *places), grid=(down, across))


# Names


def tokens(name: str, row: Sequence[int], piece: Callable[[int], str]) -> Tokens:
    return Tokens(name, tuple(piece(number) for number in row), tuple(row))


def names_of(tokenizer: Tokenizer) -> Callable[[int], str]:
    """The piece of an id; some models have room for more ids than their tokenizer knows."""
    return lambda number: tokenizer.pieces_of([number])[0] if number < len(tokenizer) else f"#{number}"


def labels_of(pretrained: Pretrained) -> Callable[[int], str]:
    labels = pretrained.extras.get("labels", [])
    return lambda number: labels[number] if number < len(labels) else f"class {number}"
