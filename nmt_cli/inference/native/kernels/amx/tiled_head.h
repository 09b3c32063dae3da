/* The output layer by AMX tiles; included after tiled_products.h. */

/* As `head`, by tiles of 32 rows. */
static void NAME(tiled_head)(const head_task *task) {
    const product_task *given = &task->product;
    if (!NAME(has_tiles)(given->linear, given->rows)) {
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
        const int64_t block_rows = NAME(find_tiled_rows)(given->linear);
        for (int64_t from = 0; from < count; from += block_rows) {
            const int64_t rows = count - from < block_rows ? count - from : block_rows;
            const NAME(tiled_rows) all = NAME(lay_tiles)(&part, begin + from, rows);
            NAME(configure_tiles)(rows);
            for (int64_t panel = given->first; panel < given->last; panel += BLOCK / PANEL)
                for (int64_t row = 0; row < rows; row += 32) {
                    NAME(tiled_rows) t = all;
                    t.count = rows - row < 32 ? rows - row : 32;
                    t.tiles += row / 16 * t.depth * TILE;
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
