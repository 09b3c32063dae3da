/* Loops over vectors of LANES floats, written once and included for each instruction set: sums,
   exponentials, attention, normalisation, activations, the softmax over words.

   Every number that comes out depends on its own row only, in a fixed order of additions. */

#include "vectors.h"

typedef uint8_t NAME(bytes) __attribute__((vector_size(LANES), aligned(1)));
typedef uint16_t NAME(halves) __attribute__((vector_size(2 * LANES), aligned(2)));
#define bytes NAME(bytes)
#define halves NAME(halves)

/* A bf16 number is the upper half of a float. */
static inline floats NAME(load_bf16)(const uint16_t *from) {
    return (floats)(__builtin_convertvector(*(const halves *)from, ints) << 16);
}

#define FIRST(i, width) ((i) & (width) ? LANES + (i) - (width) : (i))
#define SECOND(i, width) ((i) & (width) ? LANES + (i) : (i) + (width))
#define FOUR(place, i, width) \
    place(i, width), place(i + 1, width), place(i + 2, width), place(i + 3, width)
#if LANES == 4
#define PLACES(place, width) (ints){FOUR(place, 0, width)}
#elif LANES == 8
#define PLACES(place, width) (ints){FOUR(place, 0, width), FOUR(place, 4, width)}
#else
#define PLACES(place, width)                                                            \
    (ints){FOUR(place, 0, width), FOUR(place, 4, width), FOUR(place, 8, width),         \
           FOUR(place, 12, width)}
#endif
/* Two vectors become one, in which parts of both alternate. GCC makes shuffles whose places are
   constants of one instruction, and others element by element. */
#define JOIN_HALVES(join, width)                                                        \
    _Pragma("GCC unroll 8") for (int i = 0; i < width; i++) each[i] =                   \
        join(__builtin_shuffle(each[i], each[i + width], PLACES(FIRST, width)),         \
             __builtin_shuffle(each[i], each[i + width], PLACES(SECOND, width)));
#if LANES == 4
#define JOIN_EACH(join) JOIN_HALVES(join, 2) JOIN_HALVES(join, 1)
#elif LANES == 8
#define JOIN_EACH(join) JOIN_HALVES(join, 4) JOIN_HALVES(join, 2) JOIN_HALVES(join, 1)
#else
#define JOIN_EACH(join)                                                                 \
    JOIN_HALVES(join, 8) JOIN_HALVES(join, 4) JOIN_HALVES(join, 2) JOIN_HALVES(join, 1)
#endif
#define SUM(a, b) ((a) + (b))

/* The sums of LANES vectors, one in each lane; the vectors are overwritten. */
static inline __attribute__((always_inline)) floats NAME(sum_each)(floats *each) {
#ifdef __clang__
    floats sums;
    for (int i = 0; i < LANES; i++) sums[i] = NAME(sum)(each[i]);
    return sums;
#else
    JOIN_EACH(SUM)
    return each[0];
#endif
}

/* The greatest numbers of LANES vectors. */
static inline __attribute__((always_inline)) floats NAME(greatest_each)(floats *each) {
#ifdef __clang__
    floats numbers;
    for (int i = 0; i < LANES; i++) numbers[i] = NAME(greatest)(each[i]);
    return numbers;
#else
    JOIN_EACH(NAME(greater))
    return each[0];
#endif
}
#undef FIRST
#undef SECOND
#undef FOUR
#undef PLACES
#undef JOIN_HALVES
#undef JOIN_EACH
#undef SUM

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
