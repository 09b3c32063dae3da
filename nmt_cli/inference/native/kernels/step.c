/* A pass through the encoder, or one step of the decoder for all rows, from ids to logits. Each
   thread takes rows of its own; where these would be few, the threads divide the outputs of every
   product, and the rows in the operations between products. */

#include <errno.h>
#include <unistd.h>

#include "step.h"

/* Multiplications. With less work than this, starting a thread takes longer than doing it. */
static const int64_t MIN_WORK_PER_THREAD = 1 << 22;
static const int64_t WEIGHT_BYTES[] = {[FLOAT32] = 4, [BF16] = 2, [INT8] = 1, [SPLIT] = 4};
/* With fewer rows a thread waits for memory, since each thread reads all weights. */
static const int64_t MIN_ROWS_PER_THREAD = 32;

typedef struct {
    const kernels *kernels;
    const model *model;
    const state *state;
} pass_task;

/* Sentences are encoded in groups of so many tokens, or one longer sentence: more do not make the
   products faster, and would need more room. */
static const int64_t ENCODED_TOGETHER = 512;

/* begin: the first token of the group. */
typedef struct {
    pass_task pass;
    const encoding *encoding;
    int64_t begin;
} encode_task;

static void multiply(const pass_worker *w, const linear *l, const float *x, float *out,
                     int64_t relu) {
    product_task task = {l, x + w->first * l->inputs, w->last - w->first, 0, 0, relu,
                         out + w->first * l->outputs, l->outputs, w->scratch};
    find_range(&w->worker, (l->outputs + PANEL - 1) / PANEL, &task.first, &task.last);
    w->kernels->multiply(&task);
    barrier(&w->worker);
}

/* Read the embedding of a word from its file. A row that is not there is one of zeros. */
static void read_row(const model *m, int64_t id, float *to) {
    const int64_t size = sizeof(float) * m->d_model, begin = m->embedding_begin + id * size;
    for (int64_t done = 0, count; done < size; done += count) {
        count = pread((int)m->embedding_file, (char *)to + done, size - done, begin + done);
        if (count > 0) continue;
        if (count < 0 && errno == EINTR) {
            count = 0;
            continue;
        }
        __atomic_store_n(m->unreadable, 1, __ATOMIC_RELAXED);
        memset(to, 0, size);
        return;
    }
}

/* Copy the embedding of a word. */
static void look_up(const model *m, int64_t id, float *to) {
    if (!m->embedding) {
        read_row(m, id, to);
        return;
    }
    if (!m->embedded_in_panels) {
        memcpy(to, m->embedding + id * m->d_model, sizeof(float) * m->d_model);
        return;
    }
    const float *from = m->embedding + id / PANEL * PANEL * m->d_model + id % PANEL;
    for (int64_t i = 0; i < m->d_model; i++) to[i] = from[i * PANEL];
}

/* The input of the first layer: the embedding of a word at a position of its sentence. */
static void embed_row(const pass_worker *w, int64_t row, int64_t id, int64_t position) {
    const model *m = w->model;
    const state *s = w->state;
    const int64_t last = m->position_rows - 1, place = position < last ? position : last;
    const float *encoding = m->position_table + place * m->d_model;
    float *to = (m->pre_norm ? s->x : s->normed) + row * m->d_model;
    look_up(m, id, to);
    for (int64_t i = 0; i < m->d_model; i++)
        to[i] = to[i] * m->scale + (m->position_table ? encoding[i] : 0.0f);
    if (m->pre_norm)
        w->kernels->normalise(&m->first_norm, to, 0, 0, s->normed + row * m->d_model, m->d_model);
}

static void embed(const pass_worker *w) {
    const state *s = w->state;
    int64_t first, last;
    find_rows(w, &first, &last);
    for (int64_t row = first; row < last; row++) {
        const int64_t slot = s->slots[row / s->beam];
        embed_row(w, row, s->ids[slot * s->slot_rows + row % s->beam], s->lengths[slot]);
    }
    barrier(&w->worker);
}

/* Residual connection and normalisation: add the sublayer's output, normalise for the next one. */
static void add_and_normalise(const pass_worker *w, const norm *n) {
    const int64_t width = w->model->d_model;
    const state *s = w->state;
    int64_t first, last;
    find_rows(w, &first, &last);
    for (int64_t i = first * width; i < last * width; i += width) {
        float *x = w->model->pre_norm ? s->x + i : 0;
        w->kernels->normalise(n, x ? x : s->normed + i, s->sublayer_output + i, x, s->normed + i,
                              width);
    }
    barrier(&w->worker);
}

/* Attention of all rows and heads, by slots. */
static void attend(const pass_worker *w, int64_t layer,
                   void (*attend_slot)(const pass_worker *, int64_t, int64_t, int64_t, int64_t)) {
    const int64_t beam = w->state->beam, heads = w->model->heads;
    int64_t first, last;
    find_range(&w->worker, (w->last - w->first) / beam * heads, &first, &last);
    for (int64_t next, head = first; head < last; head = next) {
        const int64_t slot = head / heads;
        next = (slot + 1) * heads < last ? (slot + 1) * heads : last;
        attend_slot(w, layer, w->first + slot * beam, head - slot * heads, next - slot * heads);
    }
    barrier(&w->worker);
}

static void activate(const pass_worker *w) {
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
    barrier(&w->worker);
}

static void feed_forward(const pass_worker *w, const layer *l) {
    const model *m = w->model;
    const state *s = w->state;
    multiply(w, &l->inner, s->normed, s->inner, m->activation == RELU && !m->gated);
    activate(w);
    multiply(w, &l->outer, m->gated ? s->gated : s->inner, s->sublayer_output, 0);
    add_and_normalise(w, &l->norms[2]);
}

static void pass_decoder_layer(const pass_worker *w, int64_t index) {
    const state *s = w->state;
    const layer *l = w->model->layers + index;
    multiply(w, &l->joined, s->normed, s->joined, 0);
    attend(w, index, decoder_self_attention);
    multiply(w, &l->output, s->attended, s->sublayer_output, 0);
    add_and_normalise(w, &l->norms[0]);
    multiply(w, &l->query, s->normed, s->query, 0);
    cross_attention(w, index);
    multiply(w, &l->cross_output, s->attended, s->sublayer_output, 0);
    add_and_normalise(w, &l->norms[1]);
    feed_forward(w, l);
}

static void pass_encoder_layer(const pass_worker *w, int64_t index) {
    const state *s = w->state;
    const layer *l = w->model->layers + index;
    multiply(w, &l->joined, s->normed, s->joined, 0);
    rotate_queries_and_keys(w);
    attend(w, index, encoder_self_attention);
    multiply(w, &l->output, s->attended, s->sublayer_output, 0);
    add_and_normalise(w, &l->norms[0]);
    feed_forward(w, l);
}

/* The worker of a pass with its part of the scratch memory; it shares all rows. */
static pass_worker make_worker(const worker *own, const pass_task *task) {
    const state *s = task->state;
    const int64_t pointers = s->beam * s->longest;
    pass_worker w = {task->kernels, task->model, s, *own, 0, s->busy * s->beam, 0, 0, 0, 0, 0};
    w.scratch = (char *)s->scratch + own->index * s->scratch_bytes;
    w.keys = (const float **)(w.scratch + s->scratch_bytes) - 2 * pointers;
    w.values = w.keys + pointers;
    w.pasts = (row_past *)w.keys - s->beam;
    w.scores = (float *)w.pasts - TOGETHER * (s->longest + 2 * PANEL);
    return w;
}

/* How many threads have enough work. To read a byte of a weight takes about as long as to multiply it
   with a row. */
static int64_t find_useful_threads(int64_t threads, int64_t rows, int64_t weights, int64_t kind) {
    const int64_t work = weights * (rows > WEIGHT_BYTES[kind] ? rows : WEIGHT_BYTES[kind]);
    const int64_t useful = work / MIN_WORK_PER_THREAD;
    return threads < useful ? threads : useful;
}

/* Whether several threads compute a layer sooner than one: they meet at a barrier after every
   product, which takes microseconds. A product takes as long as its arithmetic, or as reading its
   weights from memory. */
static int sharing_pays(const layer *l, int64_t rows) {
    static const double NUMBERS_A_MICROSECOND = 4e4, BYTES_A_MICROSECOND = 1e4;
    static const double BARRIERS = 12, MICROSECONDS_BETWEEN = 50;
    const linear *products[] = {&l->joined, &l->output, &l->query, &l->cross_output, &l->inner,
                                &l->outer};
    double weights = 0;
    for (int i = 0; i < 6; i++) weights += (double)products[i]->inputs * products[i]->outputs;
    const double computed = weights * rows / NUMBERS_A_MICROSECOND;
    const double read = weights * (double)WEIGHT_BYTES[l->joined.kind] / BYTES_A_MICROSECOND;
    return (computed > read ? computed : read) > BARRIERS * MICROSECONDS_BETWEEN;
}

static void pass_decoder(const pass_worker *w) {
    embed(w);
    for (int64_t index = 0; index < w->model->depth; index++) pass_decoder_layer(w, index);
}

/* The same worker with rows of its own, which it shares with no other. */
static pass_worker take_own_rows(const pass_worker *w) {
    const state *s = w->state;
    pass_worker alone = *w;
    find_range(&w->worker, s->busy, &alone.first, &alone.last);
    alone.first *= s->beam;
    alone.last *= s->beam;
    alone.worker = (worker){w->worker.region, 0, 1};
    return alone;
}

static void decode(const worker *own, void *argument) {
    const pass_task *task = argument;
    const state *s = task->state;
    const int64_t rows = s->busy * s->beam;
    const pass_worker w = make_worker(own, task);
    if (rows >= own->workers * MIN_ROWS_PER_THREAD) {
        const pass_worker alone = take_own_rows(&w);
        pass_decoder(&alone);
    } else if (sharing_pays(task->model->layers, rows)) pass_decoder(&w);
    else if (!own->index) {
        pass_worker all = w;
        all.worker = (worker){own->region, 0, 1};
        pass_decoder(&all);
    }
    barrier(own);
    compute_head(&w);
}

/* Keys and values of the encoder's output for a layer of the decoder, by heads. */
static void keep_memory(const pass_worker *w, const encode_task *task, int64_t layer) {
    const encoding *e = task->encoding;
    const model *m = w->model;
    const float *joined = w->state->joined;
    const int64_t key_width = m->heads * m->d_k, width = key_width + m->heads * m->d_v;
    int64_t first, last;
    multiply(w, e->memory + layer, w->state->normed, w->state->joined, 0);
    find_rows(w, &first, &last);
    for (int64_t head = 0; head < m->heads; head++) {
        const int64_t begin = (layer * m->heads + head) * e->tokens + task->begin;
        for (int64_t row = first; row < last; row++) {
            const float *key = joined + row * width + head * m->d_k;
            const float *value = joined + row * width + key_width + head * m->d_v;
            memcpy(e->keys + (begin + row) * m->d_k, key, sizeof(float) * m->d_k);
            memcpy(e->values + (begin + row) * m->d_v, value, sizeof(float) * m->d_v);
        }
    }
    barrier(&w->worker);
}

static void encode(const worker *own, void *argument) {
    const encode_task *task = argument;
    const pass_worker w = make_worker(own, &task->pass);
    const state *s = w.state;
    int64_t first, last;
    find_rows(&w, &first, &last);
    for (int64_t row = first; row < last; row++)
        embed_row(&w, row, task->encoding->ids[task->begin + row], s->positions[row]);
    barrier(&w.worker);
    for (int64_t index = 0; index < w.model->depth; index++) pass_encoder_layer(&w, index);
    for (int64_t layer = 0; layer < task->encoding->layers; layer++)
        keep_memory(&w, task, layer);
}

static void compute_all_logits(const worker *own, void *argument) {
    const pass_worker w = make_worker(own, argument);
    compute_head(&w);
}

/* The ancestors of each hypothesis: those of its parent, then itself. */
static void update_ancestors(const state *s, int64_t slot) {
    const int64_t length = s->lengths[slot], first = slot * s->slot_rows;
    int32_t *table = s->ancestors + first * s->capacity, *before = s->scratch;
    for (int64_t i = 0; i < s->slot_rows; i++)
        memcpy(before + i * length, table + i * s->capacity, sizeof(int32_t) * length);
    for (int64_t i = 0; i < s->slot_rows; i++) {
        const int64_t parent = s->parents[first + i] - first;
        memcpy(table + i * s->capacity, before + parent * length, sizeof(int32_t) * length);
        table[i * s->capacity + length] = (int32_t)i;
    }
}

/* Bytes of scratch memory that a thread needs for a step; longest: the length of the longest
   sentence of either side; inputs: of the widest product. */
int64_t nmt_step_bytes(int64_t inputs, int64_t longest, int64_t beam) {
    const int64_t pointer_bytes = beam * (2 * longest * sizeof(float *) + sizeof(row_past));
    const int64_t score_bytes = TOGETHER * (longest + 2 * PANEL) * sizeof(float);
    const int64_t ancestor_bytes = beam * longest * sizeof(int32_t);
    return (product_bytes(inputs) + pointer_bytes + score_bytes + ancestor_bytes + 63) / 64 * 64;
}

/* Compute the logits after the ids of the busy rows, of which those of the best blocks are written,
   and increment the lengths.
   Returns 0 where the processor has no kernels of so many lanes. */
int64_t nmt_step(int64_t lanes, const model *m, const state *s) {
    pass_task task = {find_kernels((int)lanes), m, s};
    if (!task.kernels) return 0;
    for (int64_t i = 0; i < s->busy; i++) update_ancestors(s, s->slots[i]);
    const int64_t weights = m->d_model * (s->widest + m->depth * m->d_ff);
    run_parallel(find_useful_threads(s->threads, s->busy * s->beam, weights, m->head.kind), decode,
                 &task);
    for (int64_t i = 0; i < s->busy; i++) s->lengths[s->slots[i]]++;
    return 1;
}

/* Compute all logits again, after a step that wrote only some of them. */
int64_t nmt_logits(int64_t lanes, const model *m, const state *s) {
    pass_task task = {find_kernels((int)lanes), m, s};
    if (!task.kernels) return 0;
    run_parallel(s->threads, compute_all_logits, &task);
    return 1;
}

/* The next `size` numbers of 4 bytes of the room, from a cache line on. */
static void *take(char **room, int64_t size) {
    char *from = *room;
    *room += (4 * size + 63) / 64 * 64;
    return from;
}

/* The tokens of the group that begins with this sentence; moves to the next group. */
static int64_t next_group(const encoding *e, int64_t *sentence) {
    int64_t tokens = e->lengths[(*sentence)++];
    while (*sentence < e->sentences && tokens + e->lengths[*sentence] <= ENCODED_TOGETHER)
        tokens += e->lengths[(*sentence)++];
    return tokens;
}

/* Lay out the room of an encoding, from a cache line on; returns its end. */
static char *lay_out_encoding(const model *m, const encoding *e, char *room, state *s) {
    const int64_t inner = m->d_ff * (m->gated ? 2 : 1);
    int64_t rows = 0;
    for (int64_t sentence = 0; sentence < e->sentences;) {
        const int64_t tokens = next_group(e, &sentence);
        if (tokens > rows) rows = tokens;
    }
    s->x = take(&room, rows * m->d_model);
    s->normed = take(&room, rows * m->d_model);
    s->sublayer_output = take(&room, rows * m->d_model);
    s->joined = take(&room, rows * m->heads * (2 * m->d_k + m->d_v));
    s->attended = take(&room, rows * m->heads * m->d_v);
    s->inner = take(&room, rows * inner);
    s->gated = take(&room, m->gated ? rows * m->d_ff : 0);
    s->starts = take(&room, 2 * rows);
    s->ends = take(&room, 2 * rows);
    s->positions = take(&room, 2 * rows);
    s->scratch_bytes = nmt_step_bytes(e->widest, e->longest, 1);
    s->scratch = room;
    return room + e->threads * s->scratch_bytes;
}

/* Bytes of the room that `nmt_encode` needs. */
int64_t nmt_encode_bytes(const model *m, const encoding *e) {
    state s;
    char *begin = (char *)64;
    return lay_out_encoding(m, e, begin, &s) - begin;
}

/* Encode the sentences [first, last), which have `tokens` tokens from `begin` on. */
static void encode_group(const model *m, const encoding *e, const kernels *kernels, int64_t first,
                         int64_t last, int64_t begin, int64_t tokens) {
    state s = {.busy = tokens, .beam = 1, .slot_rows = 1, .threads = e->threads, .longest = e->longest};
    encode_task task = {{kernels, m, &s}, e, begin};
    lay_out_encoding(m, e, e->room, &s);
    int64_t *starts = (int64_t *)s.starts, *ends = (int64_t *)s.ends, row = 0;
    int64_t *positions = (int64_t *)s.positions;
    for (int64_t i = first; i < last; i++)
        for (int64_t start = row, t = 0; t < e->lengths[i]; t++, row++) {
            starts[row] = start;
            ends[row] = start + e->lengths[i];
            positions[row] = t;
        }
    const int64_t weights = m->d_model * m->depth * m->d_ff;
    run_parallel(find_useful_threads(s.threads, s.busy, weights, m->head.kind), encode, &task);
}

/* Run the encoder, and project its output to the keys and values of each layer of the decoder.
   Returns 0 where the processor has no kernels of so many lanes. */
int64_t nmt_encode(int64_t lanes, const model *m, const encoding *e) {
    const kernels *kernels = find_kernels((int)lanes);
    if (!kernels) return 0;
    for (int64_t first = 0, last = 0, begin = 0; first < e->sentences; first = last) {
        const int64_t tokens = next_group(e, &last);
        encode_group(m, e, kernels, first, last, begin, tokens);
        begin += tokens;
    }
    return 1;
}
