"""`explain` for every kind of model: one text or image, recorded at all taps. Translators: translation/looking.py.

Models differ in how an input becomes a batch and in what they predict; the recording is the same for all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from glassformer.config import check_arguments
from glassformer.data.answer_windows import NOT_HERE
from glassformer.data.readers.images import NamedPicture
from glassformer.decode.settings import GenerationSettings
from glassformer.errors import DataError
from glassformer.explain.explanation import Explanation, Prediction, Tokens
from glassformer.explain.recording import Name, names_of, predictions, record, record_writing, tokens_of
from glassformer.models.captioner import Captioner
from glassformer.models.decoding.decoder_only import DecoderOnly
from glassformer.models.decoding.encoder_decoder import EncoderDecoder
from glassformer.models.decoding.recurrent import RecurrentDecoder
from glassformer.models.registry import TRANSLATORS
from glassformer.models.vit import Vit
from glassformer.nn.patches import grid_of
from glassformer.store.bundle import Bundle
from glassformer.tasks.answering import best_window, options_of
from glassformer.tasks.classifying import Text, framed_texts, inputs_of, parts_of, with_segments
from glassformer.tasks.embedding import TextEncoder
from glassformer.tasks.generation import Continuation, GenerateOptions, LanguageModel
from glassformer.tasks.generation.generator import ContinuationGenerator
from glassformer.tasks.generation.inputs import TokenBatch, start_token
from glassformer.tasks.scoring import predicts_number, scale_of
from glassformer.tasks.translation import looking
from glassformer.tasks.translation.translator import Translator
from glassformer.tasks.vision import ImageBatch, ImageModel

Predict = Callable[[Tensor], Sequence[Prediction]]  # reads the model's output

WHOLE = "whole"  # the place of a prediction about the whole input
NONE = "(none)"  # instead of a token: the passage has no answer
ANSWER = GenerateOptions(max_new=64)


@dataclass(frozen=True)
class TextPair:
    """A source (1, S), its length (1,), and the target shifted right (1, T)."""

    source: Tensor
    source_lengths: Tensor
    target_in: Tensor


@dataclass(frozen=True)
class ImageWithCaption:
    """An image (1, C, height, width) and its caption shifted right (1, T)."""

    images: Tensor
    target_in: Tensor


def explain(bundle: Bundle, shown: Text, *, top: int = 5, options: GenerateOptions = ANSWER) -> Explanation:
    """Explains a text, or an image file for models that read images; `options` are for models that write.

    Models with a class head also take a pair of texts.
    """
    model = bundle.model
    check_arguments(GenerationSettings, {"top": top})
    if not isinstance(shown, str):
        return explain_pair(bundle, shown, top=top)
    if isinstance(model, Vit | Captioner):
        image_model = ImageModel(bundle)
        return explain_picture(image_model, one_image(image_model, shown), top=top, options=options)
    if not shown.strip():
        raise DataError("Nothing to explain: the text is blank.")
    if bundle.kind in TRANSLATORS:
        return looking.explain(Translator.of(bundle), shown, beam=None if options is ANSWER else options.beam, top=top)
    if isinstance(model, EncoderDecoder):
        return explain_answer(bundle, shown, top=top, options=options)
    if isinstance(model, DecoderOnly | RecurrentDecoder) and model.classifier is None:
        return explain_decoder(bundle, shown, top=top)
    return explain_encoder(bundle, shown, top=top)


# Texts


def explain_decoder(bundle: Bundle, text: str, *, top: int) -> Explanation:
    """GPT, Llama: what the model expects after each token of the text."""
    writer = LanguageModel(bundle)
    row, name = writer.inputs.ids(text), names_of(writer.tokenizer)
    at = [name(number) for number in row]
    return record(
        writer.model,
        TokenBatch.of([row]).to(writer.device),
        kind=bundle.kind,
        text=text,
        tokens={"": tokens_of("text", row, name)},
        predict=lambda logits: predictions(logits[0], name, at=at, known=[*row[1:], None], top=top),
        predicted="Predictions after each piece",
        in_order=True,
    )


def explain_answer(bundle: Bundle, text: str, *, top: int, options: GenerateOptions) -> Explanation:
    """T5: its answer, then one pass over text and answer together."""
    writer = LanguageModel(bundle)
    row, found = writer.inputs.ids(text), writer.continuations(text, options)[0]
    read = writer.inputs.batch([row]).to(writer.device)
    return explain_written(
        writer.generator,
        lambda target_in: TextPair(read.source, read.source_lengths, target_in),
        found,
        text=text,
        source=tokens_of("source", row, names_of(writer.input_tokenizer)),
        top=top,
    )


def explain_written(
    writer: ContinuationGenerator,
    batch_with: Callable[[Tensor], Any],
    found: Continuation,
    *,
    text: str,
    source: Tokens,
    top: int,
) -> Explanation:
    """`batch_with(target_in)` returns the batch with the input and the target shifted right."""
    start = start_token(writer.bundle.marks)
    written = [*found.ids, *([writer.ends[0]] if found.why == "end" else [])] or [start]
    return record_writing(
        writer.model,
        batch_with(torch.tensor([[start, *written[:-1]]], device=writer.device)),
        kind=writer.bundle.kind,
        text=text,
        answer=found.text,
        source=source,
        start=start,
        written=written,
        name=names_of(writer.tokenizer),
        top=top,
    )


def explain_pair(bundle: Bundle, texts: Text, *, top: int) -> Explanation:
    """A classifier of pairs: the class of two texts that are read together."""
    reader = TextEncoder(bundle)
    if reader.model.config.head == "span":
        return explain_question(reader, *parts_of(texts), top=top)
    if not predicts_number(bundle):
        reader.probabilities()  # an error for a model without classes
    if not all(part.strip() for part in parts_of(texts)):
        raise DataError("Nothing to explain: a text is blank.")
    (row, first), *_ = framed_texts(reader, [texts], None)
    name = names_of(reader.tokenizer)
    predicted, predict = head_predictions(bundle, reader.model.config.head, row, [], name, top)
    found = record(
        reader.model,
        with_segments(reader.batch([row]), [first]),
        kind=bundle.kind,
        text=" / ".join(parts_of(texts)),
        tokens={"": tokens_of("text", row, name)},
        predict=predict,
        predicted=predicted,
    )
    return with_number(found, bundle)


def explain_question(reader: TextEncoder, question: str, passage: str = "", *, top: int) -> Explanation:
    """A model that answers questions: the window of the passage with the best answer, and where it can begin and end.

    These are the tokens of the passage and, if the model may find no answer, the first token, which says so.
    """
    window = best_window(reader, question, passage)
    may_lack = options_of(reader).no_answer
    places = [*([NOT_HERE] if may_lack else []), *range(window.first, window.first + window.size)]
    name = names_of(reader.tokenizer)

    def label(place: int) -> str:
        return NONE if place == NOT_HERE else name(window.ids[place])

    def predict(logits: Tensor) -> Sequence[Prediction]:
        of_both = logits[0].mT  # (2, T): beginning and end
        chosen = torch.full_like(of_both, -torch.inf)
        chosen[:, places] = of_both[:, places]
        return predictions(chosen, label, at=["begin", "end"], known=[None, None], top=min(top, len(places)))

    return record(
        reader.model,
        with_segments(reader.batch([window.ids]), [window.first]),
        kind=reader.kind,
        text=f"{question} / {passage}",
        tokens={"": tokens_of("text", window.ids, name)},
        predict=predict,
        predicted="Where in the passage the answer begins and ends" + (f"; {NONE}: it has none" if may_lack else ""),
    )


def explain_encoder(bundle: Bundle, text: str, *, top: int) -> Explanation:
    """BERT and similar: what the head predicts for the text, for each token, or for each mask."""
    reader = TextEncoder(bundle)
    inputs_of(text, reader.texts_each)  # an error for a model of pairs
    head = getattr(reader.model.config, "head", "none")
    if head == "tokens":
        return explain_tags(reader, text, top=top)
    words = head in ("words", "pretraining")
    row, gaps = reader.with_gaps(text) if words and reader.mask.search(text) else (reader.ids_of([text])[0], [])
    name = names_of(reader.tokenizer)
    predicted, predict = head_predictions(bundle, head, row, gaps, name, top)
    found = record(
        reader.model,
        reader.batch([row]),
        kind=bundle.kind,
        text=text,
        tokens={"": tokens_of("text", row, name)},
        predict=predict,
        predicted=predicted,
    )
    return with_number(found, bundle)


def with_number(found: Explanation, bundle: Bundle) -> Explanation:
    """With what a model that was trained on scores predicts, on the scale of these; others unchanged."""
    if not predicts_number(bundle):
        return found
    centre, spread = scale_of(bundle)
    number = centre + spread * float(found.values["logits"].flatten()[0])
    return replace(found, number=number, answer=f"{number:.3f}")


def explain_tags(reader: TextEncoder, text: str, *, top: int) -> Explanation:
    """A tagger: the label of each word, read at its first piece, in the first window of the text."""
    window, words = reader.tagger.first_window(text)
    name, label = names_of(reader.tokenizer), labels_of(reader.bundle)
    places = [place for place, _, _ in window.own]
    return record(
        reader.model,
        reader.tagger.batch([window]),
        kind=reader.bundle.kind,
        text=text,
        tokens={"": tokens_of("text", window.ids, name)},
        predict=lambda logits: predictions(logits[0, places], label, at=words, known=[None] * len(words), top=top),
        predicted="The label of each word",
    )


def head_predictions(
    bundle: Bundle, head: str, row: Sequence[int], gaps: Sequence[int], name: Name, top: int
) -> tuple[str, Predict]:
    """A heading for what an encoder's head predicts, and a function that reads it from the model's output."""
    places = gaps or range(len(row))
    pieces, label = [name(number) for number in row], labels_of(bundle)

    def words(logits: Tensor) -> Sequence[Prediction]:
        known = [None if gaps else row[place] for place in places]
        return predictions(logits[0, list(places)], name, at=[pieces[i] for i in places], known=known, top=top)

    def whole(logits: Tensor) -> Sequence[Prediction]:
        return predictions(logits, label, at=[WHOLE], known=[None], top=top)

    def span(logits: Tensor) -> Sequence[Prediction]:
        of_both = logits[0].mT  # (2, T): beginning and end
        return predictions(of_both, lambda i: pieces[i], at=["begin", "end"], known=[None, None], top=top)

    if predicts_number(bundle):
        return "The score", lambda _: ()
    masked = ("Which words fit the masks" if gaps else "Which words fit each place", words)
    heads: dict[str, tuple[str, Predict]] = {
        "words": masked,
        "pretraining": masked,
        "sentence": ("The class of the text", whole),
        "span": ("Where the answer begins and ends", span),
    }
    return heads.get(head, ("", lambda _: ()))


# Images


def explain_picture(
    image_model: ImageModel, picture: NamedPicture, *, top: int, options: GenerateOptions = ANSWER
) -> Explanation:
    """The class of an image by a ViT, or its caption by a captioner."""
    check_arguments(GenerationSettings, {"top": top})
    image = image_model.prepared([picture])[0]
    if isinstance(image_model.model, Captioner):
        return explain_caption(image_model, picture, image, top=top, options=options)
    return explain_image(image_model, picture, image, top=top)


def explain_image(image_model: ImageModel, picture: NamedPicture, image: Tensor, *, top: int) -> Explanation:
    """ViT: the class of the image, if the model has a head for classes."""

    def predict(logits: Tensor) -> Sequence[Prediction]:
        if not isinstance(image_model.model, Vit) or image_model.model.head is None:
            return ()
        return predictions(logits, image_model.label, at=[WHOLE], known=[None], top=top)

    return record(
        image_model.model,
        ImageBatch(image[None]).to(image_model.device),
        kind=image_model.bundle.kind,
        text=picture.name,
        tokens={"": patches(image, image_model)},
        predict=predict,
        predicted="The class of the image",
    )


def explain_caption(
    image_model: ImageModel, picture: NamedPicture, image: Tensor, *, top: int, options: GenerateOptions
) -> Explanation:
    """A captioner: its caption, then one pass over image and caption together."""
    writer = image_model.caption_generator()
    found = writer.continuations(list(image[None]), options, numbers=[0])[0][0]
    read = ImageBatch(image[None]).to(image_model.device)
    return explain_written(
        writer,
        lambda target_in: ImageWithCaption(read.images, target_in),
        found,
        text=picture.name,
        source=patches(image, image_model),
        top=top,
    )


def one_image(image_model: ImageModel, shown: str) -> NamedPicture:
    pictures = list(image_model.named([shown]))
    if len(pictures) != 1:
        raise DataError(f"{shown} holds {len(pictures):,} images; explain one at a time, for instance {shown}:0.")
    return pictures[0]


def patches(image: Tensor, image_model: ImageModel) -> Tokens:
    """The token for the whole image, then the patches by row and column, counted from 1."""
    config = image_model.model.config if isinstance(image_model.model, Vit) else image_model.model.config.encoder
    down, across = grid_of((image.size(1), image.size(2)), config.patch)
    places = (f"{row + 1},{column + 1}" for row in range(down) for column in range(across))
    return Tokens("image", (WHOLE, *places), grid=(down, across))


def labels_of(bundle: Bundle) -> Name:
    labels = bundle.extras.get("labels", [])
    return lambda number: labels[number] if number < len(labels) else f"class {number}"
