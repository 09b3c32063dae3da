/* The inner loops, written once over vectors of LANES floats and included for each instruction set.

   Before inclusion: LANES, TILE_ROWS (rows of a tile: as many as the registers hold), NAME(x) (the
   name of x for this instruction set), and MULTIPLY_PAIRS with what it needs, or nothing.
   Every number that comes out depends on its own row only, in a fixed order of additions. */

#define VECTORS (PANEL / LANES)
typedef float NAME(floats) __attribute__((vector_size(4 * LANES), aligned(4)));
typedef int32_t NAME(ints) __attribute__((vector_size(4 * LANES), aligned(4)));
typedef int16_t NAME(shorts) __attribute__((vector_size(2 * LANES), aligned(2)));
#define floats NAME(floats)
#define ints NAME(ints)
#define shorts NAME(shorts)

static inline floats NAME(load)(const float *from) { return *(const floats *)from; }
static inline void NAME(store)(float *to, floats value) { *(floats *)to = value; }
static inline floats NAME(all)(float value) { return value - (floats){0}; }

static inline floats NAME(choose)(ints condition, floats yes, floats no) {
    return (floats)(((ints)yes & condition) | ((ints)no & ~condition));
}

static inline float NAME(sum)(floats values) {
    float total = 0;
    for (int i = 0; i < LANES; i++) total += values[i];
    return total;
}

/* Whole sums to numbers: times both scales, plus the bias. */
static inline void NAME(finish)(float *out, const floats *sums, const float *scales, float scale,
                                const float *bias, int64_t columns) {
    float spare[PANEL];
    float *to = columns < PANEL ? spare : out;
    for (int v = 0; v < VECTORS; v++) {
        floats value = sums[v];
        value *= NAME(load)(scales + v * LANES) * scale;
        if (bias) value += NAME(load)(bias + v * LANES);
        NAME(store)(to + v * LANES, value);
    }
    if (columns < PANEL) memcpy(out, spare, sizeof(float) * columns);
}

/* `rows` (known when compiling) rows times a panel: weights of 8 bits, inputs of 16, sums of 32. */
static inline __attribute__((always_inline)) void NAME(whole_tile)(const product_task *task,
                                                                   int64_t row, int64_t panel,
                                                                   int rows) {
    const linear *l = task->linear;
    const int64_t pairs = (l->inputs + 1) / 2;
    const int16_t *x = task->whole + row * 2 * pairs;
    const int8_t *weights = (const int8_t *)l->packed + panel * pairs * 2 * PANEL;
    ints sums[TILE_ROWS][VECTORS];
#pragma GCC unroll 16
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; v++) sums[r][v] = (ints){0};
    for (int64_t k = 0; k < pairs; k++, weights += 2 * PANEL) {
#ifdef MULTIPLY_PAIRS
        WIDE_WEIGHTS w[VECTORS];
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; v++) w[v] = WIDEN(weights + v * 2 * LANES);
#pragma GCC unroll 16
        for (int r = 0; r < rows; r++) {
            int32_t pair;
            memcpy(&pair, x + (r * pairs + k) * 2, 4);
#pragma GCC unroll 4
            for (int v = 0; v < VECTORS; v++)
                sums[r][v] = (ints)MULTIPLY_PAIRS(sums[r][v], w[v], pair);
        }
#else
        for (int r = 0; r < rows; r++)
            for (int c = 0; c < PANEL; c++)
                sums[r][c / LANES][c % LANES] +=
                    weights[2 * c] * x[(r * pairs + k) * 2] +
                    weights[2 * c + 1] * x[(r * pairs + k) * 2 + 1];
#endif
    }
    int64_t columns = l->outputs - panel * PANEL;
    for (int r = 0; r < rows; r++) {
        floats values[VECTORS];
        for (int v = 0; v < VECTORS; v++) values[v] = __builtin_convertvector(sums[r][v], floats);
        NAME(finish)(task->out + (row + r) * l->outputs + panel * PANEL, values,
                     l->scales + panel * PANEL, task->scales[row + r],
                     l->bias ? l->bias + panel * PANEL : 0, columns);
    }
}

#define TILE(n)                                                         \
    case n:                                   \
        NAME(whole_tile)(task, row, panel, n); \
        break;

static void NAME(tile)(const product_task *task, int64_t row, int64_t panel, int rows) {
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

/* Panels [first, last) of a product, a few rows at a time that stay in the cache. */
static void NAME(multiply)(const product_task *task, int64_t first, int64_t last) {
    int64_t block = CACHED_INPUTS / task->linear->inputs / TILE_ROWS * TILE_ROWS;
    if (block < TILE_ROWS) block = TILE_ROWS;
    for (int64_t begin = 0; begin < task->rows; begin += block) {
        int64_t end = begin + block < task->rows ? begin + block : task->rows;
        for (int64_t panel = first; panel < last; panel++)
            for (int64_t row = begin; row < end; row += TILE_ROWS) {
                int64_t rows = end - row < TILE_ROWS ? end - row : TILE_ROWS;
                NAME(tile)(task, row, panel, (int)rows);
            }
    }
}

/* A row as whole numbers of at most `limit`; gives the scale that undoes it. */
static float NAME(to_whole)(const float *x, int64_t inputs, float limit, int16_t *out) {
    floats most = (floats){0}, nothing = (floats){0};
    int64_t i = 0;
    for (; i + LANES <= inputs; i += LANES) {
        floats value = NAME(load)(x + i);
        floats size = (floats)((ints)value & 0x7fffffff);
        most = NAME(choose)(size > most, size, most);
        nothing += value * 0.0f;
    }
    /* `nothing` is not-a-number where x holds one, and makes the whole row so. */
    float greatest = 0, broken = NAME(sum)(nothing);
    for (int v = 0; v < LANES; v++) greatest = most[v] > greatest ? most[v] : greatest;
    for (int64_t j = i; j < inputs; j++) {
        float size = fabsf(x[j]);
        greatest = size > greatest ? size : greatest;
        broken += x[j] * 0.0f;
    }
    const floats magic = NAME(all)(12582912.0f);
    float factor = greatest > 0 && greatest < INFINITY ? limit / greatest : 0;
    for (i = 0; i + LANES <= inputs; i += LANES) {
        floats shifted = NAME(load)(x + i) * factor + magic;
        ints rounded = (ints)shifted - (ints)magic;
        *(shorts *)(out + i) = __builtin_convertvector(rounded, shorts);
    }
    for (; i < inputs; i++) out[i] = (int16_t)lrintf(x[i] * factor);
    if (inputs % 2) out[inputs] = 0;
    return greatest / limit + broken;
}

static const kernels NAME(kernels) = {
    NAME(multiply), NAME(to_whole),
};

#undef floats
#undef ints
#undef shorts
#undef VECTORS
#undef LANES
#undef TILE_ROWS
#undef NAME
#undef WIDE_WEIGHTS
#undef WIDEN
#undef MULTIPLY_PAIRS
