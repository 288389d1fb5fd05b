/* Lines of a word and its numbers, as in files of word vectors: "king 0.12 -3e-2 ...". */

#include <stdint.h>
#include <string.h>

#define MOST_DIGITS 19 /* of a number that fits 64 bits */

static const double TENS[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                              1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

static double scaled(double value, int64_t power) {
    for (; power > 22; power -= 22) value *= 1e22;
    for (; power < -22; power += 22) value /= 1e22;
    return power < 0 ? value / TENS[-power] : value * TENS[power];
}

static inline int is_digit(char sign) { return sign >= '0' && sign <= '9'; }

/* Reads the number that is exactly the bytes from `at` to `end`. Returns 0 if they are anything else. */
static int number_at(const char *at, const char *end, float *to) {
    uint64_t digits = 0;
    int64_t power = 0, count = 0, seen = 0;
    int negative = at < end && *at == '-';
    if (at < end && (*at == '-' || *at == '+')) at++;
    for (; at < end && is_digit(*at); at++, seen++) {
        if (count < MOST_DIGITS) digits = 10 * digits + (uint64_t)(*at - '0'), count += digits > 0;
        else power++;
    }
    if (at < end && *at == '.') {
        for (at++; at < end && is_digit(*at); at++, seen++) {
            if (count < MOST_DIGITS) digits = 10 * digits + (uint64_t)(*at - '0'), count += digits > 0, power--;
        }
    }
    if (!seen) return 0;
    if (at < end && (*at == 'e' || *at == 'E')) {
        int64_t given = 0;
        int down = ++at < end && *at == '-';
        if (at < end && (*at == '-' || *at == '+')) at++;
        if (at == end) return 0;
        for (; at < end && is_digit(*at); at++) given = given < 10000 ? 10 * given + (*at - '0') : given;
        power += down ? -given : given;
    }
    if (at != end) return 0;
    if (power > 400) power = 400;
    if (power < -400) power = -400;
    double value = digits ? scaled((double)digits, power) : 0;
    *to = (float)(negative ? -value : value);
    return 1;
}

static inline int is_space(char sign) { return sign == ' ' || sign == '\t'; }

/* Parses whole lines. Row i gets `width` numbers, ends[2 i] and ends[2 i + 1] where its word begins and ends. Numbers
   are taken from the end of the line, so a word may contain spaces. Blank lines are skipped. Returns the number of
   rows; *line is then the line, from 0, that could not be read, or -1. */
int64_t word_lines(const char *text, int64_t size, int64_t width, float *rows, int64_t *ends, int64_t *line) {
    int64_t found = 0, number = 0;
    const char *at = text, *last = text + size;
    *line = -1;
    for (; at < last; number++) {
        const char *stop = memchr(at, '\n', (size_t)(last - at)), *begin = at;
        if (!stop) stop = last;
        at = stop < last ? stop + 1 : last;
        while (stop > begin && (is_space(stop[-1]) || stop[-1] == '\r')) stop--;
        if (stop == begin) continue;
        for (int64_t i = width - 1; i >= 0; i--) {
            const char *from = stop;
            while (from > begin && !is_space(from[-1])) from--;
            if (from == begin || !number_at(from, stop, rows + found * width + i)) {
                *line = number;
                return found;
            }
            for (stop = from; stop > begin && is_space(stop[-1]);) stop--;
        }
        if (stop == begin) {
            *line = number;
            return found;
        }
        ends[2 * found] = begin - text, ends[2 * found + 1] = stop - text;
        found++;
    }
    return found;
}
