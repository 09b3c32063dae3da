/* Attention of one head within one sentence, forward and backward, in vectors of LANES floats;
   included for each instruction set.

   Before inclusion: LANES, NAME(x) (the name of x for this instruction set), FMA(a, b, c).
   Rows are copied to buffers whose width is a multiple of LANES, filled up with zeros. */

#include "narrow.h"
#include "products.h"

/* out (+)= a b: (rows, depth) times (depth, width), where width is a multiple of LANES. */
static void NAME(multiply)(matrix a, int64_t rows, int64_t depth, const float *b, int64_t b_width,
                           float *out, int64_t out_width, int64_t width, int adds) {
    int64_t c = 0;
    for (; c + COLUMNS * LANES <= width; c += COLUMNS * LANES)
        NAME(multiply_columns)(a, rows, depth, b + c, b_width, out + c, out_width, COLUMNS, adds);
    for (; c < width; c += LANES)
        NAME(multiply_columns)(a, rows, depth, b + c, b_width, out + c, out_width, 1, adds);
}

/* Copy a head of `rows` tokens to rows of `padded` floats, the last of which are zeros. */
static inline __attribute__((always_inline)) void NAME(pack_as)(int is_bf16, const stream *from,
                                                                int64_t begin, int64_t head,
                                                                int64_t rows, int64_t width,
                                                                int64_t padded, float *to) {
    for (int64_t r = 0; r < rows; r++, to += padded) {
        const int64_t first = (begin + r) * from->stride + head * width;
        for (int64_t c = 0; c < width; c += LANES)
            NAME(store)(to + c, NAME(load_some)(from->data, is_bf16, first + c,
                                                width - c < LANES ? width - c : LANES));
    }
}

static void NAME(pack)(const attention *a, const stream *from, int64_t begin, int64_t head,
                       int64_t rows, int64_t width, int64_t padded, float *to) {
    if (a->is_bf16)
        NAME(pack_as)(1, from, begin, head, rows, width, padded, to);
    else
        NAME(pack_as)(0, from, begin, head, rows, width, padded, to);
}

/* Copy back what `pack` copied. */
static inline __attribute__((always_inline)) void NAME(unpack_as)(int is_bf16, const float *from,
                                                                  int64_t padded, int64_t rows,
                                                                  int64_t width, const stream *to,
                                                                  int64_t begin, int64_t head) {
    for (int64_t r = 0; r < rows; r++, from += padded) {
        const int64_t first = (begin + r) * to->stride + head * width;
        for (int64_t c = 0; c < width; c += LANES)
            NAME(store_some)(to->data, is_bf16, first + c, width - c < LANES ? width - c : LANES,
                             NAME(load)(from + c));
    }
}

static void NAME(unpack)(const attention *a, const float *from, int64_t padded, int64_t rows,
                         int64_t width, const stream *to, int64_t begin, int64_t head) {
    if (a->is_bf16)
        NAME(unpack_as)(1, from, padded, rows, width, to, begin, head);
    else
        NAME(unpack_as)(0, from, padded, rows, width, to, begin, head);
}

/* Rotate packed queries or keys, of which the first is at `position` in its sentence; direction: 1, or
   -1 to rotate gradients back. */
static void NAME(rotate)(const attention *a, float *rows, int64_t position, int64_t count,
                         int64_t padded, float direction) {
    if (!a->rotation) return;
    const float *own = a->rotation + 2 * position * a->d_k;
    ints neighbour;
    for (int i = 0; i < LANES; i++) neighbour[i] = i ^ 1;
    for (int64_t r = 0; r < count; r++, rows += padded, own += 2 * a->d_k)
        for (int64_t c = 0; c < a->d_k; c += LANES) {
            const int64_t some = a->d_k - c < LANES ? a->d_k - c : LANES;
            const floats values = NAME(load)(rows + c);
            const floats turned = __builtin_shuffle(values, neighbour) * direction;
            NAME(store)(rows + c, FMA(turned, NAME(load_some)(own + a->d_k, 0, c, some),
                                      values * NAME(load_some)(own, 0, c, some)));
        }
}

/* Softmax of `scale` times the first `limit` scores, in place; zeros from there to `padded`.
   Returns the logarithm of the sum of e^(scale * score). */
static float NAME(softmax)(float *scores, int64_t limit, int64_t padded, float scale) {
    const floats lowest = NAME(all)(-INFINITY);
    floats maximum = lowest;
    for (int64_t j = 0; j < limit; j += LANES)
        maximum = NAME(greater)(
            maximum, NAME(choose)(NAME(below)(j, limit), NAME(load)(scores + j), lowest));
    const float greatest = NAME(greatest)(maximum) * scale;
    floats total = (floats){0};
    for (int64_t j = 0; j < padded; j += LANES) {
        const floats power = NAME(exp)(FMA(NAME(load)(scores + j), NAME(all)(scale),
                                           NAME(all)(-greatest)));
        const floats weight = NAME(choose)(NAME(below)(j, limit), power, (floats){0});
        NAME(store)(scores + j, weight);
        total += weight;
    }
    const float sum = NAME(sum)(total), factor = 1.0f / sum;
    for (int64_t j = 0; j < limit; j += LANES)
        NAME(store)(scores + j, NAME(load)(scores + j) * factor);
    return greatest + logf(sum);
}

/* The weights again, from their scores and the `log_sum` that `softmax` returned. */
static void NAME(recompute_weights)(float *scores, int64_t limit, int64_t padded, float scale,
                                    float log_sum) {
    for (int64_t j = 0; j < padded; j += LANES) {
        const floats power = NAME(exp)(FMA(NAME(load)(scores + j), NAME(all)(scale),
                                           NAME(all)(-log_sum)));
        NAME(store)(scores + j, NAME(choose)(NAME(below)(j, limit), power, (floats){0}));
    }
}

/* The gradients of the scores, in place of those of the weights: softmax's backward pass. */
static void NAME(softmax_backward)(const float *weights, float *gradients, int64_t padded,
                                   float scale) {
    floats total = (floats){0};
    for (int64_t j = 0; j < padded; j += LANES)
        total = FMA(NAME(load)(weights + j), NAME(load)(gradients + j), total);
    const float mean = NAME(sum)(total);
    for (int64_t j = 0; j < padded; j += LANES)
        NAME(store)(gradients + j,
                    NAME(load)(weights + j) * (NAME(load)(gradients + j) - mean) * scale);
}

static void NAME(attend)(const attention *a, const head *h, float *scratch) {
    const int64_t d_k = PADDED(a->d_k), d_v = PADDED(a->d_v), keys = PADDED(h->keys);
    float *query = scratch, *key = query + BLOCK * d_k, *value = key + h->keys * d_k;
    float *transposed = value + h->keys * d_v, *weights = transposed + d_k * keys;
    float *output = weights + BLOCK * keys;
    NAME(pack)(a, &a->key, h->key, h->index, h->keys, a->d_k, d_k, key);
    NAME(rotate)(a, key, 0, h->keys, d_k, 1.0f);
    NAME(pack)(a, &a->value, h->key, h->index, h->keys, a->d_v, d_v, value);
    NAME(transpose)(key, h->keys, d_k, transposed, keys);
    for (int64_t begin = 0; begin < h->queries; begin += BLOCK) {
        const int64_t rows = h->queries - begin < BLOCK ? h->queries - begin : BLOCK;
        const int64_t seen = a->causal ? begin + rows : h->keys, width = PADDED(seen);
        NAME(pack)(a, &a->query, h->query + begin, h->index, rows, a->d_k, d_k, query);
        NAME(rotate)(a, query, begin, rows, d_k, 1.0f);
        NAME(multiply)((matrix){query, d_k, 1}, rows, d_k, transposed, keys, weights, keys, width,
                       0);
        for (int64_t r = 0; r < rows; r++)
            h->log_sums[(begin + r) * a->heads] = NAME(softmax)(
                weights + r * keys, a->causal ? begin + r + 1 : seen, width, a->scale);
        NAME(multiply)((matrix){weights, keys, 1}, rows, seen, value, d_v, output, d_v, d_v, 0);
        NAME(unpack)(a, output, d_v, rows, a->d_v, &a->output, h->query + begin, h->index);
    }
}

static void NAME(attend_backward)(const attention *a, const head *h, float *scratch) {
    const int64_t d_k = PADDED(a->d_k), d_v = PADDED(a->d_v), keys = PADDED(h->keys);
    float *query = scratch, *key = query + BLOCK * d_k, *value = key + h->keys * d_k;
    float *key_columns = value + h->keys * d_v, *value_columns = key_columns + d_k * keys;
    float *weights = value_columns + d_v * keys, *gradients = weights + BLOCK * keys;
    float *output_gradient = gradients + BLOCK * keys;
    float *query_gradient = output_gradient + BLOCK * d_v;
    float *key_gradient = query_gradient + BLOCK * d_k;
    float *value_gradient = key_gradient + h->keys * d_k;
    NAME(pack)(a, &a->key, h->key, h->index, h->keys, a->d_k, d_k, key);
    NAME(rotate)(a, key, 0, h->keys, d_k, 1.0f);
    NAME(pack)(a, &a->value, h->key, h->index, h->keys, a->d_v, d_v, value);
    NAME(transpose)(key, h->keys, d_k, key_columns, keys);
    NAME(transpose)(value, h->keys, d_v, value_columns, keys);
    memset(key_gradient, 0, sizeof(float) * h->keys * (d_k + d_v));
    for (int64_t begin = 0; begin < h->queries; begin += BLOCK) {
        const int64_t rows = h->queries - begin < BLOCK ? h->queries - begin : BLOCK;
        const int64_t seen = a->causal ? begin + rows : h->keys, width = PADDED(seen);
        NAME(pack)(a, &a->query, h->query + begin, h->index, rows, a->d_k, d_k, query);
        NAME(rotate)(a, query, begin, rows, d_k, 1.0f);
        NAME(pack)(a, &a->output_gradient, h->query + begin, h->index, rows, a->d_v, d_v,
                   output_gradient);
        NAME(multiply)((matrix){query, d_k, 1}, rows, d_k, key_columns, keys, weights, keys, width,
                       0);
        NAME(multiply)((matrix){output_gradient, d_v, 1}, rows, d_v, value_columns, keys, gradients,
                       keys, width, 0);
        for (int64_t r = 0; r < rows; r++) {
            NAME(recompute_weights)(weights + r * keys, a->causal ? begin + r + 1 : seen, width,
                                    a->scale, h->log_sums[(begin + r) * a->heads]);
            NAME(softmax_backward)(weights + r * keys, gradients + r * keys, width, a->scale);
        }
        NAME(multiply)((matrix){weights, 1, keys}, seen, rows, output_gradient, d_v, value_gradient,
                       d_v, d_v, 1);
        NAME(multiply)((matrix){gradients, 1, keys}, seen, rows, query, d_k, key_gradient, d_k, d_k,
                       1);
        NAME(multiply)((matrix){gradients, keys, 1}, rows, seen, key, d_k, query_gradient, d_k, d_k,
                       0);
        NAME(rotate)(a, query_gradient, begin, rows, d_k, -1.0f);
        NAME(unpack)(a, query_gradient, d_k, rows, a->d_k, &a->query_gradient, h->query + begin,
                     h->index);
    }
    NAME(rotate)(a, key_gradient, 0, h->keys, d_k, -1.0f);
    NAME(unpack)(a, key_gradient, d_k, h->keys, a->d_k, &a->key_gradient, h->key, h->index);
    NAME(unpack)(a, value_gradient, d_v, h->keys, a->d_v, &a->value_gradient, h->key, h->index);
}
