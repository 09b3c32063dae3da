/* A pool of threads that run a task together, and products whose outputs they divide. */

#include <signal.h>
#include <time.h>

#include "kernels.h"

enum { MAX_THREADS = 64, SPIN_NANOSECONDS = 1000000 };
/* Tasks of each trial, and those until the next one. */
enum { TRIAL = 32, TASKS_BETWEEN_TRIALS = 512 };
/* Multiplications. With less work than this, starting a thread takes longer than doing it. */
static const int64_t MIN_WORK_PER_THREAD = 1 << 22;

/* One task and the workers that run it; arrived, round: of the barrier; lost: the nanoseconds that
   workers have slept there, together. */
struct parallel_region {
    void (*work)(const worker *, void *);
    void *task;
    int64_t workers, arrived, round, lost;
    pthread_mutex_t lock;
    pthread_cond_t changed;
};

/* Set a variable and wake the threads that wait for it to change. */
static void set_and_notify(parallel_region *r, int64_t *variable, int64_t value) {
    pthread_mutex_lock(&r->lock);
    __atomic_store_n(variable, value, __ATOMIC_RELEASE);
    pthread_cond_broadcast(&r->changed);
    pthread_mutex_unlock(&r->lock);
}

int64_t nanoseconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

/* Wait until a variable differs from `before`: first spinning, then sleeping, because the thread that
   changes it may need this core. Returns for how many nanoseconds it slept. Threads that spin for less
   time lose more to other programs: the system does not run all of them at once again. */
static int64_t wait_for_change(parallel_region *r, const int64_t *variable, int64_t before) {
    int64_t begin = 0;
    for (int64_t spins = 1;; spins++) {
        if (__atomic_load_n(variable, __ATOMIC_ACQUIRE) != before) return 0;
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
        if (spins % 64) continue;
        if (!begin) begin = nanoseconds();
        if (nanoseconds() - begin > SPIN_NANOSECONDS) break;
    }
    begin = nanoseconds();
    pthread_mutex_lock(&r->lock);
    while (__atomic_load_n(variable, __ATOMIC_ACQUIRE) == before)
        pthread_cond_wait(&r->changed, &r->lock);
    pthread_mutex_unlock(&r->lock);
    return nanoseconds() - begin;
}

void barrier(const worker *own) {
    parallel_region *r = own->region;
    if (own->workers == 1) return;
    const int64_t round = __atomic_load_n(&r->round, __ATOMIC_ACQUIRE);
    if (__atomic_add_fetch(&r->arrived, 1, __ATOMIC_ACQ_REL) == own->workers) {
        __atomic_store_n(&r->arrived, 0, __ATOMIC_RELAXED);
        set_and_notify(r, &r->round, round + 1);
    } else {
        const int64_t lost = wait_for_change(r, &r->round, round);
        if (lost) __atomic_add_fetch(&r->lost, lost, __ATOMIC_RELAXED);
    }
}

static void run_worker(worker *own) {
    /* The number of workers is known only when the last thread has been started. */
    wait_for_change(own->region, &own->region->workers, 0);
    own->workers = __atomic_load_n(&own->region->workers, __ATOMIC_ACQUIRE);
    own->region->work(own, own->region->task);
}

/* A thread of the pool. Threads are kept, because a thread that is new in each step seldom gets a
   core of its own. busy: 1 from when it becomes a worker of a region until its work is done. */
typedef struct {
    int64_t busy;
    worker worker;
} pool_thread;

/* Thread 0 is the caller's, so that the first entry is unused. */
static pool_thread pool[MAX_THREADS];
static int64_t started;
/* Idle threads of the pool sleep on the lock of this region. */
static parallel_region idle_workers = {
    0, 0, 0, 0, 0, 0, PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER,
};
/* Held by the caller whose task the pool runs. */
static pthread_mutex_t pool_in_use = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t fork_handler_installed = PTHREAD_ONCE_INIT;

/* Who runs the next tasks: all threads, or the caller alone. Where others need the cores, a thread that
   does not run stops all of them. Whether one alone is faster is tried out. */
enum { ALL, TRY_ALONE, TRY_ALL, ALONE, STAY_ALL };
/* left: the tasks until the phase ends; spent: the nanoseconds of the tasks of both trials. */
typedef struct {
    int64_t phase, left, spent[2];
} pace;
/* Changed only by the caller that holds the pool. */
static pace pool_pace;

static void *run_pool_thread(void *argument) {
    pool_thread *own = argument;
    for (;;) {
        wait_for_change(&idle_workers, &own->busy, 0);
        run_worker(&own->worker);
        set_and_notify(&idle_workers, &own->busy, 0);
    }
    return 0;
}

/* A forked process has none of the pool's threads. */
static void reset_pool(void) {
    started = 0;
    memset(pool, 0, sizeof pool);
    pthread_mutex_init(&idle_workers.lock, 0);
    pthread_cond_init(&idle_workers.changed, 0);
    pthread_mutex_init(&pool_in_use, 0);
}

static void install_fork_handler(void) { pthread_atfork(0, 0, reset_pool); }

/* Start a thread that blocks all signals: they are handled by the program's own threads. */
static int start_pool_thread(pool_thread *own) {
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int failed = pthread_create(&thread, 0, run_pool_thread, own);
    pthread_sigmask(SIG_SETMASK, &before, 0);
    if (!failed) pthread_detach(thread);
    return !failed;
}

/* After a task that took `duration` nanoseconds, for `lost` of which its workers have slept at barriers,
   together: whether the next is run alone. A trial begins when threads have done less than 1.2 times
   the work of one. */
int64_t nmt_next_alone(pace *p, int64_t workers, int64_t duration, int64_t lost) {
    if (p->phase == ALL) {
        if (5 * (workers * duration - lost) <= 6 * duration) *p = (pace){TRY_ALONE, TRIAL, {0, 0}};
    } else {
        if (p->phase <= TRY_ALL) p->spent[p->phase == TRY_ALL] += duration;
        if (--p->left == 0) {
            if (p->phase == TRY_ALONE)
                p->phase = TRY_ALL, p->left = TRIAL;
            else if (p->phase == TRY_ALL)
                p->phase = p->spent[0] < p->spent[1] ? ALONE : STAY_ALL,
                p->left = TASKS_BETWEEN_TRIALS;
            else
                *p = (pace){p->phase == ALONE ? TRY_ALONE : ALL, TRIAL, {0, 0}};
        }
    }
    return p->phase == TRY_ALONE || p->phase == ALONE;
}

/* Give the task of a region to threads of the pool; the number of workers with the caller. */
static int64_t start_workers(parallel_region *region, int64_t threads) {
    int64_t workers = 1;
    if (threads > MAX_THREADS) threads = MAX_THREADS;
    for (; workers < threads; workers++) {
        pool_thread *next = pool + workers;
        if (workers > started) {
            if (!start_pool_thread(next)) break;
            started = workers;
        }
        next->worker = (worker){region, workers, 0};
        set_and_notify(&idle_workers, &next->busy, 1);
    }
    return workers;
}

void run_parallel(int64_t threads, void (*work)(const worker *, void *), void *task) {
    parallel_region region = {
        work, task, 0, 0, 0, 0, PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER,
    };
    worker own = {&region, 0, 0};
    pthread_once(&fork_handler_installed, install_fork_handler);
    /* While another caller uses the pool the cores are busy, and this thread works alone. */
    const int has_pool = threads > 1 && !pthread_mutex_trylock(&pool_in_use);
    const int together = has_pool && pool_pace.phase != TRY_ALONE && pool_pace.phase != ALONE;
    const int64_t workers = together ? start_workers(&region, threads) : 1, begin = nanoseconds();
    set_and_notify(&region, &region.workers, workers);
    run_worker(&own);
    for (int64_t i = 1; i < workers; i++)
        region.lost += wait_for_change(&idle_workers, &pool[i].busy, 1);
    if (has_pool) {
        nmt_next_alone(&pool_pace, workers, nanoseconds() - begin, region.lost);
        pthread_mutex_unlock(&pool_in_use);
    }
    pthread_cond_destroy(&region.changed);
    pthread_mutex_destroy(&region.lock);
}

void find_range(const worker *own, int64_t count, int64_t *first, int64_t *last) {
    *first = count * own->index / own->workers;
    *last = count * (own->index + 1) / own->workers;
}

int64_t product_bytes(int64_t inputs) {
    return 4 * ((2 + KEPT) * MAX_ROWS + CACHED + (MAX_TILE_ROWS + BLOCK) * inputs) + 64;
}

typedef struct {
    const kernels *kernels;
    product_task task;
} parallel_product;

static void multiply_range(const worker *own, void *argument) {
    const parallel_product *product = argument;
    product_task task = product->task;
    find_range(own, (task.linear->outputs + PANEL - 1) / PANEL, &task.first, &task.last);
    task.scratch = (char *)task.scratch + own->index * product_bytes(task.linear->inputs);
    product->kernels->multiply(&task);
}

int64_t nmt_product_bytes(int64_t inputs) { return product_bytes(inputs); }

/* out = x W^T + b over `rows` rows; scratch: nmt_product_bytes for each thread. Returns 0 where the
   processor has no kernels of so many lanes. */
int64_t nmt_product(int64_t lanes, int64_t threads, const linear *l, const float *x, int64_t rows,
                    float *out, void *scratch) {
    parallel_product product = {find_kernels((int)lanes), {l, x, rows, 0, 0, 0, out, l->outputs, scratch}};
    if (!product.kernels) return 0;
    const int64_t useful_threads = rows * l->inputs * l->outputs / MIN_WORK_PER_THREAD;
    run_parallel(threads < useful_threads ? threads : useful_threads, multiply_range, &product);
    return 1;
}
