/* Activations of feed-forward networks, by their numbers in activations.py, and their slopes. */

#ifndef ACTIVATIONS_H
#define ACTIVATIONS_H

#include "vectors.h"

enum { PLAIN, RELU, SILU, GELU, GELU_TANH };

#define TWICE_SLOPE 1.59576912f /* 2 sqrt(2 / pi): GELU by tanh is x sigmoid(2u), u = sqrt(2 / pi) (x + CUBIC x^3) */
#define CUBIC 0.044715f

static inline vec sigmoid(vec x) { return 1.0f / (1.0f + exponential(-x)); }

/* Phi(-|x|) / e^(-x^2 / 2), for |x| up to 30: a polynomial in 1 / (1 + 0.4 |x|). The error of |x| Phi(-|x|) by it is at
   most 8e-9. */
static inline vec normal_tail(vec size) {
    vec t = 1.0f / (1.0f + 0.4f * size);
    vec p = all(0.0571698746f);
    p = p * t - 0.2575313824f;
    p = p * t + 0.3437638419f;
    p = p * t + 0.0103300527f;
    p = p * t + 0.1896978194f;
    p = p * t + 0.1565700532f;
    return p * t;
}

/* |x|, at most 30: beyond, both tails of the normal distribution are 0. NaN stays NaN. */
static inline vec size_of(vec x) { return -larger(all(-30.0f), -larger(x, -x)); }

static inline vec activated(vec v, int64_t activation) {
    switch (activation) {
        case RELU: return larger(all(0), v);
        case SILU: return v / (1.0f + exponential(-v));
        case GELU: {
            vec size = size_of(v);
            return larger(all(0), v) - size * normal_tail(size) * exponential(-0.5f * size * size);
        }
        case GELU_TANH: return v / (1.0f + exponential(-TWICE_SLOPE * (v + CUBIC * v * v * v)));
    }
    return v;
}

/* The derivative. */
static inline vec slope_of(vec v, int64_t activation) {
    switch (activation) {
        case RELU: return (vec)((whole)(v > all(0)) & (whole)all(1));
        case SILU: {
            vec share = sigmoid(v);
            return share + v * share * (1.0f - share);
        }
        case GELU: { /* Phi(x) + x phi(x) */
            vec size = size_of(v), bell = exponential(-0.5f * size * size), tail = normal_tail(size) * bell;
            whole negative = (whole)(v < all(0));
            vec below = (vec)((negative & (whole)tail) | (~negative & (whole)(1.0f - tail)));
            vec bounded = (vec)((negative & (whole)-size) | (~negative & (whole)size));
            return below + bounded * bell * 0.39894228f;
        }
        case GELU_TANH: {
            vec share = sigmoid(TWICE_SLOPE * (v + CUBIC * v * v * v));
            return share + v * share * (1.0f - share) * (TWICE_SLOPE * (1.0f + 3 * CUBIC * v * v));
        }
    }
    return all(1);
}

#endif
