/* Loops over vectors of LANES floats, written once and included for each instruction set: sums,
   exponentials, normalisation, activations, the softmax over words.

   Every number that comes out depends on its own row only, in a fixed order of additions. */

#include "vectors.h"

typedef uint8_t NAME(bytes) __attribute__((vector_size(LANES), aligned(1)));
#define bytes NAME(bytes)

/* The first or the second numbers of LANES pairs of bf16, which are the upper halves of floats. */
static inline floats NAME(load_bf16)(const void *from, int second) {
    const ints pairs = *(const ints *)from;
    return (floats)(second ? pairs & ~0xffff : pairs << 16);
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
/* Each of `count` pairs of vectors becomes one in which parts of both alternate. GCC makes shuffles
   whose places are constants of one instruction, and others element by element. */
#define JOIN(join, width, count, first, second)                                         \
    _Pragma("GCC unroll 8") for (int i = 0; i < count; i++) each[i] =                   \
        join(__builtin_shuffle(each[first], each[second], PLACES(FIRST, width)),        \
             __builtin_shuffle(each[first], each[second], PLACES(SECOND, width)));
#define JOIN_HALVES(join, width) JOIN(join, width, width, i, i + width)
#define ADD_NEIGHBOURS(width) JOIN(SUM, width, LANES / width / 2, 2 * i, 2 * i + 1)
#define SUM(a, b) ((a) + (b))
#define EXCHANGE(width, a, b)                                                           \
    {                                                                                   \
        const floats first = each[a];                                                   \
        each[a] = __builtin_shuffle(first, each[b], PLACES(FIRST, width));              \
        each[b] = __builtin_shuffle(first, each[b], PLACES(SECOND, width));             \
    }
#if LANES == 4
#define JOIN_EACH(join) JOIN_HALVES(join, 2) JOIN_HALVES(join, 1)
#elif LANES == 8
#define JOIN_EACH(join) JOIN_HALVES(join, 4) JOIN_HALVES(join, 2) JOIN_HALVES(join, 1)
#else
#define JOIN_EACH(join)                                                                 \
    JOIN_HALVES(join, 8) JOIN_HALVES(join, 4) JOIN_HALVES(join, 2) JOIN_HALVES(join, 1)
#endif

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

/* The same, but with neighbours added first. */
static inline __attribute__((always_inline)) floats NAME(sum_neighbours_each)(floats *each) {
#ifdef __clang__
    return NAME(sum_each)(each);
#else
    ADD_NEIGHBOURS(1)
    ADD_NEIGHBOURS(2)
#if LANES > 4
    ADD_NEIGHBOURS(4)
#endif
#if LANES > 8
    ADD_NEIGHBOURS(8)
#endif
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

/* Groups of four lanes: group a of vector b and group b of vector a change places, in LANES / 4 vectors. */
static inline __attribute__((always_inline)) void NAME(exchange_groups)(floats *each) {
#ifdef __clang__
    float numbers[LANES * LANES / 4];
    memcpy(numbers, each, sizeof numbers);
    for (int i = 0; i < LANES * LANES / 4; i++)
        each[i / 4 % (LANES / 4)][i / LANES * 4 + i % 4] = numbers[i];
#else
#if LANES > 8
    EXCHANGE(8, 0, 2)
    EXCHANGE(8, 1, 3)
    EXCHANGE(4, 2, 3)
#endif
#if LANES > 4
    EXCHANGE(4, 0, 1)
#endif
    (void)each;
#endif
}
#undef EXCHANGE
#undef FIRST
#undef SECOND
#undef FOUR
#undef PLACES
#undef JOIN
#undef JOIN_HALVES
#undef ADD_NEIGHBOURS
#undef JOIN_EACH
#undef SUM

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
