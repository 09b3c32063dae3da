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

/* Of how many heads the queries of a slot are computed together. */
static int64_t count_heads_together(int64_t beam) {
    return beam < TOGETHER ? TOGETHER / beam : 1;
}

/* Attention of the heads [first, last) of the rows of a slot, from row `begin` on. pasts: of each row,
   `apart` after the one before; the rows share the first `shared` keys and values. A query is `width`
   numbers after that of the row before. */
static void attend_heads(const pass_worker *w, const row_past *pasts, int64_t apart, int64_t shared,
                         const float *queries, int64_t width, int64_t begin, int64_t first,
                         int64_t last) {
    const model *m = w->model;
    const int64_t beam = w->state->beam, together = count_heads_together(beam);
    const int64_t room = w->state->longest + 2 * PANEL;
    for (int64_t next, head = first; head < last; head = next) {
        next = head + together < last ? head + together : last;
        for (int64_t row = 0; row < beam; row += TOGETHER) {
            attention_group g = {
                .count = pasts->count, .shared = next > head + 1 ? 0 : shared, .d_k = m->d_k,
                .d_v = m->d_v, .next_key = next < last ? together * pasts->key_shift : pasts->next_key,
                .next_value = next < last ? together * pasts->value_shift : pasts->next_value,
            };
            for (int64_t h = head; h < next; h++)
                for (int64_t r = row; r < beam && r < row + TOGETHER; r++) {
                    const row_past *past = pasts + r * apart;
                    g.queries[g.size] = (attention_query){
                        queries + r * width + h * m->d_k, past->keys, past->values,
                        h * past->key_shift, h * past->value_shift, w->scores + g.size * room,
                        w->state->attended + ((begin + r) * m->heads + h) * m->d_v,
                    };
                    g.size++;
                }
            for (int64_t i = g.size; i < TOGETHER; i++) {
                g.queries[i] = g.queries[0];
                g.queries[i].scores = w->scores + i * room;
            }
            w->kernels->attention(&g);
        }
    }
}

/* Find the keys and values of a row of a slot at all steps, of the layer's first head. */
static row_past find_past(const pass_worker *w, int64_t layer, int64_t slot, int64_t beam_row) {
    const model *m = w->model;
    const state *s = w->state;
    const int64_t chunk_rows = s->growth * s->slot_rows, length = s->lengths[slot];
    const int64_t value_offset = chunk_rows * m->heads * m->d_k;
    const int64_t layer_offset = layer * chunk_rows * m->heads * (m->d_k + m->d_v);
    const int32_t *ancestors = s->ancestors + (slot * s->slot_rows + beam_row) * s->capacity;
    float *const *chunks = s->chunks + slot * s->capacity / s->growth;
    const float **keys = w->keys + beam_row * s->longest, **values = w->values + beam_row * s->longest;
    for (int64_t begin = 0; begin <= length; begin += s->growth, chunks++) {
        const float *chunk = *chunks + layer_offset;
        for (int64_t i = 0; i < s->growth && begin + i <= length; i++) {
            const int64_t index = ancestors[begin + i] * s->growth + i;
            keys[begin + i] = chunk + index * m->d_k;
            values[begin + i] = chunk + value_offset + index * m->d_v;
        }
    }
    return (row_past){keys, values, length + 1, chunk_rows * m->d_k, chunk_rows * m->d_v, 0, 0};
}

/* How many keys and values all rows of a slot share; none is shared after one that is not, since a
   hypothesis has the past of its parent. */
static int64_t count_shared(const row_past *pasts, int64_t beam) {
    int64_t shared = pasts->count;
    for (int64_t i = 1; i < beam; i++)
        while (shared && pasts[i].keys[shared - 1] != pasts->keys[shared - 1]) shared--;
    return shared;
}

/* Rotate the query and the key of a head of a row, and write key and value to the cache. */
static void keep_key_and_value(const pass_worker *w, const row_past *past, float *query,
                               int64_t head) {
    const model *m = w->model;
    const int64_t last = past->count - 1, angle = last * (m->d_k / 2);
    float *key = query + m->heads * m->d_k;
    const float *value = query + 2 * m->heads * m->d_k + head * (m->d_v - m->d_k);
    if (m->cosines) {
        rotate(query, m->cosines + angle, m->sines + angle, m->d_k);
        rotate(key, m->cosines + angle, m->sines + angle, m->d_k);
    }
    memcpy((float *)past->keys[last] + head * past->key_shift, key, sizeof(float) * m->d_k);
    memcpy((float *)past->values[last] + head * past->value_shift, value, sizeof(float) * m->d_v);
}

void decoder_self_attention(const pass_worker *w, int64_t layer, int64_t begin, int64_t first,
                            int64_t last) {
    const model *m = w->model;
    const state *s = w->state;
    const int64_t slot = s->slots[begin / s->beam], width = m->heads * (2 * m->d_k + m->d_v);
    float *queries = s->joined + begin * width;
    for (int64_t row = 0; row < s->beam; row++) {
        const row_past past = w->pasts[row] = find_past(w, layer, slot, row);
        for (int64_t head = first; head < last; head++)
            keep_key_and_value(w, &past, queries + row * width + head * m->d_k, head);
    }
    attend_heads(w, w->pasts, 1, count_shared(w->pasts, s->beam), queries, width, begin, first,
                 last);
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
    const row_past past = {w->keys, w->values, count, m->d_k, m->d_v, 0, 0};
    attend_heads(w, &past, 0, count, s->joined + row * width, width, row, first, last);
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

/* Attention of the heads [first, last) of the rows of a slot, from row `begin` on, to its source. */
static void attend_to_source(const pass_worker *w, int64_t layer, int64_t begin, int64_t first,
                             int64_t last) {
    const model *m = w->model;
    const state *s = w->state;
    const source *from = s->sources + s->slots[begin / s->beam];
    const int64_t after = begin + s->beam < w->last ? begin + s->beam : begin;
    const source *next = s->sources + s->slots[after / s->beam];
    const int64_t start = layer * m->heads * from->stride;
    for (int64_t t = 0; t < from->length; t++) {
        w->keys[t] = from->keys + (start + t) * m->d_k;
        w->values[t] = from->values + (start + t) * m->d_v;
    }
    const row_past past = {
        w->keys, w->values, from->length, from->stride * m->d_k, from->stride * m->d_v,
        next->keys - from->keys, next->values - from->values,
    };
    const int64_t width = m->heads * m->d_k;
    attend_heads(w, &past, 0, from->length, s->query + begin * width, width, begin, first, last);
}

/* By heads: of a head, the keys and values of one sentence follow those of another, and the processor
   prefetches them best in that order. */
void cross_attention(const pass_worker *w, int64_t layer) {
    const int64_t beam = w->state->beam, heads = w->model->heads;
    const int64_t together = count_heads_together(beam), slots = (w->last - w->first) / beam;
    int64_t first, last;
    find_range(&w->worker, (heads + together - 1) / together * slots, &first, &last);
    for (int64_t i = first; i < last; i++) {
        const int64_t head = i / slots * together, next = head + together;
        attend_to_source(w, layer, w->first + i % slots * beam, head, next < heads ? next : heads);
    }
    barrier(&w->worker);
}
