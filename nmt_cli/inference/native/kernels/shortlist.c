/* The head's product where sources allow some words only: no row meets a word of another slot. */

#include "step.h"

/* Slots are shared among the threads; where there are too few of them, the words of each are. */
void multiply_lists(const worker *w) {
    const state *s = w->state;
    const int64_t inputs = w->model->head.inputs;
    int64_t first = 0, last = s->busy;
    const int whole = s->busy >= 2 * w->shared.parts;
    if (whole) find_share(&w->shared, s->busy, &first, &last);
    for (int64_t place = first; place < last; place++) {
        const word_list *list = s->lists + s->slots[place];
        const int64_t row = place * s->beam, panels = list->head.outputs / PANEL;
        product_task task = {
            .linear = &list->head, .x = s->normed + row * inputs, .rows = s->beam, .last = panels,
            .out = find_logits(s->logits, list, row, s->beam, s->widest), .scratch = w->scratch,
        };
        if (!whole) find_share(&w->shared, panels, &task.first, &task.last);
        w->kernels->multiply(&task);
    }
    wait_for_all(&w->shared);
}
