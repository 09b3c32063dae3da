/* What the attention of a row sees: its own past, its sentence, or its source. */

#include "step.h"

void find_rows(const worker *w, int64_t *first, int64_t *last) {
    find_share(&w->shared, w->last - w->first, first, last);
    *first += w->first;
    *last += w->first;
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

void look_back(const worker *w, int64_t layer, int64_t row, int64_t head) {
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
void look_around(const worker *w, int64_t layer, int64_t row, int64_t head) {
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

void turn_rows(const worker *w) {
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

void look_at_source(const worker *w, int64_t layer, int64_t row, int64_t head) {
    const model *m = w->model;
    const state *s = w->state;
    const source *from = s->sources + s->slots[row / s->beam];
    const int64_t start = (layer * m->heads + head) * from->stride;
    for (int64_t t = 0; t < from->length; t++) {
        w->keys[t] = from->keys + (start + t) * m->d_k;
        w->values[t] = from->values + (start + t) * m->d_v;
    }
    seen all = {w->keys, w->values, from->length, 0, 0, m->d_k, m->d_v, w->scores};
    w->kernels->look(s->query + (row * m->heads + head) * m->d_k, &all,
                     s->attended + (row * m->heads + head) * m->d_v);
}
