"""The four kinds of tokenizers on one text, and byte-pair encoding watched while it learns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from glassformer.errors import SettingsError
from glassformer.explain.lessons.inputs import shown
from glassformer.explain.lessons.lesson import Asked, Cell, Correction, Curves, Lesson, Lines, Section, table
from glassformer.text.byte_level import words_with_spaces
from glassformer.text.tokenizer import Tokenizer
from glassformer.text.training import TOKENIZERS, train_tokenizer
from glassformer.text.wordpiece import alphabet, learn_merges

TEXTS = (
    "the lower tower",
    "the lowest tower",
    "the newer flower",
    "the newest flower",
    "Let us learn tokenization.",
    "the slowest learner showers flowers",
)
MERGES = 20  # of byte-pair encoding that are watched
WORDPIECE_MERGES = 12
MOST_SHOWN = 8  # texts
LEAST = 2  # how often a pair must be seen
SIZE = 300
MOST_TEXT = 20_000  # characters: the counting here is plain, not fast

Pair = tuple[str, str]


def counted_words(texts: Iterable[str]) -> Counter[str]:
    """The words of the texts, each with the space before it, as byte-level BPE cuts them."""
    cut = words_with_spaces()
    return Counter(word for text in texts for word, _ in cut.pre_tokenize_str(text))


def pair_counts(words: Mapping[tuple[str, ...], int]) -> Counter[Pair]:
    """How often each pair of neighbouring pieces occurs."""
    pairs: Counter[Pair] = Counter()
    for pieces, count in words.items():
        for pair in pairwise(pieces):
            pairs[pair] += count
    return pairs


def merged(pieces: tuple[str, ...], pair: Pair) -> tuple[str, ...]:
    """The pieces with each occurrence of the pair joined, from the left."""
    result: list[str] = []
    open_ = False  # whether the last piece may still be joined: one that was just made may not
    for piece in pieces:
        if open_ and (result[-1], piece) == pair:
            result[-1] += piece
            open_ = False
        else:
            result.append(piece)
            open_ = True
    return tuple(result)


def watched_merges(texts: Iterable[str], *, most: int) -> list[tuple[Pair, int, int]]:
    """Each merge of BPE (Sennrich et al. 2016, algorithm 1): the pair, its count, and how many pieces remain."""
    words = {tuple(word): count for word, count in counted_words(texts).items()}
    steps: list[tuple[Pair, int, int]] = []
    while len(steps) < most:
        pairs = pair_counts(words)
        best = min(pairs, key=lambda pair: (-pairs[pair], pair), default=None)
        if best is None or pairs[best] < LEAST:
            break
        joined: Counter[tuple[str, ...]] = Counter()
        for pieces, count in words.items():
            joined[merged(pieces, best)] += count
        words = dict(joined)
        steps.append((best, pairs[best], sum(len(pieces) * count for pieces, count in words.items())))
    return steps


def run(asked: Asked) -> list[Section]:
    texts = [text for text in asked.texts if text.strip()]
    if not texts or sum(map(len, texts)) > MOST_TEXT:
        raise SettingsError(
            f"The texts are empty, or longer than {MOST_TEXT:,} characters. Give lines to learn from; the last one is "
            "kept to test on."
        )
    train, test = (texts[:-1], texts[-1]) if len(texts) > 1 else (texts, texts[0])
    trained = {kind: train_tokenizer(kind, train, vocab_size=size_for(kind, train, asked.size)) for kind in TOKENIZERS}
    return [
        watched_section(train),
        likelihood_section(train),
        pieces_section(trained, test, several=len(texts) > 1),
        compared_section(trained, test),
    ]


def size_for(kind: str, texts: Sequence[str], size: int) -> int:
    """The wanted size; more where a text has more characters than that."""
    characters = {sign for text in texts for sign in text}
    return max(size, 8 + 3 * len(characters)) if kind == "wordpiece" else size


def watched_section(texts: Sequence[str]) -> Section:
    steps = watched_merges(texts, most=MERGES)
    rows = [
        (place, space(left), space(right), space(left + right), count, pieces)
        for place, ((left, right), count, pieces) in enumerate(steps, start=1)
    ]
    counts = tuple(float(count) for _, count, _ in steps)
    columns = ("merge", "left", "right", "new piece", "pair seen", "pieces of the texts")
    return Section(
        "Watch byte-pair encoding learn",
        "All words start as characters; a space belongs to the word after it (▁). Each step joins the most frequent "
        "pair everywhere, if it is there at least twice. The counts fall, and so does the number of pieces that the "
        f"texts need. Shown: at most {MERGES} merges.",
        (
            Lines("texts", shown_texts(texts)),
            table("merges", columns, rows),
            *([Curves("counts", "merge", {"times the pair was seen": counts}, first=1)] if counts else []),
        ),
    )


def shown_texts(texts: Sequence[str]) -> tuple[str, ...]:
    """The first texts that are learned from, and how many there are besides."""
    more = len(texts) - MOST_SHOWN
    return (*map(shown, texts[:MOST_SHOWN]), *([f"and {more:,} more"] if more > 0 else []))


def space(piece: str) -> str:
    return piece.replace(" ", "▁")


def likelihood_section(texts: Sequence[str]) -> Section:
    words = Counter(f"▁{word}" for text in texts for word in text.split())
    merges = learn_merges(words, pieces=WORDPIECE_MERGES) if alphabet(words) else []
    rows = [
        (i, one.left, one.right, one.piece, one.count, one.score)
        for i, one in enumerate(merges[:WORDPIECE_MERGES], start=1)
    ]
    return Section(
        "WordPiece asks another question",
        "Not which pair is most frequent, but which pair occurs together more often than its parts would by chance: "
        "count(ab) / (count(a) · count(b)), among pairs of similar frequency. ## marks a piece inside a word.",
        (table("wordpiece", ("merge", "left", "right", "new piece", "pair seen", "score"), rows),),
    )


def pieces_section(trained: Mapping[str, Tokenizer], test: str, *, several: bool) -> Section:
    rows = [(kind, " ".join(map(space, one.pieces(test)))) for kind, one in trained.items()]
    trained_on = "all texts but the last, used on the last" if several else "this text, used on it"
    return Section(
        "One text in four kinds of pieces",
        f"Trained on {trained_on}: “{test[:60]}”. <unk> is what a vocabulary cannot write, words seen only once "
        "included.",
        (table("pieces", ("kind", "pieces"), rows),),
    )


def unknown_share(tokenizer: Tokenizer, text: str) -> float:
    """The share of the pieces of a text that are <unk>."""
    ids = tokenizer.encode(text)
    return sum(tokenizer.token(one) == "<unk>" for one in ids) / max(1, len(ids))


def compared_section(trained: Mapping[str, Tokenizer], test: str) -> Section:
    words = max(1, len(test.split()))
    rows: list[tuple[Cell, ...]] = []
    for kind, one in trained.items():
        length = len(one.encode(test))
        rows.append((kind, len(one), 100 * unknown_share(one, test), length, length / words))
    columns = ("kind", "vocabulary", "unknown, %", "pieces", "per word")
    return Section(
        "Vocabulary against length",
        "A vocabulary of words is large and still meets unknown words; characters need few entries and long sequences; "
        "pieces are between. The ids of the pieces never change once the vocabulary is fixed, and each model has its "
        "own.",
        (table("compared", columns, rows, "", "", ".0f", "", ".1f"),),
        (
            Correction(
                "Character tokenizers have no unknown tokens.",
                "A character that was never seen is unknown. Only byte-level BPE writes everything: each text is "
                "bytes, and all 256 bytes are in the vocabulary.",
            ),
            Correction(
                "[Let, us, learn, tokenization.]",
                "Cut at spaces, a word keeps its punctuation, and “tokenization.” is another word than “tokenization”. "
                "Here the stop is a piece of its own.",
            ),
        ),
    )


LESSON = Lesson(
    "tokenizers",
    "From text to pieces",
    "Words, characters, BPE, WordPiece on one text; merges watched.",
    run,
    source="Sennrich et al. 2016, arXiv 1508.07909; Schuster and Nakajima 2012",
    files=("text/training.py:train_tokenizer", "text/wordpiece.py:learn_merges"),
    takes={"texts": TEXTS, "size": SIZE},
    examples=('"the cat sat on the mat" "the rat sat on the cat" "a bat sat"', "- < my-lines.txt"),
)
