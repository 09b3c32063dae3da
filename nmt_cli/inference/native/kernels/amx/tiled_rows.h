/* Rows of a product in tiles of AMX; included after head.h for an instruction set with
   TILE_INSTRUCTIONS.

   A tile of rows is 16 rows by 64 bytes: 64 quantised inputs, or 32 inputs rounded to bf16. With SPLIT
   weights, the tiles of the high halves of a row's numbers are followed by those of the low halves. */

typedef uint32_t NAME(bits) __attribute__((vector_size(4 * LANES), aligned(4)));
typedef uint16_t NAME(halves) __attribute__((vector_size(2 * LANES), aligned(2)));

/* Rows in tiles: (row tiles, depth, 16, 64) bytes. scales, zeros: of each row (INT8). */
typedef struct {
    const product_task *task;
    int64_t begin, count, depth;
    const float *scales;
    const int32_t *zeros;
    const char *tiles;
} NAME(tiled_rows);

/* Whether products of so many rows with this layer use tiles. Vectors read the weights of a few rows
   faster, with the same results if they are integers. */
static int NAME(has_tiles)(const linear *l, int64_t rows) {
    if (!(find_tile_kinds() >> l->kind & 1)) return 0;
    if (l->kind == INT8 && rows < LARGE_TILE) return 0;
    return l->kind == SPLIT || l->inputs % (l->kind == INT8 ? 64 : 32) == 0;
}

/* The tiles of a row, or of a panel of weights. */
static int64_t NAME(find_depth)(const linear *l) {
    return l->kind == INT8 ? l->inputs / 64 : (l->inputs + 31) / 32 * (l->kind == SPLIT ? 2 : 1);
}

/* How many rows stay in the cache. */
static int64_t NAME(find_tiled_rows)(const linear *l) {
    const int64_t most = 4 * CACHED / (NAME(find_depth)(l) * TILE_LINE) / 32 * 32;
    return most > MAX_ROWS ? MAX_ROWS : most < 32 ? 32 : most;
}

/* Tiles 0 to 3 hold sums, 4 and 5 rows, 6 and 7 weights. Called when the rows are laid out. */
static void NAME(configure_tiles)(int64_t rows) {
    tile_config config = {.palette = 1};
    for (int i = 0; i < 8; i++) {
        config.row_bytes[i] = TILE_LINE;
        config.rows[i] = i < 6 && rows < 16 ? (uint8_t)rows : 16;
    }
    tile_load_config(&config);
}

/* Rounded to the nearest bf16, of two the even one; NaN stays NaN. */
static inline floats NAME(round_to_bf16)(floats x) {
    const NAME(bits) from = (NAME(bits))x, nan = from | 0x400000;
    const NAME(bits) rounded = from + (0x7fff + (from >> 16 & 1));
    return (floats)((ints)NAME(choose)(x == x, (floats)rounded, (floats)nan) & ~0xffff);
}

static inline void NAME(store_bf16)(char *to, floats x) {
    *(NAME(halves) *)to = __builtin_convertvector((NAME(bits))x >> 16, NAME(halves));
}

/* Round a row to bf16, filled up with zeros to whole tiles, the first of which begins at `to`; low:
   where what the rounding leaves goes, rounded as well, or null. */
static void NAME(lay_halves)(const float *x, int64_t inputs, char *to, char *low) {
    for (int64_t i = 0; i < (inputs + 31) / 32 * 32; i += LANES) {
        const int64_t left = inputs - i, place = i / 32 * TILE + i % 32 * 2;
        float spare[LANES] = {0};
        if (left < LANES) memcpy(spare, x + i, sizeof(float) * (left > 0 ? left : 0));
        const floats value = NAME(load)(left < LANES ? spare : x + i);
        const floats high = NAME(round_to_bf16)(value);
        NAME(store_bf16)(to + place, high);
        if (low) NAME(store_bf16)(low + place, NAME(round_to_bf16)(value - high));
    }
}

/* Lay the rows out; rows beyond the last are zero, since their tile is read whole. */
static NAME(tiled_rows) NAME(lay_tiles)(const product_task *task, int64_t begin, int64_t count) {
    const linear *l = task->linear;
    const int64_t depth = NAME(find_depth)(l), whole = (count + 15) / 16 * 16;
    float *scales = task->scratch;
    int32_t *zeros = (int32_t *)scales + whole, *quads = zeros + whole;
    char *tiles = (char *)(((uintptr_t)(quads + l->inputs / 4) + 63) & ~(uintptr_t)63);
    for (int64_t r = 0; r < whole; r++) {
        const float *x = task->x + (begin + r) * l->inputs;
        char *to = tiles + r / 16 * depth * TILE + r % 16 * TILE_LINE;
        if (r >= count)
            for (int64_t d = 0; d < depth; d++) memset(to + d * TILE, 0, TILE_LINE);
        else if (l->kind == INT8) {
            NAME(interleave_int8)(x, l->inputs, 1, quads, scales + r, zeros + r);
            for (int64_t d = 0; d < depth; d++)
                memcpy(to + d * TILE, quads + d * 16, TILE_LINE);
        } else
            NAME(lay_halves)(x, l->inputs, to, l->kind == SPLIT ? to + depth / 2 * TILE : 0);
    }
    return (NAME(tiled_rows)){task, begin, count, depth, scales, zeros, tiles};
}
