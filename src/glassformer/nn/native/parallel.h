/* Work on the threads of torch, whose OpenMP is loaded with it: threads of our own would compete with them for the
   cores. Without one, the caller works alone. */

#ifndef PARALLEL_H
#define PARALLEL_H

extern void GOMP_parallel(void (*)(void *), void *, unsigned, unsigned) __attribute__((weak));

/* Each of the threads calls `work` once; they divide it among themselves. */
static inline void in_parallel(void (*work)(void *), void *given, int64_t threads) {
    if (threads > 1 && GOMP_parallel) GOMP_parallel(work, given, (unsigned)threads, 0);
    else work(given);
}

#endif
