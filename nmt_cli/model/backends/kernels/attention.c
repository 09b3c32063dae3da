/* Section 3.2.1 for training on a CPU: attention within the sentences of a stream, and its gradients.
   The weights are not kept for the backward pass, which computes them again from the scores. */

#include <math.h>
#include <stdint.h>
#include <string.h>

/* The queries whose weights are in memory at a time. */
enum { BLOCK = 64 };
#define PADDED(count) (((count) + LANES - 1) / LANES * LANES)

/* Streams of float32: query (tokens, heads, d_k), key (keys, heads, d_k), value (keys, heads, d_v),
   contiguous; sentence i of the queries, query_offsets[i] to query_offsets[i + 1], attends to
   sentence i of the keys. log_sums: (tokens, heads). `attend` writes output and log_sums, the
   backward pass the three gradients. */
typedef struct {
    const float *query, *key, *value;
    const int64_t *query_offsets, *key_offsets;
    int64_t heads, d_k, d_v, causal;
    float *output, *log_sums;
    const float *output_gradient;
    float *query_gradient, *key_gradient, *value_gradient;
    float scale;
} attention;

/* The first numbers of one head of one sentence, and its numbers of queries and keys. */
typedef struct {
    const float *query, *key, *value;
    int64_t queries, keys;
    float *output, *log_sums;
    const float *output_gradient;
    float *query_gradient, *key_gradient, *value_gradient;
} head;

/* Element (i, k) is data[i * row + k * step]. */
typedef struct {
    const float *data;
    int64_t row, step;
} matrix;

typedef void (*pass)(const attention *, const head *, float *scratch);

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#include <immintrin.h>

#pragma GCC push_options
#pragma GCC target("avx2,fma")
#define LANES 8
#define ROWS 4
#define COLUMNS 2
#define NAME(x) avx2_##x
#define FMA(a, b, c) ((floats)_mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c)))
#include "attention_loops.h"
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vnni,fma")
#define LANES 16
#define ROWS 8
#define COLUMNS 2
#define NAME(x) avx512_##x
#define FMA(a, b, c) ((floats)_mm512_fmadd_ps((__m512)(a), (__m512)(b), (__m512)(c)))
#include "attention_loops.h"
#pragma GCC pop_options

static pass find_pass(int64_t lanes, int backward) {
    if (lanes == 16 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vnni"))
        return backward ? avx512_attend_backward : avx512_attend;
    if (lanes == 8 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return backward ? avx2_attend_backward : avx2_attend;
    return 0;
}
#else
static pass find_pass(int64_t lanes, int backward) {
    (void)lanes, (void)backward;
    return 0;
}
#endif

/* The bytes of scratch memory for sentences of at most so many keys. */
int64_t nmt_attention_bytes(int64_t keys, int64_t d_k, int64_t d_v) {
    const int64_t widest = 16, widths = d_k + d_v + 2 * widest, padded = keys + widest;
    return (int64_t)sizeof(float) * (3 * padded * widths + 2 * BLOCK * (padded + widths));
}

/* Compute the sentences [first, last); 0, or 1 where this CPU has no such instructions. */
int64_t nmt_attention(int64_t lanes, int64_t backward, const attention *a, int64_t first,
                      int64_t last, float *scratch) {
    const pass compute = find_pass(lanes, (int)backward);
    if (!compute) return 1;
    for (int64_t i = first; i < last; i++) {
        const int64_t begin = a->query_offsets[i], key_begin = a->key_offsets[i];
        for (int64_t h = 0; h < a->heads; h++) {
            const int64_t query = (begin * a->heads + h) * a->d_k;
            const int64_t output = (begin * a->heads + h) * a->d_v;
            const int64_t key = (key_begin * a->heads + h) * a->d_k;
            const int64_t value = (key_begin * a->heads + h) * a->d_v;
            const head each = {
                a->query + query, a->key + key, a->value + value,
                a->query_offsets[i + 1] - begin, a->key_offsets[i + 1] - key_begin,
                a->output + output, a->log_sums + begin * a->heads + h,
                a->output_gradient + output,
                a->query_gradient + query, a->key_gradient + key, a->value_gradient + value,
            };
            if (each.queries && each.keys) compute(a, &each, scratch);
        }
    }
    return 0;
}
