"""ROUGE (Lin 2004): how much of a reference is in a summary, by shared n-grams and by the longest common subsequence.

The F1 of each example, the best over its references, then the mean. Words are those of the `rouge-score` package: runs
of a-z and 0-9 in lower case, those of more than three letters stemmed. Every other character separates words, so other
scripts would have no words at all. Where the references are mostly in other letters, the Unicode words are used: runs
of letters and digits of any script, every character by itself in scripts without spaces, no stems. The signature says
which of the two.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from glassformer.evaluate.metric import Counts, Metric, Scale, mean_of
from glassformer.evaluate.porter import stemmed

Words = list[str]
Example = Any  # its last element: the references
ENGLISH, UNICODE = "a-z", "unicode"
STEMMED_FROM = 4  # letters
PLAIN = re.compile(r"[a-z0-9]+")
# Han, Hiragana, Katakana, Thai, Lao, Khmer, Myanmar: no spaces between words.
UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
ANY_WORD = re.compile(rf"[{UNSPACED}]|[^\W_{UNSPACED}]+")
MOSTLY = 0.5  # share of the letters of the references that must be a-z

POINTS = Scale(fair=30.0, weak=10.0, gain=0.3, noise=15.0)


# Words


def words_of(text: str, *, words: str = ENGLISH, stem: bool = True) -> Words:
    """The words that are compared."""
    if words == UNICODE:
        return ANY_WORD.findall(unicodedata.normalize("NFKC", text).lower())
    found = PLAIN.findall(text.lower())
    return [stemmed(word) if len(word) >= STEMMED_FROM else word for word in found] if stem else found


def usual_words(references: Iterable[Sequence[str]]) -> str:
    """Which words suit these references: by the script of most of their letters."""
    letters = [letter for options in references for text in options for letter in text if letter.isalpha()]
    plain = sum(letter.isascii() for letter in letters)
    return ENGLISH if plain >= MOSTLY * len(letters) else UNICODE


# One prediction and one reference


@dataclass(frozen=True)
class Overlap:
    """Precision, recall and their harmonic mean."""

    precision: float
    recall: float

    @classmethod
    def of(cls, shared: int, predicted: int, wanted: int) -> Overlap:
        return cls(shared / max(predicted, 1), shared / max(wanted, 1))

    @property
    def f1(self) -> float:
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both > 0 else 0.0


def ngram_overlap(predicted: Words, wanted: Words, n: int) -> Overlap:
    """ROUGE-n: n-grams that both have, each as often as in the one that has it less often."""
    one, other = (Counter(zip(*(words[i:] for i in range(n)), strict=False)) for words in (predicted, wanted))
    return Overlap.of((one & other).total(), one.total(), other.total())


def sequence_overlap(predicted: Words, wanted: Words) -> Overlap:
    """ROUGE-L: the longest sequence of words that both have in the same order, with gaps."""
    if not predicted or not wanted:
        return Overlap(0.0, 0.0)
    return Overlap.of(int(lengths_of_common(wanted, predicted)[-1, -1]), len(predicted), len(wanted))


def lengths_of_common(first: Words, second: Words) -> np.ndarray[Any, np.dtype[np.int64]]:
    """(len(first) + 1, len(second) + 1): the longest common subsequence of all beginnings."""
    numbers = {word: i for i, word in enumerate(dict.fromkeys(second))}
    ids = np.array([numbers[word] for word in second])
    table = np.zeros((len(first) + 1, len(second) + 1), dtype=np.int64)
    for i, word in enumerate(first, 1):
        one_more = table[i - 1, :-1] + (ids == numbers.get(word, -1))
        # The best up to each column: either from above, or one more word, or what is to the left.
        table[i, 1:] = np.maximum.accumulate(np.maximum(table[i - 1, 1:], one_more))
    return table


def common_places(first: Words, second: Words) -> list[int]:
    """The places in `first` of one longest common subsequence; of several, the one that `rouge-score` takes."""
    table, places = lengths_of_common(first, second), []
    i, j = len(first), len(second)
    while i and j:
        if first[i - 1] == second[j - 1]:
            places.append(i - 1)
            i, j = i - 1, j - 1
        elif table[i, j - 1] > table[i - 1, j]:
            j -= 1
        else:
            i -= 1
    return places[::-1]


def summary_overlap(predicted: Sequence[Words], wanted: Sequence[Words]) -> Overlap:
    """ROUGE-Lsum, by sentences: each sentence of the reference with all of the summary; a word counts once."""
    sizes = sum(map(len, predicted)), sum(map(len, wanted))
    if not all(sizes):
        return Overlap(0.0, 0.0)
    left, asked = (Counter(word for words in side for word in words) for side in (predicted, wanted))
    shared = 0
    for sentence in wanted:
        places = sorted({place for other in predicted for place in common_places(sentence, other)})
        for word in (sentence[place] for place in places):
            if left[word] > 0 and asked[word] > 0:
                shared += 1
                left[word] -= 1
                asked[word] -= 1
    return Overlap.of(shared, *sizes)


# Metrics

Compare = Callable[[str, str, str, bool], Overlap]  # prediction, reference, which words, stems


def by_ngrams(n: int, predicted: str, wanted: str, words: str, stem: bool) -> Overlap:
    return ngram_overlap(words_of(predicted, words=words, stem=stem), words_of(wanted, words=words, stem=stem), n)


def by_sequence(predicted: str, wanted: str, words: str, stem: bool) -> Overlap:
    return sequence_overlap(words_of(predicted, words=words, stem=stem), words_of(wanted, words=words, stem=stem))


def by_summary(predicted: str, wanted: str, words: str, stem: bool) -> Overlap:
    """Each line is a sentence."""
    sides = (
        [words_of(line, words=words, stem=stem) for line in text.split("\n") if line] for text in (predicted, wanted)
    )
    return summary_overlap(*sides)


COMPARE: dict[str, Compare] = {
    "rouge1": partial(by_ngrams, 1),
    "rouge2": partial(by_ngrams, 2),
    "rougeL": by_sequence,
    "rougeLsum": by_summary,
}


def rouge(key: str, prediction: str, references: Sequence[str], *, words: str = ENGLISH, stem: bool = True) -> Overlap:
    """`key`: rouge1, rouge2, rougeL or rougeLsum. The best of several references, by F1."""
    found = [COMPARE[key](prediction, reference, words, stem) for reference in references]
    return max(found, key=lambda one: one.f1)


def rouge_counts(key: str, stem: bool, predictions: Sequence[str], examples: Sequence[Example]) -> Counts:
    """(N, 2): 100 times the F1 of each example, and 1."""
    words = usual_words(example[-1] for example in examples)
    pairs = zip(predictions, examples, strict=True)
    found = [[100 * rouge(key, text, example[-1], words=words, stem=stem).f1, 1.0] for text, example in pairs]
    return np.array(found, dtype=np.float64)


def signature(key: str, stem: bool, examples: Sequence[Example]) -> str:
    words = usual_words(example[-1] for example in examples)
    counts = {len(example[-1]) for example in examples}
    references = "var" if len(counts) > 1 else counts.pop()
    best = "" if references == 1 else "|best-of-references"
    stems = "porter" if stem and words == ENGLISH else "no"
    return f"{key}|f1|words:{words}|stems:{stems}|nrefs:{references}{best}"


def rouge_metrics(*, stem: bool = True) -> tuple[Metric, ...]:
    """ROUGE-1, ROUGE-2, ROUGE-L; and ROUGE-Lsum, only at the end."""
    labels = {"rouge1": "ROUGE-1", "rouge2": "ROUGE-2", "rougeL": "ROUGE-L", "rougeLsum": "ROUGE-Lsum"}
    return tuple(
        Metric(
            key,
            label,
            mean_of,
            partial(rouge_counts, key, stem),
            judges_one=True,
            at_validations=key != "rougeLsum",
            scale=POINTS,
            signature=partial(signature, key, stem),
        )
        for key, label in labels.items()
    )
