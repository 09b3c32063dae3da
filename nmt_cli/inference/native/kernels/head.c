/* The output layer: for all words, or with shortlists the rows of each slot times the weights of its
   words. */

#include "step.h"

/* Compute `rows` rows from `row` on with the blocks of words [first, last). */
static void compute_rows(const pass_worker *w, const shortlist *list, int64_t row, int64_t rows,
                         int64_t first, int64_t last) {
    const state *s = w->state;
    const linear *head = list ? &list->head : &w->model->head;
    const int64_t blocks = s->widest / BLOCK, panels = BLOCK / PANEL;
    const head_task task = {
        .product = {
            .linear = head, .x = s->normed + row * head->inputs, .rows = rows,
            .first = first * panels, .last = last * panels, .scratch = w->scratch,
            .out = find_logits(s->logits, list, row, s->beam, s->widest),
            .stride = list ? head->outputs : s->widest,
        },
        .maxima = s->maxima + row * blocks, .sums = s->sums + row * blocks,
        .written = s->written + row * blocks, .blocks = blocks, .kept = s->kept, .all = s->all_logits,
    };
    w->kernels->head(&task);
}

/* Threads divide the slots among them; where these are few, the words of each slot. */
static void compute_shortlists(const pass_worker *w) {
    const state *s = w->state;
    int64_t first = 0, last = s->busy;
    const int by_slot = s->busy >= 2 * w->worker.workers;
    if (by_slot) find_range(&w->worker, s->busy, &first, &last);
    for (int64_t slot = first; slot < last; slot++) {
        const shortlist *list = s->shortlists + s->slots[slot];
        int64_t first_block = 0, last_block = list->head.outputs / BLOCK;
        if (!by_slot) find_range(&w->worker, last_block, &first_block, &last_block);
        compute_rows(w, list, slot * s->beam, s->beam, first_block, last_block);
    }
}

void compute_head(const pass_worker *w) {
    const state *s = w->state;
    const int64_t stride = s->widest / BLOCK;
    int64_t first, last;
    if (s->shortlists) compute_shortlists(w);
    else {
        find_range(&w->worker, stride, &first, &last);
        compute_rows(w, 0, 0, s->busy * s->beam, first, last);
    }
    barrier(&w->worker);
    find_rows(w, &first, &last);
    for (int64_t row = first; row < last; row++) {
        const shortlist *list = s->shortlists ? s->shortlists + s->slots[row / s->beam] : 0;
        w->kernels->merge_sums(s->maxima + row * stride, s->sums + row * stride,
                               list ? list->head.outputs / BLOCK : stride, s->totals + row);
    }
}
