/* Rows of a product, laid out for its tiles; included after simd.h for each instruction set. */

/* The steps of a product: its inputs, pairs of them or quads. */
static int64_t NAME(find_steps)(const linear *l) {
    const int64_t together = l->kind == INT8 ? 4 : l->kind == BF16 ? 2 : 1;
    return (l->inputs + together - 1) / together;
}

/* The numbers of 4 bytes of a row that is laid out. */
static int64_t NAME(find_row_numbers)(const linear *l) {
    return NAME(find_steps)(l) * (l->kind == BF16 ? 2 : 1);
}

/* How a row is quantized to integers from 0 to 255: times the factor, plus the zero point. The
   scale is the inverse of the factor. */
typedef struct {
    float factor, scale;
    int32_t zero;
} NAME(quantization);

static NAME(quantization) NAME(find_quantization)(const float *x, int64_t inputs) {
    floats maximum = (floats){0}, negated = (floats){0}, nan_check = (floats){0};
    int64_t i = 0;
    for (; i + LANES <= inputs; i += LANES) {
        floats value = NAME(load)(x + i);
        maximum = NAME(greater)(maximum, value);
        negated = NAME(greater)(negated, -value);
        nan_check += value * 0.0f;
    }
    /* `nan_check` is NaN where x has one, which makes the whole row NaN. */
    float above = NAME(greatest)(maximum), below = NAME(greatest)(negated);
    float nan_sum = NAME(sum)(nan_check);
    for (; i < inputs; i++) {
        above = x[i] > above ? x[i] : above;
        below = -x[i] > below ? -x[i] : below;
        nan_sum += x[i] * 0.0f;
    }
    /* One less than 255, since both the number and the zero point are rounded. */
    const float width = above + below, numbers = 254;
    const float factor = width > 1e-30f && width < INFINITY ? numbers / width : 0;
    return (NAME(quantization)){factor, width / numbers + nan_sum, (int32_t)lrintf(below * factor)};
}

/* Interleave `rows` rows of x, filled up with zeros to `numbers` inputs. */
static inline __attribute__((always_inline)) void NAME(interleave_floats)(
    const float *x, int64_t inputs, int64_t numbers, int rows, float *to) {
    for (int64_t k = 0; k < inputs; k++, to += rows)
#pragma GCC unroll 12
        for (int r = 0; r < rows; r++) to[r] = x[r * inputs + k];
    memset(to, 0, sizeof(float) * rows * (numbers - inputs));
}

/* The same, quantized, four integers in each number, with the scale and zero point of each row. */
static inline __attribute__((always_inline)) void NAME(interleave_int8)(
    const float *x, int64_t inputs, int rows, int32_t *to, float *scales, int32_t *zeros) {
    const floats magic = NAME(all)(12582912.0f);
    for (int r = 0; r < rows; r++, x += inputs) {
        const NAME(quantization) quantization = NAME(find_quantization)(x, inputs);
        scales[r] = quantization.scale;
        zeros[r] = quantization.zero;
        int64_t i = 0;
        for (; i + LANES <= inputs; i += LANES) {
            ints rounded = (ints)(NAME(load)(x + i) * quantization.factor + magic) - (ints)magic;
            bytes small = __builtin_convertvector(rounded + quantization.zero, bytes);
            int32_t quads[LANES / 4];
            memcpy(quads, &small, sizeof small);
#pragma GCC unroll 4
            for (int j = 0; j < LANES / 4; j++) to[(i / 4 + j) * rows + r] = quads[j];
        }
        for (; i < inputs; i += 4) {
            uint32_t quad = 0;
            for (int64_t j = 0; j < 4 && i + j < inputs; j++) {
                const int32_t scaled = (int32_t)lrintf(x[i + j] * quantization.factor);
                const int32_t whole = scaled + quantization.zero;
                quad |= (uint32_t)(uint8_t)whole << 8 * j;
            }
            to[i / 4 * rows + r] = (int32_t)quad;
        }
    }
}

/* Loops over a number of rows that is known are a few times as fast. */
#define INTERLEAVE(n)                                                                    \
    case n:                                                                              \
        if (l->kind == INT8) NAME(interleave_int8)(x, l->inputs, n, to, scales, zeros);  \
        else NAME(interleave_floats)(x, l->inputs, numbers, n, (float *)to);             \
        return;

static void NAME(interleave)(const linear *l, const float *x, int rows, int32_t *to,
                             float *scales, int32_t *zeros) {
    const int64_t numbers = NAME(find_row_numbers)(l);
    switch (rows) {
        INTERLEAVE(1) INTERLEAVE(TILE_ROWS)
    }
    if (l->kind == INT8) NAME(interleave_int8)(x, l->inputs, rows, to, scales, zeros);
    else NAME(interleave_floats)(x, l->inputs, numbers, rows, (float *)to);
}
#undef INTERLEAVE

/* Convert panels of bf16 weights, in all `pairs` times PANEL pairs, to floats. */
static void NAME(widen)(const char *from, float *to, int64_t pairs) {
    for (; pairs; pairs--, from += STEP, to += 2 * PANEL)
        for (int i = 0; i < PANEL; i += LANES) {
            NAME(store)(to + i, NAME(load_bf16)(from + 4 * i, 0));
            NAME(store)(to + PANEL + i, NAME(load_bf16)(from + 4 * i, 1));
        }
}

