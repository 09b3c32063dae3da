/* Products of a few rows with packed weights; included after simd.h for each instruction set.

   Blocks of rows that stay in the cache are laid out once and multiplied with all panels. Panels are
   taken in groups, of which each tile of rows multiplies as many at once as the registers hold; the
   first tile prefetches the next group. Where several tiles use the same panel of bf16 weights,
   these are converted once. */

/* Rows that are laid out for the tiles. */
typedef struct {
    const product_task *task;
    int64_t begin, count, row_numbers, steps, panel_bytes;
    const float *scales;
    const int32_t *zeros;
    const void *rows;
    float *widened;
} NAME(row_block);
#define row_block NAME(row_block)

/* Multiply a tile of rows with `panels` panels from `panel` on. The operands that
   depend on neither are already in `o`. */
static inline __attribute__((always_inline)) void NAME(multiply_tile)(
    const row_block *b, operands *o, int64_t row, int64_t panel, int panels) {
    const product_task *task = b->task;
    const linear *l = task->linear;
    const int rows = (int)(b->count - row < TILE_ROWS ? b->count - row : TILE_ROWS);
    const int64_t column = panel * PANEL, columns = l->outputs - column;
    float spare[TILE_ROWS * PANEL], *out = task->out + (b->begin + row) * task->stride + column;
    o->rows = (const float *)b->rows + row * b->row_numbers;
    o->row_scales = b->scales + row;
    o->zeros = b->zeros + row;
    o->bias = l->bias ? l->bias + column : 0;
    o->scales = l->scales + column;
    o->totals = l->totals + column;
    o->out = columns < PANEL ? spare : out;
    o->stride = columns < PANEL ? PANEL : task->stride;
    if (b->count < LARGE_TILE) NAME(narrow_tile)(o, rows, panels, l->kind);
    else if (panels == 1) NAME(tile)(o, rows, l->kind);
    else NAME(broad_tile)(o, rows, l->kind);
    for (int r = 0; r < rows && columns < PANEL; r++)
        memcpy(out + r * task->stride, spare + r * PANEL, sizeof(float) * columns);
}

/* With how many panels rows are multiplied at once. */
static inline int64_t NAME(find_width)(const row_block *b) {
    if (b->count >= LARGE_TILE) return TILE_PANELS;
    if (b->count == 1) return VECTORS < 4 ? 4 : 2;
    if (VECTORS == 1) return b->count == 2 ? 4 : 2;
    return VECTORS == 2 && b->count == 2 ? 2 : 1;
}

/* The operands of a group of panels, of which the weights of the next group are prefetched. */
static inline operands NAME(first_operands)(const row_block *b, int64_t panel, int64_t panels) {
    const linear *l = b->task->linear;
    const char *weights = (const char *)l->packed + panel * b->panel_bytes;
    const int64_t tiles = (b->count + TILE_ROWS - 1) / TILE_ROWS;
    operands o = {.row_numbers = b->row_numbers, .steps = b->steps, .panel_bytes = b->panel_bytes,
                  .relu = (int)b->task->relu};
    o.weights = weights;
    o.wide = l->kind == BF16 && b->count > TILE_ROWS;
    o.next = weights + panels * b->panel_bytes;
    o.next_step = STEP * NAME(find_width)(b) / tiles;
    if (!o.wide) return o;
    NAME(widen)(weights, b->widened, panels * b->steps);
    o.weights = (char *)b->widened;
    o.steps *= 2;
    o.next_step /= 2;
    o.panel_bytes *= 2;
    return o;
}

/* Multiply a tile of rows with a group of panels. */
static inline void NAME(multiply_panels)(const row_block *b, operands *o, int64_t row,
                                         int64_t panel, int64_t panels) {
    const int64_t most = NAME(find_width)(b);
    const char *weights = o->weights;
    for (int64_t width, p = 0; p < panels; p += width) {
        /* The last panel may be narrower than others. */
        const int64_t left = b->task->linear->outputs / PANEL - panel - p;
        const int64_t whole = panels - p < left ? panels - p : left;
        for (width = most; width > 1 && width > whole;) width /= 2;
        NAME(multiply_tile)(b, o, row, panel + p, (int)width);
        o->weights += width * o->panel_bytes;
        o->next += o->next_step * o->steps;
    }
    o->weights = weights;
}

/* Rows of a block that stays in the cache. Each block reads all weights again, so that blocks get
   about equally many rows. */
static int64_t NAME(find_block_rows)(const product_task *task) {
    int64_t most = CACHED / NAME(find_row_numbers)(task->linear) / TILE_ROWS * TILE_ROWS;
    if (most > MAX_ROWS) most = MAX_ROWS / TILE_ROWS * TILE_ROWS;
    if (most < TILE_ROWS) most = TILE_ROWS;
    const int64_t blocks = task->rows ? (task->rows + most - 1) / most : 1;
    const int64_t rows = (task->rows + blocks * TILE_ROWS - 1) / (blocks * TILE_ROWS) * TILE_ROWS;
    return rows < TILE_ROWS ? TILE_ROWS : rows;
}

/* Lay the rows out for tiles. */
static row_block NAME(lay_out)(const product_task *task, int64_t begin, int64_t count) {
    const linear *l = task->linear;
    const int64_t steps = NAME(find_steps)(l), row_numbers = NAME(find_row_numbers)(l);
    const int64_t whole = (count + TILE_ROWS - 1) / TILE_ROWS * TILE_ROWS;
    float *scales = task->scratch;
    int32_t *zeros = (int32_t *)scales + whole, *laid_out = zeros + whole;
    row_block b = {task, begin, count, row_numbers, steps, steps * STEP,
                   scales, zeros, laid_out, (float *)laid_out + whole * row_numbers};
    const float *x = task->x + begin * l->inputs;
    const int64_t together = count < LARGE_TILE ? 1 : TILE_ROWS;
    if (count < LARGE_TILE && l->kind != INT8 && row_numbers == l->inputs) {
        /* Floats of a narrow tile are read where they are. */
        b.rows = x;
        return b;
    }
    for (int64_t row = 0; row < count; row += together)
        NAME(interleave)(l, x + row * l->inputs,
                         (int)(count - row < together ? count - row : together),
                         laid_out + row * row_numbers, scales + row, zeros + row);
    return b;
}

/* Multiply the rows of the task with its panels. */
static void NAME(multiply)(const product_task *task) {
    const int64_t block_rows = NAME(find_block_rows)(task);
    for (int64_t begin = 0; begin < task->rows; begin += block_rows) {
        const int64_t left = task->rows - begin, count = left < block_rows ? left : block_rows;
        const row_block b = NAME(lay_out)(task, begin, count);
        const int64_t group = NAME(find_width)(&b);
        for (int64_t panel = task->first; panel < task->last; panel += group) {
            const int64_t panels = task->last - panel < group ? task->last - panel : group;
            operands o = NAME(first_operands)(&b, panel, panels);
            for (int64_t row = 0; row < count; row += TILE_ROWS)
                NAME(multiply_panels)(&b, &o, row, panel, panels);
        }
    }
}
