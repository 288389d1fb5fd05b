"""Writes docs/equations.md: every equation, with a link to the line of code that computes it.

    python docs/equations.py            write the page
    python docs/equations.py --check    fail if the page is out of date

The table below names code by a marker: a qualified name (`FeedForward.forward`) or a part of a line that occurs exactly
once in its file. Line numbers are looked up, so the page cannot go stale; a marker that is not found is an error.
"""

from __future__ import annotations

import argparse
import ast
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "equations.md"
SOURCE = "src/glassformer"


class Row(NamedTuple):
    term: str
    equation: str
    file: str
    marker: str


SECTIONS: dict[str, list[Row]] = {
    "Text": [
        Row(
            "Byte-pair encoding",
            r"repeatedly merge the pair with the highest $\mathrm{count}(ab)$",
            "text/training.py",
            "train_bpe",
        ),
        Row(
            "WordPiece: the pair that most raises the likelihood",
            r"$\arg\max_{a,b}\ \mathrm{count}(ab) / (\mathrm{count}(a)\,\mathrm{count}(b))$",
            "text/wordpiece.py",
            "count / (self.piece_count[pair[0]] * self.piece_count[pair[1]])",
        ),
        Row("Characters as readers see them", "grapheme clusters", "text/graphemes.py", "graphemes"),
    ],
    "Word vectors": [
        Row("tf-idf", r"$\mathrm{tf}(w, d)\,\log(n / n_w)$", "vectors/counting.py", "found: Numbers = counts * idf"),
        Row(
            "Pointwise mutual information",
            r"$\log \frac{p(w, c)}{p(w)\,p(c)}$",
            "vectors/counting.py",
            "pmi",
        ),
        Row(
            "Skip-gram with negative samples",
            r"$-\log \sigma(x_w \cdot y_c) - \sum_n \log \sigma(-x_w \cdot y_n)$",
            "vectors/word2vec_steps.py",
            "step",
        ),
        Row("Cosine", r"$v \cdot w / (\Vert v \Vert\,\Vert w \Vert)$", "vectors/word_vectors.py", "similarity"),
        Row(
            "Orthogonal Procrustes",
            r"$R = U V^\top$ of the SVD $X^\top Y = U S V^\top$ minimises $\Vert X R - Y \Vert$",
            "vectors/over_time.py",
            "rotation",
        ),
    ],
    "Embeddings and positions": [
        Row(
            "Token embedding (section 3.4)",
            r"$\sqrt{d}\; E_{\mathrm{token}}$",
            "nn/embedding.py",
            "vectors * self.scale",
        ),
        Row(
            "Positions (section 3.5), the angle",
            r"$\omega_{pos,i} = pos / 10000^{2i/d}$",
            "nn/positions.py",
            "[:, None] / base**pair",
        ),
        Row(
            "Positions (section 3.5), the table",
            r"$PE_{(pos,2i)} = \sin\omega_{pos,i},\quad PE_{(pos,2i+1)} = \cos\omega_{pos,i}$",
            "nn/positions.py",
            "torch.stack([turn.sin(), turn.cos()], dim=-1)",
        ),
        Row(
            "A fixed rotation moves every position",
            r"$M_c\, P(t) = P(t+c)$",
            "explain/lessons/waves.py",
            "shift_matrix",
        ),
        Row("Learned positions", r"$P_{pos}$, a row of a matrix", "nn/positions.py", "LearnedPositions.forward"),
        Row(
            "Rotary positions",
            r"$(x_{2i}, x_{2i+1}) \mapsto (x_{2i}\cos t\theta_i - x_{2i+1}\sin t\theta_i,\; "
            r"x_{2i}\sin t\theta_i + x_{2i+1}\cos t\theta_i)$",
            "nn/positions.py",
            "even * cos - odd * sin",
        ),
        Row(
            "What enters the first block",
            r"$x = \sqrt{d}\; E_{\mathrm{token}} + P_{pos}$",
            "models/transformer.py",
            "x = x + self.position(",
        ),
    ],
    "Attention": [
        Row(
            "Without parameters",
            r"$\mathrm{softmax}(E E^\top)\, E$",
            "nn/attention.py",
            "torch.softmax(vectors @ vectors.mT, dim=-1)",
        ),
        Row(
            "Scaled dot product (equation 1)",
            r"$\mathrm{softmax}(Q K^\top / \sqrt{d_k} + M)\, V$",
            "nn/attention.py",
            "scores = query @ key.mT / math.sqrt(query.size(-1))",
        ),
        Row(
            "The same in every head, step by step through the taps",
            r"$Q K^\top,\ \cdot/\sqrt{d_k},\ + M,\ \mathrm{softmax}$",
            "nn/attention.py",
            "ScaledDotProduct.plain",
        ),
        Row(
            "The same, fused",
            "one kernel; a test checks that it is equal",
            "nn/attention.py",
            "F.scaled_dot_product_attention(",
        ),
        Row(
            "Queries, keys and values",
            r"$Q = x W^Q,\quad K = x W^K,\quad V = x W^V$",
            "nn/attention.py",
            "self.qkv(x).split(self.rows, dim=-1)",
        ),
        Row(
            "Multi-head (section 3.2.2)",
            r"$\mathrm{Concat}(\mathrm{head}_1, \dots, \mathrm{head}_h)\, W^O$",
            "nn/attention.py",
            "joined = z.transpose(1, 2).flatten(2)",
        ),
        Row(
            "What one head adds",
            r"$\mathrm{head}_i\, W^O_i$, whose sum over $i$ is the output",
            "nn/attention.py",
            'torch.einsum("bhte,dhe->bhtd", z, per_head)',
        ),
        Row("Width of a head", r"$d_k = d / h$ (512 / 8 = 64)", "nn/attention.py", "head_width or width // heads"),
        Row(
            "Masked (causal) self-attention",
            r"$M_{ts} = -\infty$ for $s > t$",
            "nn/masks.py",
            "ones.tril(keys - queries)",
        ),
        Row("Padding mask", r"$M_{ts} = -\infty$ where $s$ is padding", "nn/masks.py", "< lengths[:, None]"),
        Row(
            "Cross-attention",
            r"$Q = x W^Q$ from the decoder, $K, V$ from the encoder's output",
            "nn/attention.py",
            "CrossAttention.forward",
        ),
        Row("Grouped queries", r"$h$ query heads share $g$ key and value heads", "nn/attention.py", "repeat_heads"),
        Row(
            "Key/value cache",
            r"$K_{1..t} = [K_{1..t-1}; k_t],\quad V_{1..t} = [V_{1..t-1}; v_t]$",
            "nn/cache.py",
            "KVCache.append",
        ),
        Row(
            "Why the scale",
            r"$\mathrm{Var}(q \cdot k) = d_k$, $\mathrm{Var}(q \cdot k / \sqrt{d_k}) = 1$",
            "explain/lessons/scaling.py",
            "variance=(float(pairs.var()), float((scale * pairs).var()))",
        ),
        Row("`YOUR CAT IS A LOVELY CAT`", r"its $6 \times 6$ pattern", "explain/lessons/cat.py", "attention_matrix"),
    ],
    "Add & norm, feed-forward": [
        Row(
            "Add & Norm (section 3.1)",
            r"$\mathrm{LayerNorm}(x + \mathrm{Sublayer}(x))$; pre-norm: "
            r"$x + \mathrm{Sublayer}(\mathrm{LayerNorm}(x))$",
            "nn/residual.py",
            "self.norm(x + self.added(self.dropout(sublayer(x))))",
        ),
        Row("LayerNorm", r"$(x - \mu) / \sqrt{\sigma^2 + \epsilon} \cdot g + b$", "nn/norms.py", "LayerNorm.plain"),
        Row("RMSNorm", r"$x / \sqrt{\mathrm{mean}(x^2) + \epsilon} \cdot g$", "nn/norms.py", "RMSNorm.forward"),
        Row(
            "BatchNorm, for comparison: padding spoils it",
            r"$\mu, \sigma^2$ over the batch",
            "explain/lessons/norm.py",
            "batch_norm",
        ),
        Row(
            "Feed-forward (equation 2)",
            r"$\max(0,\, x W_1 + b_1)\, W_2 + b_2$",
            "nn/feed_forward.py",
            "inner = self.activation(self.pre(self.up(x)))",
        ),
        Row(
            "Gated feed-forward",
            r"$(\mathrm{act}(x W_g) \odot x W_1)\, W_2$",
            "nn/feed_forward.py",
            "self.activation(self.pre(self.gate(x)), self.up(x))",
        ),
        Row(
            "Residual dropout (section 5.4)",
            r"each value is 0 with probability $p$, else times $1/(1-p)$",
            "nn/dropout.py",
            "keep_mask",
        ),
    ],
    "Encoder and decoder": [
        Row(
            "Encoder block",
            r"$T_3 = LN(x + MHA(x)),\quad H = LN(T_3 + FFN(T_3))$",
            "models/transformer.py",
            "EncoderBlock.forward",
        ),
        Row(
            "Decoder block",
            "masked self-attention, cross-attention, feed-forward, each with Add & Norm",
            "models/transformer.py",
            "DecoderBlock.forward",
        ),
        Row(
            "$N = 6$ blocks, $d$, $h$, $d_{ff}$ (table 3)",
            "base and big as published",
            "models/transformer.py",
            "SIZES",
        ),
        Row("Logits, tied to the embedding (section 3.4)", r"$h E^\top$", "nn/heads.py", "VocabularyHead.forward"),
        Row(
            "Shifted right",
            r"in: $\langle s\rangle\, y_1 \dots y_{T-1}$, out: $y_1 \dots y_T$",
            "data/batches.py",
            "# (B, T): <s> y1 y2 ...",
        ),
        Row(
            "Teacher forcing",
            r"all $P(y_t \mid y_{<t}, x)$ in one pass",
            "models/decoding/encoder_decoder.py",
            "EncoderDecoder.forward",
        ),
        Row(
            "One step of decoding",
            r"$P(y_t \mid y_{<t}, x)$ from the cache",
            "models/decoding/autoregressive.py",
            "Autoregressive.step",
        ),
    ],
    "Before the Transformer": [
        Row(
            "LSTM, the cell (Hochreiter and Schmidhuber 1997; Gers et al. 2000)",
            r"$c_t = f \odot c_{t-1} + i \odot g$",
            "nn/recurrent.py",
            "c = f * c + i * g",
        ),
        Row("LSTM, the hidden state", r"$h_t = o \odot \tanh(c_t)$", "nn/recurrent.py", "o * c.tanh()"),
        Row(
            "Gated unit (Cho et al. 2014)",
            r"$h_t = (1 - z) \odot n + z \odot h_{t-1}$",
            "nn/recurrent.py",
            "n + z * (before - n)",
        ),
        Row(
            "Additive attention (Bahdanau et al. 2014)",
            r"$e_{ij} = v^\top \tanh(W s_{i-1} + U h_j)$",
            "nn/additive.py",
            "torch.tanh(keys + query[:, None]) @ self.v",
        ),
        Row(
            "The context of one target token",
            r"$c_i = \sum_j a_{ij} h_j$",
            "nn/additive.py",
            "(a[:, None] @ values)[:, 0]",
        ),
        Row(
            "Reversed source (Sutskever et al. 2014, section 3.3)",
            r"$x_S, \dots, x_1$",
            "models/lstm.py",
            "if self.reverse else batch.source",
        ),
        Row(
            "Maxout readout (Bahdanau et al. 2014, appendix A.2.2)",
            r"$t_{i,j} = \max(\tilde t_{i,2j-1}, \tilde t_{i,2j})$",
            "models/rnn_attention.py",
            "pairs.amax(dim=-1)",
        ),
    ],
    "Training": [
        Row(
            "Cross-entropy with label smoothing (section 5.4)",
            r"$-\sum_v q_v \log p_v,\quad q = (1-\epsilon)\,\mathrm{onehot}(y) + \epsilon / V$",
            "nn/vocabulary_loss.py",
            "linear_cross_entropy",
        ),
        Row(
            "Warm-up (equation 3)",
            r"$lr_n = lr_{\mathrm{peak}} \cdot n / n_{\mathrm{warmup}}$",
            "training/schedule.py",
            "peak * n / warmup",
        ),
        Row(
            "Decay (equation 3)",
            r"$lr_n = lr_{\mathrm{peak}} \sqrt{n_{\mathrm{warmup}} / n}$; with $lr_{\mathrm{peak}} = "
            r"(d \cdot n_{\mathrm{warmup}})^{-0.5}$ this is "
            r"$d^{-0.5} \min(n^{-0.5},\, n \cdot n_{\mathrm{warmup}}^{-1.5})$",
            "training/schedule.py",
            "math.sqrt(max(warmup, 1) / n)",
        ),
        Row(
            "Adam (section 5.3), decoupled weight decay",
            r"$\beta_1, \beta_2, \epsilon = 10^{-9}$",
            "training/optimiser.py",
            "torch.optim.AdamW([*decayed",
        ),
        Row(
            "Muon: momentum made orthogonal (Jordan et al. 2024)",
            r"$X \leftarrow a X + (b\, X X^\top + c\, (X X^\top)^2) X$, five times from $X = M / \lVert M \rVert$",
            "training/muon.py",
            "newton_schulz",
        ),
    ],
    "Decoding": [
        Row(
            "Greedy",
            r"$y_t = \arg\max_v P(v \mid y_{<t}, x)$",
            "decode/next_token.py",
            "top = values.topk(n, dim=1)",
        ),
        Row(
            "Beam search",
            r"the $k$ beginnings with the highest $\sum_t \log P(y_t \mid y_{<t}, x)$",
            "decode/choosers.py",
            'np.argsort(-total, axis=1, kind="stable")',
        ),
        Row(
            "Length normalisation",
            r"$\log P(y \mid x) / \lvert y \rvert^{\alpha}$",
            "decode/protocol.py",
            "log_prob / max(length, 1) ** alpha",
        ),
    ],
    "Measuring": [
        Row(
            "BLEU and chrF",
            "sacreBLEU, with its signature and a bootstrap interval",
            "evaluate/translation.py",
            "corpus_scores",
        ),
        Row(
            "Alignment error rate",
            r"$1 - (\lvert A \cap S \rvert + \lvert A \cap P \rvert) / (\lvert A \rvert + \lvert S \rvert)$",
            "evaluate/alignment.py",
            "1 - hits / total",
        ),
    ],
}

INTRO = """\
# Where each equation is computed

Sections and equations are numbered as in "Attention Is All You Need" (Vaswani et al. 2017, arXiv 1706.03762).
`python docs/equations.py` writes this page; a test checks that it matches the code.
"""


class MarkerError(Exception):
    """A marker that matches no line, or several."""


def line_of(source: str, marker: str) -> int:
    """The line on which a qualified name is defined, or the only line that contains the marker."""
    defined = definitions(ast.parse(source))
    if marker in defined:
        return defined[marker]
    lines = [number for number, line in enumerate(source.splitlines(), start=1) if marker in line]
    if len(lines) != 1:
        raise MarkerError(f"{marker!r} is neither a name defined there nor on exactly one line (lines: {lines})")
    return lines[0]


def definitions(tree: ast.Module) -> dict[str, int]:
    """The lines of `function`, `Class`, `Class.method` and `CONSTANT`."""
    found: dict[str, int] = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found[node.name] = node.lineno
        if isinstance(node, ast.ClassDef):
            found |= {
                f"{node.name}.{part.name}": part.lineno for part in node.body if isinstance(part, ast.FunctionDef)
            }
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {target.id: node.lineno for target in targets if isinstance(target, ast.Name)}
    return found


def link(row: Row) -> str:
    path = ROOT / SOURCE / row.file
    if not path.is_file():
        raise MarkerError(f"{row.term}: there is no {SOURCE}/{row.file}")
    try:
        line = line_of(path.read_text(encoding="utf-8"), row.marker)
    except MarkerError as error:
        raise MarkerError(f"{row.term}: {SOURCE}/{row.file}: {error}") from None
    return f"[{row.file}:{line}](../{SOURCE}/{row.file}#L{line})"


def render() -> str:
    parts = [INTRO]
    for title, rows in SECTIONS.items():
        lines = [f"## {title}", "", "| term | equation | code |", "| --- | --- | --- |"]
        lines += [f"| {row.term} | {row.equation} | {link(row)} |" for row in rows]
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def main() -> int:
    parser = argparse.ArgumentParser(description="Write docs/equations.md.")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the page is not up to date")
    check = parser.parse_args().check
    try:
        page = render()
    except MarkerError as error:
        sys.exit(f"docs/equations.py: {error}. Fix the marker.")
    if check and (not PAGE.exists() or PAGE.read_text(encoding="utf-8") != page):
        sys.exit("docs/equations.md is not up to date: run `python docs/equations.py`.")
    if not check:
        PAGE.write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
