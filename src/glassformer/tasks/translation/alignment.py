"""Word alignments read from the cross-attention, and their error against gold alignments."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from glassformer.data.batches import EncodedPairs, Ragged, epoch_batches
from glassformer.errors import ModelError
from glassformer.evaluate.alignment import Links, alignment_error, by_words, spans_of_words, word_links, words_of_pieces
from glassformer.nn.taps import listen
from glassformer.printable import opening
from glassformer.text import Tokenizer

if TYPE_CHECKING:
    from glassformer.data.phrasebook import Phrase
    from glassformer.tasks.translation.translator import Translator

Attention = NDArray[np.floating]


@dataclass(frozen=True)
class AlignmentHead:
    """A cross-attention head, counted from 0, and its alignment error rate (0 is perfect)."""

    layer: int
    head: int
    valid_error: float
    test_error: float


def best_alignment_head(translator: Translator, valid: Sequence[Phrase], test: Sequence[Phrase]) -> AlignmentHead:
    """Chooses the head that aligns best on the validation part, and measures it on the test part."""
    on_valid, on_test = head_errors(translator, valid), head_errors(translator, test)
    layer, head = (int(i) for i in np.unravel_index(on_valid.argmin(), on_valid.shape))
    return AlignmentHead(layer, head, float(on_valid[layer, head]), float(on_test[layer, head]))


def head_errors(translator: Translator, phrases: Sequence[Phrase]) -> NDArray[np.floating]:
    """(N, H): the alignment error of every cross-attention head against the gold links."""
    attentions = cross_attentions(
        translator, [phrase.source for phrase in phrases], [phrase.references[0] for phrase in phrases]
    )
    found = [head_links(translator, p, a) for p, a in zip(phrases, attentions, strict=True)]
    sure, possible = [p.sure for p in phrases], [p.possible for p in phrases]
    layers, heads = attentions[0].shape[:2]
    errors = [[alignment_error([f[n][h] for f in found], sure, possible) for h in range(heads)] for n in range(layers)]
    return np.array(errors)


def head_links(translator: Translator, phrase: Phrase, attention: Attention) -> list[list[Links]]:
    """The links that every head of `attention` (N, H, T, S) gives for one sentence pair."""
    source = piece_words(translator.source, phrase.source)
    target = piece_words(translator.target, phrase.references[0])
    return [[word_links(pattern, source, target) for pattern in layer] for layer in attention]


def phrase_words(text: str) -> Sequence[str]:
    """The words of the phrasebook, which its gold links count."""
    from glassformer.data.phrasebook import words  # a translation without placeholders needs no phrasebook

    return words(text)


def piece_words(
    tokenizer: Tokenizer, text: str, split: Callable[[str], Sequence[str]] = phrase_words
) -> list[int | None]:
    """The word of each piece of `text`; the end mark belongs to none."""
    text = tokenizer.normalize(text)
    return [*words_of_pieces(tokenizer.offsets(text), spans_of_words(text, split(text))), None]


def piece_links(translator: Translator, phrase: Phrase) -> tuple[tuple[int, int], ...]:
    """The sure links of a phrase between pieces instead of words: (source piece, target piece)."""
    source = piece_words(translator.source, phrase.source)
    target = piece_words(translator.target, phrase.references[0])
    return tuple((s, t) for s, v in enumerate(source) for t, w in enumerate(target) if (v, w) in phrase.sure)


def attends(translator: Translator) -> bool:
    """Whether the decoder looks back at the source; an LSTM without attention does not."""
    return any(is_cross_pattern(name) for name, _ in translator.model.named_modules())


def is_cross_pattern(name: str) -> bool:
    """Whether a tap gives the patterns of a cross-attention."""
    return name.endswith("cross_attention.core.pattern")


# Any sentences


def align(translator: Translator, sources: Sequence[str], translations: Sequence[str]) -> list[Links]:
    """The source word that each word of a translation comes from, by the mean of all heads. Spaces separate words."""
    if not attends(translator):
        raise ModelError(
            f"{opening(translator.kind_name)} model has no attention, from which alignments are read. Models that "
            "have it: transformer, rnn_attention."
        )
    sources, translations = [text.strip() for text in sources], [text.strip() for text in translations]
    filled = [i for i, (s, t) in enumerate(zip(sources, translations, strict=True)) if s and t]
    found = [Links()] * len(sources)
    if not filled:
        return found
    for place, attention in each_attention(translator, [sources[i] for i in filled], [translations[i] for i in filled]):
        i = filled[place]
        source = piece_words(translator.source, sources[i], str.split)
        target = piece_words(translator.target, translations[i], str.split)
        found[i] = word_links(attention.mean(axis=(0, 1)), source, target)
    return found


def shares_of_words(
    translator: Translator, sources: Sequence[str], targets: Sequence[str], split: Callable[[str], Sequence[str]]
) -> list[Attention]:
    """For each pair (T, S): how much of each target word comes from each source word; every row sums to 1.

    If the tokenizer's normal form has other words than the text, the words are assumed to be in the same order.
    """
    found: dict[int, Attention] = {}
    for i, attention in each_attention(translator, sources, targets) if sources else ():
        source, target = sources[i], targets[i]
        pieces = piece_words(translator.source, source, split), piece_words(translator.target, target, split)
        shares = by_words(attention.mean(axis=(0, 1)), *pieces)
        size = len(split(target)), len(split(source))
        if shares.shape != size:
            shares = in_order(*size)
        found[i] = shares / np.maximum(shares.sum(axis=1, keepdims=True), 1e-9)
    return [found[i] for i in range(len(sources))]


def in_order(targets: int, sources: int) -> Attention:
    """(T, S): each target word comes from the source word at the same place in its sentence."""
    shares = np.zeros((targets, sources))
    if targets and sources:
        shares[np.arange(targets), np.arange(targets) * sources // targets] = 1
    return shares


@torch.inference_mode()
def forced_log_probs(
    translator: Translator, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]
) -> list[Attention]:
    """The log-probability of each target token, including the end mark, given the tokens before it."""
    pairs = EncodedPairs(Ragged.of(sources), Ragged.of(targets), translator.source_marks, translator.target_marks)
    model = translator.model.eval()
    found: dict[int, Attention] = {}
    for index in epoch_batches(pairs.lengths, tokens=4096, seed=0, epoch=0):
        batch = pairs.batch(index).to(translator.device)
        log_probs = model(batch).log_softmax(dim=-1).gather(2, batch.target_out[:, :, None])[:, :, 0].cpu().numpy()
        for row, i in enumerate(index):
            found[int(i)] = log_probs[row, : len(targets[i]) + 1]
    return [found[i] for i in range(len(sources))]


def as_text(links: Links) -> str:
    """`0-0 1-2`: source word, target word, counted from 0."""
    return " ".join(f"{source}-{target}" for source, target in sorted(links))


def cross_attentions(translator: Translator, sources: Sequence[str], targets: Sequence[str]) -> list[Attention]:
    """For each given pair, the cross-attention of all heads (N, H, T, S) without padding; T and S include </s>."""
    found = dict(each_attention(translator, sources, targets))
    return [found[i] for i in range(len(sources))]


@torch.inference_mode()
def each_attention(
    translator: Translator, sources: Sequence[str], targets: Sequence[str]
) -> Iterator[tuple[int, Attention]]:
    """The same one by one, as they are computed, each with its index."""
    pairs = EncodedPairs(
        Ragged.of(translator.source.encode_batch(sources)),
        Ragged.of(translator.target.encode_batch(targets)),
        translator.source_marks,
        translator.target_marks,
    )
    if not attends(translator):  # the best guess without attention: the words are in the same order
        yield from ((i, in_order(t, s)[None, None]) for i, (s, t) in enumerate(pairs.lengths.tolist()))
        return
    decoder = translator.model.eval().decoder
    for index in epoch_batches(pairs.lengths, tokens=8192, seed=0, epoch=0):
        batch = pairs.batch(index).to(translator.device)
        with listen(decoder, is_cross_pattern) as recorded:
            translator.model.hidden(batch)
        patterns = torch.stack([values[0] for values in recorded.values()], dim=1).cpu().numpy()  # (B, N, H, T, S)
        for row, (i, (s, t)) in enumerate(zip(index, pairs.lengths[index], strict=True)):
            yield int(i), patterns[row, :, :, :t, :s]
