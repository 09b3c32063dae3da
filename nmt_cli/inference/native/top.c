/* The best words of each row, exactly, equals by the lowest id: those of the best k lie in the k
   blocks with the greatest maxima. */

#include "kernels.h"

/* rows: which of all rows each row of the logits is; row_of: the reverse, or -1; forced: an id of
   each of all rows, or -1. edit_rows (of all rows), edit_ids, bias: what is added there first;
   kept: room for as many. values, ids: (all rows, k); tops, places: room for k. */
typedef struct {
    int64_t busy, words, blocks, k, edits;
    const int64_t *rows, *row_of, *forced, *edit_rows, *edit_ids;
    const float *bias, *totals;
    float *logits, *maxima, *values, *kept, *tops;
    int64_t *ids, *places;
} choice;

static float find_greatest(const float *logits) {
    float most = -INFINITY;
    for (int64_t i = 0; i < BLOCK; i++) most = logits[i] > most ? logits[i] : most;
    return most;
}

/* Adds the biases and keeps what was there, or puts that back. */
static void edit(const choice *c, int back) {
    for (int64_t n = 0; n < c->edits; n++) {
        const int64_t i = back ? c->edits - 1 - n : n;
        const int64_t row = c->row_of[c->edit_rows[i]], id = c->edit_ids[i];
        if (row < 0) continue;
        float *logits = c->logits + row * c->blocks * BLOCK;
        if (back) logits[id] = c->kept[i];
        else {
            c->kept[i] = logits[id];
            logits[id] += c->bias[i];
        }
        c->maxima[row * c->blocks + id / BLOCK] = find_greatest(logits + id / BLOCK * BLOCK);
    }
}

/* Put a value into its place among the best so far, if it is one of them. */
static inline void offer(float *values, int64_t *ids, int64_t k, float value, int64_t id) {
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

static void begin(float *values, int64_t *ids, int64_t k) {
    for (int64_t i = 0; i < k; i++) {
        values[i] = -INFINITY;
        ids[i] = INT64_MAX;
    }
}

static void choose(const choice *c, int64_t number) {
    const float *logits = c->logits + number * c->blocks * BLOCK;
    const int64_t row = c->rows[number], forced = c->forced[row];
    const int64_t wanted = c->k < c->blocks ? c->k : c->blocks;
    float *values = c->values + row * c->k, *tops = c->tops;
    int64_t *ids = c->ids + row * c->k, *blocks = c->places;
    begin(tops, blocks, wanted);
    begin(values, ids, c->k);
    for (int64_t b = 0; b < c->blocks; b++)
        offer(tops, blocks, wanted, c->maxima[number * c->blocks + b], b);
    for (int64_t n = 0; n < wanted && blocks[n] < c->blocks; n++) {
        if (tops[n] < values[c->k - 1]) break;
        const int64_t first = blocks[n] * BLOCK;
        for (int64_t id = first; id < first + BLOCK && id < c->words; id++)
            offer(values, ids, c->k, logits[id], id);
    }
    for (int64_t i = 0; i < c->k; i++) {
        values[i] -= c->totals[number];
        /* A model without finite numbers has no best words. */
        if (ids[i] == INT64_MAX) ids[i] = 0;
        if (forced >= 0 && i) values[i] = -INFINITY;
    }
    if (forced >= 0) {
        ids[0] = forced;
        values[0] = logits[forced] - c->totals[number];
    }
}

int64_t nmt_top(const choice *c) {
    edit(c, 0);
    for (int64_t number = 0; number < c->busy; number++) choose(c, number);
    edit(c, 1);
    return 1;
}
