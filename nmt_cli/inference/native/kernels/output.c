/* The best words of each row, exactly, equals by the lowest id: those of the best k lie in the k
   blocks with the greatest maxima. */

#include "kernels.h"

/* rows: which of all rows each row of the logits is; row_of: the reverse, or -1; forced: an id of
   each of all rows, or -1. edit_rows (of all rows), edit_ids, bias: what is added there first;
   kept: room for as many. values, ids: (all rows, k); tops, places: room for k. lists: of each slot
   of `beam` rows, or null; blocks: that a row has room for. */
typedef struct {
    int64_t busy, words, blocks, k, edits;
    const int64_t *rows, *row_of, *forced, *edit_rows, *edit_ids;
    const float *bias, *totals;
    float *logits, *maxima, *values, *kept, *tops;
    int64_t *ids, *places;
    const word_list *lists;
    int64_t beam;
} choice;

/* Logits of a busy row: of what words, in how many blocks. */
typedef struct {
    const word_list *list;
    float *logits, *maxima;
    int64_t words, blocks;
} row_logits;

static row_logits find_row(const choice *c, int64_t number) {
    const word_list *list = c->lists ? c->lists + c->rows[number] / c->beam : 0;
    float *logits = find_logits(c->logits, list, number, c->beam, c->blocks * BLOCK);
    float *maxima = c->maxima + number * c->blocks;
    if (!list) return (row_logits){0, logits, maxima, c->words, c->blocks};
    return (row_logits){list, logits, maxima, list->count, list->head.outputs / BLOCK};
}

/* Where a word stands in a row, or -1. */
static int64_t find_place(const row_logits *r, int64_t id) {
    if (!r->list || !r->list->ids) return id;
    int64_t first = 0, last = r->words;
    while (first < last) {
        const int64_t middle = (first + last) / 2;
        if (r->list->ids[middle] < id) first = middle + 1;
        else last = middle;
    }
    return first < r->words && r->list->ids[first] == id ? first : -1;
}

static float find_greatest(const float *logits) {
    float most = -INFINITY;
    for (int64_t i = 0; i < BLOCK; i++) most = logits[i] > most ? logits[i] : most;
    return most;
}

/* Adds the biases and keeps what was there, or puts that back. */
static void edit(const choice *c, int back) {
    for (int64_t n = 0; n < c->edits; n++) {
        const int64_t i = back ? c->edits - 1 - n : n;
        const int64_t row = c->row_of[c->edit_rows[i]];
        if (row < 0) continue;
        const row_logits r = find_row(c, row);
        const int64_t place = find_place(&r, c->edit_ids[i]);
        if (place < 0) continue;
        if (back) r.logits[place] = c->kept[i];
        else {
            c->kept[i] = r.logits[place];
            r.logits[place] += c->bias[i];
        }
        r.maxima[place / BLOCK] = find_greatest(r.logits + place / BLOCK * BLOCK);
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
    const row_logits r = find_row(c, number);
    const int64_t row = c->rows[number], forced = c->forced[row];
    const int64_t wanted = c->k < r.blocks ? c->k : r.blocks;
    float *values = c->values + row * c->k, *tops = c->tops;
    int64_t *ids = c->ids + row * c->k, *blocks = c->places;
    begin(tops, blocks, wanted);
    begin(values, ids, c->k);
    for (int64_t b = 0; b < r.blocks; b++) offer(tops, blocks, wanted, r.maxima[b], b);
    for (int64_t n = 0; n < wanted && blocks[n] < r.blocks; n++) {
        if (tops[n] < values[c->k - 1]) break;
        const int64_t first = blocks[n] * BLOCK;
        for (int64_t place = first; place < first + BLOCK && place < r.words; place++)
            offer(values, ids, c->k, r.logits[place], place);
    }
    for (int64_t i = 0; i < c->k; i++) {
        values[i] -= c->totals[number];
        /* A model without finite numbers has no best words. */
        if (ids[i] == INT64_MAX) ids[i] = 0;
        else if (r.list && r.list->ids) ids[i] = r.list->ids[ids[i]];
        if (forced >= 0 && i) values[i] = -INFINITY;
    }
    if (forced >= 0) {
        const int64_t place = find_place(&r, forced);
        ids[0] = forced;
        values[0] = place < 0 ? -INFINITY : r.logits[place] - c->totals[number];
    }
}

int64_t nmt_top(const choice *c) {
    edit(c, 0);
    for (int64_t number = 0; number < c->busy; number++) choose(c, number);
    edit(c, 1);
    return 1;
}
