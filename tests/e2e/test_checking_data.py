"""`glassformer doctor` and `glassformer clean` as a user meets them."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Command = Callable[..., Any]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def corpus(toy: Any) -> list[tuple[str, str]]:
    """The toy pairs with a bell, a blank line, a duplicate, a placeholder lost and two spaces, as toy.en and toy.de."""
    pairs = list(toy.pairs)
    pairs[10] = (f"{pairs[10][0]}\x07", pairs[10][1])
    pairs[20] = ("", pairs[20][1])
    pairs[30] = pairs[29]
    pairs[40] = (f"{pairs[40][0]} [x] {{name}}", pairs[40][1])
    pairs[50] = (pairs[50][0].replace(" ", "  ", 1), pairs[50][1])
    toy.source.write_text("".join(f"{source}\n" for source, _ in pairs))
    toy.target.write_text("".join(f"{target}\n" for _, target in pairs))
    return pairs


@pytest.mark.parametrize("verb", ["doctor", "clean"])
def test_the_verbs_explain_themselves_with_examples(command: Command, verb: str) -> None:
    outcome = command(verb, "--help")
    assert outcome.code == 0
    assert re.search(rf"Examples.*glassformer {verb} ", outcome.out, re.DOTALL)
    assert verb in command("--help").out


# doctor


def test_doctor_says_of_clean_files_that_there_is_nothing_to_report(command: Command, toy: Any) -> None:
    outcome = command("doctor", toy.source, toy.target)
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.lines[0] == "60 pairs"
    assert re.fullmatch(r"  source  [\d,]+ characters, [\d,]+ words  en, Latin", outcome.lines[1])
    assert outcome.lines[3:] == ["Nothing to report: every unit is a usable pair, and no filter would drop one."]


@pytest.mark.usefixtures("corpus")
def test_doctor_reports_what_it_found_where_and_what_to_do(command: Command) -> None:
    outcome = command("doctor", "toy.en", "toy.de")
    assert (outcome.code, outcome.err) == (0, "")
    shown = outcome.out
    assert "59 pairs of 60 units; 1 cannot be used" in shown
    assert "toy.en, line 11, byte" in shown
    assert "source: control character U+0007" in shown
    assert "\\x07" in shown
    assert "\x07" not in shown
    assert "[x] {name}" in shown  # no markup of ours
    assert re.search(r"duplicate +1 +1\.7% +the same pair was seen before", shown)
    assert re.search(r"left +56 +94\.9% +after all recommended filters", shown)
    assert "Nothing to drop for too-long, mojibake, unbroken" in shown
    assert shown.index("Pairs better left out") < shown.index("Worth knowing") < shown.index("What each filter")
    assert outcome.lines[-2:] == ["To continue without them:", "  glassformer clean toy.en toy.de --out clean/toy"]


@pytest.mark.usefixtures("corpus")
def test_the_command_that_doctor_proposes_does_what_it_says(command: Command) -> None:
    proposed = command("doctor", "toy.en", "toy.de").lines[-1].split()
    assert proposed[0] == "glassformer"
    outcome = command(*proposed[1:])
    assert outcome.code == 0
    assert outcome.lines[0] == "56 pairs kept of 60 units"
    assert outcome.lines[-1] == "Written: clean/toy.en, clean/toy.de, clean/toy.dropped.jsonl"
    assert len(Path("clean/toy.en").read_text().splitlines()) == 56


@pytest.mark.usefixtures("corpus")
def test_doctor_as_json_holds_everything(command: Command) -> None:
    told = json.loads(command("doctor", "toy.en", "toy.de", "--json").out)
    assert told["units"] == told["used"] + sum(told["dropped"].values()) == 60
    assert told["filters"]["control"] == told["filters"]["duplicate"] == told["filters"]["placeholders"] == 1
    kinds = [one["kind"] for one in told["findings"]]
    assert kinds == ["blank", "control", "duplicate", "placeholders", "double-space"]
    assert told["findings"][1]["examples"][0]["number"] == 11


def test_doctor_compares_with_held_out_files_given_in_a_row(command: Command, toy: Any) -> None:
    Path("val.en").write_text(f"{toy.pairs[3][0]}\nsomething new\n")
    Path("val.de").write_text(f"{toy.pairs[3][1]}\netwas Neues\n")
    Path("test.tsv").write_text("nothing of it\tnichts davon\n")
    arguments = ("toy.en", "toy.de", "--valid", "val.en", "val.de", "--test", "test.tsv")
    outcome = command("doctor", *arguments)
    assert (
        "valid: 1 of 2 pairs has a source that is also in the training data (case, punctuation and spaces aside); 1 of "
        "them with the same target" in outcome.out
    )
    assert "test: 1 pairs, none of them in the training data" in outcome.out
    assert "--valid val.en val.de --test test.tsv --out clean/toy" in outcome.out
    again = json.loads(command("doctor", *arguments, "--json").out)
    assert [part["sources_in_train"] for part in again["held"]] == [1, 0]


def test_doctor_reads_tables_by_column_and_stdin(command: Command) -> None:
    Path("x.csv").write_text("id,English,German\n1,a dog,ein Hund\n2,a cat,eine Katze\n")
    told = json.loads(command("doctor", "x.csv", "--columns", "English,German", "--json").out)
    assert (told["used"], told["dropped"]) == (2, {"header": 1})
    told = json.loads(command("doctor", "-", "--json", stdin=b"a dog\tein Hund\n").out)
    assert told["used"] == 1


def test_doctor_refuses_what_it_cannot_read_in_one_line(command: Command) -> None:
    for arguments, reason in (
        (("none.en", "none.de"), "no such file"),
        (("toy.en",), "no such file"),
        (("x.tsv", "--columns", "a"), "need two separated by a comma"),
    ):
        Path("x.tsv").write_text("a\tb\n")
        outcome = command("doctor", *arguments)
        assert outcome.code == 2
        assert reason in outcome.err
        assert outcome.err.count("\n") == 1
        assert outcome.out == ""


@pytest.mark.usefixtures("toy")
def test_files_that_go_out_of_step_must_be_fixed_first(command: Command) -> None:
    lines = Path("toy.de").read_text().splitlines(keepends=True)
    Path("toy.de").write_text("".join(lines[:-2]))
    outcome = command("doctor", "toy.en", "toy.de")
    assert outcome.code == 0
    assert "To fix before training" in outcome.out
    assert "no partner: toy.de has 58 lines, toy.en has 60" in outcome.out
    refused = command("clean", "toy.en", "toy.de", "--out", "out")
    assert refused.code == 2
    assert "line 59 of toy.en has no partner: toy.en has 60 lines, toy.de has 58." in refused.err
    assert refused.err.count("\n") == 1
    assert command("clean", "toy.en", "toy.de", "--out", "out", "--trim").code == 0
    assert len(Path("out.en").read_text().splitlines()) == 58


def test_doctor_and_clean_start_without_torch(toy: Any) -> None:
    code = (
        "import sys; from glassformer.cli.main import main\n"
        f"sys.argv = ['glassformer', 'doctor', {str(toy.source)!r}, {str(toy.target)!r}, '--json']\n"
        "try: main()\nexcept SystemExit: pass\n"
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], stdout=subprocess.DEVNULL, check=False).returncode == 0


# clean


@pytest.mark.usefixtures("corpus")
def test_clean_takes_the_filters_that_are_named(command: Command) -> None:
    outcome = command("clean", "toy.en", "toy.de", "--out", "out.tsv.gz", "--filters", "control, duplicate", "--json")
    assert outcome.code == 0
    told = json.loads(outcome.out)
    assert told["written"] == ["out.tsv.gz", "out.dropped.jsonl"]
    assert told["dropped"] == {"control": 1, "blank": 1, "duplicate": 1}
    reasons = [json.loads(line)["reason"] for line in Path("out.dropped.jsonl").read_text().splitlines()]
    assert reasons == ["control", "blank", "duplicate"]


@pytest.mark.usefixtures("corpus")
def test_clean_refuses_in_one_line_and_leaves_nothing(command: Command, here: Path) -> None:
    Path("there.tsv").write_text("mine")
    before = sorted(here.rglob("*"))
    for options, reason in (
        (("--out", "there.tsv"), "there.tsv already exists"),
        (("--out", "toy"), "toy.en already exists"),
        (("--out", "x.tsv", "--filters", "duplicates"), "Did you mean duplicate?"),
        (("--out", "x.csv"), "give a .tsv or .jsonl file"),
    ):
        outcome = command("clean", "toy.en", "toy.de", *options)
        assert outcome.code == 2
        assert reason in outcome.err
        assert outcome.err.count("\n") == 1
        assert sorted(here.rglob("*")) == before
    assert Path("there.tsv").read_text() == "mine"


def test_ctrl_c_leaves_nothing_of_a_clean(here: Path) -> None:
    Path("big.tsv").write_text("".join(f"sentence number {i}\tSatz Nummer {i}\n" for i in range(400_000)))
    process = subprocess.Popen(
        [sys.executable, "-m", "glassformer", "clean", "big.tsv", "--out", "new/clean"],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    until = time.monotonic() + 60
    while not list(here.glob("new/.*.tmp")) and time.monotonic() < until and process.poll() is None:
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode not in (0, 2)
    assert "Traceback" not in err
    assert [path.name for path in here.iterdir()] == ["big.tsv"]


def test_doctor_knows_what_to_do_about_an_older_encoding(here: Path, command: Callable[..., Any]) -> None:
    (here / "a.tsv").write_bytes("".join(f"street {i}\tStraße {i}\n" for i in range(60)).encode("cp1252"))
    assert "iconv -f WINDOWS-1252" in command("doctor", "a.tsv").out
    trained = command("train", "--pairs", "a.tsv", "--out", "run")
    assert (trained.code, "iconv -f WINDOWS-1252" in trained.err) == (2, True)


# doctor of other tasks


def tagged(sentence: str) -> str:
    return "".join(f"{word} {'B-X' if word == 'seven' else 'O'}\n" for word in sentence.split()) + "\n"


SHARED: dict[str, Any] = {  # task: the file, how it has a sentence, what is compared, where the first shared one is
    "generate": ("a.txt", "{}\n".format, "line", "a.txt, line 8"),
    "fill": ("a.jsonl", lambda text: json.dumps({"text": text}) + "\n", "text", "a.jsonl, line 8"),
    "classify": ("a.tsv", lambda text: f"{text}\t{'xy'['seven' in text]}\n", "text", "a.tsv, line 8"),
    "similar": ("a.tsv", lambda text: f"{text}\t{text} too\t{len(text) / 100}\n", "text", "a.tsv, line 8"),
    "tag": ("a.conll", tagged, "sentence", "a.conll, line 92"),
    "summarise": ("a.tsv", lambda text: f"{text}\tnumbers\n", "input", "a.tsv, line 8"),
    "answer": (
        "a.jsonl",
        lambda text: json.dumps({"question": "What?", "passage": text, "answer": "long"}) + "\n",
        "passage",
        "a.jsonl, line 8",
    ),
}


@pytest.mark.parametrize("task", SHARED)
def test_doctor_says_plainly_what_is_also_in_the_test_data(command: Command, here: Path, task: str) -> None:
    name, written, what, place = SHARED[task]
    texts = [f"text {i} has the long words one, two and {('six', 'seven')[i % 2]} {i * i} ." for i in range(20)]
    (here / name).write_text("".join(map(written, texts)))
    (here / f"test-{name}").write_text("".join(map(written, [*texts[7:9], texts[0].replace("text", "another text")])))
    columns = {"classify": ["--columns", "1,2"], "similar": ["--columns", "1,2,3"]}.get(task, [])
    files = ("doctor", "--task", task, name, *columns)
    outcome = command(*files, "--test", f"test-{name}")
    assert (outcome.code, outcome.err) == (0, "")
    assert "  test: 2 of 3 " in outcome.out
    assert " also in the training data" in outcome.out
    assert f"  in test  2 (10.0%)  the {what} is also in the test data. Training does not read the " in outcome.out
    assert "the model would learn these and score too high: remove them from the training data" in outcome.out
    assert f"    {place}, byte" in outcome.out
    told = json.loads(command(*files, "--test", f"test-{name}", "--json").out)
    assert (told["units"], told["used"], told["held"][0]["texts_in_train"]) == (20, 20, 2)
    known = json.loads(command(*files, "--valid", f"test-{name}", "--json").out)
    assert known["used"] == (20 if task == "generate" else 18)  # running text is not cut


def test_doctor_of_labelled_texts_counts_every_row_and_shows_the_balance(command: Command, here: Path) -> None:
    rows = [f"text {i}\t{'ab'[i % 4 == 0]}" for i in range(400)]
    rows += ["text 1\tb", "text 2\ta", "alone", "\tb", "text 3\tx\ta"]
    (here / "train.tsv").write_text("text\tlabel\n" + "\n".join(rows))
    (here / "valid.tsv").write_text("text\tlabel\nText 7!\ta\nnew\tb\n")
    arguments = ("doctor", "--task", "classify", "train.tsv", "--columns", "text,label", "--valid", "valid.tsv")
    outcome = command(*arguments)
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.lines[0] == "401 examples with 2 labels, 802 words; 4 of 405 units are left out"
    assert outcome.lines[1] == (
        "  valid: 1 of 2 texts is also in the training data (case, punctuation and spaces aside)"
    )
    assert "the text is also in the validation data. Training leaves these out: nothing to do" in outcome.out
    for shown in (
        r"a +300 +74\.8%",
        r"b +101 +25\.2%",
        r"columns  2 .*\n    train\.tsv, line 404, byte \d[\d,]*: got 1 column, need 2",
        r"conflict  1 .*\n    train\.tsv, line 402, ",
        r"duplicate  1 .*\n    train\.tsv, line 403, ",
        r"overlap  1 .*\n    train\.tsv, line 9, ",
        r"blank  1 .*\n    train\.tsv, line 405, ",
    ):
        assert re.search(shown, outcome.out), shown
    found = json.loads(command(*arguments, "--json").out)
    assert found["units"] == 406 == found["used"] + sum(found["dropped"].values())
    assert found["labels"] == {"a": 300, "b": 101}
    assert found["held"] == [{"name": "valid", "examples": 2, "texts_in_train": 1}]


def test_doctor_of_texts(command: Command, here: Path) -> None:
    long = "A line that is long enough to be noticed twice."
    (here / "book.txt").write_bytes(f"\ufeff{long}\n\n{long}\n".encode() * 300 + b"\xff\n")
    outcome = command("doctor", "--task", "generate", "book.txt")
    assert outcome.code == 0
    assert re.match(r"[\d,]+ characters, [\d,]+ words in 900 lines of 1 file; 1 of 901 units is left out", outcome.out)
    assert re.search(r"encoding  1 .*\n    book\.txt, line 901, byte", outcome.out)
    assert "repeated line  " in outcome.out
    found = json.loads(command("doctor", "--task", "generate", "book.txt", "--json").out)
    assert found["units"] == found["used"] + sum(found["dropped"].values()) == 901


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--task", "classify", "a.tsv", "--columns", "text"), "got 1 column, need text,label or a,b,label"),
        (("--task", "generate", "a.tsv", "--columns", "a,b"), "got 2 columns, need text"),
        (("--task", "classify", "a.tsv", "--languages", "en,de"), "--languages en,de: only for sentence pairs"),
        (("--task", "generate", "a.tsv", "--report", "a.html"), "--report a.html: only for sentence pairs"),
    ],
)
def test_options_that_do_not_fit_the_task_are_refused(
    command: Command, here: Path, arguments: tuple[str, ...], message: str
) -> None:
    (here / "a.tsv").write_text("text\tlabel\na\tb\n")
    outcome = command("doctor", *arguments)
    assert outcome.code == 2
    assert message in outcome.err


@pytest.mark.parametrize(
    ("task", "name", "content"),
    [("classify", "a.tsv", ""), ("classify", "a.tsv", "\t\n"), ("generate", "a.txt", ""), ("generate", "a.jsonl", "")],
)
def test_data_without_anything_usable_is_an_error(
    command: Command, tmp_path: Path, task: str, name: str, content: str
) -> None:
    (tmp_path / name).write_text(content)
    done = command("doctor", "--task", task, tmp_path / name)
    assert (done.code, "Nothing to report" in done.out, len(done.err.splitlines())) == (2, False, 1)
    assert f"{name}: no " in done.err
    assert ": ." not in done.err


def test_what_train_would_refuse_is_shown(command: Command, tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("".join(f"text {i}\tx\n" for i in range(30)))
    done = command("doctor", "--task", "classify", tmp_path / "a.tsv", "--columns", "1,2")
    assert done.code == 0
    assert "To fix before training" in done.out
    assert "30 usable examples, all with the label 'x'" in done.out
    assert "Nothing to report" not in done.out
