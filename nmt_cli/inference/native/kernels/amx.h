/* int8 products by AMX tiles; included after head.h for an instruction set with TILE_INSTRUCTIONS.

   A tile of rows is 16 rows by 64 bytes; 16 quads of inputs of a panel of weights, as they are packed
   for other instructions, are a tile too. Sums are exact integers, so that the results are those of
   the other instruction sets to the bit. Weights of other kinds, and inputs that do not fill tiles,
   are multiplied by vectors. */

enum { NAME(TILE) = 1024, NAME(TILE_INPUTS) = 64 };

/* Rows in tiles: (row tiles, input tiles, 16, 64) bytes. */
typedef struct {
    const product_task *task;
    int64_t begin, count, depth;
    const float *scales;
    const int32_t *zeros;
    const char *tiles;
} NAME(tiled_rows);

/* Tiles 0 to 3 hold sums, 4 and 5 rows, 6 and 7 weights. */
static void NAME(configure_tiles)(int64_t rows) {
    tile_config config = {.palette = 1};
    for (int i = 0; i < 8; i++) {
        config.row_bytes[i] = 64;
        config.rows[i] = i < 6 && rows < 16 ? (uint8_t)rows : 16;
    }
    tile_load_config(&config);
}

static NAME(tiled_rows) NAME(lay_tiles)(const product_task *task, int64_t begin, int64_t count) {
    const int64_t inputs = task->linear->inputs, depth = inputs / NAME(TILE_INPUTS);
    const int64_t whole = (count + 15) / 16 * 16;
    float *scales = task->scratch;
    int32_t *zeros = (int32_t *)scales + whole, *quads = zeros + whole;
    char *tiles = (char *)(((uintptr_t)(quads + inputs / 4) + 63) & ~(uintptr_t)63);
    for (int64_t r = 0; r < whole; r++) {
        char *to = tiles + r / 16 * depth * NAME(TILE) + r % 16 * NAME(TILE_INPUTS);
        /* Rows beyond the last are zero, since their tile is read whole. */
        if (r < count)
            NAME(interleave_int8)(task->x + (begin + r) * inputs, inputs, 1, quads, scales + r,
                                  zeros + r);
        else memset(quads, 0, (size_t)inputs);
        for (int64_t d = 0; d < depth; d++)
            memcpy(to + d * NAME(TILE), quads + d * 16, NAME(TILE_INPUTS));
    }
    return (NAME(tiled_rows)){task, begin, count, depth, scales, zeros, tiles};
}

/* Up to two tiles of rows times up to two panels. */
static inline __attribute__((always_inline)) void NAME(multiply_tiles)(
    const char *rows, const char *weights, int64_t depth, int two_rows, int two_panels,
    int32_t *sums) {
    const int64_t next = depth * NAME(TILE);
    tile_zero(0);
    tile_zero(1);
    tile_zero(2);
    tile_zero(3);
    for (int64_t at = 0; at < next; at += NAME(TILE)) {
        tile_load(4, rows + at, 64);
        tile_load(6, weights + at, 64);
        tile_multiply(0, 4, 6);
        if (two_panels) {
            tile_load(7, weights + next + at, 64);
            tile_multiply(1, 4, 7);
        }
        if (two_rows) {
            tile_load(5, rows + next + at, 64);
            tile_multiply(2, 5, 6);
            if (two_panels) tile_multiply(3, 5, 7);
        }
    }
    tile_store(0, sums, 64);
    tile_store(1, sums + 256, 64);
    tile_store(2, sums + 512, 64);
    tile_store(3, sums + 768, 64);
}

/* Write the outputs of a tile of sums. */
static void NAME(finish_tile)(const NAME(tiled_rows) *t, const int32_t *sums, int64_t row,
                              int64_t panel) {
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
    NAME(finish)(&o, rows, VECTORS, 1, 0, (const ints *)sums);
    for (int r = 0; r < rows && columns < PANEL; r++)
        memcpy(out + r * t->task->stride, spare + r * PANEL, sizeof(float) * columns);
}

/* Multiply all rows with the panels [first, last). */
static void NAME(multiply_tiled)(const NAME(tiled_rows) *t, int64_t first, int64_t last) {
    const int64_t bytes = t->depth * NAME(TILE);
    int32_t sums[1024] __attribute__((aligned(64)));
    for (int64_t panel = first; panel < last; panel += 2) {
        const char *weights = (const char *)t->task->linear->packed + panel * bytes;
        const int two_panels = panel + 1 < last;
        for (int64_t row = 0; row < t->count; row += 32) {
            const char *rows = t->tiles + row / 16 * bytes;
            const int two_rows = row + 16 < t->count;
            const int64_t share = (2 * bytes * 32 / (t->count + 31) + 63) / 64 * 64;
            for (int64_t i = 0; i < share; i += 64)
                __builtin_prefetch(weights + 2 * bytes + row / 32 * share + i, 0, 2);
            NAME(multiply_tiles)(rows, weights, t->depth, two_rows, two_panels, sums);
            for (int i = 0; i < 4; i++)
                if ((two_panels || !(i & 1)) && (two_rows || i < 2))
                    NAME(finish_tile)(t, sums + i * 256, row + i / 2 * 16, panel + (i & 1));
        }
    }
}

static int NAME(has_tiles)(const linear *l) {
    return l->kind == INT8 && l->inputs % NAME(TILE_INPUTS) == 0;
}

static int64_t NAME(find_tiled_rows)(const product_task *task) {
    const int64_t most = 4 * CACHED / task->linear->inputs / 32 * 32;
    return most > MAX_ROWS ? MAX_ROWS : most < 32 ? 32 : most;
}

static void NAME(tiled_multiply)(const product_task *task) {
    if (!NAME(has_tiles)(task->linear)) {
        NAME(multiply)(task);
        return;
    }
    const int64_t block_rows = NAME(find_tiled_rows)(task);
    for (int64_t begin = 0; begin < task->rows; begin += block_rows) {
        const int64_t left = task->rows - begin, count = left < block_rows ? left : block_rows;
        const NAME(tiled_rows) t = NAME(lay_tiles)(task, begin, count);
        NAME(configure_tiles)(count);
        NAME(multiply_tiled)(&t, task->first, task->last);
        /* Tiles that hold numbers slow every switch to another process. */
        tile_release();
    }
}

/* As `head`, by tiles of 32 rows. */
static void NAME(tiled_head)(const head_task *task) {
    const product_task *given = &task->product;
    if (!NAME(has_tiles)(given->linear)) {
        NAME(head)(task);
        return;
    }
    float logits[32 * BLOCK] __attribute__((aligned(64)));
    for (int64_t begin = 0; begin < given->rows; begin += MAX_ROWS) {
        const int64_t left = given->rows - begin, count = left < MAX_ROWS ? left : MAX_ROWS;
        float *best = given->scratch;
        product_task part = *given;
        part.stride = BLOCK;
        part.scratch = best + MAX_ROWS * KEPT;
        for (int64_t i = 0; i < count * KEPT; i++) best[i] = -INFINITY;
        const int64_t block_rows = NAME(find_tiled_rows)(given);
        for (int64_t from = 0; from < count; from += block_rows) {
            const int64_t rows = count - from < block_rows ? count - from : block_rows;
            const NAME(tiled_rows) all = NAME(lay_tiles)(&part, begin + from, rows);
            NAME(configure_tiles)(rows);
            for (int64_t panel = given->first; panel < given->last; panel += BLOCK / PANEL)
                for (int64_t row = 0; row < rows; row += 32) {
                    NAME(tiled_rows) t = all;
                    t.count = rows - row < 32 ? rows - row : 32;
                    t.tiles += row / 16 * t.depth * NAME(TILE);
                    t.scales += row;
                    t.zeros += row;
                    part.out = logits - (begin + from) * BLOCK - panel * PANEL;
                    NAME(multiply_tiled)(&t, panel, panel + BLOCK / PANEL);
                    NAME(reduce_tile)(task, logits, begin + from + row, t.count,
                                      panel * PANEL / BLOCK, best - begin * KEPT);
                }
            tile_release();
        }
    }
}

static const kernels NAME(tile_kernels) = {
    NAME(tiled_multiply), NAME(tiled_head), NAME(attention), NAME(normalise), NAME(activate),
    NAME(merge_sums),
};
