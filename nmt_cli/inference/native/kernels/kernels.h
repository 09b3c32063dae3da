/* What the kernels work on. Rows lie one after the other; numbers are float32 unless said. */

#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

/* PANEL: outputs whose weights lie together. BLOCK: words whose greatest logit is known.
   CACHED: numbers of 4 bytes, of MOST_ROWS rows of a product, that stay in the cache. AHEAD: bytes
   of weights that are asked for before they are needed. */
enum { PANEL = 16, BLOCK = 64, CACHED = 65536, MOST_ROWS = 1024, MOST_TILE_ROWS = 12 };
enum { AHEAD = 2048 };
enum { FLOAT32, BF16, INT8 };
enum { RELU, GELU, SILU };

/* x W^T + b. packed: (panels, inputs, PANEL) floats or bf16, or 8-bit numbers in quads
   (panels, quads of inputs, PANEL, 4); bias (or null), and of 8-bit numbers scales, and totals over
   the inputs: whole panels. */
typedef struct {
    const void *packed;
    const float *bias, *scales;
    const int32_t *totals;
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

/* The words that a source allows: `ids`, ascending, or null for all of them; head: their weights, in
   whole blocks. */
typedef struct {
    linear head;
    const int64_t *ids;
    int64_t count;
} word_list;

/* Where the logits of a row are: a slot has room for `beam` rows of `widest`, in which its rows lie
   close together. list: of its slot, or null. */
static inline float *find_logits(float *all, const word_list *list, int64_t row, int64_t beam,
                                 int64_t widest) {
    const int64_t width = list ? list->head.outputs : widest;
    return all + row / beam * beam * widest + row % beam * width;
}

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
