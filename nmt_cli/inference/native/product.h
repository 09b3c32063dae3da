/* What a product of 8-bit weights works on. */

#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

/* Columns of weights that lie together; inputs that stay in the cache. */
enum { PANEL = 16, CACHED_INPUTS = 65536 };

/* x W^T + b. packed: (panels, pairs of inputs, PANEL, 2); bias (or null), scales: (panels * PANEL). */
typedef struct {
    const int8_t *packed;
    const float *bias, *scales;
    int64_t inputs, outputs;
} linear;

/* whole: (rows, inputs, made even), x as whole numbers; scales: (rows,), what undoes that. */
typedef struct {
    const linear *linear;
    int64_t rows;
    float *out;
    const int16_t *whole;
    const float *scales;
} product_task;

typedef struct {
    void (*multiply)(const product_task *, int64_t, int64_t);
    float (*to_whole)(const float *, int64_t, float, int16_t *);
} kernels;
