"""Word vectors beside gensim's on the same words: words per second, analogies, rated pairs, and the time to read files.

    python benchmarks/word_vectors.py --data folder        # with wikitext-2/ and word-tests/, or
    python benchmarks/word_vectors.py --text corpus.txt --analogies questions-words.txt --pairs wordsim353.tsv

Needs gensim (pip install gensim). Both sides get the same words, window, width, negative samples, sub-sampling and
epochs, one after the other in each round. Processor time counts, so that a busy machine changes little; with two or
more --threads it is the wall clock. Several seeds show how much of a difference is chance.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np

from glassformer.vectors import WordVectors, load
from glassformer.vectors.corpus import Corpus, read_corpus
from glassformer.vectors.counting import ids_of
from glassformer.vectors.settings import VectorSettings
from glassformer.vectors.training import train_on
from glassformer.vectors.word_tests import analogy_scores, pair_scores, read_analogies, read_pairs

Result = dict[str, Any]
WAYS = ("skip-gram", "cbow", "ppmi")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="a folder with wikitext-2/ and word-tests/")
    parser.add_argument("--text", type=Path)
    parser.add_argument("--column", help="of a table: the column with the text")
    parser.add_argument("--analogies", type=Path)
    parser.add_argument("--pairs", type=Path)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--ways", nargs="+", default=list(WAYS), choices=WAYS)
    parser.add_argument("--file-words", type=int, default=400_000, help="words of the file that is read; 0: none")
    given = parser.parse_args()
    if given.data:
        given.text = given.text or given.data / "wikitext-2" / "wiki.train.tokens.xz"
        given.analogies = given.analogies or given.data / "word-tests" / "questions-words.txt.xz"
        given.pairs = given.pairs or given.data / "word-tests" / "wordsim353.tsv.xz"
    if not (given.text and given.analogies and given.pairs) or not given.text.exists():
        raise SystemExit("Give --data, or --text, --analogies and --pairs.")
    results = trained(given)
    if given.file_words:
        results += read_files(given.file_words)
    print(json.dumps(results))


def trained(given: argparse.Namespace) -> list[Result]:
    corpus = read_corpus([str(given.text)], columns=(given.column,) if given.column else None)
    lines = [[corpus.words[i] for i in line] for line in ids_of(corpus) if line]
    tests = read_analogies(given.analogies), read_pairs(given.pairs)
    results: list[Result] = []
    for number in range(given.rounds):
        for way in given.ways:
            settings = VectorSettings(method=way, epochs=given.epochs, seed=number + 1, threads=given.threads)
            sides: dict[str, Callable[[], WordVectors]] = {"ours": lambda one=settings: train_on(corpus, one)}
            if way != "ppmi":
                sides["gensim"] = lambda one=settings: by_gensim(lines, one)
            for side, make in sides.items():
                found = measured(make, tests, threads=given.threads)
                results.append({"way": way, "side": side, "seed": number + 1, **found})
                print(
                    f"  {way} {side} {found['seconds']:.1f} s, analogies {found['right']}, pairs {found['pairs']:.3f}"
                )
    return [summary(corpus, way, results, given) for way in given.ways]


def measured(make: Callable[[], WordVectors], tests: tuple[Any, Any], *, threads: int) -> Result:
    clock = time.process_time if threads == 1 else time.perf_counter
    began = clock()
    vectors = make()
    seconds = clock() - began
    analogies, pairs = analogy_scores(vectors, tests[0]), pair_scores(vectors, tests[1])
    assert pairs.score is not None
    return {
        "seconds": seconds,
        "right": analogies.total.right,
        "answered": analogies.total.answered,
        "pairs": pairs.score.value,
        "interval": [pairs.score.low, pairs.score.high],
    }


def summary(corpus: Corpus, way: str, results: list[Result], given: argparse.Namespace) -> Result:
    """Means over the seeds; the ratio first."""
    words = corpus.tokens * (1 if way == "ppmi" else given.epochs)
    found: Result = {"way": way, "words": words}
    for side in ("ours", "gensim"):
        mine = [one for one in results if one["way"] == way and one["side"] == side]
        if mine:
            found[side] = {
                "words_per_second": words / mean(one["seconds"] for one in mine),
                "analogies": 100 * mean(one["right"] / one["answered"] for one in mine),
                "pairs": mean(one["pairs"] for one in mine),
            }
    lines = [f"{side} {v['words_per_second']:,.0f} words/s, analogies {v['analogies']:.1f}%, pairs {v['pairs']:.3f}"
             for side, v in found.items() if isinstance(v, dict)]  # fmt: skip
    if "gensim" in found:
        found["ratio"] = found["ours"]["words_per_second"] / found["gensim"]["words_per_second"]
    print(f"{found.get('ratio', 1):.2f}x  {way}: {'; '.join(lines)}")
    return found


def by_gensim(lines: list[list[str]], settings: VectorSettings) -> WordVectors:
    from gensim.models import Word2Vec

    model = Word2Vec(
        lines,
        sg=settings.method == "skip-gram",
        vector_size=settings.width,
        window=settings.window,
        negative=settings.negatives,
        sample=settings.sample,
        epochs=settings.epochs,
        min_count=settings.min_count,
        workers=settings.threads,
        seed=settings.seed,
    )
    return WordVectors(model.wv.index_to_key, model.wv.vectors)


def read_files(words: int) -> list[Result]:
    from gensim.models import KeyedVectors

    random = np.random.default_rng(0)
    matrix = random.standard_normal((words, 100)).astype(np.float32)
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for name, binary in (("v.vec", False), ("v.bin", True)):
            path = Path(folder, name)
            WordVectors([f"w{i}" for i in range(words)], matrix).save(path)
            ours, theirs = (
                seconds_of(lambda one=path: load(one)),
                seconds_of(lambda one=path, two=binary: KeyedVectors.load_word2vec_format(one, binary=two)),
            )
            print(f"{theirs / ours:.2f}x  reading {words:,} x 100, {name}: ours {ours:.1f} s, gensim {theirs:.1f} s")
            results.append({"way": f"read {name}", "ours": ours, "gensim": theirs, "ratio": theirs / ours})
    return results


def seconds_of(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


if __name__ == "__main__":
    main()
