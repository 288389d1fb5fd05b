/* A team of threads that share a job, and how many threads the machine has free cores for right now.

   There is one team per process. Between jobs its threads spin for a moment and then sleep, so that they take no time
   from other processes. If the team is busy, a caller does its job alone. */

#ifndef TEAM_H
#define TEAM_H

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <linux/futex.h>
#include <sys/syscall.h>
#else
#include <sched.h>
#endif

#define LARGEST_TEAM 64
#define AWAKE_IN_JOB 300       /* checks of a barrier before a thread sleeps: a few microseconds */
#define AWAKE_BETWEEN 10000    /* checks for the next job: about 200 us, the time that Python needs between two steps */
#define LOAD_INTERVAL 5000000    /* nanoseconds between two checks of the machine's load */

static inline void breathe(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Where the threads of a job wait for each other. A thread that spins for long may keep the thread that it waits for
   from running, so it soon sleeps. */
typedef struct {
    atomic_int arrived, round, asleep;
} Barrier;

static void sleep_until_changed(atomic_int *number, int value) {
#ifdef __linux__
    syscall(SYS_futex, number, FUTEX_WAIT_PRIVATE, value, 0, 0, 0);
#else
    (void)number, (void)value;
    sched_yield();
#endif
}

static void wake_all(atomic_int *number) {
#ifdef __linux__
    syscall(SYS_futex, number, FUTEX_WAKE_PRIVATE, INT_MAX, 0, 0, 0);
#else
    (void)number;
#endif
}

static void wait_for_all(Barrier *barrier, int team) {
    int round = atomic_load(&barrier->round);
    if (atomic_fetch_add(&barrier->arrived, 1) + 1 == team) {
        atomic_store(&barrier->arrived, 0);
        atomic_fetch_add(&barrier->round, 1);
        if (atomic_load(&barrier->asleep)) wake_all(&barrier->round);
        return;
    }
    for (int i = 0; i < AWAKE_IN_JOB; i++, breathe()) {
        if (atomic_load(&barrier->round) != round) return;
    }
    atomic_fetch_add(&barrier->asleep, 1);
    while (atomic_load(&barrier->round) == round) sleep_until_changed(&barrier->round, round);
    atomic_fetch_sub(&barrier->asleep, 1);
}

/* What each thread of a team does; `me` counts from 0, which is the caller. */
typedef void (*Job)(void *given, int me, int team);

static struct {
    pthread_mutex_t in_use; /* held by the caller whose job it is */
    pthread_mutex_t lock;   /* for sleeping between jobs */
    pthread_cond_t called;
    atomic_int calls[LARGEST_TEAM]; /* the number of calls to each member */
    atomic_int hired, asleep;       /* members besides the caller; those asleep between jobs */
    Job job;
    void *given;
    int team;       /* threads of the current job, including the caller */
    Barrier finish; /* at the end of the job */
} crew = {.in_use = PTHREAD_MUTEX_INITIALIZER, .lock = PTHREAD_MUTEX_INITIALIZER, .called = PTHREAD_COND_INITIALIZER};

static void wait_for_call(int me, int seen) {
    for (int i = 0; i < AWAKE_BETWEEN; i++, breathe()) {
        if (atomic_load(&crew.calls[me]) != seen) return;
    }
    pthread_mutex_lock(&crew.lock);
    atomic_fetch_add(&crew.asleep, 1);
    while (atomic_load(&crew.calls[me]) == seen) pthread_cond_wait(&crew.called, &crew.lock);
    atomic_fetch_sub(&crew.asleep, 1);
    pthread_mutex_unlock(&crew.lock);
}

static void *member(void *number) {
    int me = (int)(intptr_t)number;
    for (int seen = 0;; seen++) {
        wait_for_call(me, seen);
        int team = crew.team; /* does not change until all have finished */
        crew.job(crew.given, me, team);
        wait_for_all(&crew.finish, team);
    }
    return 0;
}

/* A forked process has none of the threads, so it starts again. */
static void reset_crew(void) {
    pthread_mutex_init(&crew.in_use, 0);
    pthread_mutex_init(&crew.lock, 0);
    pthread_cond_init(&crew.called, 0);
    for (int i = 0; i < LARGEST_TEAM; i++) atomic_store(&crew.calls[i], 0);
    atomic_store(&crew.hired, 0);
    atomic_store(&crew.asleep, 0);
    crew.finish = (Barrier){0, 0, 0};
}

static void watch_for_forks(void) { pthread_atfork(0, 0, reset_crew); }

/* Creates the members of a team of `team` threads; returns fewer if the system allows no more. They block all signals:
   the caller handles them. */
static int hire(int team) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    sigset_t all_signals, before;
    pthread_t thread;
    pthread_once(&once, watch_for_forks);
    sigfillset(&all_signals);
    pthread_sigmask(SIG_SETMASK, &all_signals, &before);
    int hired = atomic_load(&crew.hired);
    while (hired + 1 < team && !pthread_create(&thread, 0, member, (void *)(intptr_t)(hired + 1))) {
        pthread_detach(thread);
        atomic_store(&crew.hired, ++hired);
    }
    pthread_sigmask(SIG_SETMASK, &before, 0);
    return hired + 1 < team ? hired + 1 : team;
}

/* Runs the job on a team of up to `threads` threads, or on the caller alone while another caller uses the team. */
static void work_together(Job job, void *given, int64_t threads) {
    int team = threads > LARGEST_TEAM ? LARGEST_TEAM : (int)threads;
    if (team < 2 || pthread_mutex_trylock(&crew.in_use)) {
        job(given, 0, 1);
        return;
    }
    team = hire(team);
    crew.job = job, crew.given = given, crew.team = team;
    for (int i = 1; i < team; i++) atomic_fetch_add(&crew.calls[i], 1);
    if (atomic_load(&crew.asleep)) {
        pthread_mutex_lock(&crew.lock);
        pthread_cond_broadcast(&crew.called);
        pthread_mutex_unlock(&crew.lock);
    }
    job(given, 0, team);
    wait_for_all(&crew.finish, team);
    pthread_mutex_unlock(&crew.in_use);
}

/* Threads of the whole machine that run or are ready to run, including this one; 0 if unknown. */
static int running_now(void) {
    int running = 0;
    FILE *file = fopen("/proc/loadavg", "re");
    if (!file) return 0;
    if (fscanf(file, "%*f %*f %*f %d/", &running) != 1) running = 0;
    fclose(file);
    return running;
}

/* Cores that no other thread of the machine needs, as of a few milliseconds ago. */
static int64_t spare_cores(void) {
    static _Atomic int64_t looked, spare;
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    int64_t now = (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
    if (!atomic_load(&looked) || now - atomic_load(&looked) >= LOAD_INTERVAL) {
        int own = 1 + atomic_load(&crew.hired) - atomic_load(&crew.asleep); /* this thread and the members that spin */
        int others = running_now() - own;
        atomic_store(&spare, sysconf(_SC_NPROCESSORS_ONLN) - (others > 0 ? others : 0));
        atomic_store(&looked, now);
    }
    return atomic_load(&spare);
}

#endif
