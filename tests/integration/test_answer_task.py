"""Answers get the whole training engine, a command, exports and reports; checked against plain formulas and peers."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForQuestionAnswering, BertConfig, BertForQuestionAnswering

import encoder_models
import glassformer as gf
from glassformer.data.answer_windows import Layout, SpanWindows, encode_questions, pieces_of
from glassformer.data.sources.answers import Question
from glassformer.errors import GlassformerError
from glassformer.store.bundle import save_bundle
from glassformer.store.run import RunFolder
from glassformer.tasks.answer_report import excerpt, question_word
from glassformer.tasks.answer_spans import losses_at, window_losses
from glassformer.tasks.embedding import TextEncoder
from glassformer.tasks.explaining import explain
from glassformer.tasks.loading import load_bundle
from glassformer.text.framing import Frame
from toy_texts import arguments, questions, settings, write_questions

Command = Callable[..., Any]
MODEL = {"kind": "bert", "N": 1, "d": 24, "h": 2, "d_ff": 32, "dropout": 0.0}
STEPS = {"steps": 160, "valid_every": 40, "batch_tokens": 600}
PASSAGE = "since 1910 anna lives in rome ."


def toy_settings(**train: Any) -> dict[str, Any]:
    return {**settings(MODEL, {**STEPS, **train}), "text": {"kind": "word", "vocab_size": 60}}


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("questions")
    write_questions(folder / "train.jsonl", count=240)
    write_questions(folder / "valid.jsonl", count=60, seed=2)
    return folder


@pytest.fixture(scope="module")
def run(here: Path) -> Path:
    """A finished run. Only to be read."""
    data = {"files": str(here / "train.jsonl"), "valid": str(here / "valid.jsonl")}
    gf.train(task="answer", data=data, out=here / "run", **toy_settings())
    return here / "run"


@pytest.fixture(scope="module")
def weak(here: Path) -> Path:
    """A run of two steps, with hostile validation questions. Only to be read."""
    rows = questions(30, 5)
    rows[0] |= {
        "passage": "</script><script>alert(1)</script> anna",
        "question": "who <b>lives</b> ?",
        "answer": "anna",
    }
    (here / "hostile.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    data = {"files": str(here / "train.jsonl"), "valid": str(here / "hostile.jsonl")}
    gf.train(task="answer", data=data, out=here / "weak", **toy_settings(steps=2, valid_every=2))
    return here / "weak"


def last(run: Path) -> dict[str, Any]:
    return RunFolder(run).metrics()[-1]


# Learning


def test_a_toy_is_learnt_with_and_without_answers(run: Path) -> None:
    assert last(run)["measured"]["f1"] >= 95
    assert last(run)["measured"]["exact"] >= 95


def test_shuffled_answers_are_not_learnt(here: Path, tmp_path: Path) -> None:
    rows, random = questions(240, 1), Random(7)
    for row in rows:  # any word of the passage
        row["answer"] = random.choice(row["passage"].split())
    (tmp_path / "wrong.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    data = {"files": str(tmp_path / "wrong.jsonl"), "valid": str(here / "valid.jsonl")}
    gf.train(task="answer", data=data, out=tmp_path / "run", **toy_settings(steps=60))
    assert last(tmp_path / "run")["measured"]["exact"] <= 60


def test_the_threshold_is_kept_in_the_run(run: Path) -> None:
    chosen = RunFolder(run).about()["settled"]["threshold"]
    assert load_bundle(run).extras["threshold"] == chosen == last(run)["threshold"]
    model: Any = gf.load(run)
    assert model.answer("why is it so ?", PASSAGE).text == ""
    assert model.answer("why is it so ?", PASSAGE, no_answer=False).text != ""
    assert model.answer("who lives there ?", PASSAGE, threshold=-1e6).text == ""


# Losses and spans against plain formulas


def toy_batch() -> Any:
    passage = "the river bank flows . money grows . paris is the capital of france ."
    rows = [
        Question("a", "", "where ?", passage, (passage.index("paris"),), ("paris",)),
        Question("b", "", "the dog runs ?", passage, (), ()),
        Question("c", "", "what ?", "the cat runs .", (4,), ("cat runs",)),
    ]
    encoded = encode_questions(rows, encoder_models.wordpiece(), Layout(Frame((2,), (3,), (3,)), 16, 4, 5))
    pool = SpanWindows(encoded.columns, 0, 1)
    return pool.batch(np.arange(len(pool)))


def test_the_loss_is_the_cross_entropy_of_begin_and_end() -> None:
    batch = toy_batch()
    model = encoder_models.bert(head="span", pooler=False).model.double().eval()
    found = window_losses(model, batch).detach()
    logits = model(batch).detach().double().numpy()
    for row in range(len(found)):
        allowed = batch.allowed[row].numpy()
        expected = 0.0
        for part, place in ((0, batch.begins), (1, batch.ends)):
            scores = logits[row, :, part]
            expected += np.log(np.exp(scores[allowed]).sum()) - scores[int(place[row])]
        assert float(found[row]) == pytest.approx(expected, abs=1e-10)
    assert {bool(begin) for begin in batch.begins} == {True, False}


def test_smoothing_spreads_over_the_allowed_places() -> None:
    logits = torch.tensor([[1.0, 2.0, float("-inf"), 0.5]], dtype=torch.float64)
    logs = logits[0, [0, 1, 3]].log_softmax(0)
    expected = -(0.9 * logs[1] + 0.1 * logs.mean())
    assert float(losses_at(logits, torch.tensor([1]), 0.1)[0]) == pytest.approx(float(expected))


# Peers


def their_folder(folder: Path) -> Any:
    torch.manual_seed(5)
    shape = {"num_hidden_layers": 2, "hidden_size": 24, "num_attention_heads": 2, "intermediate_size": 19}
    config = BertConfig(vocab_size=len(encoder_models.PIECES), max_position_embeddings=40, pad_token_id=0, **shape)
    theirs = BertForQuestionAnswering(config).eval()
    with torch.no_grad():
        for parameter in (one for one in theirs.parameters() if one.dim() > 1):
            parameter.normal_(std=0.3)
    theirs.save_pretrained(folder)
    encoder_models.wordpiece().save(folder / "tokenizer.json")
    return theirs


def test_an_imported_model_answers_as_every_span_of_transformers_says(tmp_path: Path, command: Command) -> None:
    theirs = their_folder(tmp_path / "theirs")
    passage, question = "The Dog runs,  the cat RUNS of France. Paris is money", "the river?"
    tokenizer = encoder_models.wordpiece()
    asked, pieces = tokenizer.encode(question), pieces_of([passage], tokenizer)[passage]
    ids = torch.tensor([[2, *asked, 3, *pieces.ids, 3]])
    first = len(asked) + 2
    segments = torch.tensor([[0] * first + [1] * (ids.size(1) - first)])
    with torch.no_grad():
        out = theirs(ids, token_type_ids=segments)
    begins, ends = (one[0, first:-1].double() for one in (out.start_logits, out.end_logits))
    scored = {
        (int(pieces.spans[i, 0]), int(pieces.spans[j, 1])): float(begins[i] + ends[j])
        for i in range(len(begins))
        for j in range(i, min(len(begins), i + 30))
    }
    model: Any = gf.load(tmp_path / "theirs")
    found = model.answer(question, passage, top=5)
    best = sorted(scored, key=lambda span: -scored[span])[:5]
    assert [(span.start, span.end) for span in found.spans] == best
    total = np.log(sum(np.exp(score) for score in scored.values()))
    for span in found.spans:
        assert span.text == passage[span.start : span.end]
        assert span.score == pytest.approx(scored[span.start, span.end], abs=1e-4)
        assert span.probability == pytest.approx(np.exp(scored[span.start, span.end] - total), abs=1e-4)
    none = float(out.start_logits[0, 0] + out.end_logits[0, 0])
    assert model.answer(question, passage, no_answer=True).margin == pytest.approx(
        none - found.spans[0].score, abs=1e-4
    )
    assert (
        'glassformer answer {out} --passage passage.txt "...?"'.format(out=tmp_path / "ours")
        in command("import", tmp_path / "theirs", "--out", tmp_path / "ours").out
    )


def test_a_long_passage_is_read_in_windows(tmp_path: Path) -> None:
    """The best of all windows, as if each were a passage of its own."""
    their_folder(tmp_path / "theirs")
    model: Any = gf.load(tmp_path / "theirs")
    passage = " ".join(Random(2).choices(encoder_models.WORDS, k=90))
    found = model.answer("the river?", passage, top=1)
    assert found.text == passage[found.start : found.end]
    layout = Layout(model.frame, 40, 128, 64)
    pieces = pieces_of([passage], model.tokenizer)[passage]
    windows = layout.windows(model.tokenizer.encode("the river?"), pieces.ids)
    assert len(windows) > 2
    parts = [passage[pieces.spans[w.begin, 0] : pieces.spans[w.begin + w.size - 1, 1]] for w in windows]
    assert found.spans[0].score == pytest.approx(
        max(model.answer("the river?", part).spans[0].score for part in parts), abs=1e-4
    )


def test_an_export_answers_the_same(run: Path, tmp_path: Path, command: Command) -> None:
    assert command("export", run, "--to", "huggingface", "--out", tmp_path / "hf").code == 0
    again: Any = gf.load(tmp_path / "hf")
    ours: Any = gf.load(run)
    one, other = (model.answer("where is the home ?", PASSAGE, no_answer=False) for model in (ours, again))
    assert (one.text, one.start) == (other.text, other.start) == ("rome", 25)
    assert one.probability == pytest.approx(other.probability, abs=1e-5)
    assert AutoModelForQuestionAnswering.from_pretrained(tmp_path / "hf").config.architectures == [
        "BertForQuestionAnswering"
    ]


# Commands


def test_answer_by_arguments_stdin_json_and_python(run: Path, tmp_path: Path, command: Command) -> None:
    (tmp_path / "p.txt").write_text(PASSAGE + "\nnothing else .\n")
    asked = ["who lives there ?", "where is the home ?", "why is it so ?"]
    found = command("answer", run, "--passage", tmp_path / "p.txt", *asked)
    assert found.code == 0, found.err
    cells = [line.split("\t") for line in found.lines]
    assert [row[:2] for row in cells] == [[asked[0], "anna"], [asked[1], "rome"], [asked[2], "no answer"]]
    assert cells[0][3] == "since 1910 [[anna]] lives in rome ."
    piped = command("answer", run, "--passage", tmp_path / "p.txt", stdin="\n".join(asked).encode())
    assert piped.out == found.out
    tabbed = command("answer", run, "--json", stdin=f"{asked[1]}\t{PASSAGE}\n".encode())
    fields = json.loads(tabbed.out)
    assert (fields["answer"], PASSAGE[fields["start"] : fields["end"]]) == ("rome", "rome")
    assert json.loads(command("answer", run, "--json", stdin=f"{asked[2]}\t{PASSAGE}\n".encode()).out)["answer"] is None
    several = command("answer", run, "--passage", "-", asked[1], "--top", 3, stdin=PASSAGE.encode())
    assert [line.split("\t")[1] for line in several.lines] == ["1", "2", "3"]
    model: Any = gf.load(run)
    assert [one.text for one in model.answer(asked, PASSAGE)] == ["anna", "rome", ""]


@pytest.mark.parametrize(
    ("given", "stdin", "words"),
    [
        (["who?"], None, "--passage FILE"),
        (["--passage", "-"], b"x", "give the questions as arguments"),
        ([], b"no tab\n", "stdin, line 1: got 'no tab'; give question<TAB>passage"),
        (["--passage", "missing.txt", "who?"], None, "no such file"),
    ],
)
def test_wrong_use_is_one_line(run: Path, command: Command, given: list[str], stdin: bytes | None, words: str) -> None:
    refused = command("answer", run, *given, **({} if stdin is None else {"stdin": stdin}))
    assert (refused.code, len(refused.err.splitlines())) == (2, 1)
    assert words in refused.err


def test_a_model_without_answers_is_refused(tmp_path: Path, command: Command) -> None:
    save_bundle(encoder_models.bert(), tmp_path / "words")
    (tmp_path / "p.txt").write_text(PASSAGE)
    refused = command("answer", tmp_path / "words", "--passage", tmp_path / "p.txt", "who?")
    assert (refused.code, "no head for answers" in refused.err) == (2, True)
    for wrong in (("", PASSAGE), ("who?", " "), (["a", "b"], ["c"]), (3, PASSAGE)):
        with pytest.raises(GlassformerError):
            TextEncoder(encoder_models.bert(head="span", pooler=False)).answer(*wrong)  # type: ignore[call-overload]


def test_evaluate_compare_explain_and_forecast(
    run: Path, weak: Path, here: Path, tmp_path: Path, command: Command
) -> None:
    found = command("evaluate", run, here / "valid.jsonl", "--json")
    scores = {score["key"]: score["value"] for score in json.loads(found.out)}
    assert scores == pytest.approx(last(run)["measured"])
    assert "60 questions" in command("evaluate", run, here / "valid.jsonl").out
    compared = command("compare", run, weak, "--test", here / "valid.jsonl", "--json")
    assert [one["scores"][0]["key"] for one in json.loads(compared.out)["runs"]] == ["f1", "f1"], compared.err
    shown = command("explain", run, f"who lives there ?\t{PASSAGE}")
    assert (shown.code, "begin" in shown.out) == (0, True), shown.err
    assert command("explain", run, "one text").code == 2
    sections = {name: part for name, part in toy_settings().items() if name != "data"}
    plan = command(*arguments("answer", here / "train.jsonl", tmp_path / "new", sections, "--forecast"))
    assert (plan.code, "Training will take" in plan.out) == (0, True), plan.err


@pytest.mark.parametrize("may_lack", [True, False])
def test_an_explanation_shows_only_places_that_can_be_the_answer(run: Path, may_lack: bool) -> None:
    bundle = load_bundle(run)
    found = explain(replace(bundle, extras={**bundle.extras, "no_answer": may_lack}), ("who lives ?", PASSAGE), top=99)
    pieces, own = found.tokens[""].pieces, len(PASSAGE.split())
    first = len(pieces) - 1 - own  # a mark ends the window
    assert pieces[first] == "▁since"
    for one in found.predictions:
        shown = {candidate.id: candidate.piece for candidate in one.top}
        expected = {place: pieces[place] for place in range(first, first + own)}
        assert shown == ({0: "(none)", **expected} if may_lack else expected)
        assert sum(candidate.probability for candidate in one.top) == pytest.approx(1)
    assert ("(none)" in found.predicted) == may_lack


def test_training_by_command_gives_advice_that_works(here: Path, tmp_path: Path, command: Command) -> None:
    sections = toy_settings(steps=2, valid_every=2)
    done = command(*arguments("answer", here / "train.jsonl", tmp_path / "run", sections))
    assert done.code == 0, done.err
    assert done.err.splitlines()[-1] == f'Try:  glassformer answer {tmp_path / "run"} --passage passage.txt "...?"'
    assert "240 questions, " in done.err


def test_a_run_is_continued_and_a_span_model_of_others_keeps_its_head(
    run: Path, here: Path, tmp_path: Path, command: Command
) -> None:
    assert command("export", run, "--to", "huggingface", "--out", tmp_path / "hf").code == 0
    rows = [
        {**row, "passage": " ".join(w for w in row["passage"].split() if not w.isdecimal())}
        for row in questions(9, 4, impossible=0)
    ]
    for row in rows:
        row["passage"] = row["passage"].replace(".", f"{'. ' * (1 + int(row['id'][1:]))}")
    (tmp_path / "more.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    data = {"files": str(tmp_path / "more.jsonl"), "valid": str(here / "valid.jsonl")}
    for start in (run, tmp_path / "hf"):
        out = tmp_path / f"from-{start.name}"
        train = {"steps": 2, "threads": 1, "device": "cpu"}
        gf.train(task="answer", data=data, out=out, start_from=start, train=train, no_answer=True)
        first = next(record for record in RunFolder(out).metrics() if "valid_loss" in record)
        assert (first["step"], first["valid_loss"]) == (0, pytest.approx(last(run)["measured"]["loss"], abs=1e-4))


# The report


def test_the_report_shows_scores_and_escapes_hostile_texts(weak: Path) -> None:
    page = (weak / "report.html").read_text()
    for title in ("Scores by question word", "Scores by length of the passage", "The clearest mistakes"):
        assert title in page
    assert "<script>alert(1)" not in page


def test_excerpts_mark_right_and_predicted() -> None:
    text = "x" * 300 + " anna lives in rome " + "y" * 300
    shown = excerpt(text, [(301, 305, ("[", "]")), (315, 319, ("⟦", "⟧"))])
    assert "[anna] lives in ⟦rome⟧" in shown
    assert shown.startswith("… ")
    assert shown.endswith(" …")
    assert excerpt("abc", [(0, 3, ("[", "]")), (0, 2, ("⟦", "⟧"))]) == "[⟦ab⟧c]"


@pytest.mark.parametrize(
    ("question", "word"),
    [
        ("In what year?", "what"),
        ("How many?", "how many, how long, ..."),
        ("How so?", "how"),
        ("Name it.", "none of these"),
    ],
)
def test_question_words(question: str, word: str) -> None:
    assert question_word(Question("", "", question, "p", (), ())) == word
