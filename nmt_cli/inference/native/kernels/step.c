/* A pass through a stack: the encoder, or one step of the decoder for all rows, from ids to logits.
   Each thread has rows of its own, or where these would be few a share of every product, and of the
   rows in what lies between. */

#include "step.h"

/* Less work than this is done sooner than a thread is started. */
static const int64_t WORTH_A_THREAD = 1 << 22;
/* With fewer rows of its own a thread waits for the weights, which all of them then read. */
static const int64_t WORTH_ROWS = 32;

typedef struct {
    const kernels *kernels;
    const model *model;
    const state *state;
} job;

static void multiply(const worker *w, const linear *l, const float *x, float *out, int64_t relu) {
    product_task task = {l, x + w->first * l->inputs, w->last - w->first, 0, 0, relu,
                         out + w->first * l->outputs, w->scratch};
    find_share(&w->shared, (l->outputs + PANEL - 1) / PANEL, &task.first, &task.last);
    w->kernels->multiply(&task);
    wait_for_all(&w->shared);
}

static void embed(const worker *w) {
    const model *m = w->model;
    const state *s = w->state;
    int64_t first, last;
    find_rows(w, &first, &last);
    for (int64_t row = first; row < last; row++) {
        const int64_t slot = s->slots[row / s->beam], length = s->lengths[slot];
        const int64_t id = s->ids[slot * s->beam + row % s->beam];
        const int64_t place = length < m->place_rows ? length : m->place_rows - 1;
        const float *from = m->embedding + id * m->d_model, *add = m->places + place * m->d_model;
        float *to = (m->pre_norm ? s->x : s->normed) + row * m->d_model;
        for (int64_t i = 0; i < m->d_model; i++)
            to[i] = from[i] * m->scale + (m->places ? add[i] : 0.0f);
        if (m->pre_norm)
            w->kernels->normalise(&m->first, to, 0, 0, s->normed + row * m->d_model, m->d_model);
    }
    wait_for_all(&w->shared);
}

/* After a sublayer: what it made is added, and normalised for the next one. */
static void add(const worker *w, const norm *n) {
    const int64_t width = w->model->d_model;
    const state *s = w->state;
    int64_t first, last;
    find_rows(w, &first, &last);
    for (int64_t i = first * width; i < last * width; i += width) {
        float *x = w->model->pre_norm ? s->x + i : 0;
        w->kernels->normalise(n, x ? x : s->normed + i, s->made + i, x, s->normed + i, width);
    }
    wait_for_all(&w->shared);
}

/* Attention of all rows and heads; rows of a slot, which see much of the same, one after the other. */
static void attend(const worker *w, int64_t layer,
                   void (*look)(const worker *, int64_t, int64_t, int64_t)) {
    const int64_t beam = w->state->beam, items = w->model->heads * beam;
    int64_t first, last;
    find_share(&w->shared, (w->last - w->first) / beam * items, &first, &last);
    for (int64_t item = first; item < last; item++)
        look(w, layer, w->first + item / items * beam + item % beam, item % items / beam);
    wait_for_all(&w->shared);
}

static void activate(const worker *w) {
    const model *m = w->model;
    const state *s = w->state;
    int64_t first, last;
    if (m->activation == RELU && !m->gated) return;
    find_rows(w, &first, &last);
    for (int64_t row = first; row < last; row++) {
        float *inner = s->inner + row * m->d_ff * (m->gated ? 2 : 1);
        w->kernels->activate(m->activation, inner, m->gated ? inner + m->d_ff : 0, m->d_ff);
        if (m->gated) memcpy(s->gated + row * m->d_ff, inner, sizeof(float) * m->d_ff);
    }
    wait_for_all(&w->shared);
}

static void feed_forward(const worker *w, const layer *l) {
    const model *m = w->model;
    const state *s = w->state;
    multiply(w, &l->inner, s->normed, s->inner, m->activation == RELU && !m->gated);
    activate(w);
    multiply(w, &l->outer, m->gated ? s->gated : s->inner, s->made, 0);
    add(w, &l->norms[2]);
}

static void pass_decoder_layer(const worker *w, int64_t number) {
    const state *s = w->state;
    const layer *l = w->model->layers + number;
    multiply(w, &l->joined, s->normed, s->joined, 0);
    attend(w, number, look_back);
    multiply(w, &l->output, s->attended, s->made, 0);
    add(w, &l->norms[0]);
    multiply(w, &l->query, s->normed, s->query, 0);
    attend(w, number, look_at_source);
    multiply(w, &l->cross_output, s->attended, s->made, 0);
    add(w, &l->norms[1]);
    feed_forward(w, l);
}

static void pass_encoder_layer(const worker *w, int64_t number) {
    const state *s = w->state;
    const layer *l = w->model->layers + number;
    multiply(w, &l->joined, s->normed, s->joined, 0);
    turn_rows(w);
    attend(w, number, look_around);
    multiply(w, &l->output, s->attended, s->made, 0);
    add(w, &l->norms[0]);
    feed_forward(w, l);
}

static void sum_up(const worker *w) {
    const state *s = w->state;
    int64_t first, last;
    find_rows(w, &first, &last);
    for (int64_t row = first; row < last; row++) {
        const word_list *list = s->lists ? s->lists + s->slots[row / s->beam] : 0;
        w->kernels->sum_up(find_logits(s->logits, list, row, s->beam, s->widest),
                           list ? list->head.outputs : s->widest,
                           s->maxima + row * (s->widest / BLOCK), s->totals + row);
    }
}

/* A member of the team. */
static worker make_worker(const member *own, const job *job) {
    const state *s = job->state;
    worker w = {job->kernels, job->model, s, *own, 0, s->busy * s->beam, 0, 0, 0, 0};
    w.scratch = (char *)s->scratch + own->part * s->scratch_bytes;
    w.keys = (const float **)(w.scratch + s->scratch_bytes) - 2 * s->longest;
    w.values = w.keys + s->longest;
    w.scores = (float *)w.keys - s->longest - 2 * PANEL;
    return w;
}

/* Whether threads are done with a layer sooner than one of them: they wait for each other after
   every product, which takes microseconds. A product takes as long as its arithmetic, or as its
   weights take to come. */
static int worth_sharing(const layer *l, int64_t rows) {
    static const double BYTES[] = {4, 2, 1}, NUMBERS_A_MICROSECOND = 4e4, BYTES_A_MICROSECOND = 1e4;
    static const double WAITS = 12, LEAST_MICROSECONDS = 50;
    const linear *products[] = {&l->joined, &l->output, &l->query, &l->cross_output, &l->inner,
                                &l->outer};
    double weights = 0;
    for (int i = 0; i < 6; i++) weights += (double)products[i]->inputs * products[i]->outputs;
    const double computed = weights * rows / NUMBERS_A_MICROSECOND;
    const double read = weights * BYTES[l->joined.kind] / BYTES_A_MICROSECOND;
    return (computed > read ? computed : read) > WAITS * LEAST_MICROSECONDS;
}

static void pass_decoder(const worker *w) {
    embed(w);
    for (int64_t number = 0; number < w->model->depth; number++) pass_decoder_layer(w, number);
}

/* A thread that shares its rows with nobody: those of the slots that are its part. */
static worker take_rows(const worker *w) {
    const state *s = w->state;
    worker alone = *w;
    find_share(&w->shared, s->busy, &alone.first, &alone.last);
    alone.first *= s->beam;
    alone.last *= s->beam;
    alone.shared = (member){w->shared.team, 0, 1};
    return alone;
}

static void decode(const member *own, void *given) {
    const job *job = given;
    const state *s = job->state;
    const int64_t rows = s->busy * s->beam;
    const worker w = make_worker(own, job);
    if (rows >= own->parts * WORTH_ROWS) {
        const worker alone = take_rows(&w);
        pass_decoder(&alone);
    } else if (worth_sharing(job->model->layers, rows)) pass_decoder(&w);
    else if (!own->part) {
        worker all = w;
        all.shared = (member){own->team, 0, 1};
        pass_decoder(&all);
    }
    wait_for_all(own);
    if (s->lists) multiply_lists(&w);
    else multiply(&w, &job->model->head, s->normed, s->logits, 0);
    sum_up(&w);
}

static void encode(const member *own, void *given) {
    const job *job = given;
    const model *m = job->model;
    const state *s = job->state;
    const worker w = make_worker(own, job);
    int64_t first, last;
    find_rows(&w, &first, &last);
    for (int64_t i = first * m->d_model; m->pre_norm && i < last * m->d_model; i += m->d_model)
        w.kernels->normalise(&m->first, s->x + i, 0, 0, s->normed + i, m->d_model);
    wait_for_all(&w.shared);
    for (int64_t number = 0; number < m->depth; number++) pass_encoder_layer(&w, number);
}

/* Each hypothesis has the ancestors of its parent, and then itself. */
static void note_ancestors(const state *s, int64_t slot) {
    const int64_t length = s->lengths[slot], first = slot * s->beam;
    int32_t *table = s->ancestors + first * s->capacity, *before = s->scratch;
    for (int64_t i = 0; i < s->beam; i++)
        memcpy(before + i * length, table + i * s->capacity, sizeof(int32_t) * length);
    for (int64_t i = 0; i < s->beam; i++) {
        const int64_t parent = s->parents[first + i] - first;
        memcpy(table + i * s->capacity, before + parent * length, sizeof(int32_t) * length);
        table[i * s->capacity + length] = (int32_t)i;
    }
}

/* Room that a thread of a step needs: `longest` is the length of the longest sentence, either side;
   `inputs` of the widest product. */
int64_t nmt_step_bytes(int64_t inputs, int64_t longest, int64_t beam) {
    const int64_t looking = longest * (2 * sizeof(float *) + sizeof(float)) + 8 * PANEL;
    const int64_t noting = beam * longest * sizeof(int32_t);
    return (product_bytes(inputs) + looking + noting + 63) / 64 * 64;
}

/* Logits, in whole blocks, after the ids of the busy rows, whose lengths grow. 0: none such. */
int64_t nmt_step(int64_t lanes, const model *m, const state *s) {
    job job = {find_kernels((int)lanes), m, s};
    if (!job.kernels) return 0;
    for (int64_t i = 0; i < s->busy; i++) note_ancestors(s, s->slots[i]);
    const int64_t size = s->busy * s->beam * m->d_model * (s->widest + m->depth * m->d_ff);
    const int64_t worth = size / WORTH_A_THREAD;
    work_together(s->threads < worth ? s->threads : worth, decode, &job);
    for (int64_t i = 0; i < s->busy; i++) s->lengths[s->slots[i]]++;
    return 1;
}

/* What a stack makes of the rows of sources, in `normed`; they begin in `x` with pre-norm, else in
   `normed`. 0: no such kernels. */
int64_t nmt_encode(int64_t lanes, const model *m, const state *s) {
    job job = {find_kernels((int)lanes), m, s};
    if (!job.kernels) return 0;
    const int64_t worth = s->busy * m->d_model * m->depth * m->d_ff / WORTH_A_THREAD;
    work_together(s->threads < worth ? s->threads : worth, encode, &job);
    return 1;
}
