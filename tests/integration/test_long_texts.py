"""Long texts are translated sentence by sentence; short ones as they were."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from glassformer.evaluate.guard import LONG, SHORT, what_is_wrong
from glassformer.evaluate.lengths import Lengths
from glassformer.hub.exported import CARD, Exported
from glassformer.store.run import RunFolder
from glassformer.tasks.translation.constraints import Constraints, Sampling
from glassformer.tasks.translation.exporting import export_translator
from glassformer.tasks.translation.loading import load
from glassformer.tasks.translation.translator import Translator

SENTENCES = ["The dog eats bread.", "A cat has us.", "My boy sees two eggs.", "His wife has old red wine."] * 10


@pytest.fixture(scope="module")
def model(trained: Path) -> Translator:
    return load(trained)


def test_a_long_text_is_its_sentences(model: Translator) -> None:
    each = model.translate(SENTENCES)
    text = "  ".join(SENTENCES[:20]) + "\n\n" + " ".join(SENTENCES[20:])
    one = model.candidates([text])[0][0]
    assert one.text == "  ".join(each[:20]) + "\n\n" + " ".join(each[20:])
    assert one.parts == len(SENTENCES)
    assert one.log_prob == pytest.approx(sum(one.log_probs), abs=1e-4)


def test_what_is_not_long_is_never_split(model: Translator) -> None:
    two = " ".join(SENTENCES[:2])
    assert model.candidates([two])[0][0].parts == 1
    settings = model.recipe.decode.model_copy(update={"split_over": 0})
    assert model.candidates([" ".join(SENTENCES)], settings=settings)[0][0].parts == 1


def test_a_sentence_without_an_end_is_cut_where_training_would_have_refused_it(model: Translator) -> None:
    one = model.candidates(["the dog eats bread and " * 400])[0][0]
    assert one.parts > 5


def test_placeholders_samples_and_progress_of_long_texts(model: Translator) -> None:
    text = "<b>" + " ".join(SENTENCES) + "</b> {x}"
    told: list[int] = []
    found = model.candidates(
        [text, "A cat has us."], constraints=Constraints(keep_placeholders=True), progress=told.append
    )
    assert found[0][0].text.startswith("<b>")
    assert found[0][0].text.count("{x}") == found[0][0].text.count("</b>") == 1
    assert sum(told) == 2
    drawn = model.candidates([text], constraints=Constraints(sampling=Sampling(seed=2)), n_best=2)[0]
    assert len(drawn) == 2
    assert drawn == model.candidates([text], constraints=Constraints(sampling=Sampling(seed=2)), n_best=2)[0]


def test_lengths_are_watched() -> None:
    source = list(range(300))
    assert what_is_wrong("x y", source, "z", list(range(11)), finished=True) == SHORT
    assert what_is_wrong("x y", source[:5], "z", source, finished=True) == LONG
    assert what_is_wrong("x y", source, "z", source[:100], finished=True) == ""
    assert what_is_wrong("x y", source[:10], "z", source[:1], finished=True) == ""


def test_the_option(trained: Path, command: Callable[..., Any]) -> None:
    text = " ".join(SENTENCES)
    assert json.loads(command("translate", trained, text, "--json").out)["parts"] == len(SENTENCES)
    assert json.loads(command("translate", trained, text, "--json", "--no-split").out)["parts"] == 1


def test_a_stream_comes_sentence_by_sentence(model: Translator) -> None:
    text = "\n".join(SENTENCES[:12]) + "  " + " ".join(SENTENCES[12:])
    whole = model.candidates([text], beam=1, guard=False)[0][0]
    pieces = list(model.stream(text))
    assert whole.parts > 1
    assert "".join(pieces) == whole.text
    assert len(pieces) > 2 * whole.parts  # not all at the end, and not a sentence at a time


def test_an_exported_translator_splits_as_its_run_does(
    model: Translator, tmp_path: Path, command: Callable[..., Any]
) -> None:
    pytest.importorskip("ctranslate2")
    out = tmp_path / "exported"
    export_translator(model, out, sample=[*SENTENCES[:4], " ".join(SENTENCES[:20])])
    text = "  ".join(SENTENCES[:20]) + "\n\n" + " ".join(SENTENCES[20:])
    ours, theirs = model.candidates([text], guard=False)[0][0], Exported(out).candidates([text], guard=False)[0][0]
    assert (theirs.text, theirs.parts) == (ours.text, ours.parts)
    assert theirs.score == pytest.approx(ours.score, abs=1e-3)
    assert Exported(out).candidates([text], split=False)[0][0].parts == 1
    told = json.loads(command("translate", out, text.replace("\n", " "), "--json").out)
    assert told["parts"] == len(SENTENCES)
    assert json.loads(command("translate", out, text, "--json", "--no-split").out)["parts"] == 1


def test_an_export_of_before_has_the_defaults(model: Translator, tmp_path: Path) -> None:
    pytest.importorskip("ctranslate2")
    out = tmp_path / "exported"
    export_translator(model, out, sample=SENTENCES[:4])
    card = json.loads((out / CARD).read_text(encoding="utf-8"))
    for name in ("split_over", "longest_sentence", "language", "lengths"):
        del card[name]
    (out / CARD).write_text(json.dumps(card), encoding="utf-8")
    old = Exported(out)
    assert (old.about["split_over"], old.lengths) == (64, Lengths())


def test_the_lengths_of_training_are_recorded_and_used(trained: Path, model: Translator) -> None:
    recorded = RunFolder(trained).about()["lengths"]
    assert model.lengths == Lengths.read(recorded)
    assert model.lengths.longest > 0
    assert model.split_limit(model.recipe.decode) == model.lengths.usual
    chosen = model.recipe.decode.model_copy(update={"split_over": 7})
    assert model.split_limit(chosen) == 7
    assert model.longest_sentence == model.lengths.longest


def test_lengths_of_pairs() -> None:
    sources = np.array([*range(1, 100), *[40] * 901])
    found = Lengths.of(sources, sources * 8)
    assert (found.usual, found.longest) == (int(np.quantile(sources, 0.99)), 99)
    assert (found.least_ratio, found.most_ratio) == (0.5, 16.0)
    assert Lengths.read(json.loads(json.dumps(found.to_dict()))) == found
    assert Lengths.of(np.array([3, 4]), np.array([3, 4])) == Lengths(usual=32, longest=4)
    for odd in (None, [], {}, {"usual": 1}, {**found.to_dict(), "usual": "x"}, {**found.to_dict(), "usual": -3}):
        assert Lengths.read(odd) == Lengths()
    eightfold = what_is_wrong("x y", list(range(30)), "z", list(range(240)), finished=True, lengths=found)
    assert eightfold == ""
    assert what_is_wrong("x y", list(range(30)), "z", list(range(240)), finished=True) == LONG


def test_texts_that_are_the_same_are_searched_once(model: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    """One word of thousands of letters is cut into parts, most of them alike."""
    found, searched = Translator.found, []

    def counting(self: Translator, batch: Any, request: Any) -> Any:
        searched.extend(batch.texts)
        return found(self, batch, request)

    monkeypatch.setattr(Translator, "found", counting)
    done: list[int] = []
    options = model.candidates(["a dog", "a dog", "a cat"], beam=2, guard=False, progress=done.append)
    assert options[0] == options[1]
    assert len(searched) == len(set(searched))
    assert sum(done) == 3
