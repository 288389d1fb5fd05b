"""The two measures that published Multi30k results come in."""

from __future__ import annotations

from collections.abc import Sequence

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF


def scores(hypotheses: Sequence[str], references: Sequence[str]) -> dict[str, float | str]:
    """Cased BLEU of detokenised text, BLEU of lower-cased text, both with sacreBLEU's words, and chrF."""
    cased, lower, chrf = BLEU(), BLEU(lowercase=True), CHRF()
    found = {
        "bleu": cased.corpus_score(hypotheses, [references]).score,
        "bleu_lower": lower.corpus_score(hypotheses, [references]).score,
        "chrf": chrf.corpus_score(hypotheses, [references]).score,
    }
    return {**found, "signature": str(cased.get_signature()), "signature_lower": str(lower.get_signature())}
