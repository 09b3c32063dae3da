/* The data of a pass through the layers of the encoder or the decoder. */

#include "kernels.h"

/* norms: those after each sublayer; with pre-norm, those before the next sublayer. */
typedef struct {
    linear joined, output, query, cross_output, inner, outer;
    norm norms[3];
} layer;

/* first_norm: applied to the embedded input, with pre-norm. embedding: a row for each word, or with
   embedded_in_panels the packed float32 weights of the output layer; null: the rows are read from
   embedding_file, a descriptor, from the byte embedding_begin on. unreadable: is set to 1 where that
   fails. position_table (or null): added to the embeddings. cosines, sines (or null): the rotations of
   queries and keys. */
typedef struct {
    const layer *layers;
    int64_t depth, d_model, heads, d_k, d_v, d_ff, activation, gated, pre_norm, position_rows;
    norm first_norm;
    linear head;
    const float *embedding, *position_table, *cosines, *sines;
    float scale;
    int64_t embedded_in_panels, embedding_file, embedding_begin;
    int64_t *unreadable;
} model;

/* Keys and values of a source: token t of head h of a layer l is (l * heads + h) * stride + t. */
typedef struct {
    const float *keys, *values;
    int64_t stride, length;
} source;

/* slots: the busy ones. beam: the rows of each of them in this step, the first of the slot_rows that there
   is room for. parents, ids: (all rows,). ancestors: (all rows, capacity), the row of its
   slot in which each hypothesis was at each step. chunks: (all slots, capacity / growth)
   addresses of the KV cache of `growth` steps each, (layers, keys then values, heads, slot_rows, growth,
   width). starts, ends, positions: in
   the encoder, the range of each row's sentence and the row's position in it. shortlists: of each
   slot, or null: all words. widest: logits that a row has room for. kept: at
   most KEPT; a search computes other blocks that it needs again. sums, written, all_logits: see
   `head_task`. The other pointers: room for
   the rows; a thread may be in another layer than its neighbours, so the width of a row in each of
   them is the same in all layers. */
typedef struct {
    int64_t busy, beam, slot_rows, capacity, growth, threads, scratch_bytes, longest;
    const int64_t *slots, *parents, *ids;
    int64_t *lengths;
    int32_t *ancestors;
    float *const *chunks;
    const source *sources;
    float *x, *normed, *joined, *query, *attended, *sublayer_output, *inner, *gated, *logits;
    float *maxima, *totals;
    void *scratch;
    const int64_t *starts, *ends, *positions;
    const shortlist *shortlists;
    int64_t widest, kept, all_logits;
    float *sums;
    uint8_t *written;
} state;

/* Sources that are encoded together. ids: of all `tokens`, one sentence after the other; lengths: of
   each sentence. memory: of each of the decoder's `layers`, the projection of the encoder's output
   to keys and values, which are written as in `source`. widest: the inputs of the widest product;
   longest: the longest sentence. room: see `nmt_encode_bytes`. */
typedef struct {
    const int64_t *ids, *lengths;
    int64_t sentences, tokens, longest, threads, widest, layers;
    const linear *memory;
    float *keys, *values;
    void *room;
} encoding;

/* The keys and values that a row attends to: those of its first head, and how far from them those of
   the next head are. next_key, next_value: how far from those of the last head that is asked for the
   ones are that will be needed after it; or 0. */
typedef struct {
    const float **keys, **values;
    int64_t count, key_shift, value_shift, next_key, next_value;
} row_past;

/* A worker of a pass; it shares the rows [first, last) with the other workers of `worker`. */
typedef struct {
    const kernels *kernels;
    const model *model;
    const state *state;
    worker worker;
    int64_t first, last;
    char *scratch;
    /* Room for a slot: for `longest` keys and values of each row. */
    const float **keys, **values;
    row_past *pasts;
    /* Room for the scores of a group of queries. */
    float *scores;
} pass_worker;

/* The rows of this worker, for work that is not a product. */
void find_rows(const pass_worker *, int64_t *first, int64_t *last);

/* Rotate the encoder's queries and keys; to be called before attention. */
void rotate_queries_and_keys(const pass_worker *);

/* The output layer of all rows: the best words and the sums of exponentials. */
void compute_head(const pass_worker *);

/* Attention of the heads [first, last) of the rows of a slot, which begin at row `begin`. */
void decoder_self_attention(const pass_worker *, int64_t layer, int64_t begin, int64_t first,
                            int64_t last);
void encoder_self_attention(const pass_worker *, int64_t layer, int64_t begin, int64_t first,
                            int64_t last);
/* Attention of all rows and heads to their sources. */
void cross_attention(const pass_worker *, int64_t layer);

/* The next step of the busy rows; see step.c. */
int64_t nmt_step(int64_t lanes, const model *, const state *);
