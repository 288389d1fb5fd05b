"""Training: what is learned, that it is always the same, and what is refused."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from glassformer.errors import TokenizerError
from glassformer.text import TOKENIZERS, train_tokenizer

LOWEST = ["low"] * 5 + ["lower"] * 2 + ["newest"] * 6 + ["widest"] * 3


def test_bpe_joins_the_most_frequent_pair() -> None:
    """e s: 9 times, then es t: 9, then l o: 7, lo w: 7 (Sennrich et al. 2016, figure 1)."""
    bpe = train_tokenizer("bpe", LOWEST, vocab_size=264)
    assert [bpe.token(number) for number in range(260, 264)] == ["es", "est", "lo", "low"]
    assert bpe.pieces("lowest") == ["low", "est"]


def test_word_vocabulary_is_ordered_by_frequency() -> None:
    word = train_tokenizer("word", [*LOWEST, "rare"], vocab_size=100)
    assert [word.token(number) for number in range(4, len(word))] == ["▁", "▁newest", "▁low", "▁widest", "▁lower"]
    assert len(train_tokenizer("word", LOWEST, vocab_size=7)) == 7


def test_char_vocabulary_is_ordered_by_frequency() -> None:
    char = train_tokenizer("char", ["aaa bb क्षिक्षिक्षिक्षि x"] * 1, min_frequency=2)
    assert [char.token(number) for number in range(4, len(char))] == ["क्षि", " ", "a", "b"]


@pytest.mark.parametrize("kind", list(TOKENIZERS))
def test_training_is_deterministic(kind: str) -> None:
    """In other processes, with other hash seeds and numbers of threads, from texts in another order."""
    program = (
        "import sys; from glassformer.text import train_tokenizer\n"
        "texts = [f'word{n % 7} and number {n % 31}, élan ' * (n % 3) for n in range(3000)]\n"
        "print(train_tokenizer(sys.argv[1], texts[::int(sys.argv[2])], vocab_size=400).fingerprint())"
    )
    found = set()
    for threads, order in (("1", "1"), ("4", "-1")):
        environment = {**os.environ, "RAYON_NUM_THREADS": threads, "PYTHONHASHSEED": threads}
        command = [sys.executable, "-c", program, kind, order]
        found.add(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)
    assert len(found) == 1


def test_text_is_light_to_import() -> None:
    program = "import sys, glassformer.text; print('torch' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "False"


@pytest.mark.parametrize("kind", list(TOKENIZERS))
def test_progress(kind: str) -> None:
    calls: list[tuple[int, int]] = []
    texts = [f"some words with number {number}" for number in range(300)]
    made = train_tokenizer(kind, texts, vocab_size=500, progress=lambda done, total: calls.append((done, total)))
    assert calls[0] == (0, 500)
    assert calls[-1] == (len(made), len(made))
    assert [done for done, _ in calls] == sorted(done for done, _ in calls)


def test_texts_may_be_a_generator() -> None:
    assert len(train_tokenizer("word", (text for text in ["", " ", "a b", "a b"]))) == 7


@pytest.mark.parametrize("kind", list(TOKENIZERS))
@pytest.mark.parametrize("texts", [[], [""], ["  ", "\n"]])
def test_no_text(kind: str, texts: list[str]) -> None:
    with pytest.raises(TokenizerError, match="no text to train"):
        train_tokenizer(kind, texts)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kind": "bpee"}, "no kind of tokenizer 'bpee'; expected one of word, char, bpe, wordpiece; did you mean bpe"),
        ({"kind": "sentence"}, "expected one of word, char, bpe, wordpiece"),
        ({"normalization": "NFX"}, "no normalization 'NFX'; expected one of NFC"),
        ({"vocab_size": 259}, "vocab_size of bpe .* is 259; expected 260 or more"),
        ({"kind": "wordpiece", "vocab_size": 9}, "vocab_size of wordpiece .* is 9; expected"),
        ({"kind": "word", "vocab_size": 4}, "vocab_size is 4; expected 5 or more"),
        ({"min_frequency": 0}, "min_frequency is 0; expected 1 or more"),
        ({"texts": "one text"}, "pass a list of lines"),
        ({"texts": ["fine", "half \ud83d"]}, "not a text to train on"),
        ({"texts": ["fine", None]}, "not a text to train on"),
    ],
)
def test_what_is_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(TokenizerError, match=message) as caught:
        train_tokenizer(**{"kind": "bpe", "texts": ["abc", "abd"], **arguments})  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


def test_errors_of_a_reader_pass_through() -> None:
    def broken() -> Iterator[str]:
        yield "fine"
        raise TokenizerError("line 2 is not UTF-8")

    for kind in TOKENIZERS:
        with pytest.raises(TokenizerError, match="line 2"):
            train_tokenizer(kind, broken())
