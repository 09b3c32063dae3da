/* Tiles of a product: some rows by some panels, the sums held in registers; included after simd.h for
   each instruction set.

   Rows are interleaved: the numbers (or the quads of integers) of all rows at one place are side by
   side. Those of a narrow tile, which has fewer rows than LARGE_TILE, lie one after the other. Each sum is computed in the order of the inputs, whatever the tile. */

/* rows: interleaved; row_numbers: those of 4 bytes in each. steps: inputs, pairs or quads. weights:
   of the first panel; panel_bytes: from one panel to the next; wide: whether bf16 weights have been
   converted. next: the weights that larger tiles
   prefetch, `next_step` bytes further in each step. row_scales, zeros: of each row (int8). bias (or
   null), scales, totals: of the panels' outputs. A row of `out` begins `stride` numbers after the
   one before. */
typedef struct {
    const void *rows;
    const char *weights, *next;
    int64_t row_numbers, steps, panel_bytes, next_step, stride;
    const float *row_scales, *bias, *scales;
    const int32_t *zeros, *totals;
    float *out;
    int wide, relu;
} NAME(operands);
#define operands NAME(operands)

/* Write the outputs: sums times both scales (int8), plus the bias, through ReLU if requested. The
   share of the zero point is subtracted from integers first. */
static inline __attribute__((always_inline)) void NAME(finish)(const operands *o, int rows, int width,
                                                               int is_int8, const floats *numbers,
                                                               const ints *whole) {
    const floats least = NAME(all)(o->relu ? 0.0f : -INFINITY);
#pragma GCC unroll 16
    for (int i = 0; i < width; i++) {
        /* To add -0 changes no number. */
        const floats bias = o->bias ? NAME(load)(o->bias + i * LANES) : NAME(all)(-0.0f);
#pragma GCC unroll 12
        for (int r = 0; r < rows; r++) {
            floats value;
            if (is_int8) {
                const ints totals = *(const ints *)(o->totals + i * LANES);
                value = __builtin_convertvector(whole[r * width + i] - totals * o->zeros[r], floats);
                value *= NAME(load)(o->scales + i * LANES) * o->row_scales[r];
            } else
                value = numbers[r * width + i];
            value += bias;
            NAME(store)(o->out + r * o->stride + i * LANES, NAME(greater)(value, least));
        }
    }
}

/* How far a small tile prefetches in each of its panels at step k: AHEAD bytes in all, at the end of
   the panels into the next ones. */
static inline __attribute__((always_inline)) int64_t NAME(find_ahead)(const operands *o, int panels,
                                                                      int64_t k) {
    const int64_t own = AHEAD / panels;
    return k * STEP + own < o->panel_bytes ? own : own + (panels - 1) * o->panel_bytes;
}

/* Prefetch the places of a tile's outputs into the second cache. They may be in memory, and are too far
   apart for the first cache; a tile would wait for them while it writes. */
static inline __attribute__((always_inline)) void NAME(prefetch_outputs)(const operands *o, int rows,
                                                                         int width) {
#pragma GCC unroll 12
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
        for (int i = 0; i < width * LANES; i += CACHE_LINE)
            __builtin_prefetch(o->out + r * o->stride + i, 1, 2);
}

/* Add the products of one input, whose weights are `w`, to the sums of a tile; x: of its first row. */
static inline __attribute__((always_inline)) void NAME(add_products)(
    const operands *o, const float *x, int rows, int width, int narrow, const floats *w,
    floats *sums) {
#pragma GCC unroll 12
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 16
        for (int i = 0; i < width; i++)
            sums[r * width + i] =
                FMA(w[i], NAME(all)(x[narrow ? r * o->row_numbers : r]), sums[r * width + i]);
}

static inline __attribute__((always_inline)) void NAME(float_tile)(
    const operands *o, int rows, int panels, int is_bf16, int small, int narrow) {
    const int width = panels * VECTORS, together = is_bf16 ? 2 : 1;
    const float *x = o->rows;
    const char *weights = o->weights;
    /* A local array, which stays in registers. */
    floats own[TILE_VECTORS];
#pragma GCC unroll 32
    for (int i = 0; i < rows * width; i++) own[i] = (floats){0};
    if (!small && o->stride > BLOCK) NAME(prefetch_outputs)(o, rows, width);
    const char *next = o->next;
    for (int64_t k = 0; k < o->steps;
         k++, x += together * (narrow ? 1 : rows), weights += STEP, next += o->next_step) {
        if (!small) __builtin_prefetch(next, 0, 2);
        if (!small && rows < TILE_ROWS) __builtin_prefetch(next + 64, 0, 2);
        const int64_t ahead = NAME(find_ahead)(o, panels, k);
#pragma GCC unroll 4
        for (int p = 0; p < panels; p++)
            if (small) __builtin_prefetch(weights + p * o->panel_bytes + ahead);
#pragma GCC unroll 2
        for (int second = 0; second < together; second++) {
            floats w[4 * VECTORS];
#pragma GCC unroll 16
            for (int i = 0; i < width; i++) {
                const char *from = weights + i / VECTORS * o->panel_bytes + i % VECTORS * 4 * LANES;
                w[i] = is_bf16 ? NAME(load_bf16)(from, second) : NAME(load)((const float *)from);
            }
            NAME(add_products)(o, x + second * (narrow ? 1 : rows), rows, width, narrow, w, own);
        }
    }
    NAME(finish)(o, rows, width, 0, own, 0);
}

/* int8 weights, uint8 inputs and exact int32 sums. */
static inline __attribute__((always_inline)) void NAME(int8_tile)(
    const operands *o, int rows, int panels, int small, int narrow) {
    const int width = panels * VECTORS;
    const int32_t *x = o->rows;
    const char *weights = o->weights;
    ints own[TILE_VECTORS];
#pragma GCC unroll 32
    for (int i = 0; i < rows * width; i++) own[i] = (ints){0};
    if (!small && o->stride > BLOCK) NAME(prefetch_outputs)(o, rows, width);
    const char *next = o->next;
    for (int64_t k = 0; k < o->steps;
         k++, x += narrow ? 1 : rows, weights += STEP, next += o->next_step) {
        if (!small) __builtin_prefetch(next, 0, 2);
        if (!small && rows < TILE_ROWS) __builtin_prefetch(next + 64, 0, 2);
        const int64_t ahead = NAME(find_ahead)(o, panels, k);
#pragma GCC unroll 4
        for (int p = 0; p < panels; p++)
            if (small) __builtin_prefetch(weights + p * o->panel_bytes + ahead);
#pragma GCC unroll 12
        for (int r = 0; r < rows; r++) {
            const int32_t quad = x[narrow ? r * o->row_numbers : r];
#pragma GCC unroll 16
            for (int i = 0; i < width; i++) {
                const char *w = weights + i / VECTORS * o->panel_bytes + i % VECTORS * 4 * LANES;
                ints *sum = own + r * width + i;
#ifdef MULTIPLY_QUADS
                *sum = (ints)MULTIPLY_QUADS(*sum, w, quad);
#else
                for (int c = 0; c < 4 * LANES; c++)
                    (*sum)[c / 4] +=
                        (int8_t)w[c] * (int32_t)((uint32_t)quad >> 8 * (c % 4) & 255);
#endif
            }
        }
    }
    NAME(finish)(o, rows, width, 1, 0, own);
}

static inline __attribute__((always_inline)) void NAME(any_tile)(const operands *o, int rows,
                                                                 int panels, int64_t kind,
                                                                 int small, int narrow) {
    if (kind == INT8) NAME(int8_tile)(o, rows, panels, small, narrow);
    else if (kind == BF16 && !o->wide) NAME(float_tile)(o, rows, panels, 1, small, narrow);
    else NAME(float_tile)(o, rows, panels, 0, small, narrow);
}

#define TILE(n)                                                                          \
    case n:                                                                              \
        NAME(any_tile)(o, n, panels, kind, panels == 1 && n < LARGE_TILE, 0);            \
        break;

static inline __attribute__((always_inline)) void NAME(choose_tile)(const operands *o, int rows,
                                                                    int panels, int64_t kind) {
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

static __attribute__((noinline)) void NAME(tile)(const operands *o, int rows, int64_t kind) {
    NAME(choose_tile)(o, rows, 1, kind);
}

#if TILE_PANELS > 1
static __attribute__((noinline)) void NAME(broad_tile)(const operands *o, int rows, int64_t kind) {
    NAME(choose_tile)(o, rows, TILE_PANELS, kind);
}
#else
#define avx2_broad_tile avx2_tile
#define plain_broad_tile plain_tile
#endif

/* Tiles of fewer rows than LARGE_TILE: one row with one panel would wait for each of its additions. */
#define TILE(n, panels)                                                                  \
    case 16 * n + panels:                                                                \
        NAME(any_tile)(o, n, panels, kind, 1, 1);                                        \
        break;

static __attribute__((noinline)) void NAME(narrow_tile)(const operands *o, int rows, int panels,
                                                        int64_t kind) {
    switch (16 * rows + panels) {
        TILE(1, 1) TILE(2, 1) TILE(3, 1) TILE(1, 2)
#if VECTORS < 4
        TILE(4, 1) TILE(1, 4) TILE(2, 2)
#endif
#if VECTORS < 2
        TILE(2, 4) TILE(3, 2) TILE(4, 2)
#endif
    }
}
#undef TILE
