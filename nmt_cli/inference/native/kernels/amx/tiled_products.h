/* Products by AMX tiles; included after tiled_rows.h.

   16 quads or pairs of inputs of a panel of weights, as they are packed for other instructions, are a
   tile. Sums of integers are exact, so that int8 results are those of the other instruction sets to the
   bit. With bf16 weights, rows are rounded to bf16 as well. SPLIT weights are sums of a high and a low
   bf16 number, and so are rows: high * low, high * high and low * high are added up, and low * low,
   which is about 2^-16 of a product, is left out. A row has the same bits in any number of rows. */

/* Tiles of sums. */
typedef union {
    int32_t whole[1024];
    float numbers[1024];
} __attribute__((aligned(64))) NAME(tile_sums);

static inline __attribute__((always_inline)) void NAME(load_rows)(const char *from, int64_t next,
                                                                  int two) {
    tile_load(4, from, 64);
    if (two) tile_load(5, from + next, 64);
}

static inline __attribute__((always_inline)) void NAME(load_weights)(const char *from, int64_t next,
                                                                     int two) {
    tile_load(6, from, 64);
    if (two) tile_load(7, from + next, 64);
}

#define MULTIPLY(multiply)                                                               \
    multiply(0, 4, 6);                                                                   \
    if (two_panels) multiply(1, 4, 7);                                                   \
    if (two_rows) multiply(2, 5, 6);                                                     \
    if (two_rows && two_panels) multiply(3, 5, 7);

/* Prefetch a tile of weights into the first cache, AHEAD bytes after `at` in the tiles of a panel, which
   are `length` bytes; near their end, of the panel after the next one. panel: bytes of a panel. */
static inline __attribute__((always_inline)) void NAME(prefetch_tile)(
    const char *weights, int64_t at, int64_t length, int64_t panel) {
    const int64_t place = at + AHEAD < length ? at + AHEAD : at + AHEAD - length + 2 * panel;
    for (int64_t i = 0; i < TILE; i += 64) __builtin_prefetch(weights + place + i);
}

/* Up to two tiles of rows times up to two panels. Each step prefetches `ahead` bytes of the next
   panels into the second cache, from `coming` on. If `ahead` is 0, it prefetches tiles of the same panels
   into the first cache, which reads memory faster where each panel is read once. */
static inline __attribute__((always_inline)) void NAME(multiply_tiles)(
    const char *rows, const char *weights, const char *coming, int64_t ahead, int64_t depth,
    int64_t kind, int two_rows, int two_panels, NAME(tile_sums) *sums) {
    const int64_t next = depth * TILE, low = next / 2, end = kind == SPLIT ? low : next;
    tile_zero(0);
    tile_zero(1);
    tile_zero(2);
    tile_zero(3);
    for (int64_t at = 0; at < end; at += TILE, coming += ahead) {
        for (int64_t i = 0; i < ahead; i += 64) __builtin_prefetch(coming + i, 0, 2);
        if (!ahead) {
            NAME(prefetch_tile)(weights, at, end, next);
            if (two_panels) NAME(prefetch_tile)(weights + next, at, end, next);
            if (kind == SPLIT) NAME(prefetch_tile)(weights + low, at, end, next);
            if (kind == SPLIT && two_panels)
                NAME(prefetch_tile)(weights + next + low, at, end, next);
        }
        NAME(load_rows)(rows + at, next, two_rows);
        if (kind == SPLIT) {
            NAME(load_weights)(weights + low + at, next, two_panels);
            MULTIPLY(tile_multiply_bf16)
        }
        NAME(load_weights)(weights + at, next, two_panels);
        if (kind == INT8) {
            MULTIPLY(tile_multiply_int8)
        } else {
            MULTIPLY(tile_multiply_bf16)
        }
        if (kind == SPLIT) {
            NAME(load_rows)(rows + low + at, next, two_rows);
            MULTIPLY(tile_multiply_bf16)
        }
    }
    tile_store(0, sums->whole, 64);
    tile_store(1, sums->whole + 256, 64);
    tile_store(2, sums->whole + 512, 64);
    tile_store(3, sums->whole + 768, 64);
}
#undef MULTIPLY

/* Write the outputs of a tile of sums. */
static void NAME(finish_tile)(const NAME(tiled_rows) *t, const NAME(tile_sums) *sums, int tile,
                              int64_t row, int64_t panel) {
    const linear *l = t->task->linear;
    const int64_t column = panel * PANEL, columns = l->outputs - column;
    const int rows = (int)(t->count - row < 16 ? t->count - row : 16);
    float spare[16 * PANEL], *out = t->task->out + (t->begin + row) * t->task->stride + column;
    const operands o = {
        .row_scales = t->scales + row, .zeros = t->zeros + row, .relu = (int)t->task->relu,
        .bias = l->bias ? l->bias + column : 0, .scales = l->scales + column,
        .totals = l->totals + column, .out = columns < PANEL ? spare : out,
        .stride = columns < PANEL ? PANEL : t->task->stride,
    };
    if (l->kind == INT8)
        NAME(finish)(&o, rows, VECTORS, 1, 0, (const ints *)(sums->whole + tile * 256));
    else NAME(finish)(&o, rows, VECTORS, 0, (const floats *)(sums->numbers + tile * 256), 0);
    for (int r = 0; r < rows && columns < PANEL; r++)
        memcpy(out + r * t->task->stride, spare + r * PANEL, sizeof(float) * columns);
}

/* Multiply all rows with the panels [first, last). */
static void NAME(multiply_tiled)(const NAME(tiled_rows) *t, int64_t first, int64_t last) {
    const int64_t bytes = t->depth * TILE, kind = t->task->linear->kind;
    const int64_t step = (kind == SPLIT ? 4 : 2) * TILE, blocks = (t->count + 31) / 32;
    const int64_t ahead = blocks == 1 ? 0 : (step / blocks + 63) / 64 * 64;
    NAME(tile_sums) sums;
    for (int64_t panel = first; panel < last; panel += 2) {
        const char *weights = (const char *)t->task->linear->packed + panel * bytes;
        const int two_panels = panel + 1 < last;
        for (int64_t row = 0; row < t->count; row += 32) {
            const char *rows = t->tiles + row / 16 * bytes;
            const int two_rows = row + 16 < t->count;
            const char *coming = weights + 2 * bytes + row / 32 * (2 * bytes / step) * ahead;
            if (kind == INT8)
                NAME(multiply_tiles)(rows, weights, coming, ahead, t->depth, INT8, two_rows,
                                     two_panels, &sums);
            else if (kind == BF16)
                NAME(multiply_tiles)(rows, weights, coming, ahead, t->depth, BF16, two_rows,
                                     two_panels, &sums);
            else
                NAME(multiply_tiles)(rows, weights, coming, ahead, t->depth, SPLIT, two_rows,
                                     two_panels, &sums);
            for (int i = 0; i < 4; i++)
                if ((two_panels || !(i & 1)) && (two_rows || i < 2))
                    NAME(finish_tile)(t, &sums, i, row + i / 2 * 16, panel + (i & 1));
        }
    }
}

static void NAME(tiled_multiply)(const product_task *task) {
    if (!NAME(has_tiles)(task->linear, task->rows)) {
        NAME(multiply)(task);
        return;
    }
    const int64_t block_rows = NAME(find_tiled_rows)(task->linear);
    for (int64_t begin = 0; begin < task->rows; begin += block_rows) {
        const int64_t left = task->rows - begin, count = left < block_rows ? left : block_rows;
        const NAME(tiled_rows) t = NAME(lay_tiles)(task, begin, count);
        NAME(configure_tiles)(count);
        NAME(multiply_tiled)(&t, task->first, task->last);
        /* Tiles that hold numbers slow every switch to another process. */
        tile_release();
    }
}
