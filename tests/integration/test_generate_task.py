"""Language models get the whole training engine: they learn, resume, keep budgets, start from other models."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import glassformer as gf
from glassformer.data.windows import encode_windows
from glassformer.errors import ModelError
from glassformer.store.run import RunFolder
from glassformer.tasks.language_modelling import LanguageModelling, counts_between
from glassformer.training.reading import read_recipe, read_tokenizers
from glassformer.training.task import Setup
from killing import check_killed_run
from toy_texts import arguments, sentences, settings, write_running

MODELS = {
    "gpt": {"kind": "gpt"},
    "llama": {"kind": "llama"},
    "experts": {"kind": "llama", "experts": 3, "experts_per_token": 2},
}
WINDOW = 24
Command = Callable[..., Any]


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("texts")
    write_running(folder / "train.txt", years=False)
    write_running(folder / "valid.txt", count=40, seed=2, years=False)
    return folder


def data(here: Path) -> dict[str, Any]:
    return {"files": str(here / "train.txt"), "valid": str(here / "valid.txt"), "max_tokens": WINDOW}


@pytest.fixture(scope="module")
def runs(here: Path) -> dict[str, Path]:
    """A finished run of each kind of model. Only to be read."""
    for name, model in MODELS.items():
        gf.train(task="generate", data=data(here), out=here / name, **settings(model))
    return {name: here / name for name in MODELS}


def validations(run: Path) -> list[dict[str, Any]]:
    return [record for record in RunFolder(run).metrics() if "valid_loss" in record]


@pytest.mark.parametrize("name", MODELS)
def test_a_toy_language_is_learnt(runs: dict[str, Path], name: str) -> None:
    found = validations(runs[name])[-1]
    assert found["valid_perplexity"] < 4  # of 40 words; a grammar with some free choices
    assert found["valid_perplexity"] == pytest.approx(math.exp(found["valid_loss"]))


def test_bits_per_byte_are_the_loss_over_the_bytes_of_the_text(runs: dict[str, Path], here: Path) -> None:
    task, run = LanguageModelling(), RunFolder(runs["gpt"])
    setup = Setup(read_recipe(task, run), read_tokenizers(run))
    text = (here / "valid.txt").read_text()
    tokens = len(setup.tokenizer.encode(text))
    found = validations(runs["gpt"])[-1]
    wanted = found["valid_loss"] * tokens / math.log(2) / len(text.encode())
    assert found["valid_bits_per_byte"] == pytest.approx(wanted, rel=1e-6)


def test_windows_hold_every_token_once() -> None:
    class Letters:
        """Each byte is a token."""

        def __len__(self) -> int:
            return 256

        def encode_flat(self, texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
            rows = [list(text.encode()) for text in texts]
            return np.array([i for row in rows for i in row]), np.array([len(row) for row in rows])

    pieces = [("abcdefg", True, False), ("hij", False, False), ("klmnopqrstu", True, False), ("v", True, False)]
    found = encode_windows(pieces, Letters(), size=4, begin=0).columns  # type: ignore[arg-type]
    rows = [found["text"][i].tolist() for i in range(len(found))]
    assert bytes(token for row in rows for token in row[1:]) == b"abcdefghijklmnopqrstuv"
    assert [row[0] for row in rows] == [0, *b"dh", 0, *b"nr", 0]  # what the first prediction is made from
    assert [len(row) - 1 for row in rows] == [4, 4, 2, 4, 4, 3, 1]
    assert found["bytes"].flat.tolist() == [4, 4, 2, 4, 4, 3, 1]


def test_a_row_ends_with_the_end_mark_and_a_prompt_begins_with_the_begin_mark(tmp_path: Path) -> None:
    """Otherwise the model could not learn to stop, and would be used differently from how it was trained."""
    table = tmp_path / "rows.jsonl"
    rows = [text for text, _ in sentences(150, 3, years=False)]
    table.write_text("".join(json.dumps({"text": row}) + "\n" for row in rows))
    given = settings(MODELS["gpt"], {"steps": 120, "valid_every": 60})
    gf.train(
        task="generate",
        data={"files": str(table), "columns": "text", "max_tokens": WINDOW},
        out=tmp_path / "run",
        **given,
    )
    model = gf.load(tmp_path / "run")
    tokenizer = model.bundle.tokenizer
    assert model.inputs.ids("the film")[0] == tokenizer.bos_id
    found = model.continuations("the film was", gf.GenerateOptions(max_new=20))[0]
    assert found.why == "end"  # it stops by itself: all rows have 6 words
    assert len(found.text.split()) <= 8


def test_killed_and_run_again_it_ends_with_the_same_bytes(here: Path, tmp_path: Path) -> None:
    given = settings(MODELS["experts"], {"steps": 30, "valid_every": 10, "save_minutes": 0.0001, "ema": 0.9})
    given["data"] = {"max_tokens": WINDOW}
    check_killed_run(lambda out: arguments("generate", here / "train.txt", out, given), tmp_path)


def test_a_budget_chooses_and_ends(here: Path, tmp_path: Path) -> None:
    clock, train = partial(next, count(0.0, 2.0)), {"threads": 1, "device": "cpu"}
    done = gf.train(task="generate", data=data(here), out=tmp_path / "run", budget="2m", train=train, clock=clock)
    assert done.stopped == "the time is used"
    assert 'size = "nano"' in (tmp_path / "run" / "config.toml").read_text()


def test_experts_are_used_evenly_because_of_the_penalty(runs: dict[str, Path], here: Path) -> None:
    """The loss is that of the tokens and `model.balance` times the balancing loss, for every token."""
    task, run = LanguageModelling(), RunFolder(runs["experts"])
    setup = Setup(read_recipe(task, run), read_tokenizers(run))
    model = gf.load(runs["experts"]).model
    pool = task.pool(setup, task.encode(setup, [((here / "valid.txt").read_text(), True, False)]).columns)
    batch = pool.batch(np.arange(3))
    with torch.no_grad():
        summed, weight = task.loss(setup, model, batch)
        _, balance = model.hidden_and_balance(batch)
        without, _ = task.loss(
            Setup(setup.recipe.decided({"model": setup.recipe.model.decided({"balance": 0.0})}), setup.tokenizers),
            model,
            batch,
        )
    assert balance is not None
    assert setup.recipe.model.balance > 0
    expected = float(without) + setup.recipe.model.balance * float(balance) * weight
    assert float(summed) == pytest.approx(expected, rel=1e-6)


def test_a_run_is_continued_with_its_head_and_what_it_knew_is_measured(
    runs: dict[str, Path], here: Path, tmp_path: Path
) -> None:
    more = write_running(tmp_path / "more.txt", seed=5, years=False)
    given = {"files": str(more), "valid": str(here / "valid.txt"), "max_tokens": WINDOW}
    train = {"steps": 4, "threads": 1, "device": "cpu"}
    gf.train(task="generate", data=given, out=tmp_path / "run", start_from=runs["gpt"], train=train)
    assert validations(tmp_path / "run")[0]["valid_perplexity"] < 4
    last = RunFolder(tmp_path / "run").metrics()[-1]
    assert last["new"]["metric"] == "perplexity"
    assert last["new"]["after"] == last["measured"]["perplexity"]
    assert last["known"]["before"] == pytest.approx(RunFolder(runs["gpt"]).metrics()[-1]["measured"]["perplexity"])


def test_windows_are_no_longer_than_the_positions_of_the_model_to_start_from(
    here: Path, tmp_path: Path, command: Command
) -> None:
    given = {"train": {"steps": 1, "threads": 1, "device": "cpu"}}
    shorter = {"files": str(here / "train.txt"), "valid": str(here / "valid.txt")}
    model = {**settings(MODELS["gpt"])["model"], "max_length": 16}
    first = {**settings(MODELS["gpt"], {"steps": 1}), "model": model}
    gf.train(task="generate", data={**shorter, "max_tokens": 16}, out=tmp_path / "short", **first)
    gf.train(task="generate", data=shorter, out=tmp_path / "run", start_from=tmp_path / "short", **given)
    assert "max_tokens = 16\n" in (tmp_path / "run" / "config.toml").read_text()
    begun = arguments("generate", here / "train.txt", tmp_path / "long", given, "--from", str(tmp_path / "short"))
    refused = command(*begun, "--set", "data.max_tokens=64")
    assert (refused.code, "reads at most 16 tokens" in refused.err) == (2, True)


def test_the_same_command_finds_a_finished_run_and_changed_files(tmp_path: Path, command: Command) -> None:
    text = write_running(tmp_path / "train.txt", count=400, years=False)
    given = {**settings({"kind": "gpt"}, {"steps": 1, "valid_every": 1}), "data": {"max_tokens": 32}}
    begun = arguments("generate", text, tmp_path / "run", given)
    assert command(*begun).code == 0
    again = command(*begun)
    assert (again.code, "already finished" in again.err) == (0, True), again.err
    text.write_text(text.read_text() + "more.\n")
    changed = command(*begun)
    assert (changed.code, "files to learn from have changed" in changed.err) == (2, True), changed.err


def test_windows_over_the_usual_length_are_kept_in_a_finished_run(tmp_path: Path, command: Command) -> None:
    """`model.max_length` grows with `data.max_tokens`; that is no change of the settings."""
    text = write_running(tmp_path / "train.txt", count=400, years=False)
    given = {**settings({"kind": "gpt", "size": "nano"}, {"steps": 1, "valid_every": 1}), "data": {"max_tokens": 2000}}
    begun = arguments("generate", text, tmp_path / "run", given)
    assert command(*begun).code == 0
    again = command(*begun)
    assert (again.code, "already finished" in again.err) == (0, True), again.err


def test_evaluate_measures_what_the_last_validation_did(runs: dict[str, Path], here: Path, command: Command) -> None:
    found = command("evaluate", runs["llama"], here / "valid.txt", "--json")
    assert found.code == 0, found.err
    scores = {score["key"]: score["value"] for score in json.loads(found.out)}
    assert scores == pytest.approx(RunFolder(runs["llama"]).metrics()[-1]["measured"])
    assert "windows" in command("evaluate", runs["llama"], here / "valid.txt").out


def test_generate_by_argument_json_and_python(runs: dict[str, Path], command: Command) -> None:
    found = command("generate", runs["gpt"], "the film was", "--max-new", 3)
    assert found.code == 0, found.err
    model = gf.load(runs["gpt"])
    assert isinstance(model, gf.LanguageModel)
    assert found.out.rstrip("\n") == "the film was" + model.generate("the film was", max_new=3)
    assert len(found.out.split()) == 6


def test_a_diverged_batch_is_shown_in_words(here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = LanguageModelling.loss

    def broken(self: Any, *given: Any) -> Any:
        summed, weight = real(self, *given)
        return summed * float("nan"), weight

    monkeypatch.setattr(LanguageModelling, "loss", broken)
    with pytest.raises(ModelError, match=r"Update 1: the loss is nan.* begins with .*was"):
        gf.train(task="generate", data=data(here), out=tmp_path / "run", **settings(MODELS["gpt"]))


# Comparing runs whose windows are not the same


def test_counts_are_moved_to_common_blocks_and_keep_their_sum() -> None:
    counts = np.array([[4.0, 2.0], [8.0, 2.0], [3.0, 1.0]])
    found = counts_between(np.array([0.0, 3.0, 6.0, 9.0]), counts, np.array([2.0, 6.0, 9.0]))
    assert found.tolist() == [[4 + 2, 2 + 0.5], [6, 1.5], [3, 1]]


def test_runs_with_other_vocabularies_are_compared_by_bits_per_byte(
    here: Path, tmp_path: Path, command: Command
) -> None:
    made = {"chars": {"kind": "char", "vocab_size": 60}, "bytes": {"kind": "bpe", "vocab_size": 300}}
    for name, text in made.items():
        given = settings(MODELS["gpt"], {"steps": 5 if name == "chars" else 60, "valid_every": 60})
        gf.train(task="generate", data=data(here), out=tmp_path / name, **{**given, "text": text})
    found = command("compare", tmp_path / "bytes", tmp_path / "chars", "--json")
    assert found.code == 0, found.err
    result = json.loads(found.out)
    (row,) = result["against_first"][0]["differences"]
    assert (row["key"], row["p"] < 0.05) == ("bits_per_byte", True)
    scores = [run["scores"][0]["value"] for run in result["runs"]]
    assert (row["first"], row["second"]) == (pytest.approx(scores[0]), pytest.approx(scores[1]))
    measured = [validations(tmp_path / name)[-1]["valid_bits_per_byte"] for name in ("bytes", "chars")]
    assert scores == pytest.approx(measured)


def test_a_vocabulary_that_loses_words_cannot_be_compared(
    runs: dict[str, Path], here: Path, tmp_path: Path, command: Command
) -> None:
    given = settings(MODELS["gpt"], {"steps": 5, "valid_every": 5})
    given["text"] = {"kind": "word", "vocab_size": 12}
    gf.train(task="generate", data=data(here), out=tmp_path / "few", **given)
    refused = command("compare", tmp_path / "few", runs["gpt"])
    assert refused.code == 2
    assert "cannot restore these texts" in refused.err


def test_runs_with_the_same_windows_are_compared_by_both_metrics(
    runs: dict[str, Path], command: Command, tmp_path: Path
) -> None:
    page = tmp_path / "compared.html"
    found = command("compare", runs["gpt"], runs["llama"], "--report", page)
    assert found.code == 0, found.err
    assert "perplexity" in found.out
    assert "bits per byte" in found.out
    assert "Where they differ most (by perplexity)" in found.out
    assert "valid_loss 1" in page.read_text()


def test_runs_of_different_tasks_cannot_be_compared(runs: dict[str, Path], trained: Path, command: Command) -> None:
    refused = command("compare", runs["gpt"], trained)
    assert refused.code == 2
    assert "was trained to generate and" in refused.err


def test_the_validation_loss_is_that_of_the_whole_held_out_part_in_windows(tmp_path: Path) -> None:
    """A plain loop over the last 10% of the characters, block by block, gives the same number."""
    text = (write_running(tmp_path / "text.txt", years=False)).read_text()
    given = settings(MODELS["gpt"], {"steps": 8, "valid_every": 8})
    given["text"] = {"kind": "char"}
    gf.train(
        task="generate", data={"files": str(tmp_path / "text.txt"), "max_tokens": WINDOW}, out=tmp_path / "run", **given
    )
    model = gf.load(tmp_path / "run")
    held = text[int(0.9 * len(text)) :]
    ids = torch.tensor([model.bundle.marks.bos, *model.tokenizer.encode(held)])
    assert len(ids) == 1 + len(held)
    losses = []
    with torch.inference_mode():
        for at in range(0, len(held), WINDOW):
            block, following = ids[at : at + WINDOW][: len(ids) - 1 - at], ids[at + 1 : at + 1 + WINDOW]
            logits = model.model.head(model.model.states(block[None]))[0]
            losses.append(torch.nn.functional.cross_entropy(logits, following, reduction="none"))
    assert validations(tmp_path / "run")[-1]["valid_loss"] == pytest.approx(torch.cat(losses).mean().item(), rel=1e-5)
