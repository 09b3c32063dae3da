/* Newton-Schulz iterations of one matrix, in vectors of LANES floats; included for each instruction
   set. Rows and columns of all matrices are filled up with zeros to multiples of PANEL. */

#include "vectors.h"
#include "products.h"

#undef PANEL
#define PANEL (COLUMNS * LANES)

/* Copy `depth` rows of b's columns [0, PANEL) to rows that follow each other. */
static void NAME(pack_panel)(const float *b, int64_t width, int64_t depth, float *panel) {
    for (int64_t k = 0; k < depth; k++, b += width, panel += PANEL)
#pragma GCC unroll 2
        for (int v = 0; v < COLUMNS; v++)
            NAME(store)(panel + v * LANES, NAME(load)(b + v * LANES));
}

/* The same of the transpose of PANEL rows of b. */
static void NAME(pack_transposed)(const float *b, int64_t width, int64_t depth, float *panel) {
    for (int v = 0; v < COLUMNS; v++, b += LANES * width)
        for (int64_t k = 0; k < depth; k += LANES) {
            floats block[LANES];
#pragma GCC unroll 16
            for (int i = 0; i < LANES; i++) block[i] = NAME(load)(b + i * width + k);
            NAME(transpose_block)(block);
#pragma GCC unroll 16
            for (int i = 0; i < LANES; i++)
                NAME(store)(panel + (k + i) * PANEL + v * LANES, block[i]);
        }
}

/* Copy what is above the diagonal of a (side, side) matrix to below it. */
static void NAME(mirror)(float *square, int64_t side) {
    for (int64_t r = LANES; r < side; r += LANES)
        for (int64_t c = 0; c < r; c += LANES) {
            floats block[LANES];
#pragma GCC unroll 16
            for (int i = 0; i < LANES; i++) block[i] = NAME(load)(square + (c + i) * side + r);
            NAME(transpose_block)(block);
#pragma GCC unroll 16
            for (int i = 0; i < LANES; i++) NAME(store)(square + (r + i) * side + c, block[i]);
        }
}

/* out (+)= a b: (rows, depth) times (depth, width); the panel has room for PANEL * DEPTH floats. */
static void NAME(product)(const float *a, int64_t rows, int64_t depth, const float *b,
                          int64_t width, float *out, int adds, float *panel) {
    for (int64_t c = 0; c < width; c += PANEL)
        for (int64_t k = 0; k < depth; k += DEPTH) {
            const int64_t count = depth - k < DEPTH ? depth - k : DEPTH;
            NAME(pack_panel)(b + k * width + c, width, count, panel);
            NAME(multiply_columns)((matrix){a + k, depth, 1}, rows, count, panel, PANEL, out + c,
                                   width, COLUMNS, adds || k);
        }
}

/* out = a b, or a a^T where b is null: (side, depth) times (depth, side), if that is symmetric. About
   half of it is computed. */
static void NAME(symmetric_product)(const float *a, int64_t side, int64_t depth, const float *b,
                                    float *out, float *panel) {
    for (int64_t c = 0; c < side; c += PANEL)
        for (int64_t k = 0; k < depth; k += DEPTH) {
            const int64_t count = depth - k < DEPTH ? depth - k : DEPTH;
            if (b)
                NAME(pack_panel)(b + k * side + c, side, count, panel);
            else
                NAME(pack_transposed)(a + c * depth + k, depth, count, panel);
            NAME(multiply_columns)((matrix){a + k, depth, 1}, c + PANEL, count, panel, PANEL,
                                   out + c, side, COLUMNS, k > 0);
        }
    NAME(mirror)(out, side);
}

/* out = shift + linear square + quadratic square^2, of a symmetric matrix. */
static void NAME(polynomial)(const float *square, int64_t side, float shift, const quintic *q,
                             float *out, float *panel) {
    NAME(symmetric_product)(square, side, side, square, out, panel);
    for (int64_t i = 0; i < side * side; i += LANES)
        NAME(store)(out + i, NAME(load)(out + i) * q->c + NAME(load)(square + i) * q->b);
    for (int64_t i = 0; i < side; i++) out[i * (side + 1)] += shift;
}

/* x, (side, width), becomes the result; `next` and `squares` are (side, width) and 4 (side, side). */
static float *NAME(iterate)(float *x, float *next, int64_t side, int64_t width, const quintic *q,
                            float *squares, float *panel) {
    float *square = squares, *polynomial = squares + side * side;
    for (int64_t step = 0; step < q->iterations; step++) {
        NAME(symmetric_product)(x, side, width, 0, square, panel);
        NAME(polynomial)(square, side, q->a, q, polynomial, panel);
        NAME(product)(polynomial, side, side, x, width, next, 0, panel);
        float *swapped = x;
        x = next;
        next = swapped;
    }
    return x;
}

/* The same for a long x: all iterations are products of symmetric (side, side) matrices, which commute,
   since all are polynomials of x x^T. */
static float *NAME(iterate_long)(float *x, float *next, int64_t side, int64_t width,
                                 const quintic *q, float *squares, float *panel) {
    const int64_t size = side * side;
    float *square = squares, *polynomial = squares + size, *all = squares + 2 * size;
    float *spare = squares + 3 * size;
    NAME(symmetric_product)(x, side, width, 0, square, panel);
    NAME(polynomial)(square, side, q->a, q, all, panel);
    memcpy(polynomial, all, sizeof(float) * size);
    for (int64_t step = 1; step < q->iterations; step++) {
        NAME(symmetric_product)(polynomial, side, side, square, spare, panel);
        NAME(symmetric_product)(spare, side, side, polynomial, square, panel);
        NAME(polynomial)(square, side, q->a, q, polynomial, panel);
        NAME(symmetric_product)(polynomial, side, side, all, spare, panel);
        float *swapped = all;
        all = spare;
        spare = swapped;
    }
    NAME(product)(all, side, side, x, width, next, 0, panel);
    return next;
}

/* Copy a matrix to x, (side, width), so that its rows are not longer than its columns. */
static void NAME(fetch)(const quintic *q, const float *matrix, int64_t side, int64_t width,
                        float *x) {
    memset(x, 0, sizeof(float) * side * width);
    if (q->rows <= q->columns)
        for (int64_t r = 0; r < q->rows; r++)
            memcpy(x + r * width, matrix + r * q->columns, sizeof(float) * q->columns);
    else if (q->columns % LANES == 0)
        NAME(transpose)(matrix, q->rows, q->columns, x, width);
    else
        for (int64_t r = 0; r < q->rows; r++)
            for (int64_t c = 0; c < q->columns; c++) x[c * width + r] = matrix[r * q->columns + c];
}

/* Copy x back to where `fetch` found it. */
static void NAME(put_back)(const quintic *q, const float *x, int64_t side, int64_t width,
                           float *matrix) {
    if (q->rows <= q->columns)
        for (int64_t r = 0; r < q->rows; r++)
            memcpy(matrix + r * q->columns, x + r * width, sizeof(float) * q->columns);
    else if (q->columns == side && q->rows == width)
        NAME(transpose)(x, side, width, matrix, side);
    else
        for (int64_t r = 0; r < q->rows; r++)
            for (int64_t c = 0; c < q->columns; c++) matrix[r * q->columns + c] = x[c * width + r];
}

static void NAME(orthogonalise)(const quintic *q, float *matrix, float *scratch) {
    const int64_t rows = q->rows < q->columns ? q->rows : q->columns;
    const int64_t columns = q->rows + q->columns - rows;
    const int64_t side = FILLED(rows), width = FILLED(columns);
    float *x = scratch, *next = x + side * width, *squares = next + side * width;
    float *panel = squares + 4 * side * side;
    NAME(fetch)(q, matrix, side, width, x);
    double sum = 0;
    for (int64_t r = 0; r < rows; r++) {
        floats squared = (floats){0};
        for (int64_t c = 0; c < width; c += LANES) {
            const floats part = NAME(load)(x + r * width + c);
            squared = FMA(part, part, squared);
        }
        sum += NAME(sum)(squared);
    }
    const float factor = 1.0f / ((float)sqrt(sum) + q->epsilon);
    for (int64_t i = 0; i < rows * width; i += LANES)
        NAME(store)(x + i, NAME(load)(x + i) * factor);
    x = columns >= q->long_ratio * rows
            ? NAME(iterate_long)(x, next, side, width, q, squares, panel)
            : NAME(iterate)(x, next, side, width, q, squares, panel);
    NAME(put_back)(q, x, side, width, matrix);
}
