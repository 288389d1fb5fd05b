/* Activations in training, in one pass over the values: y = act(x), or act(x) times another tensor (a gate), and the
   gradients of both. The backward pass needs nothing but these inputs. */

#define _GNU_SOURCE /* for dlsym's RTLD_DEFAULT */
#include <stdatomic.h>
#include "activations.h"
#include "parallel.h"

#define PORTION 8192 /* values that a thread takes at a time, a multiple of LANES */

/* y = act(x) times; backward: dx = dy times act'(x), dtimes = dy act(x). `times` may be null, and counts as 1. */
typedef struct {
    const float *x, *times, *dy;
    float *y, *dx, *dtimes;
    int64_t count, activation;
    atomic_int_fast64_t next; /* portion */
} Activating;

static inline __attribute__((always_inline)) void forward_vector(
    const float *x, const float *times, float *y, const int activation) {
    vec made = activated(load(x), activation);
    if (times) made *= load(times);
    store(y, made);
}

static inline __attribute__((always_inline)) void backward_vector(
    const float *x, const float *times, const float *dy, float *dx, float *dtimes, const int activation) {
    vec given = load(x), grad = load(dy), slope = slope_of(given, activation);
    if (!times) {
        store(dx, grad * slope);
        return;
    }
    store(dx, grad * load(times) * slope);
    store(dtimes, grad * activated(given, activation));
}

static inline __attribute__((always_inline)) void portion(
    const Activating *job, int64_t begin, int64_t end, const int backward, const int activation) {
    const float *times = job->times;
    int64_t i = begin;
    for (; i + LANES <= end; i += LANES) {
        const float *gate = times ? times + i : 0;
        if (backward) {
            backward_vector(job->x + i, gate, job->dy + i, job->dx + i, times ? job->dtimes + i : 0, activation);
        } else {
            forward_vector(job->x + i, gate, job->y + i, activation);
        }
    }
    if (i == end) return;
    float x[LANES] = {0}, gate[LANES] = {0}, dy[LANES] = {0}, made[LANES], gate_made[LANES];
    size_t rest = (end - i) * sizeof(float);
    memcpy(x, job->x + i, rest);
    if (times) memcpy(gate, times + i, rest);
    if (!backward) {
        forward_vector(x, times ? gate : 0, made, activation);
        memcpy(job->y + i, made, rest);
        return;
    }
    memcpy(dy, job->dy + i, rest);
    backward_vector(x, times ? gate : 0, dy, made, gate_made, activation);
    memcpy(job->dx + i, made, rest);
    if (times) memcpy(job->dtimes + i, gate_made, rest);
}

static inline __attribute__((always_inline)) void all_portions(Activating *job, const int backward) {
    for (int64_t begin; (begin = PORTION * atomic_fetch_add(&job->next, 1)) < job->count;) {
        int64_t end = begin + PORTION < job->count ? begin + PORTION : job->count;
        switch (job->activation) { /* a constant for the compiler */
            case SILU: portion(job, begin, end, backward, SILU); break;
            case GELU: portion(job, begin, end, backward, GELU); break;
            case GELU_TANH: portion(job, begin, end, backward, GELU_TANH); break;
            default: portion(job, begin, end, backward, RELU);
        }
    }
}

static void forward(void *job) { all_portions(job, 0); }

static void backward(void *job) { all_portions(job, 1); }

void activate(int64_t activation, const float *x, const float *times, float *y, int64_t count, int64_t threads) {
    Activating job = {.x = x, .times = times, .y = y, .count = count, .activation = activation};
    in_parallel(forward, &job, count > PORTION ? threads : 1);
}

void activate_backward(int64_t activation, const float *x, const float *times, const float *dy, float *dx,
                       float *dtimes, int64_t count, int64_t threads) {
    Activating job = {.x = x, .times = times, .dy = dy, .dx = dx, .dtimes = dtimes, .count = count};
    job.activation = activation;
    in_parallel(backward, &job, count > PORTION ? threads : 1);
}
