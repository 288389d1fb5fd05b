/* Work on the threads of torch, whose OpenMP is loaded with it: threads of our own would compete with them for the
   cores. Without one, the caller works alone. */

#ifndef PARALLEL_H
#define PARALLEL_H

#include <dlfcn.h>
#include <stdint.h>

typedef void (*Parallel)(void (*)(void *), void *, unsigned, unsigned);

/* OpenMP's entry point for compilers, or null. It is looked up at run time: it comes with torch, not with this file. */
static inline Parallel openmp(void) {
    static Parallel found;
    if (!found) *(void **)&found = dlsym(RTLD_DEFAULT, "GOMP_parallel");
    return found;
}

/* Each of the threads calls `work` once; they divide it among themselves. */
static inline void in_parallel(void (*work)(void *), void *given, int64_t threads) {
    if (threads > 1 && openmp()) openmp()(work, given, (unsigned)threads, 0);
    else work(given);
}

#endif
