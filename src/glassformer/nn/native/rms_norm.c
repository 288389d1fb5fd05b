/* RMSNorm in training, in one pass over the rows, and its gradients: torch needs a pass for each part of the formula.

   Rows are taken in portions whose size depends on nothing but their number, and the gradient of the gain is added up
   portion by portion: the result does not depend on the number of threads.
   Shapes: R rows, D width (a multiple of LANES), P portions. */

#define _GNU_SOURCE /* for dlsym's RTLD_DEFAULT */
#include <stdatomic.h>
#include "vectors.h"
#include "parallel.h"

#define FEWEST 16  /* rows of a portion */
#define MOST 64    /* portions */
#define ALONE 8192 /* values; with fewer, one thread does all */

typedef struct {
    const float *x, *gain, *dy; /* (R, D), (D,), (R, D) */
    float *y, *dx;              /* (R, D) */
    float *inverses;            /* (R,): 1 / the root of the mean square */
    float *sums;                /* (P, D): the gradient of the gain, portion by portion */
    int64_t rows, width, each;  /* rows of a portion */
    double eps;
    atomic_int_fast64_t next; /* portion */
} Norming;

static int64_t rows_each(int64_t rows) {
    int64_t each = (rows + MOST - 1) / MOST;
    return each > FEWEST ? each : FEWEST;
}

/* How many portions `rows` rows have. */
int64_t rms_norm_portions(int64_t rows) { return (rows + rows_each(rows) - 1) / rows_each(rows); }

static void forward_row(const Norming *job, int64_t r) {
    const float *x = job->x + r * job->width;
    float *y = job->y + r * job->width;
    vec sum = all(0), other = all(0); /* two sums: an addition need not wait for the one before */
    int64_t i = 0;
    for (; i + 2 * LANES <= job->width; i += 2 * LANES) {
        sum += load(x + i) * load(x + i);
        other += load(x + i + LANES) * load(x + i + LANES);
    }
    if (i < job->width) sum += load(x + i) * load(x + i);
    float inverse = 1.0f / sqrtf(sum_of(sum + other) / (float)job->width + (float)job->eps);
    for (i = 0; i < job->width; i += LANES) store(y + i, load(x + i) * inverse * load(job->gain + i));
    job->inverses[r] = inverse;
}

/* With n = x / scale and g = dy gain: dx = (g - n mean(g n)) / scale. */
static void backward_row(const Norming *job, int64_t r, float *gain_sums) {
    const float *x = job->x + r * job->width, *dy = job->dy + r * job->width;
    float *dx = job->dx + r * job->width, inverse = job->inverses[r];
    vec along = all(0);
    for (int64_t i = 0; i < job->width; i += LANES) {
        vec share = load(dy + i) * (load(x + i) * inverse);
        along += share * load(job->gain + i);
        store(gain_sums + i, load(gain_sums + i) + share);
    }
    float slope = sum_of(along) / (float)job->width * inverse;
    for (int64_t i = 0; i < job->width; i += LANES) {
        store(dx + i, (load(dy + i) * load(job->gain + i) - load(x + i) * slope) * inverse);
    }
}

static inline int64_t end_of(const Norming *job, int64_t portion) {
    int64_t end = (portion + 1) * job->each;
    return end < job->rows ? end : job->rows;
}

static void forward(void *given) {
    Norming *job = given;
    for (int64_t p; (p = atomic_fetch_add(&job->next, 1)) * job->each < job->rows;) {
        for (int64_t r = p * job->each; r < end_of(job, p); r++) forward_row(job, r);
    }
}

static void backward(void *given) {
    Norming *job = given;
    for (int64_t p; (p = atomic_fetch_add(&job->next, 1)) * job->each < job->rows;) {
        float *sums = job->sums + p * job->width;
        memset(sums, 0, job->width * sizeof(float));
        for (int64_t r = p * job->each; r < end_of(job, p); r++) backward_row(job, r, sums);
    }
}

void rms_norm(const float *x, const float *gain, float *y, float *inverses, int64_t rows, int64_t width, double eps,
              int64_t threads) {
    Norming job = {.x = x, .gain = gain, .y = y, .inverses = inverses, .rows = rows, .width = width, .eps = eps};
    job.each = rows_each(rows);
    in_parallel(forward, &job, rows * width > ALONE ? threads : 1);
}

void rms_norm_backward(const float *x, const float *gain, const float *inverses, const float *dy, float *dx,
                       float *sums, int64_t rows, int64_t width, int64_t threads) {
    Norming job = {.x = x, .gain = gain, .inverses = (float *)inverses, .dy = dy, .dx = dx, .sums = sums};
    job.rows = rows, job.width = width, job.each = rows_each(rows);
    in_parallel(backward, &job, rows * width > ALONE ? threads : 1);
}
