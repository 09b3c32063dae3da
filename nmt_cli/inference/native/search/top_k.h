/* The search for the top k words of each row. */

#include "step.h"

/* rows: the index among all rows of each row of the logits; row_of: the reverse, or -1; forced: for
   each of all rows an id, or -1. edit_rows (among all rows), edit_ids, bias: what is added to
   single logits first; saved: room for as many numbers. values, ids: (all rows, k). block_maxima,
   block_ids: room for k. shortlists: of each slot of `beam` rows, or null. blocks: that a row has
   room for. */
typedef struct {
    int64_t busy, words, blocks, k, edits;
    const int64_t *rows, *row_of, *forced, *edit_rows, *edit_ids;
    const float *bias, *totals;
    float *logits, *maxima, *values, *saved, *block_maxima;
    int64_t *ids, *block_ids;
    const shortlist *shortlists;
    int64_t beam;
    const kernels *kernels;
    const model *model;
    const state *state;
} top_k_task;

/* Find them; returns 0 where the processor has no kernels of so many lanes. */
int64_t nmt_top_k(int64_t lanes, const model *, const state *, top_k_task *);
