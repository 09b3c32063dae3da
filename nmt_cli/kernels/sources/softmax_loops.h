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

static void NAME(softmax_row)(const softmax *s, int64_t row, float *powers) {
    const int64_t whole = s->size / LANES * LANES, rest = s->size - whole;
    const int64_t at = s->targets[row] / LANES * LANES;
    const int64_t lane = s->targets[row] - at, width = at < whole ? LANES : rest;
    const float target = NAME(load_logits)(s, row, at, width)[lane];
    const ints inside = NAME(below)(0, rest);
    floats maximum = NAME(all)(-INFINITY), total = (floats){0}, last = maximum;
    for (int64_t i = 0; i < whole; i += LANES)
        maximum = NAME(greater)(maximum, NAME(load_logits)(s, row, i, LANES));
    if (rest) last = NAME(choose)(inside, NAME(load_logits)(s, row, whole, rest), last);
    const float greatest = NAME(greatest)(NAME(greater)(maximum, last));
    for (int64_t i = 0; i < whole; i += LANES) {
        const floats power = NAME(exp)(NAME(load_logits)(s, row, i, LANES) - greatest);
        NAME(store)(powers + i, power);
        total += power;
    }
    if (rest) {
        const floats power = NAME(exp)(last - greatest);
        NAME(store)(powers + whole, power);
        total += power;
    }
    const float sum = NAME(sum)(total);
    s->log_sums[row] = greatest + logf(sum);
    s->target_scores[row] = target;
    if (!s->needs_gradient) return;
    const float factor = 1.0f / sum;
    for (int64_t i = 0; i < whole; i += LANES)
        NAME(store_gradient)(s, row, i, LANES, NAME(load)(powers + i) * factor);
    if (rest) NAME(store_gradient)(s, row, whole, rest, NAME(load)(powers + whole) * factor);
    floats around = NAME(load)(powers + at) * factor;
    around[lane] += s->epsilon - 1.0f;
    NAME(store_gradient)(s, row, at, width, around);
}
