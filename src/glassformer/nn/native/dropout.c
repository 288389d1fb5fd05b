/* Dropout whose mask is a function of a seed and the place of a value: nothing is stored for the backward pass, which
   computes the same mask again, and the result does not depend on the number of threads. */

#define _GNU_SOURCE /* for dlsym's RTLD_DEFAULT */
#include <stdatomic.h>
#include "vectors.h"
#include "parallel.h"

#define BLOCK (2 * LANES) /* values of one vector of random words: 16 bits each */
#define PORTION 8192      /* values that a thread takes at a time, a multiple of BLOCK */
#define LEVELS 65536

typedef uint32_t words __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

typedef struct {
    const float *x;
    float *y;
    int64_t count;
    uint32_t low, high;   /* the seed */
    uint32_t threshold;   /* of 65,536 levels, those below are dropped */
    float scale;
    atomic_int_fast64_t next; /* portion */
} Dropping;

/* A mixing function of 32 bits with little bias ("lowbias32", Wellons 2018), begun from both halves of the seed. */
static inline words mixed(words n, uint32_t low, uint32_t high) {
    n = (n + low) * 0x9e3779b9u ^ high;
    n ^= n >> 16;
    n *= 0x7feb352du;
    n ^= n >> 15;
    n *= 0x846ca68bu;
    return n ^ n >> 16;
}

/* Random words of the values from `first` on, which is a multiple of BLOCK. */
static inline words words_of(const Dropping *job, int64_t first) {
    words places;
    for (int i = 0; i < LANES; i++) places[i] = (uint32_t)i;
    return mixed(places + (uint32_t)(first / 2), job->low, job->high);
}

static inline vec kept(const Dropping *job, words level) {
    whole stays = (whole)(level >= job->threshold);
    return (vec)(stays & (whole)all(job->scale));
}

static void drop_some(const Dropping *job, int64_t begin, int64_t end) {
    int64_t i = begin;
    for (; i + BLOCK <= end; i += BLOCK) {
        words random = words_of(job, i);
        store(job->y + i, load(job->x + i) * kept(job, random & 0xffffu));
        store(job->y + i + LANES, load(job->x + i + LANES) * kept(job, random >> 16));
    }
    if (i < end) {
        words random = words_of(job, i);
        vec times[2] = {kept(job, random & 0xffffu), kept(job, random >> 16)};
        for (int64_t j = 0; i + j < end; j++) job->y[i + j] = job->x[i + j] * times[j / LANES][j % LANES];
    }
}

static void work(void *given) {
    Dropping *job = given;
    for (int64_t begin; (begin = PORTION * atomic_fetch_add(&job->next, 1)) < job->count;) {
        drop_some(job, begin, begin + PORTION < job->count ? begin + PORTION : job->count);
    }
}

/* y = x with each value zeroed with probability threshold / 65,536, the others scaled so that the mean stays. */
void dropout(const float *x, float *y, int64_t count, uint64_t seed, int64_t threshold, int64_t threads) {
    Dropping job = {.x = x, .y = y, .count = count, .low = (uint32_t)seed, .high = (uint32_t)(seed >> 32)};
    job.threshold = (uint32_t)threshold;
    job.scale = (float)LEVELS / (float)(LEVELS - threshold);
    in_parallel(work, &job, count > PORTION ? threads : 1);
}
