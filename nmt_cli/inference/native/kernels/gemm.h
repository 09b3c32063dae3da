/* GEMM of a few rows with packed weights; included after simd.h for each instruction set.

   A tile is some rows by one panel, its sums held in registers. Its rows are interleaved, for int8
   weights as quads of integers from 0 to 255. Where several tiles use the same panel of bf16
   weights, these are widened once. Where all rows are one small tile, weights are read once and
   prefetched. A sum is computed in the order of the inputs, whatever the tile. */

/* zeros: the zero point of each row; totals: sums of the panel's weights. */
typedef struct {
    const void *rows, *weights;
    const int32_t *zeros, *totals;
    int64_t steps;
    int wide;
} NAME(operands);
#define operands NAME(operands)

static inline __attribute__((always_inline)) void NAME(float_tile)(
    const operands *o, int rows, int is_bf16, floats sums[MAX_TILE_ROWS][VECTORS]) {
    const float *x = o->rows, *weights = o->weights;
    const uint16_t *halved = o->weights;
    /* A local copy of `sums`, which stays in registers. */
    floats own[MAX_TILE_ROWS][VECTORS];
#pragma GCC unroll 12
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; v++) own[r][v] = (floats){0};
    for (int64_t k = 0; k < o->steps; k++, x += rows, weights += PANEL, halved += PANEL) {
        if (rows < TILE_ROWS)
            __builtin_prefetch((const char *)(is_bf16 ? (const void *)halved : weights) + AHEAD);
        floats w[VECTORS];
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; v++)
            w[v] = is_bf16 ? NAME(load_bf16)(halved + v * LANES) : NAME(load)(weights + v * LANES);
#pragma GCC unroll 12
        for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
            for (int v = 0; v < VECTORS; v++) own[r][v] = FMA(w[v], NAME(all)(x[r]), own[r][v]);
    }
#pragma GCC unroll 12
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; v++) sums[r][v] = own[r][v];
}

/* int8 weights, uint8 inputs and exact int32 sums, from which the share of the zero points is
   subtracted. */
static inline __attribute__((always_inline)) void NAME(int8_tile)(
    const operands *o, int rows, floats sums[MAX_TILE_ROWS][VECTORS]) {
    const int32_t *x = o->rows;
    const int8_t *weights = o->weights;
    ints whole[MAX_TILE_ROWS][VECTORS];
#pragma GCC unroll 12
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; v++) whole[r][v] = (ints){0};
    for (int64_t k = 0; k < o->steps; k++, x += rows, weights += 4 * PANEL) {
        if (rows < TILE_ROWS) __builtin_prefetch(weights + AHEAD);
#ifdef MULTIPLY_QUADS
#pragma GCC unroll 12
        for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
            for (int v = 0; v < VECTORS; v++)
                whole[r][v] = (ints)MULTIPLY_QUADS(whole[r][v], weights + v * 4 * LANES, x[r]);
#else
        for (int r = 0; r < rows; r++)
            for (int c = 0; c < PANEL; c++)
                for (int i = 0; i < 4; i++)
                    whole[r][c / LANES][c % LANES] +=
                        weights[c * 4 + i] * (int32_t)((uint32_t)x[r] >> 8 * i & 255);
#endif
    }
#pragma GCC unroll 12
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; v++)
            sums[r][v] = __builtin_convertvector(
                whole[r][v] - *(const ints *)(o->totals + v * LANES) * o->zeros[r], floats);
}

#define TILE(n)                                                               \
    case n:                                                                   \
        if (kind == INT8) NAME(int8_tile)(o, n, sums);                        \
        else if (kind == BF16 && !o->wide) NAME(float_tile)(o, n, 1, sums);   \
        else NAME(float_tile)(o, n, 0, sums);                                 \
        break;

static void NAME(tile)(const operands *o, int rows, int64_t kind,
                       floats sums[MAX_TILE_ROWS][VECTORS]) {
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

/* Write the outputs: sums times both scales (int8), plus the bias, through ReLU if requested. */
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

/* Interleave `rows` rows of x. */
static inline __attribute__((always_inline)) void NAME(interleave_floats)(
    const float *x, int64_t inputs, int rows, float *to) {
    for (int64_t k = 0; k < inputs; k++, to += rows)
#pragma GCC unroll 12
        for (int r = 0; r < rows; r++) to[r] = x[r * inputs + k];
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

static void NAME(interleave)(const linear *l, const float *x, int rows, int32_t *to,
                             float *scales, int32_t *zeros) {
    if (l->kind != INT8 && rows == TILE_ROWS)
        NAME(interleave_floats)(x, l->inputs, TILE_ROWS, (float *)to);
    else if (l->kind != INT8)
        NAME(interleave_floats)(x, l->inputs, rows, (float *)to);
    else if (rows == TILE_ROWS)
        NAME(interleave_int8)(x, l->inputs, TILE_ROWS, to, scales, zeros);
    else
        NAME(interleave_int8)(x, l->inputs, rows, to, scales, zeros);
}

/* Convert a panel of bf16 weights to floats. */
static void NAME(widen)(const uint16_t *from, float *to, int64_t steps) {
    for (int64_t i = 0; i < steps * PANEL; i += LANES)
        NAME(store)(to + i, NAME(load_bf16)(from + i));
}

/* Multiply blocks of rows that stay in the cache with all panels of the task. */
static void NAME(multiply)(const product_task *task) {
    const linear *l = task->linear;
    const int64_t steps = l->kind == INT8 ? (l->inputs + 3) / 4 : l->inputs;
    const int64_t bytes = steps * PANEL * (l->kind == BF16 ? 2 : 4);
    int64_t block = CACHED / steps / TILE_ROWS * TILE_ROWS;
    if (block > MAX_ROWS) block = MAX_ROWS / TILE_ROWS * TILE_ROWS;
    if (block < TILE_ROWS) block = TILE_ROWS;
    /* Each block reads all weights again, so that blocks get about equally many rows. */
    const int64_t blocks = task->rows ? (task->rows + block - 1) / block : 1;
    block = (task->rows + blocks * TILE_ROWS - 1) / (blocks * TILE_ROWS) * TILE_ROWS;
    if (block < TILE_ROWS) block = TILE_ROWS;
    float *scales = task->scratch;
    int32_t *zeros = (int32_t *)scales + block, *interleaved = zeros + block;
    float *widened = (float *)interleaved + block * steps;
    for (int64_t begin = 0; begin < task->rows; begin += block) {
        const int64_t count = begin + block < task->rows ? block : task->rows - begin;
        for (int64_t row = 0; row < count; row += TILE_ROWS)
            NAME(interleave)(l, task->x + (begin + row) * l->inputs,
                             (int)(count - row < TILE_ROWS ? count - row : TILE_ROWS),
                             interleaved + row * steps, scales + row, zeros + row);
        for (int64_t panel = task->first; panel < task->last; panel++) {
            const void *weights = (const char *)l->packed + panel * bytes;
            const int wide = l->kind == BF16 && count > TILE_ROWS;
            if (wide) NAME(widen)(weights, widened, steps);
            for (int64_t row = 0; row < count; row += TILE_ROWS) {
                const int rows = (int)(count - row < TILE_ROWS ? count - row : TILE_ROWS);
                operands o = {interleaved + row * steps, wide ? widened : weights, zeros + row,
                              l->totals + panel * PANEL, steps, wide};
                floats sums[MAX_TILE_ROWS][VECTORS];
                NAME(tile)(&o, rows, l->kind, sums);
                for (int r = 0; r < rows; r++)
                    NAME(finish)(task, sums[r], scales[row + r], begin + row + r, panel);
            }
        }
    }
}

static const kernels NAME(kernels) = {
    NAME(multiply), NAME(attention), NAME(normalise), NAME(activate), NAME(log_sum_exp),
};

#undef operands
#undef floats
#undef ints
#undef bytes
#undef halves
#undef VECTORS
#undef LANES
#undef TILE_ROWS
#undef NAME
#undef FMA
#undef MULTIPLY_QUADS
