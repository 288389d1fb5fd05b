/* Vectors of floats and what the kernels do with them. They use the compiler's extension, so the code is not tied to one
   kind of processor. */

#ifndef VECTORS_H
#define VECTORS_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#ifdef __SSE__
#include <immintrin.h>
#endif

#ifdef __AVX512F__
#define LANES 16
#else
#define LANES 8
#endif

typedef float vec __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef float quarter __attribute__((vector_size(16), aligned(4), may_alias));
typedef int32_t whole __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

static inline vec all(float value) { return (vec){0} + value; }

static inline vec load(const float *from) { return *(const vec *)from; }

static inline void store(float *to, vec v) { *(vec *)to = v; }

/* a > b ? a : b, so b if one of them is NaN */
static inline vec larger(vec a, vec b) {
#if defined(__AVX512F__)
    return (vec)_mm512_max_ps((__m512)a, (__m512)b);
#elif defined(__AVX__)
    return (vec)_mm256_max_ps((__m256)a, (__m256)b);
#else
    whole a_is = a > b;
    return (vec)(((whole)a & a_is) | ((whole)b & ~a_is));
#endif
}

/* Four partial sums of v. */
static inline quarter in_quarters(vec v) {
    quarter sums = {0};
    for (int i = 0; i < LANES / 4; i++) sums += ((const quarter *)&v)[i];
    return sums;
}

static inline float sum_of(vec v) {
    quarter sums = in_quarters(v);
    return (sums[0] + sums[2]) + (sums[1] + sums[3]);
}

static inline float largest_of(vec v) {
    float most = v[0];
    for (int i = 1; i < LANES; i++) most = v[i] > most ? v[i] : most;
    return most;
}

/* e^x, to about two units in the last place: 2^n times a polynomial in the remainder. */
static inline vec exponential(vec x) {
    x = larger(all(-87.0f), x); /* in this order NaN stays NaN */
    x = -larger(all(-88.0f), -x);
    vec n = x * 1.44269504f + 12582912.0f; /* 1.5 * 2^23: rounds to an integer, which is in the low bits */
    whole power = (whole)n - (whole)all(12582912.0f);
    n -= 12582912.0f;
    vec r = x - n * 0.693359375f + n * 2.12194440e-4f; /* ln 2 in two parts */
    vec p = all(1.0f / 5040);
    p = p * r + 1.0f / 720;
    p = p * r + 1.0f / 120;
    p = p * r + 1.0f / 24;
    p = p * r + 1.0f / 6;
    p = p * r + 0.5f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    return (vec)((whole)p + (power << 23));
}

#endif
