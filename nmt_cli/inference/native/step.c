/* A pass through a stack: one step of the decoder for all rows, from ids to logits, where threads
   have rows of their own if there are many; or the encoder, and the decoder of few rows, where
   each thread has a share of every product. */

#include "step.h"

/* So many rows of its own keep a thread busy. */
enum { OWN_ROWS = 24 };
/* Less work than this is done sooner than a thread is started. */
static const int64_t WORTH_A_THREAD = 1 << 22;

/* A thread: the rows [first, last) are shared with `shared`. */
typedef struct {
    const kernels *kernels;
    const model *model;
    const state *state;
    member shared;
    int64_t first, last;
    char *scratch;
    const float **keys, **values;
    float *scores;
} worker;

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

/* The rows of this part of the team, for work that is not a product. */
static void find_rows(const worker *w, int64_t *first, int64_t *last) {
    find_share(&w->shared, w->last - w->first, first, last);
    *first += w->first;
    *last += w->first;
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

/* Each pair of neighbours is turned by the angle of the place. */
static void turn(float *x, const float *cosines, const float *sines, int64_t width) {
    for (int64_t i = 0; i < width / 2; i++) {
        const float even = x[2 * i], odd = x[2 * i + 1];
        x[2 * i] = even * cosines[i] - odd * sines[i];
        x[2 * i + 1] = even * sines[i] + odd * cosines[i];
    }
}

/* The keys and values of a layer in the block of a step, and at which of its places they lie. */
static float *find_block(const worker *w, int64_t slot, int64_t layer, int64_t step, int64_t row,
                         int64_t *place) {
    const model *m = w->model;
    const state *s = w->state;
    const int64_t size = s->growth * s->beam * m->heads * (m->d_k + m->d_v);
    *place = step % s->growth * s->beam + row;
    return s->blocks[step / s->growth] + (slot * m->depth + layer) * size;
}

static void look_back(const worker *w, int64_t layer, int64_t row, int64_t head) {
    const model *m = w->model;
    const state *s = w->state;
    const int64_t slot = s->slots[row / s->beam], own = row % s->beam, length = s->lengths[slot];
    const int64_t places = s->growth * s->beam, before = places * m->heads * m->d_k;
    float *query = s->joined + row * m->heads * (2 * m->d_k + m->d_v) + head * m->d_k;
    float *key = query + m->heads * m->d_k;
    const float *value = query - head * m->d_k + 2 * m->heads * m->d_k + head * m->d_v;
    if (m->cosines) {
        const int64_t angle = length * (m->d_k / 2);
        turn(query, m->cosines + angle, m->sines + angle, m->d_k);
        turn(key, m->cosines + angle, m->sines + angle, m->d_k);
    }
    int64_t place;
    float *block = find_block(w, slot, layer, length, own, &place);
    memcpy(block + (head * places + place) * m->d_k, key, sizeof(float) * m->d_k);
    memcpy(block + before + (head * places + place) * m->d_v, value, sizeof(float) * m->d_v);
    const int32_t *ancestors = s->ancestors + (slot * s->beam + own) * s->capacity;
    for (int64_t t = 0; t <= length; t++) {
        block = find_block(w, slot, layer, t, ancestors[t], &place);
        w->keys[t] = block + place * m->d_k;
        w->values[t] = block + before + place * m->d_v;
    }
    seen all = {w->keys, w->values, length + 1, head * places * m->d_k, head * places * m->d_v,
                m->d_k, m->d_v, w->scores};
    w->kernels->look(query, &all, s->attended + (row * m->heads + head) * m->d_v);
}

/* A token of a source looks at its sentence, whose keys and values are those just made. */
static void look_around(const worker *w, int64_t layer, int64_t row, int64_t head) {
    const model *m = w->model;
    const state *s = w->state;
    const int64_t start = s->starts[row], count = s->ends[row] - start;
    const int64_t keys = m->heads * m->d_k, width = 2 * keys + m->heads * m->d_v;
    (void)layer;
    for (int64_t t = 0; t < count; t++) {
        const float *joined = s->joined + (start + t) * width;
        w->keys[t] = joined + keys + head * m->d_k;
        w->values[t] = joined + 2 * keys + head * m->d_v;
    }
    seen all = {w->keys, w->values, count, 0, 0, m->d_k, m->d_v, w->scores};
    w->kernels->look(s->joined + row * width + head * m->d_k, &all,
                     s->attended + (row * m->heads + head) * m->d_v);
}

/* Turn queries and keys of the encoder before anybody looks at them. */
static void turn_rows(const worker *w) {
    const model *m = w->model;
    const state *s = w->state;
    const int64_t width = m->heads * (2 * m->d_k + m->d_v);
    int64_t first, last;
    if (!m->cosines) return;
    find_rows(w, &first, &last);
    for (int64_t row = first; row < last; row++) {
        const int64_t angle = s->positions[row] * (m->d_k / 2);
        for (int64_t head = 0; head < 2 * m->heads; head++)
            turn(s->joined + row * width + head * m->d_k, m->cosines + angle, m->sines + angle,
                 m->d_k);
    }
    wait_for_all(&w->shared);
}

static void look_at_source(const worker *w, int64_t layer, int64_t row, int64_t head) {
    const model *m = w->model;
    const state *s = w->state;
    const source *from = s->sources + s->slots[row / s->beam];
    const int64_t start = (layer * m->heads + head) * from->stride;
    for (int64_t t = 0; t < from->length; t++) {
        w->keys[t] = from->keys + (start + t) * m->d_k;
        w->values[t] = from->values + (start + t) * m->d_v;
    }
    seen all = {w->keys, w->values, from->length, 0, 0, m->d_k, m->d_v, w->scores};
    w->kernels->look(s->joined + (row * m->heads + head) * m->d_k, &all,
                     s->attended + (row * m->heads + head) * m->d_v);
}

/* Attention of all rows and heads. */
static void attend(const worker *w, int64_t layer,
                   void (*look)(const worker *, int64_t, int64_t, int64_t)) {
    const int64_t heads = w->model->heads;
    int64_t first, last;
    find_share(&w->shared, (w->last - w->first) * heads, &first, &last);
    for (int64_t item = first; item < last; item++)
        look(w, layer, w->first + item / heads, item % heads);
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
    multiply(w, &l->query, s->normed, s->joined, 0);
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
    const int64_t words = w->model->head.outputs;
    int64_t first, last;
    find_rows(w, &first, &last);
    for (int64_t row = first; row < last; row++)
        w->kernels->sum_up(s->logits + row * words, words, s->maxima + row * (words / BLOCK),
                           s->totals + row);
}

/* A member of the team, for all rows or, if `apart`, for rows of its own. */
static worker make_worker(const member *own, const job *job, int apart) {
    const state *s = job->state;
    worker w = {job->kernels, job->model, s, *own, 0, s->busy * s->beam, 0, 0, 0, 0};
    if (apart) {
        find_share(own, w.last, &w.first, &w.last);
        w.shared = (member){own->team, 0, 1};
    }
    w.scratch = (char *)s->scratch + own->part * s->scratch_bytes;
    w.keys = (const float **)(w.scratch + s->scratch_bytes) - 2 * s->longest;
    w.values = w.keys + s->longest;
    w.scores = (float *)w.keys - s->longest - 2 * PANEL;
    return w;
}

static void decode(const member *own, void *given) {
    const job *job = given;
    const state *s = job->state;
    const worker w = make_worker(own, job, s->busy * s->beam >= own->parts * OWN_ROWS);
    embed(&w);
    for (int64_t number = 0; number < job->model->depth; number++) pass_decoder_layer(&w, number);
    multiply(&w, &job->model->head, s->normed, s->logits, 0);
    sum_up(&w);
}

static void encode(const member *own, void *given) {
    const job *job = given;
    const model *m = job->model;
    const state *s = job->state;
    const worker w = make_worker(own, job, 0);
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

/* Logits, in whole blocks, after the ids of the busy rows, whose lengths grow. 0: no such kernels. */
int64_t nmt_step(int64_t lanes, const model *m, const state *s) {
    job job = {find_kernels((int)lanes), m, s};
    if (!job.kernels) return 0;
    for (int64_t i = 0; i < s->busy; i++) note_ancestors(s, s->slots[i]);
    const int64_t size = s->busy * s->beam * m->d_model * (m->head.outputs + m->depth * m->d_ff);
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
