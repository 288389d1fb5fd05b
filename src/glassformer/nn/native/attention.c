/* Attention in training: softmax(scale Q K^T + mask) V and its gradients, for one sentence and head after another.

   Scores stay in the L2 cache for up to some thousand keys: they are computed for a few queries at a time, and again in
   the backward pass.
   What causality hides is not computed. Each sentence and key head is the work of one thread, so the result does not
   depend on the number of threads.

   Shapes: B sentences, T queries, K keys, H heads, G key/value heads, E head width (a multiple of LANES). Rows of E
   numbers are contiguous; everything else has strides. */

#define _GNU_SOURCE /* for dlsym's RTLD_DEFAULT */
#include <stdatomic.h>
#include "vectors.h"
#include "parallel.h"

#define TOGETHER 6 /* rows multiplied together: their sums fill the registers */
#define QUERIES 24 /* whose scores are held at a time */
#define UNSEEN -80.0f /* e^x counts as 0 below */
#ifdef __AVX512F__
#define ACROSS 4 /* vectors of keys */
#else
#define ACROSS 2
#endif

/* A tensor (B, H or G, T or K, E). */
typedef struct {
    float *data;
    int64_t sentence, head, row; /* strides */
} Rows;

typedef struct {
    Rows q, k, v, z, dq, dk, dv, dz;
    const float *mask; /* (B, K), added to the scores; or null */
    float *sums;       /* (B, H, T, 2), from the forward pass: a query's largest score, and 1 / its sum of exponentials */
    int64_t sentences, heads, groups, queries, keys, width;
    int64_t causal;    /* a query sees keys up to its own place; the last query is at the last key */
    double scale;
} Attention;

/* The buffers of one thread. */
typedef struct {
    int64_t columns;    /* keys, rounded up to whole vectors: the row length of what follows */
    float *keys, *values;   /* transposed: (E, columns) */
    float *shares, *changes; /* (QUERIES, columns): the pattern, and the gradient of the scores */
    float *q, *dz;      /* (QUERIES, E); q is scaled; rows after the last query are not used */
    float *dk, *dv;     /* (K, E) */
} Desk;

static inline float *row_of(const Rows *rows, int64_t b, int64_t h, int64_t t) {
    return rows->data + b * rows->sentence + h * rows->head + t * rows->row;
}

/* Four rows of four numbers, from rows `step` apart to columns `columns` apart. */
static inline void transpose_square(const float *from, int64_t step, float *to, int64_t columns) {
#ifdef __SSE__
    __m128 a = _mm_loadu_ps(from), b = _mm_loadu_ps(from + step);
    __m128 c = _mm_loadu_ps(from + 2 * step), d = _mm_loadu_ps(from + 3 * step);
    _MM_TRANSPOSE4_PS(a, b, c, d);
    _mm_storeu_ps(to, a), _mm_storeu_ps(to + columns, b);
    _mm_storeu_ps(to + 2 * columns, c), _mm_storeu_ps(to + 3 * columns, d);
#else
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < 4; j++) to[i * columns + j] = from[j * step + i];
    }
#endif
}

/* The rows (count, width) of a head as (width, columns), with 0 after the last row. */
static void transpose(const float *rows, int64_t step, int64_t count, int64_t width, int64_t columns, float *to) {
    int64_t first = 0;
    for (; first + 4 <= count; first += 4) {
        for (int64_t e = 0; e < width; e += 4) {
            transpose_square(rows + first * step + e, step, to + e * columns + first, columns);
        }
    }
    for (; first < columns; first++) {
        for (int64_t e = 0; e < width; e++) to[e * columns + first] = first < count ? rows[first * step + e] : 0;
    }
}

static void copy_rows(const Rows *rows, int64_t b, int64_t h, int64_t first, int64_t count, int64_t width, float scale,
                      float *to) {
    int64_t all_rows = (count + TOGETHER - 1) / TOGETHER * TOGETHER;
    for (int64_t r = 0; r < all_rows; r++) {
        const float *from = row_of(rows, b, h, first + (r < count ? r : 0));
        vec times = all(r < count ? scale : 0);
        for (int64_t e = 0; e < width; e += LANES) store(to + r * width + e, load(from + e) * times);
    }
}

/* out = a b, for TOGETHER rows of a (., width) and `vectors` vectors of b (width, columns). */
static inline __attribute__((always_inline)) void multiply(
    const float *a, int64_t width, const float *b, int64_t columns, float *out, const int vectors) {
    vec sums[TOGETHER][ACROSS];
    for (int r = 0; r < TOGETHER; r++) {
        for (int j = 0; j < vectors; j++) sums[r][j] = all(0);
    }
    for (int64_t e = 0; e < width; e++) {
        vec right[ACROSS];
        for (int j = 0; j < vectors; j++) right[j] = load(b + e * columns + j * LANES);
        for (int r = 0; r < TOGETHER; r++) {
            for (int j = 0; j < vectors; j++) sums[r][j] += a[r * width + e] * right[j];
        }
    }
    for (int r = 0; r < TOGETHER; r++) {
        for (int j = 0; j < vectors; j++) store(out + r * columns + j * LANES, sums[r][j]);
    }
}

/* out (rows, columns) = a (rows, width) b (width, columns), of the first `used` columns. */
static void multiply_rows(const float *a, int64_t rows, int64_t width, const float *b, int64_t columns, int64_t used,
                          float *out) {
    for (int64_t r = 0; r < rows; r += TOGETHER) {
        const float *left = a + r * width;
        float *to = out + r * columns;
        int64_t c = 0;
        for (; c + ACROSS * LANES <= used; c += ACROSS * LANES) multiply(left, width, b + c, columns, to + c, ACROSS);
        for (; c + 2 * LANES <= used; c += 2 * LANES) multiply(left, width, b + c, columns, to + c, 2);
        for (; c < used; c += LANES) multiply(left, width, b + c, columns, to + c, 1);
    }
}

/* sums[r] = sum over k of a(r, k) b(k, .), for `rows` rows and `vectors` vectors; a(r, k) is a[r * a_row + k * a_step]. */
static inline __attribute__((always_inline)) void gather(
    const float *a, int64_t a_row, int64_t a_step, const float *b, int64_t b_row, int64_t count,
    vec sums[TOGETHER][2], const int rows, const int vectors) {
    for (int r = 0; r < rows; r++) {
        for (int j = 0; j < vectors; j++) sums[r][j] = all(0);
    }
    for (int64_t k = 0; k < count; k++) {
        vec right[2];
        for (int j = 0; j < vectors; j++) right[j] = load(b + k * b_row + j * LANES);
        for (int r = 0; r < rows; r++) {
            float left = a[r * a_row + k * a_step];
            for (int j = 0; j < vectors; j++) sums[r][j] += left * right[j];
        }
    }
}

/* For each row r < rows: to[r] = scales[r] times the sum over keys of shares(r, key) values(key). */
static void mix(const float *shares, int64_t columns, int64_t rows, const float *values, int64_t values_row,
                int64_t keys, int64_t width, const float *scales, float *to, int64_t to_row) {
    for (int64_t r = 0; r < rows; r += TOGETHER) {
        int64_t own = rows - r < TOGETHER ? rows - r : TOGETHER;
        for (int64_t e = 0; e < width; e += 2 * LANES) {
            int vectors = e + LANES < width ? 2 : 1;
            vec sums[TOGETHER][2];
            if (vectors == 2) gather(shares + r * columns, columns, 1, values + e, values_row, keys, sums, TOGETHER, 2);
            else gather(shares + r * columns, columns, 1, values + e, values_row, keys, sums, TOGETHER, 1);
            for (int64_t i = 0; i < own; i++) {
                for (int j = 0; j < vectors; j++) {
                    store(to + (r + i) * to_row + e + j * LANES, sums[i][j] * scales[r + i]);
                }
            }
        }
    }
}

static inline __attribute__((always_inline)) void add_keys(
    const float *shares, int64_t columns, int64_t rows, const float *given, int64_t width, float *to, const int keys) {
    for (int64_t e = 0; e < width; e += 2 * LANES) {
        int vectors = e + LANES < width ? 2 : 1;
        vec sums[TOGETHER][2];
        if (vectors == 2) gather(shares, 1, columns, given + e, width, rows, sums, keys, 2);
        else gather(shares, 1, columns, given + e, width, rows, sums, keys, 1);
        for (int i = 0; i < keys; i++) {
            for (int j = 0; j < vectors; j++) {
                float *out = to + i * width + e + j * LANES;
                store(out, load(out) + sums[i][j]);
            }
        }
    }
}

/* to(key) += sum over rows of shares(row, key) given(row). */
static void add_transposed(const float *shares, int64_t columns, int64_t rows, const float *given, int64_t width,
                           int64_t keys, float *to) {
    int64_t k = 0;
    for (; k + TOGETHER <= keys; k += TOGETHER) {
        add_keys(shares + k, columns, rows, given, width, to + k * width, TOGETHER);
    }
    for (; k < keys; k++) add_keys(shares + k, columns, rows, given, width, to + k * width, 1);
}

/* Keys that a query sees. */
static inline int64_t seen_by(const Attention *job, int64_t query) {
    int64_t seen = query + 1 + job->keys - job->queries;
    if (!job->causal || seen > job->keys) return job->keys;
    return seen > 0 ? seen : 0;
}

/* Adds the mask, and hides what is after the keys that the query sees. */
static void hide(const Attention *job, int64_t b, int64_t seen, int64_t used, float *scores) {
    for (int64_t i = seen; i < used; i++) scores[i] = -INFINITY;
    if (!job->mask) return;
    const float *mask = job->mask + b * job->keys;
    for (int64_t i = 0; i < seen; i++) scores[i] += mask[i];
}

/* e^(x - top), exactly 0 where that is tiny. NaN stays NaN. */
static inline vec share_of(vec x, float top) {
    vec power = x - top;
    whole tiny = (whole)(power < all(UNSEEN));
    return (vec)((whole)exponential(power) & ~tiny);
}

static int has_nan(const float *row, int64_t count) {
    int found = 0;
    for (int64_t i = 0; i < count; i++) found |= row[i] != row[i];
    return found;
}

/* The pattern, not yet divided by its sum. */
static void soften(float *scores, int64_t used, float *sums) {
    vec most = all(-INFINITY), sum = all(0);
    for (int64_t i = 0; i < used; i += LANES) most = larger(load(scores + i), most);
    float top = largest_of(most);
    if (top == -INFINITY && !has_nan(scores, used)) { /* a query that sees nothing */
        for (int64_t i = 0; i < used; i += LANES) store(scores + i, all(0));
        sums[0] = INFINITY, sums[1] = 1;
        return;
    }
    for (int64_t i = 0; i < used; i += LANES) {
        vec share = share_of(load(scores + i), top);
        store(scores + i, share);
        sum += share;
    }
    sums[0] = top, sums[1] = 1 / sum_of(sum);
}

static inline int64_t whole_vectors(int64_t count) { return (count + LANES - 1) / LANES * LANES; }

static inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

static void forward_head(const Attention *job, int64_t b, int64_t h, Desk *desk) {
    int64_t g = h * job->groups / job->heads, width = job->width, columns = desk->columns;
    float scales[QUERIES];
    transpose(row_of(&job->k, b, g, 0), job->k.row, job->keys, width, columns, desk->keys);
    for (int64_t first = 0; first < job->queries; first += QUERIES) {
        int64_t count = least(QUERIES, job->queries - first), most = seen_by(job, first + count - 1);
        copy_rows(&job->q, b, h, first, count, width, (float)job->scale, desk->q);
        multiply_rows(desk->q, count, width, desk->keys, columns, whole_vectors(most), desk->shares);
        for (int64_t r = 0; r < count; r++) {
            float *scores = desk->shares + r * columns;
            hide(job, b, seen_by(job, first + r), whole_vectors(most), scores);
            float *sums = job->sums + 2 * ((b * job->heads + h) * job->queries + first + r);
            soften(scores, whole_vectors(most), sums);
            scales[r] = sums[1];
        }
        mix(desk->shares, columns, count, row_of(&job->v, b, g, 0), job->v.row, most, width, scales,
            row_of(&job->z, b, h, first), job->z.row);
    }
}

/* The pattern P again, and dS = P * (dP - sum(P * dP)), in the place of dP. */
static void change_row(float *shares, float *changes, int64_t used, const float *sums) {
    vec total = all(0);
    for (int64_t i = 0; i < used; i += LANES) {
        vec share = share_of(load(shares + i), sums[0]) * sums[1];
        store(shares + i, share);
        total += share * load(changes + i);
    }
    float sum = sum_of(total);
    for (int64_t i = 0; i < used; i += LANES) store(changes + i, load(shares + i) * (load(changes + i) - sum));
}

static void backward_head(const Attention *job, int64_t b, int64_t g, int64_t h, Desk *desk) {
    int64_t width = job->width, columns = desk->columns;
    float scales[QUERIES];
    for (int64_t r = 0; r < QUERIES; r++) scales[r] = (float)job->scale;
    for (int64_t first = 0; first < job->queries; first += QUERIES) {
        int64_t count = least(QUERIES, job->queries - first), most = seen_by(job, first + count - 1);
        int64_t used = whole_vectors(most);
        copy_rows(&job->q, b, h, first, count, width, (float)job->scale, desk->q);
        copy_rows(&job->dz, b, h, first, count, width, 1, desk->dz);
        multiply_rows(desk->q, count, width, desk->keys, columns, used, desk->shares);
        multiply_rows(desk->dz, count, width, desk->values, columns, used, desk->changes);
        for (int64_t r = 0; r < count; r++) {
            hide(job, b, seen_by(job, first + r), used, desk->shares + r * columns);
            const float *sums = job->sums + 2 * ((b * job->heads + h) * job->queries + first + r);
            change_row(desk->shares + r * columns, desk->changes + r * columns, used, sums);
        }
        mix(desk->changes, columns, count, row_of(&job->k, b, g, 0), job->k.row, most, width, scales,
            row_of(&job->dq, b, h, first), job->dq.row);
        add_transposed(desk->changes, columns, count, desk->q, width, most, desk->dk);
        add_transposed(desk->shares, columns, count, desk->dz, width, most, desk->dv);
    }
}

static void backward_group(const Attention *job, int64_t b, int64_t g, Desk *desk) {
    int64_t width = job->width, each = job->heads / job->groups;
    transpose(row_of(&job->k, b, g, 0), job->k.row, job->keys, width, desk->columns, desk->keys);
    transpose(row_of(&job->v, b, g, 0), job->v.row, job->keys, width, desk->columns, desk->values);
    memset(desk->dk, 0, job->keys * width * sizeof(float));
    memset(desk->dv, 0, job->keys * width * sizeof(float));
    for (int64_t h = g * each; h < (g + 1) * each; h++) backward_head(job, b, g, h, desk);
    for (int64_t k = 0; k < job->keys; k++) {
        memcpy(row_of(&job->dk, b, g, k), desk->dk + k * width, width * sizeof(float));
        memcpy(row_of(&job->dv, b, g, k), desk->dv + k * width, width * sizeof(float));
    }
}

/* All threads take units, which are heads of sentences, until none is left. */
typedef struct {
    const Attention *job;
    atomic_int_fast64_t next;
    int64_t units;
    int backward;
    atomic_int failed; /* no memory */
} Shared;

static float *desk_of(const Attention *job, Desk *desk) {
    int64_t columns = whole_vectors(job->keys), width = job->width, rows = QUERIES * columns;
    int64_t sizes[] = {width * columns, width * columns, rows, rows, QUERIES * width, QUERIES * width,
                       job->keys * width, job->keys * width};
    float **parts[] = {&desk->keys, &desk->values, &desk->shares, &desk->changes, &desk->q, &desk->dz,
                       &desk->dk, &desk->dv};
    int64_t total = 0;
    for (int i = 0; i < 8; i++) total += whole_vectors(sizes[i]);
    float *memory = aligned_alloc(64, (total * sizeof(float) + 63) / 64 * 64), *place = memory;
    for (int i = 0; i < 8; place += whole_vectors(sizes[i]), i++) *parts[i] = place;
    desk->columns = columns;
    return memory;
}

static void work(void *given) {
    Shared *shared = given;
    const Attention *job = shared->job;
    int64_t each = shared->units / job->sentences; /* units of a sentence */
    Desk desk;
    float *memory = desk_of(job, &desk);
    if (!memory) {
        atomic_store(&shared->failed, 1);
        return;
    }
    for (int64_t unit; (unit = atomic_fetch_add(&shared->next, 1)) < shared->units;) {
        if (shared->backward) backward_group(job, unit / each, unit % each, &desk);
        else forward_head(job, unit / each, unit % each, &desk);
    }
    free(memory);
}

/* Returns 0, or 1 if there was not enough memory. */
int64_t attention(const Attention *job, int64_t backward, int64_t threads) {
    int64_t each = backward ? job->groups : job->heads;
    Shared shared = {.job = job, .units = job->sentences * each, .backward = (int)backward};
    if (shared.units) in_parallel(work, &shared, least(threads, shared.units));
    return atomic_load(&shared.failed);
}

int64_t attention_size(void) { return sizeof(Attention); }

/* Whether several threads can work. */
int64_t has_threads(void) { return openmp() != 0; }

/* Head widths must be a multiple of this. */
int64_t lanes(void) { return LANES; }
