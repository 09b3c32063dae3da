/* The softmax of one row of logits, in vectors of LANES floats; included for each instruction set.

   Before inclusion: LANES, NAME(x) (the name of x for this instruction set), FMA(a, b, c). */

#include "narrow.h"

/* Numbers [i, i + count) of a row as floats, with the bias; count is at most LANES. */
static inline floats NAME(load_logits)(const softmax *s, int64_t row, int64_t i, int64_t count) {
    const floats value = NAME(load_some)(s->logits, s->is_bf16, row * s->stride + i, count);
    return s->bias ? value + NAME(load_some)(s->bias, 0, i, count) : value;
}

static inline void NAME(store_gradient)(const softmax *s, int64_t row, int64_t i, int64_t count,
                                        floats value) {
    NAME(store_some)(s->logits, s->is_bf16, row * s->stride + i, count, value);
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
