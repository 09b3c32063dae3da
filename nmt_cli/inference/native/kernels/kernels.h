/* The data that the kernels work on. Rows are contiguous; numbers are float32 unless stated. */

#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

/* PANEL: outputs whose weights are stored together. BLOCK: words for which the greatest logit is
   kept. STEP: bytes of the weights of a panel for one input, pair or quad. CACHED: 4-byte numbers, of
   up to MAX_ROWS rows of a product, that stay in the cache.
   LARGE_TILE: rows of a tile for which reading weights is not all the work. AHEAD: bytes by which
   smaller tiles prefetch weights. KEPT: the most blocks of words that a step writes for each row for
   being the best. TOGETHER: queries whose attention is computed together.
   CACHE_LINE: in floats. */
enum { PANEL = 16, BLOCK = 64, STEP = 4 * PANEL, CACHED = 65536, MAX_ROWS = 1024 };
enum { MAX_TILE_ROWS = 12, LARGE_TILE = 5, AHEAD = 8192, KEPT = 16, TOGETHER = 4, CACHE_LINE = 16 };
/* What stands for AVX-512 with AMX among the numbers of lanes; only this multiplies SPLIT weights. */
enum { AMX_LANES = 32 };
enum { FLOAT32, BF16, INT8, SPLIT };
enum { RELU, GELU, SILU };

/* x W^T + b. packed: (panels, inputs, PANEL) floats; pairs of inputs in bf16, (panels, pairs, PANEL, 2);
   or quads in int8, (panels, quads, PANEL, 4). SPLIT: each weight is a high plus a low bf16 number; in
   a panel the pairs of the former come first, then those of the latter, each filled up with zeros to
   a multiple of 16 pairs. bias (or null), and for int8 also scales, and totals (the sum of an output's
   weights over the inputs), are padded to whole panels. kind: FLOAT32, BF16, INT8 or SPLIT. */
typedef struct {
    const void *packed;
    const float *bias, *scales;
    const int32_t *totals;
    int64_t inputs, outputs, kind;
} linear;

/* (x - mean) / deviation * weight + bias; RMSNorm subtracts no mean. weight null: the identity. */
typedef struct {
    const float *weight, *bias;
    double epsilon;
    int64_t root_mean_square;
} norm;

/* Rows of x times the panels [first, last). A row of `out` begins `stride` numbers after the one
   before. scratch: `product_bytes` bytes. */
typedef struct {
    const linear *linear;
    const float *x;
    int64_t rows, first, last, relu;
    float *out;
    int64_t stride;
    void *scratch;
} product_task;

/* The output layer of some rows. Of each row and block of words: its greatest logit, the sum of
   e^(logit - greatest), and whether its logits are written to the product's `out`: those of the `kept`
   best blocks always, with `all` those of all blocks. blocks: that a row of these has room for. */
typedef struct {
    product_task product;
    float *maxima, *sums;
    uint8_t *written;
    int64_t blocks, kept, all;
} head_task;

/* A query of a head, which attends to keys[i] + key_shift and values[i] + value_shift, for i below
   the count of its group. scores: room for count + 2 * PANEL numbers. */
typedef struct {
    const float *query;
    const float *const *keys, *const *values;
    int64_t key_shift, value_shift;
    float *scores, *out;
} attention_query;

/* `size` queries that are computed together; the places after them hold copies of the first one with
   scores of their own. All of them share the first `shared` keys and values. next_key, next_value: how
   far from their keys and values those of the next group are, which are prefetched; or 0. */
typedef struct {
    attention_query queries[TOGETHER];
    int64_t size, count, shared, d_k, d_v, next_key, next_value;
} attention_group;

typedef struct {
    void (*multiply)(const product_task *);
    void (*head)(const head_task *);
    void (*attention)(const attention_group *);
    void (*normalise)(const norm *, const float *, const float *, float *, float *, int64_t);
    void (*activate)(int64_t, float *, const float *, int64_t);
    void (*merge_sums)(const float *, const float *, int64_t, float *);
} kernels;

/* The words that a source may be translated into: `ids`, ascending, or null for all of them; head:
   the output layer's weights for these words, padded to whole blocks. */
typedef struct {
    linear head;
    const int64_t *ids;
    int64_t count;
} shortlist;

/* Where the logits of a row are. A slot has room for `beam` rows of `widest` logits; its rows are
   contiguous in it. list: the shortlist of the slot, or null. */
static inline float *find_logits(float *logits, const shortlist *list, int64_t row, int64_t beam,
                                 int64_t widest) {
    const int64_t width = list ? list->head.outputs : widest;
    return logits + row / beam * beam * widest + row % beam * width;
}

/* One of the threads that run a task together: its index, and how many there are. */
typedef struct parallel_region parallel_region;
typedef struct {
    parallel_region *region;
    int64_t index, workers;
} worker;

/* A clock that never goes back. */
int64_t nanoseconds(void);

/* The kernels for so many lanes; null where the processor lacks their instructions. */
const kernels *find_kernels(int lanes);
int64_t product_bytes(int64_t inputs);

/* Have up to `threads` threads call `work`, each with its worker. */
void run_parallel(int64_t threads, void (*work)(const worker *, void *), void *task);
/* Wait until all workers have called this. */
void barrier(const worker *);
/* The range [first, last) of `count` items that this worker takes. */
void find_range(const worker *, int64_t count, int64_t *first, int64_t *last);
