/* Attention of a few queries at once; included after simd.h for each instruction set.

   The keys and values of several queries are mostly the same, and while those of one query come from
   memory, the others have something to compute. A score or an output does not depend on the other
   queries. */

/* Queries for which a vector has the scores of KEYS keys. */
enum { NAME(KEYS) = 4, NAME(QUERIES) = LANES / 4 };
#define KEYS NAME(KEYS)
#define QUERIES NAME(QUERIES)

/* The key at place t of a query; past the last one, this is repeated. The same key of the next head
   is prefetched. */
static inline __attribute__((always_inline)) const float *NAME(find_key)(
    const attention_group *g, const attention_query *q, int64_t t) {
    const float *key = q->keys[t < g->count ? t : g->count - 1] + q->key_shift;
    for (int64_t c = 0; g->next_key && c < g->d_k; c += CACHE_LINE)
        __builtin_prefetch(key + g->next_key + c, 0, 2);
    return key;
}

/* Products of KEYS keys with `count` queries, which are to be summed over the lanes. */
static inline __attribute__((always_inline)) void NAME(multiply_keys)(
    const attention_group *g, const attention_query *queries, const float *const *keys, int count,
    floats *sums) {
    floats own[LANES];
#pragma GCC unroll 16
    for (int i = 0; i < count * KEYS; i++) own[i] = (floats){0};
    for (int64_t c = 0; c + LANES <= g->d_k; c += LANES)
#pragma GCC unroll 4
        for (int q = 0; q < count; q++) {
            const floats part = NAME(load)(queries[q].query + c);
#pragma GCC unroll 4
            for (int k = 0; k < KEYS; k++)
                own[q * KEYS + k] = FMA(NAME(load)(keys[k] + c), part, own[q * KEYS + k]);
        }
#pragma GCC unroll 16
    for (int i = 0; i < count * KEYS; i++) sums[i] = own[i];
}

/* Scores of KEYS keys from `begin` on, first those of the first query. same: whether all queries have
   the same keys there. */
static inline __attribute__((always_inline)) floats NAME(score_keys)(
    const attention_group *g, const attention_query *queries, int64_t begin, float scale, int same) {
    const int distinct = same ? 1 : QUERIES;
    const float *keys[LANES];
    floats sums[LANES];
#pragma GCC unroll 4
    for (int q = 0; q < distinct; q++) {
        const float **own = keys + q * KEYS;
#pragma GCC unroll 4
        for (int k = 0; k < KEYS; k++) own[k] = NAME(find_key)(g, queries + q, begin + k);
        NAME(multiply_keys)(g, queries + q, own, same ? QUERIES : 1, sums + q * KEYS);
    }
    floats scores = NAME(sum_neighbours_each)(sums);
    for (int64_t c = g->d_k / LANES * LANES; c < g->d_k; c++)
        for (int i = 0; i < LANES; i++)
            scores[i] += keys[same ? i % KEYS : i][c] * queries[i / KEYS].query[c];
    return scores * scale;
}

/* Scores of LANES keys from `begin` on, a vector for each query; -inf past the last key. */
static inline __attribute__((always_inline)) void NAME(score_block)(
    const attention_group *g, const attention_query *queries, int64_t begin, int64_t same,
    float scale, floats *scores) {
    for (int part = 0; part < QUERIES; part++) {
        const int64_t first = begin + part * KEYS;
        floats found = NAME(all)(-INFINITY);
        if (first < same) found = NAME(score_keys)(g, queries, first, scale, 1);
        else if (first < g->count) found = NAME(score_keys)(g, queries, first, scale, 0);
        scores[part] = found;
    }
    NAME(exchange_groups)(scores);
    if (g->count - begin >= LANES) return;
    const ints there = NAME(below)(begin, g->count);
#pragma GCC unroll 4
    for (int q = 0; q < QUERIES; q++)
        scores[q] = NAME(choose)(there, scores[q], NAME(all)(-INFINITY));
}

/* The scores of all keys, and of each query the greatest. */
static inline __attribute__((always_inline)) void NAME(score_all)(
    const attention_group *g, const attention_query *queries, floats *maxima) {
    const float scale = 1.0f / sqrtf((float)g->d_k);
    const int64_t same = g->shared == g->count ? g->count : g->shared / KEYS * KEYS;
#pragma GCC unroll 4
    for (int q = 0; q < QUERIES; q++) maxima[q] = NAME(all)(-INFINITY);
    for (int64_t begin = 0; begin < g->count; begin += LANES) {
        floats scores[QUERIES];
        NAME(score_block)(g, queries, begin, same, scale, scores);
#pragma GCC unroll 4
        for (int q = 0; q < QUERIES; q++) {
            maxima[q] = NAME(greater)(maxima[q], scores[q]);
            NAME(store)(queries[q].scores + begin, scores[q]);
        }
    }
}

/* Softmax of the scores, in place. Up to LANES numbers after the scores are overwritten. */
static inline __attribute__((always_inline)) void NAME(softmax)(
    const attention_group *g, const attention_query *queries, const floats *maxima) {
    floats greatest[QUERIES], totals[QUERIES];
#pragma GCC unroll 4
    for (int q = 0; q < QUERIES; q++) {
        greatest[q] = NAME(all)(NAME(greatest)(maxima[q]));
        totals[q] = (floats){0};
    }
    for (int64_t i = 0; i < g->count; i += LANES)
#pragma GCC unroll 4
        for (int q = 0; q < QUERIES; q++) {
            const floats value = NAME(exp)(NAME(load)(queries[q].scores + i) - greatest[q]);
            NAME(store)(queries[q].scores + i, value);
            totals[q] += value;
        }
#pragma GCC unroll 4
    for (int q = 0; q < QUERIES; q++) totals[q] = NAME(all)(1.0f / NAME(sum)(totals[q]));
    for (int64_t i = 0; i < g->count; i += LANES)
#pragma GCC unroll 4
        for (int q = 0; q < QUERIES; q++)
            NAME(store)(queries[q].scores + i, NAME(load)(queries[q].scores + i) * totals[q]);
}

/* Add the values at place t times their scores: `vectors` vectors of columns from `c` on. */
static inline __attribute__((always_inline)) void NAME(add_values)(
    const attention_group *g, const attention_query *queries, int64_t t, int64_t c, int vectors,
    int same, floats *sums) {
#pragma GCC unroll 4
    for (int q = 0; q < QUERIES; q++) {
        const attention_query *own = queries + (same ? 0 : q);
        const float *value = own->values[t] + own->value_shift + c;
        const floats share = NAME(all)(queries[q].scores[t]);
        if (g->next_value && (!same || !q))
#pragma GCC unroll 4
            for (int i = 0; i < vectors * LANES; i += CACHE_LINE)
                __builtin_prefetch(value + g->next_value + i, 0, 2);
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++)
            sums[q * vectors + v] =
                FMA(NAME(load)(value + v * LANES), share, sums[q * vectors + v]);
    }
}

/* The values summed with the scores as weights. */
static inline __attribute__((always_inline)) void NAME(sum_values)(
    const attention_group *g, const attention_query *queries, int64_t c, int vectors) {
    floats sums[4 * QUERIES];
#pragma GCC unroll 16
    for (int i = 0; i < vectors * QUERIES; i++) sums[i] = (floats){0};
    int64_t t = 0;
    for (; t < g->shared; t++) NAME(add_values)(g, queries, t, c, vectors, 1, sums);
    for (; t < g->count; t++) NAME(add_values)(g, queries, t, c, vectors, 0, sums);
#pragma GCC unroll 16
    for (int i = 0; i < vectors * QUERIES; i++)
        NAME(store)(queries[i / vectors].out + c + i % vectors * LANES, sums[i]);
}

/* Equation 1 for each query. */
static void NAME(attention)(const attention_group *g) {
    for (int64_t first = 0; first < g->size; first += QUERIES) {
        const attention_query *queries = g->queries + first;
        floats maxima[QUERIES];
        int64_t c = 0;
        NAME(score_all)(g, queries, maxima);
        NAME(softmax)(g, queries, maxima);
        for (; c + 4 * LANES <= g->d_v; c += 4 * LANES) NAME(sum_values)(g, queries, c, 4);
        for (; c + LANES <= g->d_v; c += LANES) NAME(sum_values)(g, queries, c, 1);
        for (int q = 0; q < QUERIES; q++)
            for (int64_t i = c; i < g->d_v; i++) {
                float total = 0;
                for (int64_t t = 0; t < g->count; t++)
                    total += queries[q].values[t][queries[q].value_shift + i] * queries[q].scores[t];
                queries[q].out[i] = total;
            }
    }
}
#undef KEYS
#undef QUERIES
