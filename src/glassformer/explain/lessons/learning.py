"""Why W_Q, W_K and W_V are learned: a piece of cake is easy, which no mixture of fixed vectors knows.

One attention layer reads short sentences; its output at the word "cake" is compared with two fixed meaning vectors.
Nothing but W_Q, W_K and W_V is trained, by gradient descent, in about a second.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from glassformer.explain.lessons.inputs import numbered, shown, word_vectors, words_of
from glassformer.explain.lessons.lesson import Asked, Cell, Curves, Lesson, Section, matrix, table
from glassformer.nn.attention import SelfAttention, parameter_free_attention
from glassformer.nn.masks import additive, padding_mask
from glassformer.nn.taps import listen

WIDTH, UPDATES, RATE, SEED = 32, 200, 0.02, 0
WORD = "cake"
MEANINGS = ("easy", "food")
# Only the noun decides; who says it, and how, goes with both meanings.
NOUNS = (("exam", "test", "game", "homework", "job"), ("gift", "dessert", "snack", "breakfast", "prize"))
SPEAKERS = ("he", "she", "they", "the boy")
VERBS = ("said", "thought")
EVERY = {
    f"{who} {verb} the {noun} was a piece of cake": meaning
    for who in SPEAKERS
    for verb in VERBS
    for meaning, nouns in enumerate(NOUNS)
    for noun in nouns
}
HELD = 5  # each fifth sentence is kept to test on
LEARN = {text: meaning for i, (text, meaning) in enumerate(EVERY.items()) if (i + i // 10) % HELD}
TRY = {text: meaning for text, meaning in EVERY.items() if text not in LEARN}
LISTED = 12  # sentences that are shown
SHOWN = ("she said the exam was a piece of cake", "she said the dessert was a piece of cake")


@dataclass(frozen=True)
class Learned:
    """The trained layer, the fixed vectors of the meanings (2, D), and the loss of each update."""

    layer: SelfAttention
    meanings: Tensor
    losses: list[float]
    seed: int

    def vectors(self, words: Sequence[str]) -> Tensor:
        return word_vectors(words, WIDTH, seed=self.seed).float() / 2  # (T, D)

    def mixture(self, words: Sequence[str]) -> tuple[Tensor, Tensor]:
        """After learning: the output (T, D) and the pattern (T, T)."""
        with torch.no_grad(), listen(self.layer) as heard:
            out = self.layer(self.vectors(words)[None])[0]
        return out, heard["core.pattern"][0][0, 0]

    def verdict(self, vector: Tensor) -> Tensor:
        """The probability of each meaning (2,): the softmax of the products with the meaning vectors."""
        return torch.softmax(self.meanings @ vector, -1)


def focus(words: Sequence[str]) -> int:
    """The place of the word whose meaning is asked for: "cake", or else the last word."""
    return words.index(WORD) if WORD in words else len(words) - 1


def new_layer(seed: int) -> SelfAttention:
    """One head with random W_Q, W_K, W_V; W_O is the identity and stays it."""
    torch.manual_seed(seed)
    layer = SelfAttention(WIDTH, heads=1, bias=False)
    with torch.no_grad():
        layer.out.linear.weight.copy_(torch.eye(WIDTH))
    layer.out.linear.weight.requires_grad_(False)
    return layer


def learn(seed: int) -> Learned:
    state = torch.get_rng_state()
    try:
        layer = new_layer(seed)
    finally:
        torch.set_rng_state(state)
    meanings = word_vectors([f"meaning {one}" for one in MEANINGS], WIDTH, seed=seed).float() / 2
    learned = Learned(layer, meanings, [], seed)
    texts = [words_of(text) for text in LEARN]
    lengths = torch.tensor([len(words) for words in texts])
    x = torch.nn.utils.rnn.pad_sequence([learned.vectors(words) for words in texts], batch_first=True)  # (B, T, D)
    mask = additive(padding_mask(lengths, x.size(1)), x.dtype)
    at, wanted = torch.tensor([focus(words) for words in texts]), torch.tensor(list(LEARN.values()))
    adam = torch.optim.Adam([layer.qkv.weight], lr=RATE)
    for _ in range(UPDATES):
        out = layer(x, mask=mask)[torch.arange(len(texts)), at]  # (B, D)
        loss = F.cross_entropy(out @ meanings.T, wanted)
        adam.zero_grad()
        loss.backward()
        adam.step()
        learned.losses.append(float(loss.detach()))
    return learned


def run(asked: Asked) -> list[Section]:
    learned = learn(asked.seed)
    texts = [words_of(text) for text in asked.texts]
    return [
        task_section(),
        training_section(learned),
        *(before_after_section(words, learned, place) for place, words in enumerate(texts, start=1)),
        results_section(learned),
    ]


def task_section() -> Section:
    rows = [(text, MEANINGS[meaning]) for text, meaning in list(LEARN.items())[:LISTED]]
    return Section(
        "The task",
        "What does “cake” mean here? Translated word by word, “a piece of cake” is always food; in the data it is "
        f"often something easy. {len(LEARN)} sentences, the first {LISTED} of them below; only the noun decides. The "
        "static vectors are random and stay fixed, and so do two vectors for the meanings.",
        (table("sentences", ("sentence to learn from", "meaning"), rows),),
    )


def training_section(learned: Learned) -> Section:
    return Section(
        "Learning W_Q, W_K, W_V",
        f"They start at random (seed {learned.seed}). Each of {UPDATES} updates computes the loss on all sentences, "
        "its gradient by backpropagation, and moves the three matrices against it (Adam). Nothing else is learned.",
        (Curves("loss", "update", {"loss": tuple(learned.losses)}),),
    )


def unknown_note(words: Sequence[str]) -> str:
    """What to think of words that training never saw."""
    known = {word for text in LEARN for word in words_of(text)}
    unknown = [word for word in dict.fromkeys(words) if word not in known]
    if not unknown:
        return ""
    some = ", ".join(shown(word) for word in unknown[:4]) + (", ..." if len(unknown) > 4 else "")
    return f" Not in the sentences it learned from: {some}. What it makes of such words is chance."


def before_after_section(words: Sequence[str], learned: Learned, place: int) -> Section:
    at = focus(words)
    e = learned.vectors(words)
    plain, weights = parameter_free_attention(e)
    out, pattern = learned.mixture(words)
    both = torch.stack([weights[at], pattern[at]])
    verdicts = torch.stack([learned.verdict(plain[at]), learned.verdict(out[at])])
    rows = ("softmax(E Eᵀ)", "learned")
    return Section(
        f"“{' '.join(words[:10])}”: what “{words[at]}” reads",
        "Without parameters the weights come from random static vectors, and the mixture says nothing about the "
        "meaning. After learning, the word reads the word that decides. (With some seeds one meaning is the answer by "
        "default, and the layer only looks for words of the other.)" + unknown_note(words),
        (
            matrix(f"weights_{place}", both, rows=rows, columns=numbered(words), digits=2, corner=words[at]),
            matrix(f"meaning_{place}", verdicts, rows=rows, columns=MEANINGS, digits=2, corner="probability of"),
        ),
    )


def right(texts: dict[str, int], learned: Learned) -> tuple[int, int]:
    """How many meanings are right: by mixing without parameters, and after learning."""
    found = [0, 0]
    for text, meaning in texts.items():
        words = words_of(text)
        at = focus(words)
        outputs = (parameter_free_attention(learned.vectors(words))[0], learned.mixture(words)[0])
        for i, output in enumerate(outputs):
            found[i] += int(learned.verdict(output[at]).argmax()) == meaning
    return found[0], found[1]


def results_section(learned: Learned) -> Section:
    rows: list[tuple[Cell, ...]] = []
    for name, texts in (("sentences it learned from", LEARN), ("new sentences", TRY)):
        plain, trained = right(texts, learned)
        rows.append((name, len(texts), plain, trained))
    return Section(
        "Is it right?",
        "The new sentences combine known words differently. A word that never occurred in training would help neither.",
        (table("right", ("", "sentences", "right, no parameters", "right, learned"), rows),),
    )


LESSON = Lesson(
    "learning",
    "Why weights are learned: a piece of cake",
    "W_Q, W_K, W_V trained in a second; mixtures before and after.",
    run,
    source="Vaswani et al. 2017, section 3.2.2; the optimiser: Kingma and Ba 2015, arXiv 1412.6980",
    files=("nn/attention.py:SelfAttention", "explain/lessons/learning.py:learn"),
    takes={"texts": SHOWN, "seed": SEED},
    examples=('"the exam was a piece of cake"', "--seed 1"),
)
