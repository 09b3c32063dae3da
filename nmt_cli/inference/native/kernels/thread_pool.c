/* Threads that share one piece of work, and products shared by outputs. */

#include <signal.h>

#include "kernels.h"

enum { MOST_THREADS = 64, SPINS = 4000 };
/* Less work than this is done sooner than a thread is started. */
static const int64_t WORTH_A_THREAD = 1 << 22;

struct team {
    void (*work)(const member *, void *);
    void *task;
    int64_t parts, arrived, round;
    pthread_mutex_t lock;
    pthread_cond_t changed;
};

/* Tell all that sleep. */
static void set(team *t, int64_t *number, int64_t value) {
    pthread_mutex_lock(&t->lock);
    __atomic_store_n(number, value, __ATOMIC_RELEASE);
    pthread_cond_broadcast(&t->changed);
    pthread_mutex_unlock(&t->lock);
}

/* Until a number is no longer what it was: awake for some microseconds, then asleep, since the
   thread that is waited for may need this very core. */
static void wait_for_change(team *t, const int64_t *number, int64_t before) {
    for (int64_t spins = 0; spins < SPINS; spins++) {
        if (__atomic_load_n(number, __ATOMIC_ACQUIRE) != before) return;
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
    }
    pthread_mutex_lock(&t->lock);
    while (__atomic_load_n(number, __ATOMIC_ACQUIRE) == before)
        pthread_cond_wait(&t->changed, &t->lock);
    pthread_mutex_unlock(&t->lock);
}

void wait_for_all(const member *m) {
    team *t = m->team;
    if (m->parts == 1) return;
    const int64_t round = __atomic_load_n(&t->round, __ATOMIC_ACQUIRE);
    if (__atomic_add_fetch(&t->arrived, 1, __ATOMIC_ACQ_REL) == m->parts) {
        __atomic_store_n(&t->arrived, 0, __ATOMIC_RELAXED);
        set(t, &t->round, round + 1);
    } else
        wait_for_change(t, &t->round, round);
}

static void join_in(member *own) {
    /* How many threads could be started is known when the last one is. */
    wait_for_change(own->team, &own->team->parts, 0);
    own->parts = __atomic_load_n(&own->team->parts, __ATOMIC_ACQUIRE);
    own->team->work(own, own->team->task);
}

/* Threads that stay, since one made anew for each step is seldom on a core of its own: `works` from
   when it is given a place in a team until it has done its part. */
typedef struct {
    int64_t works;
    member place;
} helper;

static helper helpers[MOST_THREADS];
static int64_t started;
/* All of them sleep on the same lock. */
static team bench = {0, 0, 0, 0, 0, PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER};
/* Who holds it has the helpers. */
static pthread_mutex_t in_use = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t prepared = PTHREAD_ONCE_INIT;

static void *help(void *given) {
    helper *own = given;
    for (;;) {
        wait_for_change(&bench, &own->works, 0);
        join_in(&own->place);
        set(&bench, &own->works, 0);
    }
    return 0;
}

/* A forked process has none of the threads. */
static void forget_helpers(void) {
    started = 0;
    memset(helpers, 0, sizeof helpers);
    pthread_mutex_init(&bench.lock, 0);
    pthread_cond_init(&bench.changed, 0);
    pthread_mutex_init(&in_use, 0);
}

static void prepare(void) { pthread_atfork(0, 0, forget_helpers); }

/* Signals are for the threads of the program. */
static int start_helper(helper *one) {
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int failed = pthread_create(&thread, 0, help, one);
    pthread_sigmask(SIG_SETMASK, &before, 0);
    if (!failed) pthread_detach(thread);
    return !failed;
}

void work_together(int64_t threads, void (*work)(const member *, void *), void *task) {
    team all = {
        work, task, 0, 0, 0, PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER,
    };
    member own = {&all, 0, 0};
    int64_t parts = 1;
    pthread_once(&prepared, prepare);
    /* Where others are at it, the cores are busy already. */
    const int shared = threads > 1 && !pthread_mutex_trylock(&in_use);
    if (threads > MOST_THREADS) threads = MOST_THREADS;
    for (; shared && parts < threads; parts++) {
        helper *one = helpers + parts;
        if (parts > started) {
            if (!start_helper(one)) break;
            started = parts;
        }
        one->place = (member){&all, parts, 0};
        set(&bench, &one->works, 1);
    }
    set(&all, &all.parts, parts);
    join_in(&own);
    for (int64_t i = 1; i < parts; i++) wait_for_change(&bench, &helpers[i].works, 1);
    if (shared) pthread_mutex_unlock(&in_use);
    pthread_cond_destroy(&all.changed);
    pthread_mutex_destroy(&all.lock);
}

void find_share(const member *m, int64_t count, int64_t *first, int64_t *last) {
    *first = count * m->part / m->parts;
    *last = count * (m->part + 1) / m->parts;
}

int64_t product_bytes(int64_t inputs) {
    return 4 * (2 * MOST_ROWS + CACHED + (MOST_TILE_ROWS + PANEL) * inputs) + 64;
}

typedef struct {
    const kernels *kernels;
    product_task task;
} shared_product;

static void multiply_share(const member *m, void *given) {
    const shared_product *all = given;
    product_task task = all->task;
    find_share(m, (task.linear->outputs + PANEL - 1) / PANEL, &task.first, &task.last);
    task.scratch = (char *)task.scratch + m->part * product_bytes(task.linear->inputs);
    all->kernels->multiply(&task);
}

int64_t nmt_product_bytes(int64_t inputs) { return product_bytes(inputs); }

/* out = x W^T + b over `rows` rows; scratch: nmt_product_bytes a thread. 0: no such kernels. */
int64_t nmt_product(int64_t lanes, int64_t threads, const linear *l, const float *x, int64_t rows,
                    float *out, void *scratch) {
    shared_product all = {find_kernels((int)lanes), {l, x, rows, 0, 0, 0, out, scratch}};
    if (!all.kernels) return 0;
    const int64_t worth = rows * l->inputs * l->outputs / WORTH_A_THREAD;
    work_together(threads < worth ? threads : worth, multiply_share, &all);
    return 1;
}
