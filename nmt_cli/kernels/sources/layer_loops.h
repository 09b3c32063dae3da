/* Layer normalisation, bias and ReLU over rows, in vectors of LANES floats; included for each
   instruction set.

   Before inclusion: LANES, NAME(x) (the name of x for this instruction set), FMA(a, b, c). */

#include "narrow.h"

#define EACH(i, count, width)                                                                \
    for (int64_t i = 0, count; count = (width) - i < LANES ? (width) - i : LANES, i < (width); \
         i += LANES)

static void NAME(normalise)(const layer_norm *n, int64_t first, int64_t last) {
    const int64_t width = n->width;
    for (int64_t row = first; row < last; row++) {
        const float *x = n->x + row * width;
        floats total = (floats){0}, squares = (floats){0};
        EACH(i, count, width) total += NAME(load_some)(x, 0, i, count);
        const float mean = NAME(sum)(total) / width;
        EACH(i, count, width) {
            floats from_mean = NAME(load_some)(x, 0, i, count) - mean;
            if (count < LANES)
                from_mean = NAME(choose)(NAME(below)(0, count), from_mean, (floats){0});
            squares = FMA(from_mean, from_mean, squares);
        }
        const float scale = 1.0f / sqrtf(NAME(sum)(squares) / width + n->epsilon);
        n->statistics[2 * row] = mean, n->statistics[2 * row + 1] = scale;
        EACH(i, count, width) {
            const floats normal = (NAME(load_some)(x, 0, i, count) - mean) * scale;
            const floats value = FMA(normal, NAME(load_some)(n->weight, 0, i, count),
                                     NAME(load_some)(n->bias, 0, i, count));
            if (n->wide) NAME(store_some)(n->wide, 0, row * width + i, count, value);
            if (n->narrow) NAME(store_some)(n->narrow, 1, row * width + i, count, value);
        }
    }
}

/* The gradient of the output: numbers [at, at + count) as floats. */
static inline __attribute__((always_inline)) floats NAME(load_gradient)(const layer_norm *n,
                                                                        int64_t at, int64_t count) {
    if (!n->narrow_gradient) return NAME(load_some)(n->wide_gradient, 0, at, count);
    const floats narrow = NAME(load_some)(n->narrow_gradient, 1, at, count);
    return n->wide_gradient ? NAME(load_some)(n->wide_gradient, 0, at, count) + narrow : narrow;
}

/* to += from, and zeros in `from`: `width` floats each, rounded up to whole vectors. */
static void NAME(move_sums)(float *to, float *from, int64_t width) {
    for (int64_t i = 0; i < width; i += LANES) {
        NAME(store)(to + i, NAME(load)(to + i) + NAME(load)(from + i));
        NAME(store)(from + i, (floats){0});
    }
}

static void NAME(normalise_backward)(const layer_norm *n, int64_t first, int64_t last,
                                     float *sums) {
    const int64_t width = n->width, padded = width + 16;
    float *weight_sums = sums + 2 * padded, *bias_sums = sums + 3 * padded;
    memset(sums, 0, sizeof(float) * 4 * padded);
    for (int64_t row = first; row < last; row++) {
        const float *x = n->x + row * width;
        const float mean = n->statistics[2 * row], scale = n->statistics[2 * row + 1];
        floats total = (floats){0}, aligned = (floats){0};
        EACH(i, count, width) {
            const floats gradient = NAME(load_gradient)(n, row * width + i, count);
            const floats normal = (NAME(load_some)(x, 0, i, count) - mean) * scale;
            const floats part = gradient * NAME(load_some)(n->weight, 0, i, count);
            total += part;
            aligned = FMA(part, normal, aligned);
            NAME(store)(weight_sums + i, FMA(gradient, normal, NAME(load)(weight_sums + i)));
            NAME(store)(bias_sums + i, NAME(load)(bias_sums + i) + gradient);
        }
        const float mean_part = NAME(sum)(total) / width, slope = NAME(sum)(aligned) / width;
        EACH(i, count, width) {
            const floats gradient = NAME(load_gradient)(n, row * width + i, count);
            const floats normal = (NAME(load_some)(x, 0, i, count) - mean) * scale;
            const floats part = gradient * NAME(load_some)(n->weight, 0, i, count);
            const floats value = (part - mean_part - normal * slope) * scale;
            NAME(store_some)(n->x_gradient, 0, row * width + i, count, value);
        }
        if ((row - first) % SUMMED == SUMMED - 1 || row == last - 1) {
            NAME(move_sums)(sums, weight_sums, width);
            NAME(move_sums)(sums + padded, bias_sums, width);
        }
    }
}

static inline __attribute__((always_inline)) void NAME(add_bias_to)(
    void *values, int is_bf16, const float *bias, int64_t width, int relu, int64_t first,
    int64_t last) {
    for (int64_t row = first; row < last; row++)
        EACH(i, count, width) {
            const int64_t at = row * width + i;
            floats value = NAME(load_some)(values, is_bf16, at, count);
            value += NAME(load_some)(bias, 0, i, count);
            /* NaN stays. */
            if (relu) value = NAME(choose)(value < 0, (floats){0}, value);
            NAME(store_some)(values, is_bf16, at, count, value);
        }
}

static void NAME(add_bias)(void *values, int64_t is_bf16, const float *bias, int64_t width,
                           int64_t relu, int64_t first, int64_t last) {
    if (is_bf16)
        NAME(add_bias_to)(values, 1, bias, width, relu != 0, first, last);
    else
        NAME(add_bias_to)(values, 0, bias, width, relu != 0, first, last);
}

static inline __attribute__((always_inline)) void NAME(bias_backward_of)(
    void *gradient, const void *outputs, int is_bf16, int64_t width, int64_t first, int64_t last,
    float *sums) {
    float *block = sums + width + 16;
    memset(sums, 0, sizeof(float) * 2 * (width + 16));
    for (int64_t row = first; row < last; row++) {
        EACH(i, count, width) {
            const int64_t at = row * width + i;
            floats value = NAME(load_some)(gradient, is_bf16, at, count);
            if (outputs) {
                const floats output = NAME(load_some)(outputs, is_bf16, at, count);
                value = NAME(choose)(output <= 0, (floats){0}, value);
                NAME(store_some)(gradient, is_bf16, at, count, value);
            }
            NAME(store)(block + i, NAME(load)(block + i) + value);
        }
        if ((row - first) % SUMMED == SUMMED - 1 || row == last - 1)
            NAME(move_sums)(sums, block, width);
    }
}

static void NAME(bias_backward)(void *gradient, const void *outputs, int64_t is_bf16, int64_t width,
                                int64_t first, int64_t last, float *sums) {
    if (is_bf16)
        NAME(bias_backward_of)(gradient, outputs, 1, width, first, last, sums);
    else
        NAME(bias_backward_of)(gradient, outputs, 0, width, first, last, sums);
}

static void NAME(accumulate)(float *sums, const void *values, int64_t first, int64_t last) {
    for (int64_t i = first; i < last; i += LANES) {
        const int64_t count = last - i < LANES ? last - i : LANES;
        const floats sum = NAME(load_some)(sums, 0, i, count);
        NAME(store_some)(sums, 0, i, count, sum + NAME(load_some)(values, 1, i, count));
    }
}

#undef EACH
