/* Products of a few rows with packed weights; included after vectors.h for each instruction set.

   A tile is some rows by one panel, its sums held in registers. Its rows are laid side by side, for
   8-bit weights as pairs of whole numbers of 16 bits. Where several tiles meet the same panel, its
   narrow weights are widened once. A sum is made in the order of the inputs, whatever the tile. */

typedef struct {
    const void *rows, *weights;
    int64_t steps;
    int wide;
} NAME(operands);
#define operands NAME(operands)

static inline __attribute__((always_inline)) void NAME(float_tile)(
    const operands *o, int rows, int narrow, floats sums[MOST_TILE_ROWS][VECTORS]) {
    const float *x = o->rows, *weights = o->weights;
    const uint16_t *halved = o->weights;
#pragma GCC unroll 12
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; v++) sums[r][v] = (floats){0};
    for (int64_t k = 0; k < o->steps; k++, x += rows, weights += PANEL, halved += PANEL) {
        floats w[VECTORS];
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; v++)
            w[v] = narrow ? NAME(load_bf16)(halved + v * LANES) : NAME(load)(weights + v * LANES);
#pragma GCC unroll 12
        for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
            for (int v = 0; v < VECTORS; v++) sums[r][v] = FMA(w[v], NAME(all)(x[r]), sums[r][v]);
    }
}

/* Weights of 8 bits, inputs of 16, exact sums of 32. */
static inline __attribute__((always_inline)) void NAME(whole_tile)(
    const operands *o, int rows, int wide, ints sums[MOST_TILE_ROWS][VECTORS]) {
    const int32_t *x = o->rows;
    const int8_t *weights = o->weights;
    const int16_t *widened = o->weights;
#pragma GCC unroll 12
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; v++) sums[r][v] = (ints){0};
    for (int64_t k = 0; k < o->steps; k++, x += rows) {
#ifdef MULTIPLY_PAIRS
        WIDE_WEIGHTS w[VECTORS];
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; v++)
            w[v] = wide ? LOAD_WIDE(widened + (k * VECTORS + v) * 2 * LANES)
                        : WIDEN(weights + (k * VECTORS + v) * 2 * LANES);
#pragma GCC unroll 12
        for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
            for (int v = 0; v < VECTORS; v++)
                sums[r][v] = (ints)MULTIPLY_PAIRS(sums[r][v], w[v], x[r]);
#else
        for (int r = 0; r < rows; r++)
            for (int c = 0; c < PANEL; c++) {
                int64_t at = (k * PANEL + c) * 2;
                int32_t first = wide ? widened[at] : weights[at];
                int32_t second = wide ? widened[at + 1] : weights[at + 1];
                sums[r][c / LANES][c % LANES] += first * (int16_t)x[r] + second * (x[r] >> 16);
            }
#endif
    }
}

#define TILE(n)                                                               \
    case n:                                                                   \
        if (kind == INT8) {                                                   \
            if (o->wide) NAME(whole_tile)(o, n, 1, whole);                    \
            else NAME(whole_tile)(o, n, 0, whole);                            \
            for (int r = 0; r < n; r++)                                       \
                for (int v = 0; v < VECTORS; v++)                             \
                    sums[r][v] = __builtin_convertvector(whole[r][v], floats); \
        } else if (kind == BF16 && !o->wide)                                  \
            NAME(float_tile)(o, n, 1, sums);                                  \
        else                                                                  \
            NAME(float_tile)(o, n, 0, sums);                                  \
        break;

static void NAME(tile)(const operands *o, int rows, int64_t kind,
                       floats sums[MOST_TILE_ROWS][VECTORS]) {
    ints whole[MOST_TILE_ROWS][VECTORS];
    switch (rows) {
        TILE(1) TILE(2) TILE(3)
#if TILE_ROWS > 3
        TILE(4) TILE(5) TILE(6)
#endif
#if TILE_ROWS > 6
        TILE(7) TILE(8) TILE(9) TILE(10) TILE(11) TILE(12)
#endif
    }
}
#undef TILE

/* Sums to numbers: times both scales if whole, plus the bias; negative ones to zero if wished. */
static void NAME(finish)(const product_task *task, const floats *sums, float scale, int64_t row,
                         int64_t panel) {
    const linear *l = task->linear;
    const int64_t column = panel * PANEL, columns = l->outputs - column;
    float spare[PANEL], *out = task->out + row * l->outputs + column;
    float *to = columns < PANEL ? spare : out;
    for (int v = 0; v < VECTORS; v++) {
        floats value = sums[v];
        if (l->kind == INT8) value *= NAME(load)(l->scales + column + v * LANES) * scale;
        if (l->bias) value += NAME(load)(l->bias + column + v * LANES);
        if (task->relu) value = NAME(choose)(value < 0.0f, NAME(all)(0.0f), value);
        NAME(store)(to + v * LANES, value);
    }
    if (columns < PANEL) memcpy(out, spare, sizeof(float) * columns);
}

/* The factor that makes whole numbers up to `limit` of a row; `scale` undoes it. */
static float NAME(factor)(const float *x, int64_t inputs, float limit, float *scale) {
    floats most = (floats){0}, nothing = (floats){0};
    int64_t i = 0;
    for (; i + LANES <= inputs; i += LANES) {
        floats value = NAME(load)(x + i);
        most = NAME(greater)(most, (floats)((ints)value & 0x7fffffff));
        nothing += value * 0.0f;
    }
    /* `nothing` is not-a-number where x holds one, and makes the whole row so. */
    float greatest = NAME(greatest)(most), broken = NAME(sum)(nothing);
    for (; i < inputs; i++) {
        float size = fabsf(x[i]);
        greatest = size > greatest ? size : greatest;
        broken += x[i] * 0.0f;
    }
    *scale = greatest / limit + broken;
    return greatest > 0 && greatest < INFINITY ? limit / greatest : 0;
}

/* `rows` rows from x on, side by side. */
static inline __attribute__((always_inline)) void NAME(lay_floats)(const float *x, int64_t inputs,
                                                                   int rows, float *to) {
    for (int64_t k = 0; k < inputs; k++, to += rows)
#pragma GCC unroll 12
        for (int r = 0; r < rows; r++) to[r] = x[r * inputs + k];
}

/* The same as whole numbers, two in each place, with the scale of each row. */
static inline __attribute__((always_inline)) void NAME(lay_whole)(const float *x, int64_t inputs,
                                                                  int rows, int32_t *to,
                                                                  float *scales) {
    const float most = (float)(INT32_MAX / 127 / inputs), limit = most < 32767 ? most : 32767;
    const floats magic = NAME(all)(12582912.0f);
    for (int r = 0; r < rows; r++, x += inputs) {
        const float factor = NAME(factor)(x, inputs, limit, scales + r);
        int64_t i = 0;
        for (; i + LANES <= inputs; i += LANES) {
            ints rounded = (ints)(NAME(load)(x + i) * factor + magic) - (ints)magic;
            shorts small = __builtin_convertvector(rounded, shorts);
            int32_t pairs[LANES / 2];
            memcpy(pairs, &small, sizeof small);
#pragma GCC unroll 8
            for (int j = 0; j < LANES / 2; j++) to[(i / 2 + j) * rows + r] = pairs[j];
        }
        for (; i < inputs; i += 2) {
            uint16_t first = (uint16_t)lrintf(x[i] * factor);
            uint16_t second = i + 1 < inputs ? (uint16_t)lrintf(x[i + 1] * factor) : 0;
            to[i / 2 * rows + r] = (int32_t)(first | (uint32_t)second << 16);
        }
    }
}

static void NAME(lay)(const linear *l, const float *x, int rows, int32_t *to, float *scales) {
    if (l->kind != INT8 && rows == TILE_ROWS)
        NAME(lay_floats)(x, l->inputs, TILE_ROWS, (float *)to);
    else if (l->kind != INT8)
        NAME(lay_floats)(x, l->inputs, rows, (float *)to);
    else if (rows == TILE_ROWS)
        NAME(lay_whole)(x, l->inputs, TILE_ROWS, to, scales);
    else
        NAME(lay_whole)(x, l->inputs, rows, to, scales);
}

/* A panel of narrow weights as floats, or as whole numbers of 16 bits. */
static void NAME(widen)(int64_t kind, const void *from, void *to, int64_t steps) {
    if (kind == BF16)
        for (int64_t i = 0; i < steps * PANEL; i += LANES)
            NAME(store)((float *)to + i, NAME(load_bf16)((const uint16_t *)from + i));
    else
        for (int64_t i = 0; i < steps * PANEL * 2; i++)
            ((int16_t *)to)[i] = ((const int8_t *)from)[i];
}

/* Some rows at a time, which stay in the cache, with all panels of the task. */
static void NAME(multiply)(const product_task *task) {
    const linear *l = task->linear;
    const int64_t steps = l->kind == INT8 ? (l->inputs + 1) / 2 : l->inputs;
    const int64_t bytes = steps * PANEL * (l->kind == BF16 ? 2 : l->kind == INT8 ? 2 : 4);
    int64_t block = CACHED / steps / TILE_ROWS * TILE_ROWS;
    if (block > MOST_ROWS) block = MOST_ROWS / TILE_ROWS * TILE_ROWS;
    if (block < TILE_ROWS) block = TILE_ROWS;
    float *scales = task->scratch;
    int32_t *laid = (int32_t *)scales + block;
    void *widened = laid + block * steps;
    for (int64_t begin = 0; begin < task->rows; begin += block) {
        const int64_t count = begin + block < task->rows ? block : task->rows - begin;
        for (int64_t row = 0; row < count; row += TILE_ROWS)
            NAME(lay)(l, task->x + (begin + row) * l->inputs,
                      (int)(count - row < TILE_ROWS ? count - row : TILE_ROWS), laid + row * steps,
                      scales + row);
        for (int64_t panel = task->first; panel < task->last; panel++) {
            const void *weights = (const char *)l->packed + panel * bytes;
            const int wide = l->kind != FLOAT32 && count > TILE_ROWS;
            if (wide) NAME(widen)(l->kind, weights, widened, steps);
            for (int64_t row = 0; row < count; row += TILE_ROWS) {
                const int rows = (int)(count - row < TILE_ROWS ? count - row : TILE_ROWS);
                operands o = {laid + row * steps, wide ? widened : weights, steps, wide};
                floats sums[MOST_TILE_ROWS][VECTORS];
                NAME(tile)(&o, rows, l->kind, sums);
                for (int r = 0; r < rows; r++)
                    NAME(finish)(task, sums[r], scales[row + r], begin + row + r, panel);
            }
        }
    }
}

static const kernels NAME(kernels) = {
    NAME(multiply), NAME(look), NAME(normalise), NAME(activate), NAME(sum_up),
};

#undef operands
#undef floats
#undef ints
#undef shorts
#undef halves
#undef VECTORS
#undef LANES
#undef TILE_ROWS
#undef NAME
#undef FMA
#undef WIDE_WEIGHTS
#undef LOAD_WIDE
#undef WIDEN
#undef MULTIPLY_PAIRS
