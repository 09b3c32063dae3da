/* Products of a few rows with packed weights; included after simd.h for each instruction set.

   Blocks of rows that stay in the cache are laid out once and multiplied with all panels. Panels are
   taken in groups, of which each tile of rows multiplies as many at once as the registers hold; the
   first tile prefetches the next group. Where several tiles use the same panel of bf16 weights,
   these are converted once. */

/* Rows that are laid out for the tiles. */
typedef struct {
    const product_task *task;
    int64_t begin, count, steps, panel_bytes;
    const float *scales;
    const int32_t *zeros, *interleaved;
    float *widened;
} NAME(row_block);
#define row_block NAME(row_block)

/* Multiply a tile of rows with `panels` panels, from `panel` on. The operands that depend on neither
   are already in `o`. */
static inline __attribute__((always_inline)) void NAME(multiply_tile)(
    const row_block *b, operands *o, int64_t row, int64_t panel, int panels) {
    const product_task *task = b->task;
    const linear *l = task->linear;
    const int rows = (int)(b->count - row < TILE_ROWS ? b->count - row : TILE_ROWS);
    const int64_t column = panel * PANEL, columns = l->outputs - column;
    float spare[TILE_ROWS * PANEL], *out = task->out + (b->begin + row) * l->outputs + column;
    o->rows = b->interleaved + row * b->steps;
    o->row_scales = b->scales + row;
    o->zeros = b->zeros + row;
    o->bias = l->bias ? l->bias + column : 0;
    o->scales = l->scales + column;
    o->totals = l->totals + column;
    o->out = columns < PANEL ? spare : out;
    o->stride = columns < PANEL ? PANEL : l->outputs;
    if (panels > 1) NAME(broad_tile)(o, rows, l->kind);
    else NAME(tile)(o, rows, l->kind);
    for (int r = 0; r < rows && columns < PANEL; r++)
        memcpy(out + r * l->outputs, spare + r * PANEL, sizeof(float) * columns);
}

static void NAME(multiply_block)(const row_block *b) {
    const product_task *task = b->task;
    const linear *l = task->linear;
    const int most = b->count < LARGE_TILE ? 1 : TILE_PANELS;
    const int wide = l->kind == BF16 && b->count > TILE_ROWS;
    const int64_t tiles = (b->count + TILE_ROWS - 1) / TILE_ROWS, line = b->panel_bytes / b->steps;
    operands o = {.steps = b->steps, .wide = wide, .relu = (int)task->relu};
    o.panel_bytes = wide ? 2 * b->panel_bytes : b->panel_bytes;
    o.next_step = tiles == 1 ? line * most : line * most / tiles;
    for (int64_t width, panel = task->first; panel < task->last; panel += width) {
        const char *weights = (const char *)l->packed + panel * b->panel_bytes;
        /* The last panel may be narrower than others. */
        width = task->last - panel >= most && (panel + most) * PANEL <= l->outputs ? most : 1;
        if (wide) NAME(widen)((const uint16_t *)weights, b->widened, width * b->steps);
        o.weights = wide ? (char *)b->widened : weights;
        o.next = weights + width * b->panel_bytes;
        for (int64_t row = 0; row < b->count; row += TILE_ROWS, o.next += o.next_step * b->steps)
            NAME(multiply_tile)(b, &o, row, panel, (int)width);
    }
}

/* Multiply the rows of the task with its panels, in blocks of rows that stay in the cache. */
static void NAME(multiply)(const product_task *task) {
    const linear *l = task->linear;
    const int64_t steps = l->kind == INT8 ? (l->inputs + 3) / 4 : l->inputs;
    int64_t block = CACHED / steps / TILE_ROWS * TILE_ROWS;
    if (block > MAX_ROWS) block = MAX_ROWS / TILE_ROWS * TILE_ROWS;
    if (block < TILE_ROWS) block = TILE_ROWS;
    /* Each block reads all weights again, so that blocks get about equally many rows. */
    const int64_t blocks = task->rows ? (task->rows + block - 1) / block : 1;
    block = (task->rows + blocks * TILE_ROWS - 1) / (blocks * TILE_ROWS) * TILE_ROWS;
    if (block < TILE_ROWS) block = TILE_ROWS;
    float *scales = task->scratch;
    int32_t *zeros = (int32_t *)scales + block, *interleaved = zeros + block;
    for (int64_t begin = 0; begin < task->rows; begin += block) {
        const int64_t count = begin + block < task->rows ? block : task->rows - begin;
        for (int64_t row = 0; row < count; row += TILE_ROWS)
            NAME(interleave)(l, task->x + (begin + row) * l->inputs,
                             (int)(count - row < TILE_ROWS ? count - row : TILE_ROWS),
                             interleaved + row * steps, scales + row, zeros + row);
        const row_block b = {task, begin, count, steps, steps * PANEL * (l->kind == BF16 ? 2 : 4),
                             scales, zeros, interleaved, (float *)interleaved + block * steps};
        NAME(multiply_block)(&b);
    }
}

static const kernels NAME(kernels) = {
    NAME(multiply), NAME(attention), NAME(normalise), NAME(activate), NAME(log_sum_exp),
};
