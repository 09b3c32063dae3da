/* What the kernels work on. Rows lie one after the other; numbers are float32 unless said. */

#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

/* PANEL: outputs whose weights lie together. BLOCK: words whose greatest logit is known.
   CACHED: numbers of 4 bytes, of MOST_ROWS rows of a product, that stay in the cache. */
enum { PANEL = 16, BLOCK = 64, CACHED = 65536, MOST_ROWS = 1024, MOST_TILE_ROWS = 12 };
enum { FLOAT32, BF16, INT8 };
enum { RELU, GELU, SILU };

/* x W^T + b. packed: (panels, inputs, PANEL) floats or bf16, or 8-bit numbers in pairs
   (panels, pairs of inputs, PANEL, 2); bias (or null), scales (of 8-bit numbers): whole panels. */
typedef struct {
    const void *packed;
    const float *bias, *scales;
    int64_t inputs, outputs, kind;
} linear;

/* (x - mean) / deviation * weight + bias, or without mean; without weight nothing is done. */
typedef struct {
    const float *weight, *bias;
    double epsilon;
    int64_t root_mean_square;
} norm;

/* Rows of x times the panels [first, last); scratch: room of `product_bytes`. */
typedef struct {
    const linear *linear;
    const float *x;
    int64_t rows, first, last, relu;
    float *out;
    void *scratch;
} product_task;

/* One query, one head: keys[i] + key_shift, values[i] + value_shift; scores: room for count. */
typedef struct {
    const float *const *keys, *const *values;
    int64_t count, key_shift, value_shift, d_k, d_v;
    float *scores;
} seen;

typedef struct {
    void (*multiply)(const product_task *);
    void (*look)(const float *, const seen *, float *);
    void (*normalise)(const norm *, const float *, const float *, float *, float *, int64_t);
    void (*activate)(int64_t, float *, const float *, int64_t);
    void (*sum_up)(const float *, int64_t, float *, float *);
} kernels;

/* Work that `parts` threads share. */
typedef struct team team;
typedef struct {
    team *team;
    int64_t part, parts;
} member;

/* The kernels of that many lanes; null where the processor has not got them. */
const kernels *find_kernels(int lanes);
int64_t product_bytes(int64_t inputs);

/* Have `work` done by up to `threads` threads, each told which part of how many it is. */
void work_together(int64_t threads, void (*work)(const member *, void *), void *task);
/* Wait until every part has come here. */
void wait_for_all(const member *);
/* The share of a part in `count` things: [first, last). */
void find_share(const member *, int64_t count, int64_t *first, int64_t *last);
