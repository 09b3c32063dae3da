/* Section 5.4 for training on a CPU: the softmax of rows of logits, and the gradient in their place. */

#include <stdint.h>

/* logits: rows of `stride` float32 or bf16 numbers, of which `size` are used; replaced by the gradient
   of the loss if it is needed, without the uniform share of the smoothed target. bias: (size,) or
   null. targets: a negative one is padding, whose gradient is zero. target_scores and log_sums
   (the logarithm of the sum of e^logit) are written, zeros for padding. */
typedef struct {
    void *logits;
    const float *bias;
    const int64_t *targets;
    int64_t stride, size, is_bf16, needs_gradient;
    float *target_scores, *log_sums;
    float epsilon;
} softmax;

typedef void (*row_pass)(const softmax *, int64_t row, float *scores);

#define LOOPS "softmax_loops.h"
#include "each_instruction_set.h"

static row_pass find_row_pass(int64_t lanes) {
#ifdef HAS_VECTORS
    if (has_lanes(lanes)) return CHOOSE(lanes, softmax_row);
#endif
    return 0;
}

/* Compute the rows [first, last); scores: room for size + 16 floats. 0, or 1 where this CPU has no
   such instructions. */
int64_t nmt_softmax_gradient(int64_t lanes, const softmax *s, int64_t first, int64_t last,
                             float *scores) {
    const row_pass compute = find_row_pass(lanes);
    const int64_t bytes = s->is_bf16 ? 2 : 4;
    if (!compute) return 1;
    for (int64_t row = first; row < last; row++) {
        if (s->targets[row] >= 0) {
            compute(s, row, scores);
            continue;
        }
        s->target_scores[row] = s->log_sums[row] = 0;
        if (s->needs_gradient) memset((char *)s->logits + row * s->stride * bytes, 0, s->size * bytes);
    }
    return 0;
}
