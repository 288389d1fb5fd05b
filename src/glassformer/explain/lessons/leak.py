"""The leak: without a mask a model learns to copy the next word instead of predicting it."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from glassformer.explain.lessons.lesson import Asked, Curves, Lesson, Section, matrix, table
from glassformer.explain.lessons.mask import renormalised
from glassformer.nn.attention import SelfAttention
from glassformer.nn.positions import sinusoidal

# Mixtures for the Hindi sentence आप कैसे हैं: each word reads all three.
HINDI = ("आप", "कैसे", "हैं")
MIXTURES = ((0.80, 0.10, 0.10), (0.15, 0.75, 0.10), (0.10, 0.20, 0.70))
CHOICES = (("the",), ("cat", "dog", "bird", "fish"), ("ate", "saw", "took", "left"), ("it", "them", "her", "him"))
WIDTH, UPDATES, RATE, TEXTS, SEED = 32, 120, 0.02, 32, 0


class NextWord(nn.Module):
    """One attention layer that predicts each next word."""

    def __init__(self, vocabulary: int, *, causal: bool) -> None:
        super().__init__()
        self.causal = causal
        self.table = nn.Parameter(torch.randn(vocabulary, WIDTH))
        self.attention = SelfAttention(WIDTH, heads=1)
        self.head = nn.Linear(2 * WIDTH, vocabulary)

    def forward(self, ids: Tensor) -> Tensor:
        """(B, T) -> logits (B, T, V)."""
        x = self.table[ids] + sinusoidal(ids.size(1), WIDTH).float()
        return self.head(torch.cat([x, self.attention(x, causal=self.causal)], dim=-1))


def sentences(generator: torch.Generator, count: int) -> tuple[Tensor, list[str]]:
    """Random sentences: one word of each group in turn."""
    vocabulary = [word for words in CHOICES for word in words]
    starts = [vocabulary.index(words[0]) for words in CHOICES]
    drawn = [
        torch.randint(len(words), (count,), generator=generator) + s for words, s in zip(CHOICES, starts, strict=True)
    ]
    return torch.stack(drawn, dim=1), vocabulary


def trained(*, causal: bool, seed: int) -> tuple[NextWord, list[float]]:
    state = torch.get_rng_state()
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    model = NextWord(sum(map(len, CHOICES)), causal=causal)
    torch.set_rng_state(state)
    adam = torch.optim.Adam(model.parameters(), lr=RATE)
    losses = []
    for _ in range(UPDATES):
        ids, _ = sentences(generator, TEXTS)
        loss = F.cross_entropy(model(ids)[:, :-1].flatten(0, 1), ids[:, 1:].flatten())
        adam.zero_grad()
        loss.backward()
        adam.step()
        losses.append(float(loss.detach()))
    return model, losses


def losses_of(model: NextWord, seed: int) -> tuple[float, float]:
    """On new sentences: with the whole sentence given as in training, and with only the words so far."""
    ids, _ = sentences(torch.Generator().manual_seed(seed + 1), 200)
    with torch.no_grad():
        whole = F.cross_entropy(model(ids)[:, :-1].flatten(0, 1), ids[:, 1:].flatten())
        each = [F.cross_entropy(model(ids[:, :t])[:, -1], ids[:, t]) for t in range(1, ids.size(1))]
    return float(whole), float(torch.stack(each).mean())


def run(asked: Asked) -> list[Section]:
    return [mixtures_section(), training_section(asked.seed)]


def mixtures_section() -> Section:
    values = torch.tensor(MIXTURES, dtype=torch.float64)
    return Section(
        "Who reads the future?",
        f"{' '.join(HINDI)} (“how are you”): mixtures without a mask. Row 1 contains words 2 and 3, which "
        "exist while training and not while writing: data leak from the answer into the question. Masked, each row "
        "keeps its past and sums to 1 again.",
        (
            matrix("leaking", values, rows=HINDI, columns=HINDI, sums=True, corner="no mask"),
            matrix("masked", renormalised(values), rows=HINDI, columns=HINDI, sums=True, corner="masked"),
        ),
    )


def training_section(seed: int) -> Section:
    rows, series = [], {}
    for name, causal in (("without a mask", False), ("causal mask", True)):
        model, losses = trained(causal=causal, seed=seed)
        rows.append((name, *losses_of(model, seed)))
        series[name] = tuple(losses)
    chance = sum(torch.tensor(float(len(words))).log() for words in CHOICES[1:]) / (len(CHOICES) - 1)
    return Section(
        "Too good to be true",
        "Both models predict each next word of random sentences (the + one of four nouns + one of four verbs + one of "
        f"four pronouns). No one can do better than guess among four, a loss of ln 4 = {chance:.3f}. Without the mask "
        "the loss falls below that, because the model copies the next word. Where only the words so far are there, it "
        "fails.",
        (
            Curves("loss", "update", series),
            table("losses", ("model", "loss as in training", "loss while writing"), rows),
        ),
    )


LESSON = Lesson(
    "leak",
    "The leak that a mask prevents",
    "A model without a mask learns to copy the answer: measured.",
    run,
    source="Vaswani et al. 2017, section 3.2.3",
    files=("nn/masks.py:causal_mask", "nn/attention.py:SelfAttention"),
    takes={"seed": SEED},
    examples=("--seed 1",),
)
