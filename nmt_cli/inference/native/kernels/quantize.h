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

/* How each of up to LANES rows is quantized to integers from 0 to 255: times the factor, plus the zero
   point. The scale is the inverse of the factor. */
typedef struct {
    float factors[LANES], scales[LANES];
    int32_t zeros[LANES];
} NAME(quantization);

/* Of a row: in each lane the greatest and the least number, neither beyond 0, and NaN or 0. */
static inline __attribute__((always_inline)) void NAME(find_extremes)(
    const float *x, int64_t inputs, floats *maximum, floats *minimum, floats *nan_check) {
    floats most[2] = {{0}}, least[2] = {{0}}, nan[2] = {{0}};
    int64_t i = 0;
    for (; i + 2 * LANES <= inputs; i += 2 * LANES)
#pragma GCC unroll 2
        for (int j = 0; j < 2; j++) {
            const floats value = NAME(load)(x + i + j * LANES);
            most[j] = NAME(greater)(most[j], value);
            least[j] = NAME(lesser)(least[j], value);
            nan[j] = FMA(value, (floats){0}, nan[j]);
        }
    for (; i < inputs; i += LANES) {
        /* Filled up with zeros, which change nothing. */
        float spare[LANES] = {0};
        memcpy(spare, x + i, sizeof(float) * (inputs - i < LANES ? inputs - i : LANES));
        const floats value = NAME(load)(spare);
        most[0] = NAME(greater)(most[0], value);
        least[0] = NAME(lesser)(least[0], value);
        nan[0] = FMA(value, (floats){0}, nan[0]);
    }
    *maximum = NAME(greater)(most[0], most[1]);
    *minimum = NAME(lesser)(least[0], least[1]);
    *nan_check = nan[0] + nan[1];
}

static inline __attribute__((always_inline)) NAME(quantization) NAME(find_quantization)(
    const float *x, int64_t inputs, int rows) {
    floats maxima[LANES] = {{0}}, negated[LANES] = {{0}}, nan_checks[LANES] = {{0}};
    for (int r = 0; r < rows; r++)
        NAME(find_extremes)(x + r * inputs, inputs, maxima + r, negated + r, nan_checks + r);
    for (int r = 0; r < rows; r++) negated[r] = -negated[r];
    const int alone = rows == 1;
    const floats above = alone ? NAME(all)(NAME(greatest)(*maxima)) : NAME(greatest_each)(maxima);
    const floats below = alone ? NAME(all)(NAME(greatest)(*negated)) : NAME(greatest_each)(negated);
    /* NaN where x has one, which makes the whole row NaN. */
    const floats nan = alone ? NAME(all)(NAME(sum)(*nan_checks)) : NAME(sum_each)(nan_checks);
    const floats magic = NAME(all)(12582912.0f);
    /* One less than 255, since both the number and the zero point are rounded. */
    const floats width = above + below, numbers = NAME(all)(254.0f);
    const ints usable = (width > 1e-30f) & (width < INFINITY);
    const floats factors = NAME(choose)(usable, numbers / width, (floats){0});
    const ints zeros = (ints)(below * factors + magic) - (ints)magic;
    NAME(quantization) each;
    NAME(store)(each.factors, factors);
    NAME(store)(each.scales, width / numbers + nan);
    memcpy(each.zeros, &zeros, sizeof zeros);
    return each;
}

/* Four numbers of 4 bytes, which may be floats. */
typedef int32_t NAME(four) __attribute__((vector_size(16), aligned(4), may_alias));
typedef int32_t NAME(number) __attribute__((may_alias));
#ifdef __clang__
#define MIX(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define MIX(a, b, ...) __builtin_shuffle(a, b, (NAME(four)){__VA_ARGS__})
#endif

/* Write the columns of a square of four rows, each `apart` after the one before, as rows that are
   `next` apart. */
static inline __attribute__((always_inline)) void NAME(turn_square)(const NAME(number) *from,
                                                                    int64_t apart, int32_t *to,
                                                                    int64_t next) {
    const NAME(four) a = *(const NAME(four) *)from, b = *(const NAME(four) *)(from + apart);
    const NAME(four) c = *(const NAME(four) *)(from + 2 * apart);
    const NAME(four) d = *(const NAME(four) *)(from + 3 * apart);
    const NAME(four) first = MIX(a, b, 0, 4, 1, 5), second = MIX(c, d, 0, 4, 1, 5);
    const NAME(four) third = MIX(a, b, 2, 6, 3, 7), fourth = MIX(c, d, 2, 6, 3, 7);
    *(NAME(four) *)to = MIX(first, second, 0, 1, 4, 5);
    *(NAME(four) *)(to + next) = MIX(first, second, 2, 3, 6, 7);
    *(NAME(four) *)(to + 2 * next) = MIX(third, fourth, 0, 1, 4, 5);
    *(NAME(four) *)(to + 3 * next) = MIX(third, fourth, 2, 3, 6, 7);
}
#undef MIX

/* Turn `rows` rows of `count` numbers of 4 bytes, each `apart` after the one before, into `count` lines of
   `rows` numbers. Squares of four by four are turned at once. */
static inline __attribute__((always_inline)) void NAME(turn_rows)(const void *rows_begin,
                                                                  int64_t apart, int64_t count,
                                                                  int rows, int32_t *to) {
    const NAME(number) *from = rows_begin;
    for (int64_t begin = 0; begin < count; begin += PANEL) {
        const int64_t end = begin + PANEL < count ? begin + PANEL : count;
        for (int r = 0; r < rows; r += 4) {
            int64_t k = begin;
            for (; r + 4 <= rows && k + 4 <= end; k += 4)
                NAME(turn_square)(from + r * apart + k, apart, to + k * rows + r, rows);
            for (; k < end; k++)
                for (int i = r; i < r + 4 && i < rows; i++) to[k * rows + i] = from[i * apart + k];
        }
    }
}

/* Interleave `rows` rows of x, filled up with zeros to `numbers` inputs. */
static inline __attribute__((always_inline)) void NAME(interleave_floats)(
    const float *x, int64_t inputs, int64_t numbers, int rows, float *to) {
    NAME(turn_rows)(x, inputs, inputs, rows, (int32_t *)to);
    memset(to + inputs * rows, 0, sizeof(float) * rows * (numbers - inputs));
}

/* Quantize `count` inputs; the last quad is filled up with zeros. */
static inline __attribute__((always_inline)) void NAME(quantize)(const float *x, int64_t count,
                                                                 float factor, int32_t zero,
                                                                 uint8_t *to) {
    const floats magic = NAME(all)(12582912.0f);
    const ints shift = zero - (ints)magic;
    int64_t i = 0;
    for (; i + LANES <= count; i += LANES) {
        const ints rounded = (ints)(NAME(load)(x + i) * factor + magic) + shift;
        const bytes small = __builtin_convertvector(rounded, bytes);
        memcpy(to + i, &small, sizeof small);
    }
    for (; i < count; i++) to[i] = (uint8_t)((int32_t)lrintf(x[i] * factor) + zero);
    memset(to + count, 0, -count & 3);
}

/* The same as `interleave_floats`, quantized, four integers in each number, with the scale and zero point
   of each row. */
static inline __attribute__((always_inline)) void NAME(interleave_int8)(
    const float *x, int64_t inputs, int rows, int32_t *to, float *scales, int32_t *zeros) {
    const NAME(quantization) each = NAME(find_quantization)(x, inputs, rows);
    memcpy(scales, each.scales, sizeof(float) * rows);
    memcpy(zeros, each.zeros, sizeof(int32_t) * rows);
    for (int64_t begin = 0; begin < inputs; begin += 4 * PANEL) {
        const int64_t left = inputs - begin, count = left < 4 * PANEL ? left : 4 * PANEL;
        uint8_t quads[4 * PANEL * TILE_ROWS];
        for (int r = 0; r < rows; r++)
            NAME(quantize)(x + r * inputs + begin, count, each.factors[r], each.zeros[r],
                           quads + 4 * PANEL * r);
        NAME(turn_rows)(quads, PANEL, (count + 3) / 4, rows, to + begin / 4 * rows);
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

