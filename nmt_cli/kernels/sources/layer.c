/* Sections 3.1 and 3.3 for training on a CPU: layer normalisation, bias and ReLU, forward and backward,
   over rows of a stream. Sums over rows are returned for each call by itself. */

#include <stdint.h>

/* Rows whose numbers are added up by themselves, which keeps the rounding of long sums small. */
enum { SUMMED = 64 };

/* x: rows of `width` float32 numbers. statistics: the mean of each row and the inverse of its standard
   deviation, written by the forward pass. wide, narrow: the output in float32 and in bf16; of their
   gradients the sum is taken. Either may be null. */
typedef struct {
    const float *x, *weight, *bias;
    float *statistics, *wide;
    uint16_t *narrow;
    const float *wide_gradient;
    const uint16_t *narrow_gradient;
    float *x_gradient;
    int64_t width;
    float epsilon;
} layer_norm;

#define LOOPS "layer_loops.h"
#include "each_instruction_set.h"

/* Normalise the rows [first, last). This and the following functions return 0, or 1 where this CPU has
   no such instructions. */
int64_t nmt_layer_norm(int64_t lanes, const layer_norm *n, int64_t first, int64_t last) {
#ifdef HAS_VECTORS
    if (has_lanes(lanes)) {
        (lanes == 16 ? avx512_normalise : avx2_normalise)(n, first, last);
        return 0;
    }
#endif
    (void)n, (void)first, (void)last;
    return lanes != 0;
}

/* x_gradient, and sums: 4 * (width + 16) floats, of which the first and the second quarter begin with
   the gradients of weight and bias. */
int64_t nmt_layer_norm_backward(int64_t lanes, const layer_norm *n, int64_t first, int64_t last,
                                float *sums) {
#ifdef HAS_VECTORS
    if (has_lanes(lanes)) {
        (lanes == 16 ? avx512_normalise_backward : avx2_normalise_backward)(n, first, last, sums);
        return 0;
    }
#endif
    (void)n, (void)first, (void)last, (void)sums;
    return lanes != 0;
}

/* values += bias, then max(0, values) if `relu`, in the rows [first, last) of `width` numbers. */
int64_t nmt_bias(int64_t lanes, void *values, int64_t is_bf16, const float *bias, int64_t width,
                 int64_t relu, int64_t first, int64_t last) {
#ifdef HAS_VECTORS
    if (has_lanes(lanes)) {
        (lanes == 16 ? avx512_add_bias : avx2_add_bias)(values, is_bf16, bias, width, relu, first,
                                                        last);
        return 0;
    }
#endif
    (void)values, (void)is_bf16, (void)bias, (void)width, (void)relu, (void)first, (void)last;
    return lanes != 0;
}

/* Zeros in the gradient where the output of ReLU is not positive (outputs may be null: nowhere), and the
   sums of the columns. sums: 2 * (width + 16) floats, of which the first `width` are the result. */
int64_t nmt_bias_backward(int64_t lanes, void *gradient, const void *outputs, int64_t is_bf16,
                          int64_t width, int64_t first, int64_t last, float *sums) {
#ifdef HAS_VECTORS
    if (has_lanes(lanes)) {
        (lanes == 16 ? avx512_bias_backward : avx2_bias_backward)(gradient, outputs, is_bf16, width,
                                                                  first, last, sums);
        return 0;
    }
#endif
    (void)gradient, (void)outputs, (void)is_bf16, (void)width, (void)first, (void)last, (void)sums;
    return lanes != 0;
}

/* sums += values: numbers [first, last), float32 and bf16. */
int64_t nmt_accumulate(int64_t lanes, float *sums, const void *values, int64_t first, int64_t last) {
#ifdef HAS_VECTORS
    if (has_lanes(lanes)) {
        (lanes == 16 ? avx512_accumulate : avx2_accumulate)(sums, values, first, last);
        return 0;
    }
#endif
    (void)sums, (void)values, (void)first, (void)last;
    return lanes != 0;
}
