"""The operations of which every forward pass consists, for a machine and for a reader."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from glassformer.explain import op_functions as f
from glassformer.explain import recurrent_functions as r
from glassformer.explain.op_functions import Array


@dataclass(frozen=True)
class Op:
    """An operation, for a machine and for a reader."""

    function: Callable[..., Array]
    formula: str
    sentence: str
    arity: int | None  # number of inputs; None: any number
    row_wise: bool = True  # row t of the result needs row t of the inputs alone

    def to_dict(self) -> dict[str, Any]:
        return {"formula": self.formula, "sentence": self.sentence, "arity": self.arity, "row_wise": self.row_wise}


OPS: dict[str, Op] = {
    "embed": Op(f.embed, "E[id] · scale", "Looks up the row of the table that belongs to each token.", 1),
    "sinusoidal": Op(
        f.sinusoidal,
        "sin(pos / base^(2i/D)), cos(pos / base^(2i/D))",
        "Writes each position as sines and cosines of different wavelengths.",
        1,
    ),
    "rows": Op(f.rows, "P[pos]", "Takes the learned row of each position.", 1),
    "constant": Op(f.constant, "w", "Learned values that are the same for every input.", 0, row_wise=False),
    "same": Op(f.same, "x", "The value itself, at the point where it can be read.", 1),
    "add": Op(f.add, "x + y", "Adds the values.", None),
    "multiply": Op(f.multiply, "x ⊙ y", "Multiplies the values one by one.", 2),
    "scale": Op(f.scale, "x · factor", "Multiplies every value by the same number.", 1),
    "divide": Op(f.divide, "x / y", "Divides each row by its own number.", 2),
    "linear": Op(f.linear, "x Wᵀ + b", "Each result is a weighted sum of the row's values, plus a bias.", 1),
    "split_heads": Op(f.split_heads, "(T, H·E) → (H, T, E)", "Cuts each row into one part for each head.", 1),
    "join_heads": Op(f.join_heads, "(H, T, E) → (T, H·E)", "Puts the heads' results side by side.", 1),
    "rotate": Op(
        f.rotate,
        "(x₂ᵢ cos tθᵢ − x₂ᵢ₊₁ sin tθᵢ, x₂ᵢ sin tθᵢ + x₂ᵢ₊₁ cos tθᵢ)",
        "Rotates each pair of values by an angle that grows with the position.",
        1,
    ),
    "scores": Op(f.scores, "q kᵀ", "Multiplies each query with each key.", 2, row_wise=False),
    "mask": Op(f.mask, "x, or −∞ where hidden", "Hides the keys that a query may not see.", 1),
    "softmax": Op(f.softmax, "exp(xⱼ) / Σ exp(x)", "Turns each row into shares that add up to 1.", 1),
    "mix": Op(f.mix, "a v", "Adds up the values, each by its share.", 2, row_wise=False),
    "head_results": Op(f.head_results, "z W_Oᵀ of one head", "What each head adds by itself.", 1),
    "center": Op(f.center, "x − mean(x)", "Subtracts the mean of each row.", 1),
    "rms": Op(f.rms, "√(mean(x²) + ε)", "The size of each row, one number.", 1),
    "gain": Op(f.gain, "x ⊙ g + b", "Multiplies every dimension by its learned gain and adds its bias.", 1),
    "activation": Op(f.activation, "act(x)", "Bends each value by itself.", 1),
    "pick": Op(f.pick, "x[at]", "Takes one row.", 1, row_wise=False),
    "mean_rows": Op(f.mean_rows, "mean over rows", "The mean of all rows.", 1, row_wise=False),
    "concat": Op(f.concat, "x, then y", "Puts the rows below each other.", None, row_wise=False),
    "largest": Op(f.largest, "top k of x", "Chooses the columns with the largest values of each row.", 1),
    "shares": Op(f.shares, "pᵢ / Σ p of the chosen", "Scales the chosen probabilities so that they add up to 1.", 2),
    "sent": Op(f.sent, "x, or 0 if not sent", "Keeps the rows of the tokens that this expert computes.", 2),
    "share": Op(f.share, "its share, or 0", "How much of this expert's result each token gets.", 2),
    "relative_bias": Op(
        f.relative_bias,
        "b[bucket(key − query)]",
        "Looks up a number for each head and distance between query and key.",
        2,
        row_wise=False,
    ),
    "patches": Op(f.patches, "(C, h, w) → (P, C·p·p)", "Cuts the image into patches, each one row.", 1, row_wise=False),
    "word_odds": Op(
        f.word_odds,
        "Σ t[hash(word)] + Σ t[hash(pair)]",
        "Adds up what each word and each pair of neighbours says about the class.",
        1,
        row_wise=False,
    ),
    "with_odds": Op(
        f.with_odds,
        "s · x + (1 − s) · shares + odds",
        "Mixes the model's logits with what the words say by themselves.",
        2,
    ),
    # Recurrent layers
    "lstm": Op(
        r.lstm,
        "i, f, o = σ(gₜ + U hₜ₋₁), g = tanh(…); c = f ⊙ c + i ⊙ g; h = o ⊙ tanh(c)",
        "Reads token after token: gates decide what the cell forgets, takes in and shows.",
        None,
        row_wise=False,
    ),
    "gru": Op(
        r.gru,
        "r, z = σ(gₜ + U hₜ₋₁ + b); n = tanh(gₜ + r ⊙ (U hₜ₋₁ + b)); h = (1 − z) ⊙ n + z ⊙ h",
        "Reads token after token: gates decide how much of the state is replaced.",
        None,
        row_wise=False,
    ),
    "attentive_gru": Op(
        r.attentive_gru,
        "aₜ = softmax(vᵀ tanh(W sₜ₋₁ + k) + M); gru of gₜ + C (aₜ h)",
        "Writes token after token: each state first reads the parts of the source that it asks for.",
        5,
        row_wise=False,
    ),
    "additive_scores": Op(
        r.additive_scores,
        "vᵀ tanh(k + q)",
        "Compares a query with each key by a small network.",
        None,
        row_wise=False,
    ),
    "before": Op(r.before, "x₀, x₁, … xₜ₋₁", "The state before each token.", 2, row_wise=False),
    "nothing_hidden": Op(r.nothing_hidden, "0", "Zero for every token: all of them may be read.", 1),
    "part": Op(r.part, "x[at]", "Takes one of several values that were computed together.", 1),
    "stack": Op(r.stack, "x, y, … together", "Keeps several rows as one value.", None, row_wise=False),
    "reverse": Op(r.reverse, "x from end to start", "Puts the rows in reverse order.", 1, row_wise=False),
    "beside": Op(r.beside, "[x, y]", "Puts the rows of both side by side.", None),
    "columns": Op(r.columns, "x[:, begin:end]", "Takes some columns.", 1),
    "weigh": Op(r.weigh, "a x", "Adds up the rows, each by its share.", 2, row_wise=False),
    "maxout": Op(r.maxout, "max(x₂ᵢ, x₂ᵢ₊₁)", "Keeps the larger value of each pair.", 1),
}  # fmt: skip


def ops_to_dict() -> dict[str, dict[str, Any]]:
    """What a reader needs to know of every operation."""
    return {name: op.to_dict() for name, op in OPS.items()}
