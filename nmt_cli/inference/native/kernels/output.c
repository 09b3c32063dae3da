/* The top k words of each row, exactly; of equal logits the lower id comes first. They lie in the k
   blocks with the greatest maxima. */

#include "top_k.h"

/* Numbers that are compared together; compilers make vectors of any instruction set of them. */
enum { COMPARED = 16 };

/* The logits of a busy row: for how many words, in how many blocks. */
typedef struct {
    const shortlist *list;
    float *logits, *maxima;
    int64_t words, blocks, row;
} row_logits;

static row_logits find_row(const top_k_task *t, int64_t row) {
    const shortlist *list = t->shortlists ? t->shortlists + t->rows[row] / t->state->slot_rows : 0;
    float *logits = find_logits(t->logits, list, row, t->beam, t->blocks * BLOCK);
    float *maxima = t->maxima + row * t->blocks;
    if (!list) return (row_logits){0, logits, maxima, t->words, t->blocks, row};
    return (row_logits){list, logits, maxima, list->count, list->head.outputs / BLOCK, row};
}

/* The index of a word's logit in its row, or -1. */
static int64_t find_index(const row_logits *r, int64_t id) {
    if (!r->list || !r->list->ids) return id;
    int64_t first = 0, last = r->words;
    while (first < last) {
        const int64_t middle = (first + last) / 2;
        if (r->list->ids[middle] < id) first = middle + 1;
        else last = middle;
    }
    return first < r->words && r->list->ids[first] == id ? first : -1;
}

/* The logits of a block, which are computed if the step has not written them. */
static float *find_block(const top_k_task *t, const row_logits *r, int64_t block) {
    const state *s = t->state;
    uint8_t *written = s->written + r->row * t->blocks + block;
    const linear *head = r->list ? &r->list->head : &t->model->head;
    const int64_t panels = BLOCK / PANEL;
    if (!*written) {
        const product_task task = {
            .linear = head, .x = s->normed + r->row * head->inputs, .rows = 1,
            .first = block * panels, .last = (block + 1) * panels, .out = r->logits,
            .stride = head->outputs, .scratch = s->scratch,
        };
        t->kernels->multiply(&task);
        *written = 1;
    }
    return r->logits + block * BLOCK;
}

static float find_maximum(const float *logits) {
    float maxima[COMPARED];
    for (int i = 0; i < COMPARED; i++) maxima[i] = -INFINITY;
    for (int64_t i = 0; i < BLOCK; i += COMPARED)
        for (int j = 0; j < COMPARED; j++)
            maxima[j] = logits[i + j] > maxima[j] ? logits[i + j] : maxima[j];
    for (int j = 1; j < COMPARED; j++)
        maxima[0] = maxima[j] > maxima[0] ? maxima[j] : maxima[0];
    return maxima[0];
}

/* Whether one of COMPARED numbers is at least as great as `least`. */
static inline int has_as_great(const float *numbers, float least) {
    int found = 0;
    for (int i = 0; i < COMPARED; i++) found |= numbers[i] >= least;
    return found;
}

/* Add the biases and save the logits before; with `undo`, restore these in reverse order. */
static void edit_logits(const top_k_task *t, int undo) {
    for (int64_t n = 0; n < t->edits; n++) {
        const int64_t i = undo ? t->edits - 1 - n : n;
        const int64_t row = t->row_of[t->edit_rows[i]];
        if (row < 0) continue;
        const row_logits r = find_row(t, row);
        const int64_t index = find_index(&r, t->edit_ids[i]);
        if (index < 0) continue;
        float *block = find_block(t, &r, index / BLOCK);
        if (undo) r.logits[index] = t->saved[i];
        else {
            t->saved[i] = r.logits[index];
            r.logits[index] += t->bias[i];
        }
        r.maxima[index / BLOCK] = find_maximum(block);
    }
}

/* Insert a value into the sorted top k if it is one of them. */
static inline void insert(float *values, int64_t *ids, int64_t k, float value, int64_t id) {
    const float last = values[k - 1];
    if (!(value > last || (value == last && id < ids[k - 1]))) return;
    int64_t i = k - 1;
    for (; i && (value > values[i - 1] || (value == values[i - 1] && id < ids[i - 1])); i--) {
        values[i] = values[i - 1];
        ids[i] = ids[i - 1];
    }
    values[i] = value;
    ids[i] = id;
}

static void clear(float *values, int64_t *ids, int64_t k) {
    for (int64_t i = 0; i < k; i++) {
        values[i] = -INFINITY;
        ids[i] = INT64_MAX;
    }
}

static void find_top_k(const top_k_task *t, int64_t busy_row) {
    const row_logits r = find_row(t, busy_row);
    const int64_t row = t->rows[busy_row], forced = t->forced[row];
    const int64_t wanted = t->k < r.blocks ? t->k : r.blocks;
    float *values = t->values + row * t->k, *maxima = t->block_maxima;
    int64_t *ids = t->ids + row * t->k, *blocks = t->block_ids;
    clear(maxima, blocks, wanted);
    clear(values, ids, t->k);
    for (int64_t b = 0; b < r.blocks; b++) insert(maxima, blocks, wanted, r.maxima[b], b);
    /* Each of the k blocks has at least its greatest: a lesser number than all of these is not one of the
       best. */
    const float least = wanted == t->k ? maxima[wanted - 1] : -INFINITY;
    for (int64_t n = 0; n < wanted && blocks[n] < r.blocks; n++) {
        if (maxima[n] < values[t->k - 1]) break;
        const int64_t first = blocks[n] * BLOCK;
        find_block(t, &r, blocks[n]);
        for (int64_t begin = first; begin < first + BLOCK; begin += COMPARED) {
            if (!has_as_great(r.logits + begin, least)) continue;
            for (int64_t index = begin; index < begin + COMPARED && index < r.words; index++)
                if (r.logits[index] >= least) insert(values, ids, t->k, r.logits[index], index);
        }
    }
    for (int64_t i = 0; i < t->k; i++) {
        values[i] -= t->totals[busy_row];
        /* No word is in the top k of a row of NaN. */
        if (ids[i] == INT64_MAX) ids[i] = 0;
        else if (r.list && r.list->ids) ids[i] = r.list->ids[ids[i]];
        if (forced >= 0 && i) values[i] = -INFINITY;
    }
    if (forced >= 0) {
        const int64_t index = find_index(&r, forced);
        ids[0] = forced;
        const float *block = index < 0 ? 0 : find_block(t, &r, index / BLOCK);
        values[0] = block ? block[index % BLOCK] - t->totals[busy_row] : -INFINITY;
    }
}

int64_t nmt_top_k(int64_t lanes, const model *m, const state *s, top_k_task *t) {
    t->kernels = find_kernels((int)lanes);
    t->model = m;
    t->state = s;
    if (!t->kernels) return 0;
    edit_logits(t, 0);
    for (int64_t row = 0; row < t->busy; row++) find_top_k(t, row);
    edit_logits(t, 1);
    return 1;
}
