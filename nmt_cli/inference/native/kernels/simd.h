/* Loops over vectors of LANES floats, written once and included for each instruction set: sums,
   exponentials, attention, normalisation, activations, the softmax over words.

   Before inclusion: LANES, TILE_ROWS (rows of a tile: as many as the registers hold), NAME(x) (the
   name of x for this instruction set), FMA(a, b, c), and MULTIPLY_QUADS, or not.
   Every number that comes out depends on its own row only, in a fixed order of additions. */

#include "vectors.h"

#define VECTORS (PANEL / LANES)
typedef uint8_t NAME(bytes) __attribute__((vector_size(LANES), aligned(1)));
typedef uint16_t NAME(halves) __attribute__((vector_size(2 * LANES), aligned(2)));
#define bytes NAME(bytes)
#define halves NAME(halves)

/* A bf16 number is the upper half of a float. */
static inline floats NAME(load_bf16)(const uint16_t *from) {
    return (floats)(__builtin_convertvector(*(const halves *)from, ints) << 16);
}

/* The sums of LANES vectors, one in each lane. */
static inline __attribute__((always_inline)) floats NAME(sum_each)(floats *each) {
#ifdef __clang__
    floats sums;
    for (int i = 0; i < LANES; i++) sums[i] = NAME(sum)(each[i]);
    return sums;
#else
    /* Two vectors become one, in which parts of both alternate. */
#pragma GCC unroll 4
    for (int width = 1; width < LANES; width *= 2) {
        ints first, second;
#pragma GCC unroll 16
        for (int i = 0; i < LANES; i++) {
            first[i] = i & width ? LANES + i - width : i;
            second[i] = i & width ? LANES + i : i + width;
        }
#pragma GCC unroll 8
        for (int i = 0; i < LANES / width / 2; i++)
            each[i] = __builtin_shuffle(each[2 * i], each[2 * i + 1], first) +
                      __builtin_shuffle(each[2 * i], each[2 * i + 1], second);
    }
    return each[0];
#endif
}

/* Scores of LANES keys of `s` from `begin` on; past the last key, it is repeated. */
static inline __attribute__((always_inline)) void NAME(attention_scores)(
    const float *query, const attention_input *s, int64_t begin, float scale) {
    const float *keys[LANES];
    floats sums[LANES];
#pragma GCC unroll 16
    for (int i = 0; i < LANES; i++) {
        const int64_t t = begin + i < s->count ? begin + i : s->count - 1;
        keys[i] = s->keys[t] + s->key_shift;
        sums[i] = (floats){0};
    }
    int64_t c = 0;
    for (; c + LANES <= s->d_k; c += LANES) {
        const floats part = NAME(load)(query + c);
#pragma GCC unroll 16
        for (int i = 0; i < LANES; i++) sums[i] = FMA(NAME(load)(keys[i] + c), part, sums[i]);
    }
    floats scores = NAME(sum_each)(sums);
    for (; c < s->d_k; c++)
        for (int i = 0; i < LANES; i++) scores[i] += keys[i][c] * query[c];
    NAME(store)(s->scores + begin, scores * scale);
}

/* Softmax in place; up to LANES numbers after `count` scores are overwritten. */
static void NAME(softmax)(float *scores, int64_t count) {
    float greatest = -INFINITY;
    for (int64_t i = 0; i < count; i++) greatest = scores[i] > greatest ? scores[i] : greatest;
    for (int64_t i = count; i % LANES; i++) scores[i] = -INFINITY;
    floats total = (floats){0};
    for (int64_t i = 0; i < count; i += LANES) {
        floats value = NAME(exp)(NAME(load)(scores + i) - greatest);
        NAME(store)(scores + i, value);
        total += value;
    }
    float factor = 1.0f / NAME(sum)(total);
    for (int64_t i = 0; i < count; i++) scores[i] *= factor;
}

/* The values of `s` summed with the scores as weights: `vectors` vectors of columns from `c` on. */
static inline __attribute__((always_inline)) void NAME(weighted_sum)(
    const attention_input *s, int64_t c, int vectors, float *out) {
    floats sums[8];
#pragma GCC unroll 8
    for (int v = 0; v < vectors; v++) sums[v] = (floats){0};
    for (int64_t i = 0; i < s->count; i++) {
        const float *value = s->values[i] + s->value_shift + c;
        floats share = NAME(all)(s->scores[i]);
#pragma GCC unroll 8
        for (int v = 0; v < vectors; v++)
            sums[v] = FMA(NAME(load)(value + v * LANES), share, sums[v]);
    }
#pragma GCC unroll 8
    for (int v = 0; v < vectors; v++) NAME(store)(out + c + v * LANES, sums[v]);
}

/* Equation 1 for one query. */
static void NAME(attention)(const float *query, const attention_input *s, float *out) {
    const float scale = 1.0f / sqrtf((float)s->d_k);
    for (int64_t i = 0; i < s->count; i += LANES) NAME(attention_scores)(query, s, i, scale);
    NAME(softmax)(s->scores, s->count);
    int64_t c = 0;
    for (; c + 8 * LANES <= s->d_v; c += 8 * LANES) NAME(weighted_sum)(s, c, 8, out);
    for (; c + 4 * LANES <= s->d_v; c += 4 * LANES) NAME(weighted_sum)(s, c, 4, out);
    for (; c + LANES <= s->d_v; c += LANES) NAME(weighted_sum)(s, c, 1, out);
    for (; c < s->d_v; c++) {
        float total = 0;
        for (int64_t i = 0; i < s->count; i++)
            total += s->values[i][s->value_shift + c] * s->scores[i];
        out[c] = total;
    }
}

/* to = norm(from + more); `more` may be null; the sum is also written to `sums` unless null. */
static void NAME(normalise)(const norm *n, const float *from, const float *more, float *sums,
                            float *to, int64_t width) {
    float *row = sums ? sums : to;
    float mean = 0, square = 0;
    int64_t i = 0, whole = width / LANES * LANES;
    floats total = (floats){0};
    for (; i < whole; i += LANES) {
        floats value = NAME(load)(from + i);
        if (more) value += NAME(load)(more + i);
        NAME(store)(row + i, value);
        total += value;
    }
    mean = NAME(sum)(total);
    for (; i < width; i++) mean += row[i] = more ? from[i] + more[i] : from[i];
    if (!n->weight) {
        if (sums) memcpy(to, sums, sizeof(float) * width);
        return;
    }
    mean = n->root_mean_square ? 0 : mean / width;
    total = (floats){0};
    for (i = 0; i < whole; i += LANES) {
        floats apart = NAME(load)(row + i) - mean;
        total = FMA(apart, apart, total);
    }
    square = NAME(sum)(total);
    for (; i < width; i++) square += (row[i] - mean) * (row[i] - mean);
    const float factor = 1.0f / sqrtf((float)(square / width + n->epsilon));
    for (i = 0; i < whole; i += LANES) {
        floats value = (NAME(load)(row + i) - mean) * factor * NAME(load)(n->weight + i);
        if (n->bias) value += NAME(load)(n->bias + i);
        NAME(store)(to + i, value);
    }
    for (; i < width; i++)
        to[i] = (row[i] - mean) * factor * n->weight[i] + (n->bias ? n->bias[i] : 0);
}

/* GELU's normal distribution function: erf as in Abramowitz and Stegun 7.1.26, to 1.5e-7. */
static inline floats NAME(normal)(floats x) {
    floats z = (floats)((ints)x & 0x7fffffff) * 0.70710678f;
    floats t = 1.0f / FMA(z, NAME(all)(0.3275911f), NAME(all)(1.0f));
    floats p = FMA(t, NAME(all)(1.061405429f), NAME(all)(-1.453152027f));
    p = FMA(p, t, NAME(all)(1.421413741f));
    p = FMA(p, t, NAME(all)(-0.284496736f));
    p = FMA(p, t, NAME(all)(0.254829592f));
    floats upper = 0.5f * (p * t) * NAME(exp)(-z * z);
    return NAME(choose)(x < 0.0f, upper, 1.0f - upper);
}

/* x = activation(x), times `gates` unless null. */
static void NAME(activate)(int64_t kind, float *x, const float *gates, int64_t count) {
    for (int64_t i = 0; i < count; i += LANES) {
        float spare[LANES] = {0};
        int64_t left = count - i < LANES ? count - i : LANES;
        memcpy(spare, x + i, sizeof(float) * left);
        floats value = NAME(load)(spare);
        if (kind == RELU) value = NAME(choose)(value < 0.0f, NAME(all)(0.0f), value);
        if (kind == GELU) value *= NAME(normal)(value);
        if (kind == SILU) value = value / (NAME(exp)(-value) + 1.0f);
        NAME(store)(spare, value);
        if (gates)
            for (int64_t j = 0; j < left; j++) spare[j] *= gates[i + j];
        memcpy(x + i, spare, sizeof(float) * left);
    }
}

/* The maximum of each BLOCK of logits, and the logarithm of the sum of e^logit. */
static void NAME(log_sum_exp)(const float *logits, int64_t count, float *maxima, float *total) {
    float top = -INFINITY;
    for (int64_t i = 0; i < count; i += BLOCK) {
        floats maximum = NAME(load)(logits + i);
        for (int64_t j = LANES; j < BLOCK; j += LANES)
            maximum = NAME(greater)(maximum, NAME(load)(logits + i + j));
        float greatest = maxima[i / BLOCK] = NAME(greatest)(maximum);
        top = greatest > top ? greatest : top;
    }
    floats sums[2] = {{0}, {0}};
    for (int64_t i = 0; i < count; i += 2 * LANES)
        for (int v = 0; v < 2; v++)
            sums[v] += NAME(exp)(NAME(load)(logits + i + v * LANES) - top);
    *total = top + logf(NAME(sum)(sums[0] + sums[1]));
}
