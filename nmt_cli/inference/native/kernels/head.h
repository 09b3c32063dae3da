/* The output layer without a pass over its logits; included after gemm.h for each instruction set.

   While the logits of a tile of rows and a block of words are in the cache, their greatest and their
   sum of exponentials are taken. Only blocks that can hold one of the best words are written. */

/* Of each of up to LANES rows of BLOCK logits: the greatest, and the sum of e^(logit - greatest).
   The rows are reduced together, because a row by itself would wait for each of its steps. */
static inline void NAME(reduce_blocks)(const float *logits, int64_t rows, float *maxima,
                                       float *sums) {
    floats each[LANES] = {{0}};
    for (int64_t r = 0; r < rows; r++) {
        const float *row = logits + r * BLOCK;
        each[r] = NAME(load)(row);
#pragma GCC unroll 16
        for (int i = LANES; i < BLOCK; i += LANES)
            each[r] = NAME(greater)(each[r], NAME(load)(row + i));
    }
    NAME(store)(maxima, NAME(greatest_each)(each));
    for (int64_t r = 0; r < rows; r++) {
        const float *row = logits + r * BLOCK;
        const floats greatest = NAME(all)(maxima[r]);
        each[r] = (floats){0};
#pragma GCC unroll 16
        for (int i = 0; i < BLOCK; i += LANES)
            each[r] += NAME(exp)(NAME(load)(row + i) - greatest);
    }
    /* Where all logits are -inf, no word counts; their differences are NaN. */
    const floats greatest = NAME(load)(maxima);
    NAME(store)(sums, NAME(choose)(greatest == -INFINITY, (floats){0}, NAME(sum_each)(each)));
}

/* Whether a block with this greatest logit can be one of the `kept` best of a row; best: those of the
   blocks before it, in descending order. */
static inline int NAME(is_kept)(float *best, int64_t kept, float greatest) {
    if (greatest < best[kept - 1]) return 0;
    int64_t i = kept - 1;
    for (; i && greatest > best[i - 1]; i--) best[i] = best[i - 1];
    best[i] = greatest;
    return 1;
}

/* Reduce the logits of a tile of rows, `from`, and write the blocks that are kept. */
static void NAME(reduce_tile)(const head_task *task, const float *from, int64_t row, int64_t rows,
                              int64_t block, float *best) {
    float maxima[LANES], sums[LANES];
    for (int64_t done = 0; done < rows; done++, from += BLOCK) {
        const int64_t lane = done % LANES, r = row + done, index = r * task->blocks + block;
        if (!lane)
            NAME(reduce_blocks)(from, rows - done < LANES ? rows - done : LANES, maxima, sums);
        task->sums[index] = sums[lane];
        task->maxima[index] = maxima[lane];
        task->written[index] =
            NAME(is_kept)(best + r * KEPT, task->kept, maxima[lane]) || task->all;
        if (!task->written[index]) continue;
        float *to = task->product.out + r * task->product.stride + block * BLOCK;
        for (int i = 0; i < BLOCK; i += LANES) NAME(store)(to + i, NAME(load)(from + i));
    }
}

static void NAME(head)(const head_task *task) {
    const product_task *given = &task->product;
    float *best = given->scratch;
    const int64_t rows = given->rows < MAX_ROWS ? given->rows : MAX_ROWS;
    float logits[TILE_ROWS * BLOCK];
    product_task part = *given;
    part.stride = BLOCK;
    part.scratch = best + rows * KEPT;
    for (int64_t i = 0; i < rows * KEPT; i++) best[i] = -INFINITY;
    const int64_t block_rows = NAME(find_block_rows)(given);
    for (int64_t begin = 0; begin < given->rows; begin += block_rows) {
        const int64_t left = given->rows - begin, count = left < block_rows ? left : block_rows;
        row_block b = NAME(lay_out)(&part, begin, count);
        for (int64_t panel = given->first; panel < given->last; panel += BLOCK / PANEL) {
            operands o = NAME(first_operands)(&b, panel, BLOCK / PANEL);
            for (int64_t row = 0; row < count; row += TILE_ROWS) {
                const int64_t in_tile = count - row < TILE_ROWS ? count - row : TILE_ROWS;
                part.out = logits - (begin + row) * BLOCK - panel * PANEL;
                NAME(multiply_panels)(&b, &o, row, panel, BLOCK / PANEL);
                NAME(reduce_tile)(task, logits, begin + row, in_tile, panel * PANEL / BLOCK,
                                  best - begin * KEPT);
            }
        }
        for (int64_t i = 0; i < rows * KEPT; i++) best[i] = -INFINITY;
    }
}

/* The logarithm of the sum of e^logit of all blocks of a row. */
static void NAME(merge_sums)(const float *maxima, const float *sums, int64_t blocks, float *total) {
    float top = -INFINITY, all = 0;
    for (int64_t i = 0; i < blocks; i++) top = maxima[i] > top ? maxima[i] : top;
    for (int64_t i = 0; i < blocks; i += LANES) {
        float spare[LANES] = {0}, parts[LANES] = {0};
        const int64_t left = blocks - i < LANES ? blocks - i : LANES;
        memcpy(spare, maxima + i, sizeof(float) * left);
        memcpy(parts, sums + i, sizeof(float) * left);
        all += NAME(sum)(NAME(load)(parts) * NAME(exp)(NAME(load)(spare) - top));
    }
    *total = top + logf(all);
}
