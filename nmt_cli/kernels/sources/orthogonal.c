/* The Newton-Schulz iterations of Muon (Jordan and others 2024) on a CPU. A matrix is computed within the
   cache of a core, and of symmetric products only one half. */

#include <stdint.h>

/* Rows of a panel that are multiplied at a time. All sizes are filled up to multiples of WIDEST, the
   columns of a panel with the longest vectors. */
enum { DEPTH = 256, WIDEST = 32 };
#define FILLED(count) (((count) + WIDEST - 1) / WIDEST * WIDEST)

/* Every iteration makes of each singular value s: a s + b s^3 + c s^5. Where a matrix has at least
   `long_ratio` times as many columns as rows, or rows as columns, only its products are iterated. */
typedef struct {
    int64_t rows, columns, iterations, long_ratio;
    float a, b, c, epsilon;
} quintic;

#define LOOPS "orthogonal_loops.h"
#include "each_instruction_set.h"

/* The bytes of scratch memory for a matrix. */
int64_t nmt_orthogonal_bytes(int64_t rows, int64_t columns) {
    const int64_t side = FILLED(rows < columns ? rows : columns);
    const int64_t width = FILLED(rows < columns ? columns : rows);
    return (int64_t)sizeof(float) * (2 * side * width + 4 * side * side + DEPTH * WIDEST);
}

/* Replace a matrix, (rows, columns). 0, or 1 where this CPU has no such instructions. */
int64_t nmt_orthogonalise(int64_t lanes, const quintic *q, float *matrix, float *scratch) {
#ifdef HAS_VECTORS
    if (has_lanes(lanes)) {
        CHOOSE(lanes, orthogonalise)(q, matrix, scratch);
        return 0;
    }
#endif
    (void)lanes, (void)q, (void)matrix, (void)scratch;
    return 1;
}
