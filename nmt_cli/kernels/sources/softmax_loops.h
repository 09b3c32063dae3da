/* The softmax of one row of logits, in vectors of LANES floats; included for each instruction set.

   Before inclusion: LANES, NAME(x) (the name of x for this instruction set), FMA(a, b, c). */

#include "vectors.h"

typedef uint16_t NAME(halves) __attribute__((vector_size(2 * LANES), aligned(2)));
#define halves NAME(halves)

/* A bf16 number is the upper half of a float; the nearest one, and of two the even one. */
static inline halves NAME(round_bf16)(floats value) {
    const ints bits = (ints)value;
    const ints rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
    const ints whole = NAME(is_number)(value);
    return __builtin_convertvector((rounded & whole) | (0x7fc0 & ~whole), halves);
}

/* Numbers [i, i + count) of a row as floats, with the bias; count is at most LANES. */
static inline floats NAME(load_logits)(const softmax *s, int64_t row, int64_t i, int64_t count) {
    floats value;
    if (s->is_bf16) {
        halves narrow = (halves){0};
        memcpy(&narrow, (const uint16_t *)s->logits + row * s->stride + i, 2 * count);
        value = (floats)(__builtin_convertvector(narrow, ints) << 16);
    } else {
        value = (floats){0};
        memcpy(&value, (const float *)s->logits + row * s->stride + i, 4 * count);
    }
    if (s->bias) {
        floats bias = (floats){0};
        memcpy(&bias, s->bias + i, 4 * count);
        value += bias;
    }
    return value;
}

static inline void NAME(store_gradient)(const softmax *s, int64_t row, int64_t i, int64_t count,
                                        floats value) {
    if (s->is_bf16) {
        const halves narrow = NAME(round_bf16)(value);
        memcpy((uint16_t *)s->logits + row * s->stride + i, &narrow, 2 * count);
    } else {
        memcpy((float *)s->logits + row * s->stride + i, &value, 4 * count);
    }
}

static void NAME(softmax_row)(const softmax *s, int64_t row, float *scores) {
    const int64_t whole = s->size / LANES * LANES, rest = s->size - whole;
    floats maximum = NAME(all)(-INFINITY), total = (floats){0};
    for (int64_t i = 0; i < whole; i += LANES) {
        const floats value = NAME(load_logits)(s, row, i, LANES);
        NAME(store)(scores + i, value);
        maximum = NAME(greater)(maximum, value);
    }
    if (rest) {
        const ints inside = NAME(below)(0, rest);
        const floats value = NAME(choose)(inside, NAME(load_logits)(s, row, whole, rest),
                                          NAME(all)(-INFINITY));
        NAME(store)(scores + whole, value);
        maximum = NAME(greater)(maximum, value);
    }
    const float greatest = NAME(greatest)(maximum), target = scores[s->targets[row]];
    for (int64_t i = 0; i < s->size; i += LANES) {
        const floats power = NAME(exp)(NAME(load)(scores + i) - greatest);
        NAME(store)(scores + i, power);
        total += power;
    }
    const float sum = NAME(sum)(total);
    s->log_sums[row] = greatest + logf(sum);
    s->target_scores[row] = target;
    if (!s->needs_gradient) return;
    const float factor = 1.0f / sum;
    for (int64_t i = 0; i < s->size; i += LANES)
        NAME(store)(scores + i, NAME(load)(scores + i) * factor);
    scores[s->targets[row]] += s->epsilon - 1.0f;
    for (int64_t i = 0; i < whole; i += LANES)
        NAME(store_gradient)(s, row, i, LANES, NAME(load)(scores + i));
    if (rest) NAME(store_gradient)(s, row, whole, rest, NAME(load)(scores + whole));
}

#undef halves
