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

/* Have the cache read the keys and values of the next head that a row does not share with the first
   row of its slot. */
static void prefetch_head(const row_past *first, const row_past *own, int64_t head, int64_t d_k,
                          int64_t d_v) {
    const int64_t key_shift = head * own->key_shift, value_shift = head * own->value_shift;
    for (int64_t t = 0; t < own->count; t++) {
        if (own != first && own->keys[t] == first->keys[t]) continue;
        for (int64_t i = 0; i < d_k; i += CACHE_LINE)
            __builtin_prefetch(own->keys[t] + key_shift + i, 0, 2);
        for (int64_t i = 0; i < d_v; i += CACHE_LINE)
            __builtin_prefetch(own->values[t] + value_shift + i, 0, 2);
    }
}

static void attend_head(const pass_worker *w, const row_past *past, const float *query, int64_t row,
                        int64_t head) {
    const model *m = w->model;
    attention_input input = {
        past->keys, past->values, past->count, head * past->key_shift, head * past->value_shift,
        m->d_k, m->d_v, w->scores,
    };
    w->kernels->attention(query, &input, w->state->attended + (row * m->heads + head) * m->d_v);
}

/* Find the keys and values of a row of a slot at all steps, of the layer's first head. */
static row_past find_past(const pass_worker *w, int64_t layer, int64_t slot, int64_t beam_row) {
    const model *m = w->model;
    const state *s = w->state;
    const int64_t chunk_rows = s->growth * s->beam, length = s->lengths[slot];
    const int64_t value_offset = chunk_rows * m->heads * m->d_k;
    const int64_t layer_offset = layer * chunk_rows * m->heads * (m->d_k + m->d_v);
    const int32_t *ancestors = s->ancestors + (slot * s->beam + beam_row) * s->capacity;
    float *const *chunks = s->chunks + slot * s->capacity / s->growth;
    const float **keys = w->keys + beam_row * s->longest, **values = w->values + beam_row * s->longest;
    for (int64_t begin = 0; begin <= length; begin += s->growth, chunks++) {
        const float *chunk = *chunks + layer_offset;
        for (int64_t i = 0; i < s->growth && begin + i <= length; i++) {
            const int64_t index = i * s->beam + ancestors[begin + i];
            keys[begin + i] = chunk + index * m->d_k;
            values[begin + i] = chunk + value_offset + index * m->d_v;
        }
    }
    return (row_past){keys, values, length + 1, chunk_rows * m->d_k, chunk_rows * m->d_v};
}

/* The items [first, last) of a slot, each a head of a row; the rows of a head come in succession,
   because they share most of their past. */
void decoder_self_attention(const pass_worker *w, int64_t layer, int64_t begin, int64_t first,
                            int64_t last) {
    const model *m = w->model;
    const state *s = w->state;
    const int64_t slot = s->slots[begin / s->beam], length = s->lengths[slot];
    const int64_t angle = length * (m->d_k / 2);
    row_past *pasts = w->pasts;
    for (int64_t i = 0; i < s->beam; i++) pasts[i] = find_past(w, layer, slot, i);
    for (int64_t item = first; item < last; item++) {
        const int64_t head = item / s->beam, row = begin + item % s->beam;
        const row_past *past = pasts + item % s->beam;
        float *query = s->joined + row * m->heads * (2 * m->d_k + m->d_v) + head * m->d_k;
        float *key = query + m->heads * m->d_k;
        const float *value = query + 2 * m->heads * m->d_k + head * (m->d_v - m->d_k);
        if (m->cosines) {
            rotate(query, m->cosines + angle, m->sines + angle, m->d_k);
            rotate(key, m->cosines + angle, m->sines + angle, m->d_k);
        }
        memcpy((float *)past->keys[length] + head * past->key_shift, key, sizeof(float) * m->d_k);
        memcpy((float *)past->values[length] + head * past->value_shift, value,
               sizeof(float) * m->d_v);
        if (head + 1 < m->heads) prefetch_head(pasts, past, head + 1, m->d_k, m->d_v);
        attend_head(w, past, query, row, head);
    }
}

/* A token of a source attends to its sentence, whose keys and values are in the same rows. */
void encoder_self_attention(const pass_worker *w, int64_t layer, int64_t row, int64_t first,
                            int64_t last) {
    const model *m = w->model;
    const state *s = w->state;
    const int64_t start = s->starts[row], count = s->ends[row] - start;
    const int64_t keys = m->heads * m->d_k, width = 2 * keys + m->heads * m->d_v;
    (void)layer;
    for (int64_t t = 0; t < count; t++) {
        w->keys[t] = s->joined + (start + t) * width + keys;
        w->values[t] = w->keys[t] + keys;
    }
    const row_past past = {w->keys, w->values, count, m->d_k, m->d_v};
    for (int64_t head = first; head < last; head++)
        attend_head(w, &past, s->joined + row * width + head * m->d_k, row, head);
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

void cross_attention(const pass_worker *w, int64_t layer, int64_t begin, int64_t first,
                     int64_t last) {
    const model *m = w->model;
    const state *s = w->state;
    const source *from = s->sources + s->slots[begin / s->beam];
    const int64_t start = layer * m->heads * from->stride;
    for (int64_t t = 0; t < from->length; t++) {
        w->keys[t] = from->keys + (start + t) * m->d_k;
        w->values[t] = from->values + (start + t) * m->d_v;
    }
    const row_past past = {w->keys, w->values, from->length, from->stride * m->d_k,
                           from->stride * m->d_v};
    for (int64_t item = first; item < last; item++) {
        const int64_t head = item / s->beam, row = begin + item % s->beam;
        if (head + 1 < m->heads && (item == first || row == begin))
            prefetch_head(&past, &past, head + 1, m->d_k, m->d_v);
        attend_head(w, &past, s->query + (row * m->heads + head) * m->d_k, row, head);
    }
}
