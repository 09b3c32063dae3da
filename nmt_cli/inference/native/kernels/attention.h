/* Attention of a few queries at once; included after simd.h for each instruction set.

   The keys and values of several queries are mostly the same, and while those of one query come from
   memory, the others have something to compute. A score or an output does not depend on the other
   queries. */

/* Queries for which a vector has the scores of KEYS keys. */
enum { NAME(KEYS) = 4, NAME(QUERIES) = LANES / 4 };
#define KEYS NAME(KEYS)
#define QUERIES NAME(QUERIES)

/* Scores of KEYS keys from `begin` on; past the last key, it is repeated. same: whether all queries
   have the same keys there. */
static inline __attribute__((always_inline)) void NAME(score_keys)(
    const attention_group *g, const attention_query *queries, int64_t begin, float scale, int same) {
    const int distinct = same ? 1 : QUERIES;
    const float *keys[LANES];
    floats sums[LANES];
#pragma GCC unroll 16
    for (int i = 0; i < distinct * KEYS; i++) {
        const int64_t t = begin + i % KEYS;
        const attention_query *q = queries + i / KEYS;
        keys[i] = q->keys[t < g->count ? t : g->count - 1] + q->key_shift;
        for (int64_t c = 0; g->next_key && c < g->d_k; c += CACHE_LINE)
            __builtin_prefetch(keys[i] + g->next_key + c, 0, 2);
    }
#pragma GCC unroll 16
    for (int i = 0; i < LANES; i++) sums[i] = (floats){0};
    int64_t c = 0;
    for (; c + LANES <= g->d_k; c += LANES)
#pragma GCC unroll 4
        for (int q = 0; q < QUERIES; q++) {
            const floats part = NAME(load)(queries[q].query + c);
#pragma GCC unroll 4
            for (int k = 0; k < KEYS; k++)
                sums[q * KEYS + k] = FMA(NAME(load)(keys[same ? k : q * KEYS + k] + c), part,
                                         sums[q * KEYS + k]);
        }
    floats scores = NAME(sum_neighbours_each)(sums);
    for (; c < g->d_k; c++)
        for (int i = 0; i < LANES; i++)
            scores[i] += keys[same ? i % KEYS : i][c] * queries[i / KEYS].query[c];
    scores *= scale;
#pragma GCC unroll 4
    for (int q = 0; q < QUERIES; q++)
        memcpy(queries[q].scores + begin, (float *)&scores + q * KEYS, KEYS * sizeof(float));
}

/* Softmax in place; up to LANES numbers after `count` scores are overwritten. */
static inline void NAME(softmax)(float *scores, int64_t count) {
    for (int64_t i = count; i % LANES; i++) scores[i] = -INFINITY;
    floats maximum = NAME(all)(-INFINITY), total = (floats){0};
    for (int64_t i = 0; i < count; i += LANES)
        maximum = NAME(greater)(maximum, NAME(load)(scores + i));
    const float greatest = NAME(greatest)(maximum);
    for (int64_t i = 0; i < count; i += LANES) {
        floats value = NAME(exp)(NAME(load)(scores + i) - greatest);
        NAME(store)(scores + i, value);
        total += value;
    }
    const float factor = 1.0f / NAME(sum)(total);
    for (int64_t i = 0; i < count; i += LANES)
        NAME(store)(scores + i, NAME(load)(scores + i) * factor);
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
    const float scale = 1.0f / sqrtf((float)g->d_k);
    for (int64_t first = 0; first < g->size; first += QUERIES) {
        const attention_query *queries = g->queries + first;
        int64_t t = 0, c = 0;
        const int64_t same = g->shared == g->count ? g->count : g->shared / KEYS * KEYS;
        for (; t < same; t += KEYS) NAME(score_keys)(g, queries, t, scale, 1);
        for (; t < g->count; t += KEYS) NAME(score_keys)(g, queries, t, scale, 0);
        for (int q = 0; q < QUERIES; q++) NAME(softmax)(queries[q].scores, g->count);
        for (; c + 4 * LANES <= g->d_v; c += 4 * LANES) NAME(sum_values)(g, queries, c, 4);
        for (; c + LANES <= g->d_v; c += LANES) NAME(sum_values)(g, queries, c, 1);
        for (int q = 0; q < QUERIES; q++)
            for (int64_t i = c; i < g->d_v; i++) {
                float total = 0;
                for (t = 0; t < g->count; t++)
                    total += queries[q].values[t][queries[q].value_shift + i] * queries[q].scores[t];
                queries[q].out[i] = total;
            }
    }
}
#undef KEYS
#undef QUERIES
