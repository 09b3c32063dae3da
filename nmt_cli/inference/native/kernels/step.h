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
   the sentence of each row in the encoder, and the row's place in it. lists: of each slot, or null:
   all words; widest: logits that there is room for in a row. The others: room for rows, whose width
   never changes, since a thread may be in another layer than its neighbour. */
typedef struct {
    int64_t busy, beam, capacity, growth, threads, scratch_bytes, longest;
    const int64_t *slots, *parents, *ids;
    int64_t *lengths;
    int32_t *ancestors;
    float *const *blocks;
    const source *sources;
    float *x, *normed, *joined, *query, *attended, *made, *inner, *gated, *logits, *maxima, *totals;
    void *scratch;
    const int64_t *starts, *ends, *positions;
    const word_list *lists;
    int64_t widest;
} state;

/* A thread: the rows [first, last) are shared with `shared`. */
typedef struct {
    const kernels *kernels;
    const model *model;
    const state *state;
    member shared;
    int64_t first, last;
    char *scratch;
    const float **keys, **values;
    float *scores;
} worker;

/* The rows of this part of the team, for work that is not a product. */
void find_rows(const worker *, int64_t *first, int64_t *last);

/* Turn queries and keys of the encoder before anybody looks at them. */
void turn_rows(const worker *);

/* Logits of each slot's rows for the words of its list only. */
void multiply_lists(const worker *);

/* Attention of one head of a row: to its own past, its sentence, its source. */
void look_back(const worker *, int64_t layer, int64_t row, int64_t head);
void look_around(const worker *, int64_t layer, int64_t row, int64_t head);
void look_at_source(const worker *, int64_t layer, int64_t row, int64_t head);
