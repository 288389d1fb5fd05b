"""Exports: what CTranslate2 says is what we say, and a wrong export does not happen."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from glassformer.errors import ExportError
from glassformer.evaluate.guard import what_is_wrong
from glassformer.hub import ctranslate2 as ct2
from glassformer.hub.exported import Exported
from glassformer.models.transformer import Transformer, TransformerConfig
from glassformer.tasks.translation import exporting
from glassformer.tasks.translation.exporting import export_translator
from glassformer.tasks.translation.loading import load
from glassformer.tasks.translation.scoring import score, score_ids
from glassformer.tasks.translation.translator import Translator

SENTENCES = ["the cat sees the dog.", "a bird eats", "dog dog dog cat", "", "  ", "x"]


@pytest.fixture(scope="module")
def exported(trained: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("exported") / "model"
    export_translator(load(trained), out)
    return out


def of_shape(trained: Path, **shape: Any) -> Translator:
    """Another model, untrained, with the tokenizer of the run."""
    known = load(trained)
    torch.manual_seed(4)
    config = TransformerConfig.model_validate({"size": "nano", "d": 12, "h": 3, "d_ff": 20, **shape})
    model = Transformer(config, source_vocabulary=len(known.source), target_vocabulary=len(known.target))
    with torch.no_grad():  # so that it says something
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return Translator(model.eval(), known.source, known.target, known.recipe)


@pytest.mark.parametrize(
    "shape",
    [
        {},
        {"norm": "post"},
        {"positions": "learned", "max_length": 64},
        {"positions": "sinusoidal-halves", "activation": "gelu"},
        {"activation": "gelu_tanh", "tied": "none", "output_bias": True},
        {"activation": "silu", "tied": "output", "N": 1, "N_decoder": 3},
    ],
)
def test_every_shape_has_the_same_scores_there(trained: Path, tmp_path: Path, shape: dict[str, Any]) -> None:
    found = export_translator(of_shape(trained, **shape), tmp_path / "out")
    assert found.sentences > 50
    assert found.largest_difference < 1e-4
    told = json.loads((tmp_path / "out" / "comparison.json").read_text())
    assert told["same"] == found.same


def test_rotary_positions_are_refused_with_what_is_possible(trained: Path, tmp_path: Path) -> None:
    with pytest.raises(ExportError, match=r"no rotary positions .* sinusoidal or learned"):
        export_translator(of_shape(trained, positions="rotary"), tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_a_wrong_export_does_not_happen(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One weight matrix of many is wrong in one place."""
    real = ct2.fill_norm

    def slightly_wrong(spec: Any, norm: Any) -> None:
        real(spec, norm)
        spec.gamma = spec.gamma * np.float32(1.01)

    monkeypatch.setattr(ct2, "fill_norm", slightly_wrong)
    with pytest.raises(ExportError, match=r"does not translate as this model does: .* Nothing was exported"):
        export_translator(load(trained), tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_nothing_that_is_there_is_overwritten(trained: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with pytest.raises(ExportError, match="already exists"):
        export_translator(load(trained), tmp_path / "out")


def test_it_translates_as_the_run_does(trained: Path, exported: Path) -> None:
    ours, theirs = load(trained), Exported(exported)
    for beam in (1, 3):
        expected = ours.candidates(SENTENCES, beam=beam, guard=False)
        found = theirs.candidates(SENTENCES, beam=beam, guard=False)
        assert [one[0].text for one in found] == [one[0].text for one in expected]
        assert [one[0].score for one in found] == pytest.approx([one[0].score for one in expected], abs=1e-4)
    assert [len(one) for one in theirs.candidates(["the cat sees the dog."], n_best=4)] == [4]


def test_it_fills_in_files(exported: Path, tmp_path: Path, command: Any) -> None:
    table = tmp_path / "a.csv"
    table.write_text("source\nthe cat sees the dog.\n", encoding="utf-8")
    done = command("translate", exported, "--input", table)
    (expected,) = Exported(exported).candidates(["the cat sees the dog."])
    assert (done.code, done.out) == (0, f"source,target\nthe cat sees the dog.,{expected[0].text}\n")


def test_its_guard_finds_what_the_runs_does(trained: Path, exported: Path) -> None:
    ours, theirs = load(trained).candidates(SENTENCES, beam=1), Exported(exported).candidates(SENTENCES, beam=1)
    assert [one[0].wrong for one in theirs] == [one[0].wrong for one in ours]
    assert any(one[0].repaired for one in theirs)
    for one, sentence in zip(theirs, SENTENCES, strict=True):
        if one[0].repaired:
            assert not what_is_wrong(sentence, [], one[0].text, one[0].tokens, finished=one[0].finished)


def test_without_the_files_words_in_any_order_are_compared(trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    translator = load(trained)

    def gone(*_: Any) -> None:
        raise FileNotFoundError

    monkeypatch.setattr(exporting, "read_questions", gone)
    sentences = exporting.sample_of(translator)
    assert len(sentences) == exporting.SENTENCES
    assert len(set(sentences)) > 100


def test_from_the_command_line_without_torch(exported: Path) -> None:
    code = (
        "import sys; sys.argv = ['glassformer', 'translate', sys.argv[1]]\n"
        "from glassformer.cli.main import main\n"
        "try:\n main()\nexcept SystemExit as end:\n assert not end.code\n"
        "assert 'torch' not in sys.modules\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(exported)],
        input="the cat sees the dog.\n\na bird eats\n",
        text=True,
        capture_output=True,
        check=True,
    )
    assert len(done.stdout.split("\n")) == 4
    assert done.stdout.split("\n")[1] == ""


def test_export_and_translate_as_commands(trained: Path, tmp_path: Path, command: Callable[..., Any]) -> None:
    out = tmp_path / "model"
    done = command("export", trained, "--to", "ctranslate2", "--out", out)
    assert done.code == 0
    assert "the same translation" in done.out
    ours = load(trained).candidates(["the cat sees the dog."], guard=False)[0][0].text + "\n"
    assert command("translate", out, "the cat sees the dog.").out == ours
    assert command("translate", out, "--engine", "ctranslate2", "the cat sees the dog.").out == ours
    assert command("translate", trained, "--engine", "ctranslate2", "x").code == 2
    refused = command("translate", out, "x", "--compute", "float7")
    assert (refused.code, refused.err[:54]) == (2, "glassformer: --compute float7: this machine can do aut")
    assert command("translate", out, "--compute", "int8", "the cat sees the dog.").code == 0
    assert command("translate", out, "x", "--ban", "y").err.startswith("glassformer: An exported translator only")
    assert command("export", trained, "--to", "onnx", "--out", tmp_path / "x").err.startswith("glassformer: --to onnx")


# Scores of given translations


def test_a_found_translation_is_scored_as_it_was_found(trained: Path) -> None:
    translator = load(trained)
    texts = [text for text in SENTENCES if text.strip()]
    rows = translator.source.encode_batch(texts)
    found = [one[0] for one in translator.search_ids(rows, beam=3)]
    scored = score_ids(translator, rows, [h.ids for h in found])
    for one, other in zip(found, scored, strict=True):
        if one.finished:
            assert other.score == pytest.approx(one.score, abs=1e-5)
            assert other.log_probs == pytest.approx(one.log_probs, abs=1e-4)


def test_scores_do_not_depend_on_the_batch(trained: Path) -> None:
    translator = load(trained)
    sources, given = ["the cat sees the dog.", "a bird", "dog"] * 9, ["die Katze", "", "der Hund sieht"] * 9
    together = score(translator, sources, given)
    alone = [score(translator, [s], [t])[0] for s, t in zip(sources[:3], given[:3], strict=True)]
    assert [h.score for h in together[:3]] == pytest.approx([h.score for h in alone], abs=1e-5)
    assert [len(h.log_probs) for h in alone][1] == 1  # the end mark


def test_score_as_a_command(trained: Path, tmp_path: Path, command: Callable[..., Any]) -> None:
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("the cat sees the dog.\tdie Katze sieht den Hund.\na bird eats\tein Vogel\n")
    plain = command("score", trained, pairs)
    assert plain.code == 0
    told = [json.loads(line) for line in command("score", trained, pairs, "--json").out.splitlines()]
    assert [f"{one['score']:.4f}" for one in told] == plain.out.split()
    assert all(len(one["tokens"]) == len(one["log_probs"]) for one in told)
