"""Every claim, in the order of the page."""

from __future__ import annotations

from glassformer.tasks.experiments.claims.claim import Claim
from glassformer.tasks.experiments.claims.layers import PROBED, surface_and_meaning
from glassformer.tasks.experiments.claims.parts import LAYERS, RATES, residuals_and_norms
from glassformer.tasks.experiments.claims.transformer import (
    BEAM,
    LEARNED_LENGTHS,
    LONGER_LENGTHS,
    SAME,
    WIDE,
    beam_search,
    learned_positions,
    longer_texts,
    many_heads,
)

CLAIMS = (
    Claim(
        "learned-positions",
        "Learned positions are as good as sinusoidal ones.",
        "Both are trained with the same seeds and tested on unseen texts as long as those in training. Confirmed if the "
        f"whole interval of the difference is within {SAME:g} BLEU, not confirmed if it excludes 0.",
        {"clauses": list(LEARNED_LENGTHS), "same": SAME},
        learned_positions,
    ),
    Claim(
        "longer-texts",
        "Sinusoidal positions extrapolate to sentences longer than those in training.",
        "The model learns from texts of one and two clauses and translates longer ones. Confirmed if texts of three "
        "clauses keep 90% of the BLEU of two; depends if they do not, but learned positions keep clearly less.",
        {"clauses": [*LEARNED_LENGTHS, *LONGER_LENGTHS]},
        longer_texts,
    ),
    Claim(
        "many-heads",
        "Many heads cost about as much as one head of full width.",
        "1, 4 and 8 heads share the width of the model. Operations are counted for the whole training; the time is that "
        f"of a step on one thread, also at width {WIDE}, relative to one head. Confirmed if the operations are equal "
        f"and no time at width {WIDE} is 10% longer; depends if only the operations are equal.",
        {"heads": [1, 4, 8], "wide": WIDE},
        many_heads,
    ),
    Claim(
        "residuals-and-norms",
        "Residual connections and LayerNorm help training; LayerNorm shortens it.",
        f"{LAYERS} layers on each side, with both parts or without one. Everything else is the same, also the first "
        "weights; each model has the better of two learning rates. A loss above that of guessing among all words "
        "counts as guessing. Confirmed if each loss without a part is clearly higher, depends if one is.",
        {"N": LAYERS, "rates": list(RATES)},
        residuals_and_norms,
    ),
    Claim(
        "layers",
        "Lower layers hold the surface of a text, higher layers its meaning.",
        f"Linear probes on the encoder vectors of {PROBED} texts: which word is here, whether a noun is subject or "
        'object, and which noun "it" means. Confirmed if the first is clearly lost from the inputs to the last layer '
        "and the other two are clearly gained; depends if they are gained and nothing is lost.",
        {"N": LAYERS, "texts": PROBED},
        surface_and_meaning,
    ),
    Claim(
        "beam",
        "Greedy decoding is worse than beam search.",
        f"The same models translate greedily and with a beam of {BEAM}. Confirmed if the beam is clearly better at each "
        "length, depends if at some.",
        {"beam": BEAM, "clauses": [1, 2, 3]},
        beam_search,
    ),
)
