/* word2vec (Mikolov et al. 2013): skip-gram and CBOW with negative sampling.

   All random numbers are hashes of (seed, position), so they do not depend on how the text is divided into calls or
   threads, and word2vec.py draws the same ones without this file. A window shares its negative samples (Ji et al. 2016):
   its rows are read once for all pairs, and the products have the shape of small matrices. One thread gives the same
   bytes every time. Several threads write to the same tables without locks (Recht et al. 2011), so their results vary.

   Rows have `width` floats, a multiple of LANES; columns beyond the user's width are 0 on both sides and stay 0. */

#include <pthread.h>
#include <stdatomic.h>
#include "vectors.h"

#define PORTION 4096  /* positions that a thread takes at a time */
#define GROUP 8       /* targets whose sums are kept in registers; of more, a later group sees changes of an earlier one */
#define LINE_END (-1)
#define WATCHED 32    /* the loss is taken of every 32nd position */
#define MOST_THREADS 256

typedef struct {
    const int32_t *words;      /* ids of the text; LINE_END after each line */
    int64_t begin, end, total; /* the centre words of this call; how long the text is */
    float *inputs, *outputs;   /* (V, width) */
    const uint32_t *keep;      /* (V) a word is kept if its random number is at most this */
    const uint32_t *stay;      /* (V) negative samples, as an alias table: at most this, the word itself ... */
    const int32_t *alias;      /* (V) ... else this one */
    int64_t vocabulary, width, window, negatives, skip_gram, threads;
    uint64_t seed;
    double rate, slope, least; /* the learning rate at position i: rate - slope * i, at least `least` */
    double loss;               /* results: the sum over `pairs` */
    int64_t pairs;
} Word2Vec;

typedef struct {
    Word2Vec *job;
    atomic_int_fast64_t next;
    pthread_mutex_t adding;
} Shared;

/* What one thread works with. */
typedef struct {
    int32_t *kept;       /* ids of the kept words around a portion, and the ends of lines */
    int64_t *at;         /* their positions */
    float *x;            /* (2 window, width) the input vectors before the update */
    float *scores;       /* (2 window, targets) and then the errors times the rate */
    float **rows;        /* (2 window) where the input vectors are */
    int32_t *targets;    /* (2, 1 + negatives) of this window and of the next */
    double loss;
    int64_t pairs;
} Mine;

static inline uint64_t mixed(uint64_t x) { /* SplitMix64 (Steele et al. 2014) */
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

static inline uint64_t drawn(uint64_t seed, int64_t position, uint64_t number) {
    return mixed(mixed(seed + 0x9E3779B97F4A7C15u * (uint64_t)position) + 0xD1B54A32D192ED03u * number);
}

static inline int64_t below(uint64_t random, int64_t bound) { return (int64_t)(((random >> 32) * (uint64_t)bound) >> 32); }

static inline int is_kept(const Word2Vec *job, int64_t i) {
    return (uint32_t)(drawn(job->seed, i, 0) >> 32) <= job->keep[job->words[i]];
}

/* Writes the centre word and its negative samples, and asks for their rows. Returns how many there are. */
static inline int64_t choose(const Word2Vec *job, int64_t position, int32_t word, int32_t *targets) {
    int64_t count = 1;
    targets[0] = word;
    for (int64_t j = 0; j < job->negatives; j++) {
        uint64_t random = drawn(job->seed, position, 2 + (uint64_t)j);
        int64_t cell = below(random, job->vocabulary);
        int32_t found = (uint32_t)random <= job->stay[cell] ? (int32_t)cell : job->alias[cell];
        if (found != word) targets[count++] = found;
    }
    for (int64_t t = 0; t < count; t++) {
        const float *row = job->outputs + targets[t] * job->width;
        for (int64_t d = 0; d < job->width; d += 16) __builtin_prefetch(row + d, 1);
    }
    return count;
}

static inline __attribute__((always_inline)) void scores_of(
    const float *x, int64_t m, float *const *out, const int n, int64_t width, float *scores, int64_t stride) {
    for (int64_t c = 0; c < m; c++) {
        vec sums[GROUP];
        for (int t = 0; t < n; t++) sums[t] = all(0);
        for (int64_t d = 0; d < width; d += LANES) {
            vec here = load(x + c * width + d);
            for (int t = 0; t < n; t++) sums[t] += here * load(out[t] + d);
        }
        for (int t = 0; t < n; t++) scores[c * stride + t] = sum_of(sums[t]);
    }
}

/* inputs += errors outputs, outputs += errors^T x, with both sides as they were before. */
static inline __attribute__((always_inline)) void update(
    const float *x, int64_t m, float *const *rows, float *const *out, const int n, int64_t width, const float *errors,
    int64_t stride) {
    for (int64_t d = 0; d < width; d += LANES) {
        vec there[GROUP], add[GROUP];
        for (int t = 0; t < n; t++) there[t] = load(out[t] + d), add[t] = all(0);
        for (int64_t c = 0; c < m; c++) {
            vec here = load(x + c * width + d), sum = all(0);
            for (int t = 0; t < n; t++) {
                float error = errors[c * stride + t];
                sum += error * there[t];
                add[t] += error * here;
            }
            store(rows[c] + d, load(rows[c] + d) + sum);
        }
        for (int t = 0; t < n; t++) store(out[t] + d, load(out[t] + d) + add[t]); /* one word may be drawn twice */
    }
}

#define FOR_EACH_SIZE(CALL) \
    switch (n) {            \
        case 1: CALL(1);    \
        case 2: CALL(2);    \
        case 3: CALL(3);    \
        case 4: CALL(4);    \
        case 5: CALL(5);    \
        case 6: CALL(6);    \
        case 7: CALL(7);    \
        default: CALL(8);   \
    }

static void group_scores(const float *x, int64_t m, float *const *out, int n, int64_t width, float *scores, int64_t stride) {
#define CALL(N) scores_of(x, m, out, N, width, scores, stride); break
    FOR_EACH_SIZE(CALL)
#undef CALL
}

static void group_update(const float *x, int64_t m, float *const *rows, float *const *out, int n, int64_t width,
                         const float *errors, int64_t stride) {
#define CALL(N) update(x, m, rows, out, N, width, errors, stride); break
    FOR_EACH_SIZE(CALL)
#undef CALL
}

/* scores -> (label - sigmoid(score)) * rate; the label of each row's first target is 1, of the others 0. */
static void errors_of(float *scores, int64_t m, int64_t stride, int64_t padded, float rate) {
    for (int64_t i = 0; i < padded; i += LANES) {
        store(scores + i, -rate / (1.0f + exponential(-load(scores + i))));
    }
    for (int64_t c = 0; c < m; c++) scores[c * stride] += rate;
}

static void add_loss(Mine *mine, int64_t m, int64_t n) {
    for (int64_t i = 0; i < m * n; i++) {
        double s = i % n ? -mine->scores[i] : mine->scores[i];
        mine->loss += s > 0 ? log1p(exp(-s)) : -s + log1p(exp(s));
    }
    mine->pairs += m * n;
}

/* One window: m input rows, which are already in mine->x, against n targets. */
static void one_window(const Word2Vec *job, Mine *mine, int64_t position, int64_t m, const int32_t *targets, int64_t n) {
    double rate = job->rate - job->slope * (double)position;
    if (rate < job->least) rate = job->least;
    float *out[GROUP];
    int64_t rounds = (n + GROUP - 1) / GROUP;
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t g = 0; g < rounds; g++) {
            int size = (int)(n - g * GROUP < GROUP ? n - g * GROUP : GROUP);
            for (int t = 0; t < size; t++) out[t] = job->outputs + targets[g * GROUP + t] * job->width;
            float *here = mine->scores + g * GROUP;
            if (pass) group_update(mine->x, m, mine->rows, out, size, job->width, here, n);
            else group_scores(mine->x, m, out, size, job->width, here, n);
        }
        if (pass) break;
        if (position % WATCHED == 0) add_loss(mine, m, n);
        errors_of(mine->scores, m, n, m * n, (float)rate);
    }
}

/* The mean of the m rows, and afterwards its change, a share for each of them: h = (x_1 + ... + x_m) / m. */
static void cbow_window(const Word2Vec *job, Mine *mine, int64_t position, int64_t m, const int32_t *targets, int64_t n) {
    int64_t width = job->width;
    float *change = mine->x + width, *one[1] = {change};
    for (int64_t d = 0; d < width; d += LANES) {
        vec sum = all(0);
        for (int64_t c = 0; c < m; c++) sum += load(mine->rows[c] + d);
        store(mine->x + d, sum / (float)m);
        store(change + d, all(0));
    }
    float **rows = mine->rows;
    mine->rows = one;
    one_window(job, mine, position, 1, targets, n);
    mine->rows = rows;
    for (int64_t d = 0; d < width; d += LANES) {
        vec share = load(change + d) / (float)m;
        for (int64_t c = 0; c < m; c++) store(rows[c] + d, load(rows[c] + d) + share);
    }
}

static int64_t context_of(const Word2Vec *job, Mine *mine, int64_t place, int64_t count) {
    int64_t reach = 1 + below(drawn(job->seed, mine->at[place], 1), job->window), m = 0;
    for (int64_t i = place - 1; i >= 0 && i >= place - reach && mine->kept[i] != LINE_END; i--) {
        mine->rows[m++] = job->inputs + mine->kept[i] * job->width;
    }
    for (int64_t i = place + 1; i < count && i <= place + reach && mine->kept[i] != LINE_END; i++) {
        mine->rows[m++] = job->inputs + mine->kept[i] * job->width;
    }
    return m;
}

/* Adds the words at positions i, i + step, ... to `kept` until `window` of them are kept, or the line ends. */
static int64_t gather(const Word2Vec *job, int64_t i, int64_t step, int32_t *kept, int64_t *at) {
    int64_t count = 0;
    for (; count < job->window && i >= 0 && i < job->total && job->words[i] != LINE_END; i += step) {
        if (is_kept(job, i)) kept[count] = job->words[i], at[count++] = i;
    }
    return count;
}

static void portion(const Word2Vec *job, Mine *mine, int64_t begin, int64_t end) {
    int64_t window = job->window, before = gather(job, begin - 1, -1, mine->kept, mine->at);
    for (int64_t i = 0; i < before / 2; i++) {
        int64_t j = before - 1 - i, place = mine->at[i];
        int32_t word = mine->kept[i];
        mine->kept[i] = mine->kept[j], mine->at[i] = mine->at[j];
        mine->kept[j] = word, mine->at[j] = place;
    }
    int64_t count = before;
    for (int64_t i = begin; i < end; i++) {
        if (job->words[i] == LINE_END || is_kept(job, i)) mine->kept[count] = job->words[i], mine->at[count++] = i;
    }
    int64_t last = count;
    count += gather(job, end, 1, mine->kept + count, mine->at + count);

    int64_t most = 1 + job->negatives, sizes[2] = {0, 0};
    int32_t *targets[2] = {mine->targets, mine->targets + most};
    if (before < last && mine->kept[before] != LINE_END) {
        sizes[before & 1] = choose(job, mine->at[before], mine->kept[before], targets[before & 1]);
    }
    for (int64_t i = before; i < last; i++) {
        int next = (i + 1) & 1;
        if (i + 1 < last && mine->kept[i + 1] != LINE_END) {
            sizes[next] = choose(job, mine->at[i + 1], mine->kept[i + 1], targets[next]);
        }
        if (i + 1 + window < count && mine->kept[i + 1 + window] != LINE_END) {
            const float *row = job->inputs + mine->kept[i + 1 + window] * job->width;
            for (int64_t d = 0; d < job->width; d += 16) __builtin_prefetch(row + d, 1);
        }
        if (mine->kept[i] == LINE_END) continue;
        int64_t m = context_of(job, mine, i, count);
        if (!m) continue;
        if (!job->skip_gram) {
            cbow_window(job, mine, mine->at[i], m, targets[i & 1], sizes[i & 1]);
            continue;
        }
        for (int64_t c = 0; c < m; c++) memcpy(mine->x + c * job->width, mine->rows[c], 4 * (size_t)job->width);
        one_window(job, mine, mine->at[i], m, targets[i & 1], sizes[i & 1]);
    }
}

static void *work(void *given) {
    Shared *shared = given;
    Word2Vec *job = shared->job;
    int64_t around = 2 * job->window, most = 1 + job->negatives, long_ = PORTION + around;
    Mine mine = {0};
    mine.kept = malloc((size_t)long_ * sizeof(int32_t));
    mine.at = malloc((size_t)long_ * sizeof(int64_t));
    mine.x = malloc((size_t)(around > 2 ? around : 2) * (size_t)job->width * sizeof(float));
    mine.scores = calloc((size_t)(around * most + LANES), sizeof(float));
    mine.rows = malloc((size_t)around * sizeof(float *));
    mine.targets = malloc(2 * (size_t)most * sizeof(int32_t));
    if (mine.kept && mine.at && mine.x && mine.scores && mine.rows && mine.targets) {
        for (;;) {
            int64_t begin = job->begin + PORTION * atomic_fetch_add(&shared->next, 1);
            if (begin >= job->end) break;
            portion(job, &mine, begin, begin + PORTION < job->end ? begin + PORTION : job->end);
        }
        pthread_mutex_lock(&shared->adding);
        job->loss += mine.loss, job->pairs += mine.pairs;
        pthread_mutex_unlock(&shared->adding);
    } else {
        atomic_store(&shared->next, INT64_MAX / (2 * PORTION)); /* no memory: nobody continues */
    }
    free(mine.kept), free(mine.at), free(mine.x), free(mine.scores), free(mine.rows), free(mine.targets);
    return 0;
}

int64_t word2vec_size(void) { return sizeof(Word2Vec); }

/* 0, or 1 if there was not enough memory. */
int64_t word2vec(Word2Vec *job) {
    Shared shared = {.job = job, .adding = PTHREAD_MUTEX_INITIALIZER};
    pthread_t helpers[MOST_THREADS];
    int64_t started = 0, wanted = job->threads < MOST_THREADS ? job->threads : MOST_THREADS;
    while (started + 1 < wanted && !pthread_create(&helpers[started], 0, work, &shared)) started++;
    work(&shared);
    for (int64_t i = 0; i < started; i++) pthread_join(helpers[i], 0);
    return atomic_load(&shared.next) >= INT64_MAX / (2 * PORTION);
}
