/* Parts of products of float32 matrices, and transposition, in vectors of LANES floats; included for each
   instruction set, after vectors.h. */

#ifndef MATRIX
#define MATRIX
/* Element (i, k) is data[i * row + k * step]. */
typedef struct {
    const float *data;
    int64_t row, step;
} matrix;
#endif

#undef ROWS
#undef COLUMNS
/* Rows of a tile of a product, and its columns in vectors: as many as the registers hold. */
#define ROWS (LANES / 2)
#define COLUMNS 2

/* out (+)= a b for `rows` rows and `columns` vectors; a's element (i, k) is a[i * row + k * step]. */
static inline __attribute__((always_inline)) void NAME(multiply_tile)(
    const matrix *a, const float *b, int64_t b_width, int64_t depth, float *out, int64_t out_width,
    int rows, int columns, int adds) {
    floats sums[ROWS][COLUMNS];
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 8
        for (int v = 0; v < columns; v++)
            sums[r][v] = adds ? NAME(load)(out + r * out_width + v * LANES) : (floats){0};
    for (int64_t k = 0; k < depth; k++) {
        floats part[COLUMNS];
#pragma GCC unroll 8
        for (int v = 0; v < columns; v++) part[v] = NAME(load)(b + k * b_width + v * LANES);
#pragma GCC unroll 8
        for (int r = 0; r < rows; r++) {
            const floats factor = NAME(all)(a->data[r * a->row + k * a->step]);
#pragma GCC unroll 8
            for (int v = 0; v < columns; v++) sums[r][v] = FMA(part[v], factor, sums[r][v]);
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 8
        for (int v = 0; v < columns; v++) NAME(store)(out + r * out_width + v * LANES, sums[r][v]);
}

/* out (+)= a b for `columns` vectors: tiles of ROWS rows, then smaller ones. */
static inline __attribute__((always_inline)) void NAME(multiply_columns)(
    matrix a, int64_t rows, int64_t depth, const float *b, int64_t b_width, float *out,
    int64_t out_width, int columns, int adds) {
#define TILE(count)                                                                             \
    for (; rows >= count; rows -= count, a.data += count * a.row, out += count * out_width)     \
    NAME(multiply_tile)(&a, b, b_width, depth, out, out_width, count, columns, adds)
    TILE(ROWS);
    TILE(4);
    TILE(2);
    TILE(1);
#undef TILE
}

/* Transpose LANES vectors in place. */
static inline __attribute__((always_inline)) void NAME(transpose_block)(floats *rows) {
#pragma GCC unroll 4
    for (int width = 1; width < LANES; width *= 2) {
        ints first, second;
#pragma GCC unroll 16
        for (int i = 0; i < LANES; i++) {
            first[i] = i & width ? LANES + i - width : i;
            second[i] = i & width ? LANES + i : i + width;
        }
#pragma GCC unroll 16
        for (int i = 0; i < LANES; i++) {
            if (i & width) continue;
            const floats a = rows[i], b = rows[i + width];
            rows[i] = __builtin_shuffle(a, b, first);
            rows[i + width] = __builtin_shuffle(a, b, second);
        }
    }
}

/* (rows, width) to (width, padded), both widths multiples of LANES; zeros after the last row. */
static void NAME(transpose)(const float *from, int64_t rows, int64_t width, float *to,
                            int64_t padded) {
    for (int64_t r = 0; r < padded; r += LANES)
        for (int64_t c = 0; c < width; c += LANES) {
            floats block[LANES];
#pragma GCC unroll 16
            for (int i = 0; i < LANES; i++)
                block[i] = r + i < rows ? NAME(load)(from + (r + i) * width + c) : (floats){0};
            NAME(transpose_block)(block);
#pragma GCC unroll 16
            for (int i = 0; i < LANES; i++) NAME(store)(to + (c + i) * padded + r, block[i]);
        }
}
