"""Exports a translator: written to a temporary folder, tried, compared, then moved."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from glassformer.data.corpora import corpus_pairs
from glassformer.decode import DecodeSettings
from glassformer.errors import ExportError, GlassformerError
from glassformer.hub.checking import Compared, Comparison, Tolerance
from glassformer.hub.ctranslate2 import POSITIONS, write_ctranslate2
from glassformer.hub.exported import CARD, Exported
from glassformer.hub.folders import new_folder, refuse_recurrent, write_json
from glassformer.tasks.translation.loading import SHARED, SOURCE, TARGET
from glassformer.tasks.translation.material import Held, read_questions
from glassformer.tasks.translation.scoring import score_ids
from glassformer.tasks.translation.translator import Translator
from glassformer.training.watching import Silent

COMPARED = "comparison.json"
CARRIED = ("beam", "alpha", "max_ratio", "max_extra", "min_ratio", "no_repeat", "batch_tokens")  # settings
SENTENCES = 200  # that both engines translate


def export_translator(
    translator: Translator,
    out: str | Path,
    *,
    sample: Sequence[str] | None = None,
    tolerance: Tolerance | None = None,
) -> Comparison:
    """Writes the folder `out` for CTranslate2 and returns the comparison of both engines; an error if they differ."""
    check_exportable(translator)
    chosen = sample_of(translator) if sample is None else [text for text in sample if text.strip()]
    if not chosen:
        raise ExportError("The sample has no sentences to compare the two engines with. Give it some.")
    with new_folder(Path(out)) as folder:
        write_folder(translator, folder)
        greedy, beam = (compared(translator, Exported(folder), chosen, beam=width) for width in (1, 5))
        found = Comparison.of(greedy, beam)
        found.refuse_beyond(tolerance or Tolerance(), engine="CTranslate2")
        write_json(folder / COMPARED, asdict(found))
    return found


def check_exportable(translator: Translator) -> None:
    """Raises an error, without work, for what CTranslate2 cannot have."""
    refuse_recurrent(translator.kind_name, "CTranslate2")
    refuse_unknown_settings(translator.recipe.decode)


def write_folder(translator: Translator, folder: Path) -> None:
    """CTranslate2's files, our tokenizers, and how to decode."""
    source, target = translator.source, translator.target
    names = [SHARED, SHARED] if source is target else [SOURCE, TARGET]
    marks = translator.target_marks
    write_ctranslate2(
        translator.model,
        folder,
        source=[source.token(i) for i in range(len(source))],
        target=[target.token(i) for i in range(len(target))],
        marks={
            "unk": target.token(marks.pad if target.unk_id is None else target.unk_id),
            "bos": target.token(marks.bos),
            "eos": target.token(marks.eos),
        },
    )
    for name, tokenizer in zip(names, (source, target), strict=True):
        tokenizer.save(folder / name)
    write_json(folder / CARD, card(translator, names))


def card(translator: Translator, tokenizers: Sequence[str]) -> dict[str, Any]:
    decode = translator.recipe.decode
    settings = {name: getattr(decode, name) for name in CARRIED}
    card = {"engine": "ctranslate2", "from": translator.origin, "tokenizers": list(tokenizers), **settings}
    splitting = {
        "split_over": translator.split_limit(decode),
        "longest_sentence": translator.longest_sentence,
        "language": translator.source_language,
        "lengths": translator.lengths.to_dict(),
    }
    return {**card, "positions": translator.longest or POSITIONS, **splitting}


def refuse_unknown_settings(decode: DecodeSettings) -> None:
    """Raises an error for settings that CTranslate2 handles differently, or not at all."""
    unknown = {"normalisation": "length", "repetition_penalty": 1.0}
    for name, plain in unknown.items():
        if getattr(decode, name) != plain:
            raise ExportError(
                f"decode.{name} = {getattr(decode, name)!r}: CTranslate2 does not support it. It supports {plain!r}."
            )


def compared(translator: Translator, exported: Exported, texts: Sequence[str], *, beam: int) -> list[Compared]:
    """Translates every sentence, unsplit, with both engines, and scores CTranslate2's translations with ours."""
    whole = translator.recipe.decode.model_copy(update={"split_over": 0})
    ours = translator.candidates(texts, beam=beam, settings=whole, guard=False)
    theirs = exported.candidates(texts, beam=beam, guard=False, split=False)
    rows = translator.source.encode_batch([text.strip() for text in texts])
    said = [[found for token in one[0].tokens if (found := translator.target.id(token)) is not None] for one in theirs]
    filled = [i for i, row in enumerate(rows) if row]
    finished = [theirs[i][0].finished for i in filled]
    checked = score_ids(translator, [rows[i] for i in filled], [said[i] for i in filled], finished=finished)
    return [
        Compared(
            source=texts[i],
            ours=ours[i][0].text,
            theirs=theirs[i][0].text,
            our_score=ours[i][0].score,
            their_score=theirs[i][0].score,
            checked_score=again.score,
            cut=not (ours[i][0].finished or theirs[i][0].finished),
        )
        for i, again in zip(filled, checked, strict=True)
    ]


def sample_of(translator: Translator) -> list[str]:
    """Sentences from the run's validation or training data, if they can still be read."""
    data = translator.recipe.data
    with suppress(GlassformerError, OSError, IndexError):
        if data.corpus:
            return Held.of(corpus_pairs(data.corpus, size=data.corpus_size).test).first(SENTENCES).sources
        held_out = [] if data.valid_share is not None else list(data.valid)
        files = held_out or list(data.pairs[:1]) or [data.source[0], data.target[0]]
        return read_questions(files, data, Silent()).first(SENTENCES).sources
    return words_in_any_order(translator)


def words_in_any_order(translator: Translator) -> list[str]:
    random = np.random.default_rng(1)
    return [
        translator.source.decode(random.integers(len(translator.source), size=3 + i % 20).tolist())
        for i in range(SENTENCES)
    ]
