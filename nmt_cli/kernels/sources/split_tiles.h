/* The loops of split.c, for vectors of 16 numbers and the tiles of AMX. */

#include "narrow.h"

typedef uint32_t words __attribute__((vector_size(64)));
typedef uint16_t narrow_words __attribute__((vector_size(32), aligned(2)));

/* bf16 numbers in the upper halves of words; what the lower halves of `low` hold is of no use. */
typedef struct {
    words high, low;
} halves;

/* Numbers between two bf16 numbers are rounded away from zero, which addition does fastest: what `high`
   gets too much is taken from `low`. NaN and infinite numbers have a `low` of NaN. */
static inline halves split(floats value) {
    const words high = ((words)value + 0x8000) & 0xffff0000;
    const floats rest = value - (floats)high;
    return (halves){high, ((words)rest + 0x8000) | ~(words)split_is_number(rest)};
}

/* Exchange blocks of `width` words that are beside and below the diagonal of blocks twice as wide. */
static inline __attribute__((always_inline)) void exchange(words *rows, uint32_t width) {
    words lane;
    for (int i = 0; i < 16; i++) lane[i] = i;
    const words moved = (words)((lane & width) != 0) & (16 - width);
    const words upper = lane + moved, lower = lane + width + moved;
#pragma GCC unroll 8
    for (uint32_t i = 0; i < 8; i++) {
        words *row = rows + i / width * 2 * width + i % width;
        const words a = row[0], b = row[width];
        row[0] = __builtin_shuffle(a, b, upper);
        row[width] = __builtin_shuffle(a, b, lower);
    }
}

/* Word j of row i becomes word i of row j. */
static void transpose(words *tile) {
    words rows[16];
    memcpy(rows, tile, sizeof rows);
    exchange(rows, 8);
    exchange(rows, 4);
    exchange(rows, 2);
    exchange(rows, 1);
    memcpy(tile, rows, sizeof rows);
}

static inline int64_t at_most(int64_t count, int64_t limit) {
    return count < 0 ? 0 : count < limit ? count : limit;
}

/* A row of words for each index: its numbers at `depth` and after it, in pairs. */
static void lay_along(const operand *o, int64_t index, int64_t indices, int64_t depth, int64_t deep,
                      words *high, words *low) {
    for (int64_t i = 0; i < 16; i++) {
        const float *from = o->data + (index + i) * o->stride + depth;
        for (int64_t half = 0; half < 2; half++) {
            const int64_t count = i < indices ? at_most(deep - half * 16, 16) : 0;
            const halves h = split(count ? split_load_some(from, 0, half * 16, count) : (floats){0});
            ((narrow_words *)(high + i))[half] = __builtin_convertvector(h.high >> 16, narrow_words);
            ((narrow_words *)(low + i))[half] = __builtin_convertvector(h.low >> 16, narrow_words);
        }
    }
}

/* A row of words for each pair of numbers of all indices. */
static void lay_across(const operand *o, int64_t index, int64_t indices, int64_t depth, int64_t deep,
                       words *high, words *low) {
    for (int64_t i = 0; i < 16; i++) {
        halves h[2];
        for (int64_t k = 0; k < 2; k++) {
            const float *from = o->data + (depth + 2 * i + k) * o->depth_stride;
            const int64_t count = 2 * i + k < deep ? at_most(indices, 16) : 0;
            h[k] = split(count ? split_load_some(from, 0, index, count) : (floats){0});
        }
        high[i] = (h[0].high >> 16) | h[1].high;
        low[i] = (h[0].low >> 16) | (h[1].low & 0xffff0000);
    }
}

/* Lay `deep` numbers of the indices [begin, end) from `depth` on in tiles, (16 indices, DEEP numbers,
   HALVES) bytes; there are whole pairs of tiles, filled up with zeros. AMX wants the numbers of an index
   in one row of a tile for the left operand, and their pairs in one column for the right one. The tiles
   are laid in the order in which the numbers are in memory. */
static void lay_tiles(const operand *o, int is_left, int64_t begin, int64_t end, int64_t depth,
                      int64_t deep, char *to) {
    const int is_along = o->depth_stride == 1;
    const int64_t indices = whole_pairs(end - begin) / 16, tiles = (deep + DEEP - 1) / DEEP;
    for (int64_t i = 0; i < indices * tiles; i++) {
        const int64_t index = is_along ? i / tiles : i % indices;
        const int64_t tile = is_along ? i % tiles : i / indices;
        words *high = (words *)(to + (index * tiles + tile) * HALVES), *low = high + 16;
        const int64_t at = begin + index * 16, k = tile * DEEP;
        (is_along ? lay_along : lay_across)(o, at, end - at, depth + k, at_most(deep - k, DEEP),
                                            high, low);
        if (is_along != is_left) {
            transpose(high);
            transpose(low);
        }
    }
}

#define MULTIPLY_ALL()          \
    tile_multiply_bf16(0, 4, 6); \
    tile_multiply_bf16(1, 4, 7); \
    tile_multiply_bf16(2, 5, 6); \
    tile_multiply_bf16(3, 5, 7)

/* Sums of two tiles of rows, of `size` bytes each, times two tiles of columns; added to `out` if `keeps`.
   Tiles 0 to 3 hold sums, 4 and 5 rows, 6 and 7 columns. */
static void multiply_pairs(const char *rows, const char *columns, int64_t size, int keeps, float *out,
                           int64_t stride) {
    float *lower = out + 16 * stride;
    /* As for `tile_load_config`. */
    __asm__ volatile("" : : : "memory");
    if (keeps) {
        tile_load(0, out, stride * 4);
        tile_load(1, out + 16, stride * 4);
        tile_load(2, lower, stride * 4);
        tile_load(3, lower + 16, stride * 4);
    } else {
        tile_zero(0);
        tile_zero(1);
        tile_zero(2);
        tile_zero(3);
    }
    for (int64_t at = 0; at < size; at += HALVES) {
        const char *row = rows + at, *column = columns + at;
        tile_load(4, row, TILE_LINE);
        tile_load(5, row + size, TILE_LINE);
        tile_load(6, column + TILE, TILE_LINE);
        tile_load(7, column + size + TILE, TILE_LINE);
        MULTIPLY_ALL();
        tile_load(6, column, TILE_LINE);
        tile_load(7, column + size, TILE_LINE);
        MULTIPLY_ALL();
        tile_load(4, row + TILE, TILE_LINE);
        tile_load(5, row + size + TILE, TILE_LINE);
        MULTIPLY_ALL();
    }
    tile_store(0, out, stride * 4);
    tile_store(1, out + 16, stride * 4);
    tile_store(2, lower, stride * 4);
    tile_store(3, lower + 16, stride * 4);
}

/* The same for a pair of tiles that may be larger than what is left of `out`. */
static void multiply_rest(const char *rows, const char *columns, int64_t size, int keeps, float *out,
                          int64_t stride, int64_t height, int64_t width) {
    float whole[PAIR * PAIR] __attribute__((aligned(64)));
    if (height >= PAIR && width >= PAIR) {
        multiply_pairs(rows, columns, size, keeps, out, stride);
        return;
    }
    const int64_t count = at_most(height, PAIR), bytes = 4 * at_most(width, PAIR);
    for (int64_t i = 0; i < count && keeps; i++) memcpy(whole + i * PAIR, out + i * stride, bytes);
    multiply_pairs(rows, columns, size, keeps, whole, PAIR);
    for (int64_t i = 0; i < count; i++) memcpy(out + i * stride, whole + i * PAIR, bytes);
}

/* Rows or columns [begin, end) in tiles, each of which has `size` bytes. */
typedef struct {
    const char *tiles;
    int64_t begin, end;
} laid;

static void multiply_laid(const split_product *p, laid rows, laid columns, int64_t size, int keeps) {
    for (int64_t r = rows.begin; r < rows.end; r += PAIR)
        for (int64_t c = columns.begin; c < columns.end; c += PAIR)
            multiply_rest(rows.tiles + (r - rows.begin) / 16 * size,
                          columns.tiles + (c - columns.begin) / 16 * size, size, keeps,
                          p->out + r * p->stride + c, p->stride, rows.end - r, columns.end - c);
}

/* The rows or columns [begin, end) of `out`, of the longer side. The shorter side is laid in tiles once,
   the longer one part by part. */
static void split_compute(const split_product *p, int64_t begin, int64_t end, void *scratch) {
    const int by_rows = p->rows >= p->columns;
    const int64_t shorter = by_rows ? p->columns : p->rows, longer = by_rows ? p->rows : p->columns;
    const int64_t limit = end < longer ? end : longer;
    char *short_tiles = (char *)(((uintptr_t)scratch + 63) & ~(uintptr_t)63), *long_tiles;
    tile_config config = {.palette = 1};
    for (int i = 0; i < 8; i++) {
        config.row_bytes[i] = TILE_LINE;
        config.rows[i] = 16;
    }
    tile_load_config(&config);
    int64_t depth = 0;
    do {
        const int64_t deep = at_most(p->depth - depth, DEPTH), size = (deep + DEEP - 1) / DEEP * HALVES;
        const int keeps = p->accumulates || depth;
        long_tiles = short_tiles + whole_pairs(shorter) / 16 * size;
        lay_tiles(by_rows ? &p->right : &p->left, !by_rows, 0, shorter, depth, deep, short_tiles);
        for (int64_t from = begin; from < limit; from += PART) {
            const int64_t to = from + at_most(limit - from, PART);
            lay_tiles(by_rows ? &p->left : &p->right, by_rows, from, to, depth, deep, long_tiles);
            const laid part = {long_tiles, from, to}, all = {short_tiles, 0, shorter};
            multiply_laid(p, by_rows ? part : all, by_rows ? all : part, size, keeps);
        }
        depth += DEPTH;
    } while (depth < p->depth);
    /* Tiles that hold numbers slow every switch to another process. */
    tile_release();
}
