/* Section 3.2.1 for training on a CPU: attention within the sentences of a stream, and its gradients.
   The weights are not kept for the backward pass, which computes them again from the scores. */

#include <stdint.h>

/* The queries whose weights are in memory at a time. */
enum { BLOCK = 64 };
/* Bytes of a cache line, and of a sentence that fits into the cache of a core. */
enum { LINE = 64, CACHE = 1 << 20 };
#define PADDED(count) (((count) + LANES - 1) / LANES * LANES)

/* Numbers [row * stride + at, ...) are a head of a token: float32, or bf16 where the flag is set. */
typedef struct {
    void *data;
    int64_t stride;
} stream;

/* Streams: query (tokens, heads, d_k), key (keys, heads, d_k), value (keys, heads, d_v), output like
   value with the tokens of query, all of one dtype; the numbers of a token are contiguous, and tokens
   `stride` numbers apart. Sentence i of the queries, query_offsets[i] to query_offsets[i + 1], attends
   to sentence i of the keys. log_sums: (tokens, heads), float32. rotation: null, or of each position in
   a sentence d_k factors of the numbers of a query or key and d_k factors of their neighbours, number 2i
   being the neighbour of 2i + 1; the sum of both products is what attends or is attended to. `attend`
   writes output and log_sums, the backward pass the three gradients. */
typedef struct {
    stream query, key, value, output, output_gradient, query_gradient, key_gradient, value_gradient;
    float *log_sums;
    const float *rotation;
    const int64_t *query_offsets, *key_offsets;
    int64_t heads, d_k, d_v, causal, is_bf16;
    float scale;
} attention;

/* One head of one sentence: its first query and key, their numbers, and where their logarithms are. */
typedef struct {
    int64_t index, query, key, queries, keys;
    float *log_sums;
} head;

typedef void (*pass)(const attention *, const head *, float *scratch);

#define LOOPS "attention_loops.h"
#include "each_instruction_set.h"

static pass find_pass(int64_t lanes, int64_t backward) {
#ifdef HAS_VECTORS
    if (has_lanes(lanes))
        return backward ? CHOOSE(lanes, attend_backward) : CHOOSE(lanes, attend);
#endif
    (void)backward;
    return 0;
}

/* Read a number of each cache line of a token, if there is such a stream. */
static void touch(const stream *of, int64_t token, int64_t numbers, int64_t bytes) {
    if (!of->data) return;
    const char *at = (const char *)of->data + token * of->stride * bytes;
    for (int64_t i = 0; i < numbers * bytes; i += LINE) (void)*(const volatile char *)(at + i);
}

/* Bring a sentence into the cache of the core, all heads of a token at once: read in the order of
   memory it is fetched ahead, but head by head, from tokens that are far apart, each read waits. */
static void fetch_sentence(const attention *a, int64_t i) {
    const int64_t *q = a->query_offsets + i, *k = a->key_offsets + i;
    const int64_t bytes = a->is_bf16 ? 2 : 4, wide_k = a->heads * a->d_k, wide_v = a->heads * a->d_v;
    if ((q[1] - q[0] + k[1] - k[0]) * 2 * (wide_k + wide_v) * bytes > CACHE) return;
    for (int64_t token = q[0]; token < q[1]; token++) {
        touch(&a->query, token, wide_k, bytes);
        touch(&a->output, token, wide_v, bytes);
        touch(&a->output_gradient, token, wide_v, bytes);
        touch(&a->query_gradient, token, wide_k, bytes);
    }
    for (int64_t token = k[0]; token < k[1]; token++) {
        touch(&a->key, token, wide_k, bytes);
        touch(&a->value, token, wide_v, bytes);
        touch(&a->key_gradient, token, wide_k, bytes);
        touch(&a->value_gradient, token, wide_v, bytes);
    }
}

/* The bytes of scratch memory for sentences of at most so many keys. */
int64_t nmt_attention_bytes(int64_t keys, int64_t d_k, int64_t d_v) {
    const int64_t widest = 16, widths = d_k + d_v + 2 * widest, padded = keys + widest;
    return (int64_t)sizeof(float) * (3 * padded * widths + 2 * BLOCK * (padded + widths));
}

/* Compute the sentences [first, last); 0, or 1 where this CPU has no such instructions. */
int64_t nmt_attention(int64_t lanes, int64_t backward, const attention *a, int64_t first,
                      int64_t last, float *scratch) {
    const pass compute = find_pass(lanes, backward);
    if (!compute) return 1;
    for (int64_t i = first; i < last; i++) {
        const int64_t begin = a->query_offsets[i], key_begin = a->key_offsets[i];
        fetch_sentence(a, i);
        for (int64_t h = 0; h < a->heads; h++) {
            const head each = {
                h, begin, key_begin, a->query_offsets[i + 1] - begin,
                a->key_offsets[i + 1] - key_begin, a->log_sums + begin * a->heads + h,
            };
            if (each.queries && each.keys) compute(a, &each, scratch);
        }
    }
    return 0;
}
