/* Attention of a row: the decoder's to its prefix and to the source, and the encoder's. */

#include "step.h"

void find_rows(const pass_worker *w, int64_t *first, int64_t *last) {
    find_range(&w->worker, w->last - w->first, first, last);
    *first += w->first;
    *last += w->first;
}

/* Rotate each pair of neighbouring numbers by the angles of its position. */
static void rotate(float *x, const float *cosines, const float *sines, int64_t width) {
    for (int64_t i = 0; i < width / 2; i++) {
        const float even = x[2 * i], odd = x[2 * i + 1];
        x[2 * i] = even * cosines[i] - odd * sines[i];
        x[2 * i + 1] = even * sines[i] + odd * cosines[i];
    }
}

/* The keys and values of a layer in the chunk that holds a step, and the index of a row in them. */
static float *find_cache_block(const pass_worker *w, int64_t slot, int64_t layer, int64_t step,
                               int64_t row, int64_t *index) {
    const model *m = w->model;
    const state *s = w->state;
    const int64_t size = s->growth * s->beam * m->heads * (m->d_k + m->d_v);
    *index = step % s->growth * s->beam + row;
    return s->chunks[(slot * s->capacity + step) / s->growth] + layer * size;
}

void decoder_self_attention(const pass_worker *w, int64_t layer, int64_t row, int64_t head) {
    const model *m = w->model;
    const state *s = w->state;
    const int64_t slot = s->slots[row / s->beam], beam_row = row % s->beam;
    const int64_t length = s->lengths[slot];
    const int64_t block_rows = s->growth * s->beam, value_offset = block_rows * m->heads * m->d_k;
    float *query = s->joined + row * m->heads * (2 * m->d_k + m->d_v) + head * m->d_k;
    float *key = query + m->heads * m->d_k;
    const float *value = query - head * m->d_k + 2 * m->heads * m->d_k + head * m->d_v;
    if (m->cosines) {
        const int64_t angle = length * (m->d_k / 2);
        rotate(query, m->cosines + angle, m->sines + angle, m->d_k);
        rotate(key, m->cosines + angle, m->sines + angle, m->d_k);
    }
    int64_t index;
    float *block = find_cache_block(w, slot, layer, length, beam_row, &index);
    memcpy(block + (head * block_rows + index) * m->d_k, key, sizeof(float) * m->d_k);
    memcpy(block + value_offset + (head * block_rows + index) * m->d_v, value,
           sizeof(float) * m->d_v);
    const int32_t *ancestors = s->ancestors + (slot * s->beam + beam_row) * s->capacity;
    for (int64_t t = 0; t <= length; t++) {
        block = find_cache_block(w, slot, layer, t, ancestors[t], &index);
        w->keys[t] = block + index * m->d_k;
        w->values[t] = block + value_offset + index * m->d_v;
    }
    attention_input input = {
        w->keys, w->values, length + 1, head * block_rows * m->d_k, head * block_rows * m->d_v,
        m->d_k, m->d_v, w->scores,
    };
    w->kernels->attention(query, &input, s->attended + (row * m->heads + head) * m->d_v);
}

/* A token of a source attends to its sentence, whose keys and values are in the same rows. */
void encoder_self_attention(const pass_worker *w, int64_t layer, int64_t row, int64_t head) {
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
    attention_input input = {w->keys, w->values, count, 0, 0, m->d_k, m->d_v, w->scores};
    w->kernels->attention(s->joined + row * width + head * m->d_k, &input,
                     s->attended + (row * m->heads + head) * m->d_v);
}

void rotate_queries_and_keys(const pass_worker *w) {
    const model *m = w->model;
    const state *s = w->state;
    const int64_t width = m->heads * (2 * m->d_k + m->d_v);
    int64_t first, last;
    if (!m->cosines) return;
    find_rows(w, &first, &last);
    for (int64_t row = first; row < last; row++) {
        const int64_t angle = s->positions[row] * (m->d_k / 2);
        for (int64_t head = 0; head < 2 * m->heads; head++)
            rotate(s->joined + row * width + head * m->d_k, m->cosines + angle, m->sines + angle,
                   m->d_k);
    }
    barrier(&w->worker);
}

void cross_attention(const pass_worker *w, int64_t layer, int64_t row, int64_t head) {
    const model *m = w->model;
    const state *s = w->state;
    const source *from = s->sources + s->slots[row / s->beam];
    const int64_t start = (layer * m->heads + head) * from->stride;
    for (int64_t t = 0; t < from->length; t++) {
        w->keys[t] = from->keys + (start + t) * m->d_k;
        w->values[t] = from->values + (start + t) * m->d_v;
    }
    attention_input input = {w->keys, w->values, from->length, 0, 0, m->d_k, m->d_v, w->scores};
    w->kernels->attention(s->query + (row * m->heads + head) * m->d_k, &input,
                     s->attended + (row * m->heads + head) * m->d_v);
}
