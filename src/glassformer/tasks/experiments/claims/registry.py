"""Every claim, in the order of the page."""

from __future__ import annotations

from glassformer.tasks.experiments.claims.bench import LONG
from glassformer.tasks.experiments.claims.claim import Claim
from glassformer.tasks.experiments.claims.layers import PROBED, surface_and_meaning
from glassformer.tasks.experiments.claims.parts import EARLY, LAYERS, RATES, norms, residuals
from glassformer.tasks.experiments.claims.recurrent import (
    CELLS,
    LEARNT,
    LONG_WORDS,
    NARROWER,
    REACH,
    SHORT_WORDS,
    TOKENS,
    WIDER,
    context_vector,
    far_words,
    gradients,
    sequential,
)
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

PARTS_SETTINGS = {"N": LAYERS, "rates": list(RATES), "updates": EARLY.updates, "texts": EARLY.train}
PARTS_RULE = (
    f"Everything else is the same, also the first weights; {EARLY.updates:g} times as many updates as usual; each "
    "model has the better of two learning rates. A loss above that of guessing among all words counts as guessing. "
    "Confirmed if the loss without the part is clearly "
    "higher, not confirmed if it is clearly lower; depends if the seeds do not decide."
)
CLAIMS = (
    Claim(
        "learned-positions",
        "Learned positions are as good as sinusoidal ones.",
        "Both are trained with the same seeds and tested on unseen texts as long as those in training. Confirmed if "
        f"the whole interval of the difference is within {SAME:g} BLEU, not confirmed if it excludes 0; depends if the "
        "seeds do not decide.",
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
        "1, 4 and 8 heads share the width of the model. Operations are counted for the whole training; the time is "
        f"that of a step on one thread, also at width {WIDE}, relative to one head. Confirmed if the operations are "
        f"equal and no time at width {WIDE} is 10% longer; depends if only the operations are equal.",
        {"heads": [1, 4, 8], "wide": WIDE},
        many_heads,
    ),
    Claim(
        "residuals",
        "Residual connections help training.",
        f"{LAYERS} layers on each side, with residuals and norms, or without residuals. {PARTS_RULE}",
        PARTS_SETTINGS,
        residuals,
    ),
    Claim(
        "norms",
        "LayerNorm helps training and shortens it.",
        f"{LAYERS} layers on each side, with residuals and norms, or without norms. {PARTS_RULE}",
        PARTS_SETTINGS,
        norms,
    ),
    Claim(
        "layers",
        "Lower layers hold the surface of a text, higher layers its meaning.",
        f"Linear probes on the encoder vectors of {PROBED} texts: which word is here, whether a noun is subject or "
        'object, and which noun "it" means. Confirmed if the first is clearly lost from the inputs to the last layer '
        "and the other two are clearly gained; depends if they are gained and nothing is lost.",
        {"texts": PROBED},
        surface_and_meaning,
    ),
    Claim(
        "beam",
        "Greedy decoding is worse than beam search.",
        f"The same models translate greedily and with a beam of {BEAM}. Confirmed if the beam is clearly better at "
        "each length, depends if at some.",
        {"beam": BEAM, "clauses": [1, 2, 3]},
        beam_search,
    ),
    Claim(
        "context-vector",
        "A context vector of fixed size degrades from about thirty words on.",
        "LSTM encoder-decoders, with the source in its order and reversed, and an RNN with attention learn from texts "
        f"of 5 to 60 words, with {LONG.updates:g} times as many updates as the other models. Confirmed if the "
        f"better LSTM keeps clearly less than all of its BLEU above {LONG_WORDS} "
        f"words, compared with texts of up to {SHORT_WORDS}, and clearly less than the RNN with attention does; "
        f"depends if only the first is true, or if the LSTM does not reach {LEARNT:g} BLEU on short texts.",
        {"cells": CELLS, "updates": LONG.updates, "short": SHORT_WORDS, "long": LONG_WORDS},
        context_vector,
    ),
    Claim(
        "far-words",
        "Transformers use far words better than RNNs.",
        f"BLEU of all four models on texts of more than {LONG_WORDS} words, after the same updates "
        f"({LONG.updates:g} times as many as usual) and with "
        "about the same number of weights. Confirmed if the Transformer is clearly better than each of the others, "
        "depends if it is better than some.",
        {"cells": CELLS, "updates": LONG.updates, "long": LONG_WORDS},
        far_words,
    ),
    Claim(
        "sequential",
        "RNNs are trained word by word, Transformers all words at once.",
        "The longest chain of operations in a training pass, each of which needs the result of the one before, and the "
        "speed at equal tokens in a batch. Confirmed if the chain grows with the length in the RNNs and not at all in "
        "the Transformer.",
        {"tokens": list(TOKENS)},
        sequential,
    ),
    Claim(
        "gradients",
        "In RNNs gradients vanish or explode over long distances; in Transformers they do not.",
        "The norm of the gradient of the state that writes the first target word, with respect to each source word, by "
        f"the number of words in between (up to {REACH - 1}), relative to the last word read. The LSTM is also "
        f"measured with recurrent weights {NARROWER:g} and {WIDER:g} times as large. Confirmed if it clearly falls by "
        f"2% or more per word in the LSTM with its first weights, grows with the weights {WIDER:g} times as large, and "
        "neither falls nor grows so in the Transformer, untrained and trained; depends if only the first or second is "
        "true.",
        {"cells": CELLS, "tokens": REACH, "scales": [NARROWER, WIDER]},
        gradients,
    ),
)
