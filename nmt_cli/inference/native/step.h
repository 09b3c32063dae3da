/* What a pass through a stack works on. */

#include "kernels.h"

/* norms: those that follow each sublayer, or with pre-norm come before the next one. */
typedef struct {
    linear joined, output, query, cross_output, inner, outer;
    norm norms[3];
} layer;

/* first: what the embedded input goes through with pre-norm; places (or null): what is added to
   it; cosines, sines (or null): what turns queries and keys. */
typedef struct {
    const layer *layers;
    int64_t depth, d_model, heads, d_k, d_v, d_ff, activation, gated, pre_norm, place_rows;
    norm first;
    linear head;
    const float *embedding, *places, *cosines, *sines;
    float scale;
} model;

/* Keys and values of a source: token t of head h of a layer l is (l * heads + h) * stride + t. */
typedef struct {
    const float *keys, *values;
    int64_t stride, length;
} source;

/* slots: the busy ones; parents, ids: (all rows,); ancestors: (all rows, capacity), the row of its
   slot that each hypothesis was in at each step; blocks: keys and values of `growth` steps each,
   (all slots, layers, keys then values, heads, growth * beam, width). starts, ends, positions: of
   the sentence of each row in the encoder, and the row's place in it. The others: room for rows. */
typedef struct {
    int64_t busy, beam, capacity, growth, threads, scratch_bytes, longest;
    const int64_t *slots, *parents, *ids;
    int64_t *lengths;
    int32_t *ancestors;
    float *const *blocks;
    const source *sources;
    float *x, *normed, *joined, *attended, *made, *inner, *gated, *logits, *maxima, *totals;
    void *scratch;
    const int64_t *starts, *ends, *positions;
} state;
