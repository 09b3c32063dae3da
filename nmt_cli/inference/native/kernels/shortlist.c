/* The output layer with shortlists: the rows of each slot times the weights of its words. */

#include "step.h"

/* Threads divide the slots among them; where these are few, the words of each slot. */
void multiply_shortlists(const pass_worker *w) {
    const state *s = w->state;
    const int64_t inputs = w->model->head.inputs;
    int64_t first = 0, last = s->busy;
    const int by_slot = s->busy >= 2 * w->worker.workers;
    if (by_slot) find_range(&w->worker, s->busy, &first, &last);
    for (int64_t slot = first; slot < last; slot++) {
        const shortlist *list = s->shortlists + s->slots[slot];
        const int64_t row = slot * s->beam, panels = list->head.outputs / PANEL;
        product_task task = {
            .linear = &list->head, .x = s->normed + row * inputs, .rows = s->beam, .last = panels,
            .out = find_logits(s->logits, list, row, s->beam, s->widest), .scratch = w->scratch,
        };
        if (!by_slot) find_range(&w->worker, panels, &task.first, &task.last);
        w->kernels->multiply(&task);
    }
    barrier(&w->worker);
}
