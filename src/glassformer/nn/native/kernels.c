/* The arithmetic of a decoder on a CPU, for few rows: one call runs a whole list of operations.

   A step of decoding multiplies every weight with a few rows. Most of the time goes into reading the weights, and into
   the work between the products. So weights are stored in panels, in the order in which they are read (`Panels` in
   tape.py), and the threads (team.h) work through the list together and wait for each other after each operation.

   The result of a row does not depend on other rows: a sentence gets the same bits alone and in any batch. Vectors use
   the compiler's extension, so the code is not tied to one kind of processor.

   Shapes: R rows, each of a sentence; D width, H heads, G key/value heads, E head width. */

#include "vectors.h"
#include "activations.h"
#include "team.h"

#define PANEL (2 * LANES) /* outputs in a panel */
#define TILE 6            /* rows computed together: their sums fill the registers */
#define CACHED 240        /* rows multiplied with all panels before the next rows */
#define ABREAST 4         /* rows whose attention is computed together */
#define BLOCK 64          /* numbers whose maximum is compared first */
#define PORTION 16        /* panels of logits that are searched while they are in the cache */

enum { EMBED, NORM, RMS_NORM, PRODUCT, ROTATE, APPEND, ATTEND, BEST };

/* One operation: y = f(x), for each row. Its function shows which fields it uses. `tape.py` has the same list. */
typedef struct {
    int64_t kind, activation;
    const float *x;
    float *y;
    int64_t x_step, y_step; /* from row to row */
    const float *weight, *bias, *times, *plus;
    int64_t inputs, outputs;
    const int64_t *ids;
    const float *keys, *values, *mask;
    float *new_keys, *new_values;
    int64_t sentence_step, head_step, slot_step; /* of keys and values */
    int64_t mask_sentence_step, mask_row_step;
    int64_t heads, groups, head_width, slots, first_slot;
    int64_t together; /* rows of each sentence; ATTEND: whether they are adjacent and see the same slots */
    const int64_t *owners, *places; /* for each row: its sentence, its slot among the new ones */
    int64_t *found, wanted;         /* the indices of the largest outputs of each row, and how many to find */
    double number;    /* the scale of an embedding or of scores; the eps of a norm */
} Op;

/* This thread's part of `total`. */
typedef struct {
    int64_t begin, end;
} Part;

static inline Part share(int64_t total, int me, int threads) {
    return (Part){total * me / threads, total * (me + 1) / threads};
}

/* y = table[id] * scale + position. A sentence has `together` rows; the table has `inputs` vectors. */
static void embed(const Op *op, int64_t rows, int me, int threads) {
    Part own = share(rows, me, threads);
    for (int64_t r = own.begin; r < own.end; r++) {
        const float *vector = op->weight + op->ids[r] * op->outputs, *position = op->bias;
        float *y = op->y + r * op->y_step, scale = (float)op->number;
        if (position) position += (r % op->together) * op->outputs;
        for (int64_t i = 0; i < op->outputs; i++) y[i] = vector[i] * scale + (position ? position[i] : 0);
    }
}

/* The sum of (x - middle)^power, for a power of 1 or 2. */
static inline float moment(const float *x, int64_t width, float middle, int power) {
    vec sums[2] = {all(0), all(0)};
    int64_t i = 0;
    for (; i + 2 * LANES <= width; i += 2 * LANES) {
        for (int j = 0; j < 2; j++) {
            vec apart = load(x + i + j * LANES) - middle;
            if (power == 2) apart *= apart;
            sums[j] += apart;
        }
    }
    float sum = sum_of(sums[0] + sums[1]);
    for (; i < width; i++) sum += power == 1 ? x[i] - middle : (x[i] - middle) * (x[i] - middle);
    return sum;
}

/* y = (x - mean) / sqrt(variance + eps) * gain + bias */
static void norm(const Op *op, int64_t rows, int me, int threads) {
    Part own = share(rows, me, threads);
    int64_t width = op->outputs;
    for (int64_t r = own.begin; r < own.end; r++) {
        const float *x = op->x + r * op->x_step, *gain = op->weight, *bias = op->bias;
        float *y = op->y + r * op->y_step;
        float mean = moment(x, width, 0, 1) / width;
        float scale = 1 / sqrtf(moment(x, width, mean, 2) / width + (float)op->number);
        for (int64_t i = 0; i < width; i++) y[i] = (x[i] - mean) * scale * gain[i] + (bias ? bias[i] : 0);
    }
}

/* y = x / sqrt(mean of x^2 + eps) * gain */
static void rms_norm(const Op *op, int64_t rows, int me, int threads) {
    Part own = share(rows, me, threads);
    int64_t width = op->outputs;
    for (int64_t r = own.begin; r < own.end; r++) {
        const float *x = op->x + r * op->x_step, *gain = op->weight;
        float *y = op->y + r * op->y_step, scale = 1 / sqrtf(moment(x, width, 0, 2) / width + (float)op->number);
        for (int64_t i = 0; i < width; i++) y[i] = x[i] * scale * gain[i];
    }
}

/* Rotates neighbouring pairs of each head in place; `bias` has the cosines of a row, then its sines. */
static void rotate(const Op *op, int64_t rows, int me, int threads) {
    Part own = share(rows, me, threads);
    int64_t pairs = op->head_width / 2;
    for (int64_t r = own.begin; r < own.end; r++) {
        const float *cosines = op->bias + (r % op->together) * 2 * pairs, *sines = cosines + pairs;
        for (int64_t h = 0; h < op->heads; h++) {
            float *y = op->y + r * op->y_step + h * op->head_width;
            for (int64_t i = 0; i < pairs; i++) {
                float even = y[2 * i], odd = y[2 * i + 1];
                y[2 * i] = even * cosines[i] - odd * sines[i];
                y[2 * i + 1] = even * sines[i] + odd * cosines[i];
            }
        }
    }
}

/* Finishes a row's sums of one panel: + bias, activation, * times, + plus. The last panel may have unused outputs. */
static inline void finish(const Op *op, vec low, vec high, int64_t row, int64_t first) {
    float *y = op->y + row * op->y_step + first;
    const float *plus = op->plus ? op->plus + row * op->y_step + first : 0;
    const float *times = op->times ? op->times + row * op->y_step + first : 0;
    float rest[PANEL];
    int64_t left = op->outputs - first;
    low = activated(low + load(op->bias + first), op->activation);
    high = activated(high + load(op->bias + first + LANES), op->activation);
    if (left >= PANEL) {
        if (times) low *= load(times), high *= load(times + LANES);
        if (plus) low += load(plus), high += load(plus + LANES);
        store(y, low);
        store(y + LANES, high);
        return;
    }
    store(rest, low);
    store(rest + LANES, high);
    for (int64_t i = 0; i < left; i++) y[i] = rest[i] * (times ? times[i] : 1) + (plus ? plus[i] : 0);
}

static inline __attribute__((always_inline)) void tile(
    const Op *op, const int count, int64_t row, const float *panel, int64_t first) {
    const float *x = op->x + row * op->x_step;
    const int64_t in = op->inputs, step = op->x_step;
    vec sums[TILE][2];
    for (int r = 0; r < count; r++) sums[r][0] = sums[r][1] = all(0);
    for (int64_t i = 0; i < in; i++) {
        vec low = load(panel + i * PANEL), high = load(panel + i * PANEL + LANES);
        __builtin_prefetch(panel + (in + i) * PANEL, 0, 2); /* near, but not displacing what is used now */
        for (int r = 0; r < count; r++) {
            sums[r][0] += x[r * step + i] * low;
            sums[r][1] += x[r * step + i] * high;
        }
    }
    for (int r = 0; r < count; r++) finish(op, sums[r][0], sums[r][1], row + r, first);
}

/* A panel's outputs for the rows from `begin` to `end`, in tiles of similar size. Prefetches the next panel. */
static inline __attribute__((always_inline)) void panel_product(
    const Op *op, int64_t begin, int64_t end, const float *panel, int64_t first) {
    int64_t rows = end - begin, tiles = (rows + TILE - 1) / TILE;
    for (int64_t t = 0; t < tiles; t++) {
        int64_t from = rows * t / tiles, row = begin + from;
        switch (rows * (t + 1) / tiles - from) {
            case 1: tile(op, 1, row, panel, first); break;
            case 2: tile(op, 2, row, panel, first); break;
            case 3: tile(op, 3, row, panel, first); break;
            case 4: tile(op, 4, row, panel, first); break;
            case 5: tile(op, 5, row, panel, first); break;
            case 6: tile(op, 6, row, panel, first); break;
        }
    }
}

/* y = activation(x W^T + bias) * times + plus. W is in panels (out / PANEL, in, PANEL); the bias is padded likewise. */
static void product(const Op *given, int64_t rows, int me, int threads) {
    const Op copy = *given, *op = &copy; /* a local copy: stores cannot change it, so it is not reloaded */
    Part own = share((op->outputs + PANEL - 1) / PANEL, me, threads);
    for (int64_t begin = 0; begin < rows; begin += CACHED) {
        int64_t end = begin + CACHED < rows ? begin + CACHED : rows;
        for (int64_t p = own.begin; p < own.end; p++) {
            panel_product(op, begin, end, op->weight + p * op->inputs * PANEL, p * PANEL);
        }
    }
}

/* Writes each row's new key and value, x = (keys | values), to its slot. */
static void append(const Op *op, int64_t rows, int me, int threads) {
    Part own = share(rows, me, threads);
    int64_t width = op->head_width;
    for (int64_t r = own.begin; r < own.end; r++) {
        const float *key = op->x + r * op->x_step, *value = key + op->groups * width;
        int64_t start = op->owners[r] * op->sentence_step + (op->first_slot + op->places[r]) * op->slot_step;
        for (int64_t g = 0; g < op->groups; g++) {
            memcpy(op->new_keys + start + g * op->head_step, key + g * width, width * sizeof(float));
            memcpy(op->new_values + start + g * op->head_step, value + g * width, width * sizeof(float));
        }
    }
}

/* The slots that a row sees, and its attention weights. */
typedef struct {
    float *shares, *added; /* space for all slots and LANES more; what the mask adds to each */
    int64_t *offsets;      /* offsets of their keys and values */
    int64_t count;
} Seen;

/* Collects the slots that the mask does not hide. */
static void collect_seen(const Op *op, const float *mask, Seen *seen) {
    seen->count = 0;
    for (int64_t i = 0; i < op->slots; i++) {
        float added = mask ? mask[i] : 0;
        seen->offsets[seen->count] = i * op->slot_step;
        seen->added[seen->count] = added;
        seen->count += added != -INFINITY;
    }
}

/* Prefetches a head's keys or values: they are in short stretches that the hardware does not predict. */
static inline void fetch(const float *from, int64_t width, const Seen *seen) {
    for (int64_t s = 0; s < seen->count; s++) {
        for (int64_t i = 0; i < width; i += 16) __builtin_prefetch(from + seen->offsets[s] + i);
    }
}

/* q k of `count` slots at a time; each sum has the same order for any `count`. */
static inline __attribute__((always_inline)) void dots(
    const float *q, const float *keys, const int64_t *offsets, int64_t width, const int count, float *scores) {
    vec sums[4];
    int64_t i = 0;
    for (int j = 0; j < count; j++) sums[j] = all(0);
    for (; i + LANES <= width; i += LANES) {
        for (int j = 0; j < count; j++) sums[j] += load(q + i) * load(keys + offsets[j] + i);
    }
    for (int j = 0; j < count; j++) {
        scores[j] = sum_of(sums[j]);
        for (int64_t rest = i; rest < width; rest++) scores[j] += q[rest] * keys[offsets[j] + rest];
    }
}

/* softmax(q K^T * scale + mask) */
static void weigh(const Op *op, const float *q, const float *keys, Seen *seen) {
    float most = -INFINITY, *shares = seen->shares, scale = (float)op->number, sum = 0;
    int64_t i = 0, count = seen->count;
    for (; i + 4 <= count; i += 4) dots(q, keys, seen->offsets + i, op->head_width, 4, shares + i);
    for (; i < count; i++) dots(q, keys, seen->offsets + i, op->head_width, 1, shares + i);
    for (i = 0; i < count; i++) {
        shares[i] = shares[i] * scale + seen->added[i];
        most = shares[i] > most ? shares[i] : most;
    }
    for (i = count; i < count + LANES; i++) shares[i] = -INFINITY;
    for (i = 0; i < count; i += LANES) store(shares + i, exponential(load(shares + i) - most));
    for (i = 0; i < count; i++) sum += shares[i];
    for (i = 0; i < count; i++) shares[i] /= sum;
}

/* `vectors` times LANES values of shares V. */
static inline __attribute__((always_inline)) void mix_part(
    const float *values, const Seen *seen, const int vectors, float *y) {
    vec sums[8];
    for (int j = 0; j < vectors; j++) sums[j] = all(0);
    for (int64_t s = 0; s < seen->count; s++) {
        const float *value = values + seen->offsets[s];
        for (int j = 0; j < vectors; j++) sums[j] += seen->shares[s] * load(value + j * LANES);
    }
    for (int j = 0; j < vectors; j++) store(y + j * LANES, sums[j]);
}

/* y = shares V */
static void mix(const float *values, int64_t width, const Seen *seen, float *y) {
    int64_t i = 0;
    for (; i + 8 * LANES <= width; i += 8 * LANES) mix_part(values + i, seen, 8, y + i);
    for (; i + 4 * LANES <= width; i += 4 * LANES) mix_part(values + i, seen, 4, y + i);
    for (; i + LANES <= width; i += LANES) mix_part(values + i, seen, 1, y + i);
    for (; i < width; i++) {
        float sum = 0;
        for (int64_t s = 0; s < seen->count; s++) sum += seen->shares[s] * values[seen->offsets[s] + i];
        y[i] = sum;
    }
}

/* y = softmax(q K^T * scale + mask) V, in each head */
static void attend(const Op *op, int64_t rows, int me, int threads, Seen seen) {
    Part own = share(rows * op->heads, me, threads);
    int64_t last = -1; /* the sentence whose slots were collected last */
    for (int64_t unit = own.begin; unit < own.end; unit++) {
        int64_t r = unit / op->heads, h = unit % op->heads, b = op->owners[r], place = h * op->head_width;
        int64_t start = b * op->sentence_step + h * op->groups / op->heads * op->head_step;
        if (r != last) {
            collect_seen(op, op->mask ? op->mask + b * op->mask_sentence_step + r * op->mask_row_step : 0, &seen);
            last = r;
        }
        fetch(op->values + start, op->head_width, &seen);
        weigh(op, op->x + r * op->x_step + place, op->keys + start, &seen);
        if (h + 1 < op->heads) fetch(op->keys + start + op->head_step, op->head_width, &seen);
        mix(op->values + start, op->head_width, &seen, op->y + r * op->y_step + place);
    }
}

/* If the rows of a sentence are adjacent and see the same slots, as in an encoder, ABREAST rows are computed together;
   if fewer are left, the last one is repeated. A head's keys are transposed once, so that a vector holds one number of
   several keys and no sum runs across its lanes. The result of a row does not depend on other rows. */
typedef struct {
    float *transposed;                /* (head width, columns) */
    float *shares;                /* (ABREAST, columns), each row not yet multiplied by its part */
    float part[ABREAST];          /* 1 / the sum of a row's shares */
    const float *queries[ABREAST];
    float *outputs[ABREAST];
    int64_t columns;              /* number of seen slots, padded to whole vectors */
} Sheet;

static void transpose_keys(const float *keys, int64_t width, const Seen *seen, const Sheet *sheet) {
    for (int64_t e = 0; e < width; e++) {
        float *row = sheet->transposed + e * sheet->columns;
        for (int64_t s = 0; s < seen->count; s++) row[s] = keys[seen->offsets[s] + e];
        for (int64_t s = seen->count; s < sheet->columns; s++) row[s] = 0;
    }
}

/* q K^T for `vectors` times LANES slots */
static inline __attribute__((always_inline)) void score(
    const Sheet *sheet, int64_t width, int64_t first, const int vectors) {
    vec sums[ABREAST][2];
    for (int r = 0; r < ABREAST; r++) sums[r][0] = sums[r][1] = all(0);
    for (int64_t e = 0; e < width; e++) {
        const float *keys = sheet->transposed + e * sheet->columns + first;
        for (int r = 0; r < ABREAST; r++) {
            for (int j = 0; j < vectors; j++) sums[r][j] += sheet->queries[r][e] * load(keys + j * LANES);
        }
    }
    for (int r = 0; r < ABREAST; r++) {
        for (int j = 0; j < vectors; j++) store(sheet->shares + r * sheet->columns + first + j * LANES, sums[r][j]);
    }
}

/* e^(score - maximum); returns 1 / their sum. The mask of the padding is -infinity, so it is close to 0. */
static float soften(float *shares, const float *added, int64_t columns, float scale) {
    vec most = all(-INFINITY), sum = all(0);
    for (int64_t i = 0; i < columns; i += LANES) {
        vec scaled = load(shares + i) * scale + load(added + i);
        store(shares + i, scaled);
        most = larger(scaled, most);
    }
    float top = largest_of(most);
    for (int64_t i = 0; i < columns; i += LANES) {
        vec power = exponential(load(shares + i) - top);
        store(shares + i, power);
        sum += power;
    }
    return columns ? 1 / sum_of(sum) : 0; /* a row that sees no slot gets zeros */
}

/* `vectors` times LANES values of shares V, from `first` on */
static inline __attribute__((always_inline)) void mix_rows(
    const Sheet *sheet, const float *values, const Seen *seen, int64_t first, const int vectors) {
    vec sums[ABREAST][2];
    for (int r = 0; r < ABREAST; r++) sums[r][0] = sums[r][1] = all(0);
    for (int64_t s = 0; s < seen->count; s++) {
        const float *value = values + seen->offsets[s] + first;
        for (int j = 0; j < vectors; j++) {
            for (int r = 0; r < ABREAST; r++) {
                sums[r][j] += sheet->shares[r * sheet->columns + s] * load(value + j * LANES);
            }
        }
    }
    for (int r = 0; r < ABREAST; r++) {
        for (int j = 0; j < vectors; j++) store(sheet->outputs[r] + first + j * LANES, sums[r][j] * sheet->part[r]);
    }
}

static void attend_rows(Sheet *sheet, const float *values, const Seen *seen, int64_t width, float scale) {
    int64_t i = 0, columns = sheet->columns;
    for (; i + 2 * LANES <= columns; i += 2 * LANES) score(sheet, width, i, 2);
    for (; i < columns; i += LANES) score(sheet, width, i, 1);
    for (int r = 0; r < ABREAST; r++) sheet->part[r] = soften(sheet->shares + r * columns, seen->added, columns, scale);
    for (i = 0; i + 2 * LANES <= width; i += 2 * LANES) mix_rows(sheet, values, seen, i, 2);
    for (; i + LANES <= width; i += LANES) mix_rows(sheet, values, seen, i, 1);
    for (; i < width; i++) {
        for (int r = 0; r < ABREAST; r++) {
            const float *shares = sheet->shares + r * columns;
            float sum = 0;
            for (int64_t s = 0; s < seen->count; s++) sum += shares[s] * values[seen->offsets[s] + i];
            sheet->outputs[r][i] = sum * sheet->part[r];
        }
    }
}

static void attend_together(const Op *op, int64_t rows, int me, int threads, Seen seen, Sheet sheet) {
    Part own = share(rows, me, threads);
    for (int64_t begin = own.begin, end; begin < own.end; begin = end) {
        int64_t b = op->owners[begin];
        for (end = begin + 1; end < own.end && op->owners[end] == b;) end++;
        collect_seen(op, op->mask ? op->mask + b * op->mask_sentence_step : 0, &seen);
        sheet.columns = (seen.count + LANES - 1) / LANES * LANES;
        for (int64_t i = seen.count; i < sheet.columns; i++) seen.added[i] = -INFINITY;
        for (int64_t h = 0; h < op->heads; h++) {
            int64_t start = b * op->sentence_step + h * op->groups / op->heads * op->head_step;
            transpose_keys(op->keys + start, op->head_width, &seen, &sheet);
            for (int64_t first = begin; first < end; first += ABREAST) {
                for (int r = 0; r < ABREAST; r++) {
                    int64_t row = first + r < end ? first + r : end - 1;
                    sheet.queries[r] = op->x + row * op->x_step + h * op->head_width;
                    sheet.outputs[r] = op->y + row * op->y_step + h * op->head_width;
                }
                attend_rows(&sheet, op->values + start, &seen, op->head_width, (float)op->number);
            }
        }
    }
}

/* The n largest numbers so far, largest first; among equals, the earlier first. */
typedef struct {
    float *values;
    int64_t *places;
    int64_t n, count;
} Largest;

static inline void enter(Largest *list, float value, int64_t place) {
    if (list->count == list->n && !(value > list->values[list->n - 1])) return;
    int64_t at = list->count < list->n ? list->count++ : list->n - 1;
    for (; at > 0 && value > list->values[at - 1]; at--) {
        list->values[at] = list->values[at - 1], list->places[at] = list->places[at - 1];
    }
    list->values[at] = value, list->places[at] = place;
}

static inline float most_of(const float *numbers, int64_t size) {
    vec most[2] = {all(-INFINITY), all(-INFINITY)};
    int64_t i = 0;
    for (; i + 2 * LANES <= size; i += 2 * LANES) {
        for (int j = 0; j < 2; j++) most[j] = larger(load(numbers + i + j * LANES), most[j]);
    }
    float found = largest_of(larger(most[0], most[1]));
    for (; i < size; i++) found = numbers[i] > found ? numbers[i] : found;
    return found;
}

/* Adds numbers to the list; the index of the first number is `first`. */
static void search(const float *numbers, int64_t size, int64_t first, Largest *list) {
    for (int64_t start = 0; start < size; start += BLOCK) {
        int64_t length = start + BLOCK < size ? BLOCK : size - start;
        if (list->count == list->n && !(most_of(numbers + start, length) > list->values[list->n - 1])) continue;
        for (int64_t i = start; i < start + length; i++) enter(list, numbers[i], first + i);
    }
}

/* The sum of e^(x - most), where most is the largest x; close to 0 if all are -infinity */
static float sum_of_powers(const float *numbers, int64_t size, float most) {
    if (most == -INFINITY) most = 0;
    vec sums[4] = {all(0), all(0), all(0), all(0)};
    int64_t i = 0;
    for (; i + 4 * LANES <= size; i += 4 * LANES) {
        for (int j = 0; j < 4; j++) sums[j] += exponential(load(numbers + i + j * LANES) - most);
    }
    float sum = sum_of(sums[0] + sums[1] + (sums[2] + sums[3]));
    for (; i < size; i++) sum += expf(numbers[i] - most);
    return sum;
}

/* The largest outputs that each thread finds, until they are merged. */
typedef struct {
    float *outputs;      /* (threads, CACHED, PORTION * PANEL) */
    float *most, *sums;  /* (rows, portions): the largest output, and the sum of e^(x - that) */
    float *values;       /* (threads, rows, n) */
    int64_t *places;     /* the same */
    int64_t *counts;     /* (threads, rows) */
} Finds;

static inline int64_t portions_of(const Op *op) {
    return (op->outputs + PORTION * PANEL - 1) / (PORTION * PANEL);
}

static Largest list_of(const Op *op, const Finds *finds, int64_t rows, int thread, int64_t r) {
    int64_t at = thread * rows + r;
    return (Largest){finds->values + at * op->wanted, finds->places + at * op->wanted, op->wanted, finds->counts[at]};
}

/* Computes a portion's outputs for some rows and finds the largest. The order of the sums depends neither on the number
   of threads nor on other rows. */
static void portion_best(
    const Op *op, int64_t rows, int me, int64_t begin, int64_t count, int64_t portion, const Finds *finds) {
    const int64_t step = PORTION * PANEL, base = portion * step;
    int64_t size = op->outputs - base < step ? op->outputs - base : step;
    Op part = *op;
    part.x += begin * op->x_step, part.bias += base, part.outputs = size;
    part.y = finds->outputs + me * CACHED * step, part.y_step = step, part.times = part.plus = 0;
    const Op fixed = part;
    for (int64_t first = 0; first < size; first += PANEL) {
        panel_product(&fixed, 0, count, op->weight + (base + first) * op->inputs, first);
    }
    for (int64_t r = begin; r < begin + count; r++) {
        const float *outputs = part.y + (r - begin) * step;
        int64_t at = r * portions_of(op) + portion;
        Largest list = list_of(op, finds, rows, me, r);
        finds->most[at] = most_of(outputs, size);
        finds->sums[at] = sum_of_powers(outputs, size, finds->most[at]);
        search(outputs, size, base, &list);
        finds->counts[me * rows + r] = list.count;
    }
}

static void find_best(const Op *op, int64_t rows, int me, int threads, const Finds *finds) {
    Part own = share(portions_of(op), me, threads);
    for (int64_t r = 0; r < rows; r++) finds->counts[me * rows + r] = 0;
    for (int64_t begin = 0; begin < rows; begin += CACHED) {
        int64_t count = begin + CACHED < rows ? CACHED : rows - begin;
        for (int64_t p = own.begin; p < own.end; p++) portion_best(op, rows, me, begin, count, p, finds);
    }
}

/* log of the sum of e^x over all outputs of a row */
static float log_of_all(const Op *op, int64_t r, const Finds *finds) {
    int64_t portions = portions_of(op);
    const float *most = finds->most + r * portions, *sums = finds->sums + r * portions;
    float top = most_of(most, portions), sum = 0;
    for (int64_t p = 0; p < portions; p++) sum += sums[p] * expf(most[p] - top);
    return top + logf(sum);
}

/* y = the n largest log-probabilities of each row, `found` their indices */
static void gather_best(const Op *op, int64_t rows, int me, int threads, const Finds *finds) {
    Part own = share(rows, me, threads);
    for (int64_t r = own.begin; r < own.end; r++) {
        Largest list = {op->y + r * op->wanted, op->found + r * op->wanted, op->wanted, 0};
        for (int t = 0; t < threads; t++) {
            Largest part = list_of(op, finds, rows, t, r);
            for (int64_t i = 0; i < part.count; i++) enter(&list, part.values[i], part.places[i]);
        }
        float rest = log_of_all(op, r, finds);
        for (int64_t i = 0; i < list.count; i++) list.values[i] -= rest;
    }
}

int64_t panel_width(void) { return PANEL; }

int64_t op_size(void) { return sizeof(Op); }

static int64_t most_slots(const Op *ops, int64_t count) {
    int64_t most = 0;
    for (int64_t i = 0; i < count; i++) most = ops[i].kind == ATTEND && ops[i].slots > most ? ops[i].slots : most;
    return most;
}

/* The largest head width of the ATTEND operations with `together`; 0 if there are none. */
static int64_t widest_transposed(const Op *ops, int64_t count) {
    int64_t most = 0;
    for (int64_t i = 0; i < count; i++) {
        if (ops[i].kind == ATTEND && ops[i].together && ops[i].head_width > most) most = ops[i].head_width;
    }
    return most;
}

static int all_in_table(const Op *ops, int64_t count, int64_t rows) {
    for (int64_t i = 0; i < count; i++) {
        for (int64_t r = 0; ops[i].kind == EMBED && r < rows; r++) {
            if (ops[i].ids[r] < 0 || ops[i].ids[r] >= ops[i].inputs) return 0;
        }
    }
    return 1;
}

/* Further memory for a run: for each thread, and shared. */
typedef struct {
    int64_t slots;
    float *shares;
    int64_t *offsets;
    int64_t width; /* of heads whose keys are transposed */
    float *transposed;
    Finds finds;
} Desk;

static int laid_out(Desk *desk, const Op *ops, int64_t count, int64_t rows, int64_t threads) {
    desk->slots = most_slots(ops, count) + LANES;
    desk->shares = malloc(2 * threads * desk->slots * sizeof(float));
    desk->offsets = malloc(threads * desk->slots * sizeof(int64_t));
    desk->width = widest_transposed(ops, count);
    desk->transposed = malloc(threads * (desk->width + ABREAST) * desk->slots * sizeof(float));
    if (!desk->shares || !desk->offsets || !desk->transposed) return 0;
    const Op *last = ops + count - 1;
    if (!count || last->kind != BEST) return 1;
    int64_t outputs = threads * CACHED * PORTION * PANEL, portions = rows * portions_of(last);
    int64_t listed = threads * rows * last->wanted;
    float *numbers = malloc((outputs + 2 * portions + listed) * sizeof(float));
    int64_t *wholes = malloc((listed + threads * rows) * sizeof(int64_t));
    desk->finds = (Finds){numbers, numbers + outputs, numbers + outputs + portions, numbers + outputs + 2 * portions,
                          wholes, wholes + listed};
    return numbers && wholes;
}

static void cleared(Desk *desk) {
    free(desk->shares);
    free(desk->offsets);
    free(desk->transposed);
    free(desk->finds.outputs);
    free(desk->finds.places);
}

/* A list of operations, and what the threads share. */
typedef struct {
    const Op *ops;
    int64_t count, rows;
    Desk *desk;
    Barrier *barrier; /* after each operation */
} Run;

static void run_part(void *given, int me, int team) {
    const Run *run = given;
    const Desk *desk = run->desk;
    const int64_t rows = run->rows;
    float *own = desk->shares + 2 * me * desk->slots;
    Seen seen = {own, own + desk->slots, desk->offsets + me * desk->slots, 0};
    float *transposed = desk->transposed + me * (desk->width + ABREAST) * desk->slots;
    Sheet sheet = {.transposed = transposed, .shares = transposed + desk->width * desk->slots};
    for (const Op *op = run->ops; op < run->ops + run->count; op++) {
        switch (op->kind) {
            case EMBED: embed(op, rows, me, team); break;
            case NORM: norm(op, rows, me, team); break;
            case RMS_NORM: rms_norm(op, rows, me, team); break;
            case ROTATE: rotate(op, rows, me, team); break;
            case PRODUCT: product(op, rows, me, team); break;
            case APPEND: append(op, rows, me, team); break;
            case ATTEND:
                if (op->together) {
                    attend_together(op, rows, me, team, seen, sheet);
                } else {
                    attend(op, rows, me, team, seen);
                }
                break;
            case BEST:
                find_best(op, rows, me, team, &desk->finds);
                wait_for_all(run->barrier, team);
                gather_best(op, rows, me, team, &desk->finds);
                break;
        }
        wait_for_all(run->barrier, team);
    }
}

/* Runs all operations in order on the first `rows` rows. Returns 0, 1 (out of memory) or 2 (an id is out of range). */
int64_t run(const Op *ops, int64_t count, int64_t rows, int64_t threads) {
    Barrier barrier = {0, 0, 0};
    Desk desk = {0};
    if (!all_in_table(ops, count, rows)) return 2;
    if (!laid_out(&desk, ops, count, rows, threads)) {
        cleared(&desk);
        return 1;
    }
    work_together(run_part, &(Run){ops, count, rows, &desk, &barrier}, threads);
    cleared(&desk);
    return 0;
}

/* How many of up to `most` threads can run on a core that nothing else needs now. */
int64_t threads_now(int64_t most) {
    int64_t spare = most > 1 ? spare_cores() : 1;
    return spare < 1 ? 1 : spare < most ? spare : most;
}

typedef struct {
    const float *logits;
    int64_t rows, size, n;
    float *values;
    int64_t *places;
} Asked;

static void best_part(void *given, int me, int team) {
    const Asked *asked = given;
    const int64_t size = asked->size, n = asked->n;
    Part own = share(asked->rows, me, team);
    for (int64_t r = own.begin; r < own.end; r++) {
        const float *logits = asked->logits + r * size;
        Largest list = {asked->values + r * n, asked->places + r * n, n, 0};
        search(logits, size, 0, &list);
        float most = list.values[0], rest = logf(sum_of_powers(logits, size, most));
        for (int64_t i = 0; i < n; i++) list.values[i] -= most + rest;
    }
}

/* The n largest log-probabilities (rows, n) of each row of logits (rows, size), and their indices. */
void best(const float *logits, int64_t rows, int64_t size, int64_t n, float *values, int64_t *places, int64_t threads) {
    work_together(best_part, &(Asked){logits, rows, size, n, values, places}, rows > 1 ? threads : 1);
}
