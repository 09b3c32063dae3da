/* Section 5.4 for training on a CPU: dropout, by the random numbers of torch's generator. */

#include <stdint.h>

enum { WORDS = 624, SHIFT = 397 };

/* The generator of torch on a CPU, MT19937 (Matsumoto and Nishimura 1998): the words of its state, and
   the first one that is not used yet. */
typedef struct {
    uint32_t words[WORDS];
    int64_t next;
} generator;

/* out = residual + values * scale where a value is kept, else the residual. values and out: `count`
   numbers, float32, or bf16 where the flag is set. residual: float32, or null for zeros. bits: one
   for each value, from the lowest bit of each byte; set where it is kept. */
typedef struct {
    const void *values;
    const float *residual;
    const uint8_t *bits;
    void *out;
    int64_t count, values_are_bf16, out_is_bf16;
    float scale;
} dropout;

typedef void (*bits_pass)(generator *, int64_t count, int64_t dropped_levels, uint8_t *bits);
typedef void (*apply_pass)(const dropout *, int64_t first, int64_t last);

#define LOOPS "dropout_loops.h"
#include "each_instruction_set.h"

/* Seed as torch does, with the lower half of a seed of 64 bits. */
int64_t nmt_seed_dropout(generator *state, int64_t seed) {
    state->words[0] = (uint32_t)seed;
    for (uint32_t i = 1; i < WORDS; i++) {
        const uint32_t before = state->words[i - 1];
        state->words[i] = 1812433253u * (before ^ (before >> 30)) + i;
    }
    state->next = WORDS;
    return 0;
}

/* Draw `count` levels of 16 bits, four from each random number of 64 bits; bits: room for a multiple
   of 32, those of levels that are at least dropped_levels - 2^15 are set. 0, or 1 where this CPU has
   no such instructions. */
int64_t nmt_dropout_bits(int64_t lanes, generator *state, int64_t count, int64_t dropped_levels,
                         uint8_t *bits) {
#ifdef HAS_VECTORS
    if (has_lanes(lanes)) {
        const bits_pass draw = CHOOSE(lanes, draw_bits);
        draw(state, count, dropped_levels, bits);
        return 0;
    }
#endif
    (void)state, (void)count, (void)dropped_levels, (void)bits;
    return lanes != 0;
}

/* Compute the blocks [first, last) of 64 numbers; 0, or 1 where this CPU has no such instructions. */
int64_t nmt_dropout(int64_t lanes, const dropout *d, int64_t first, int64_t last) {
#ifdef HAS_VECTORS
    if (has_lanes(lanes)) {
        const apply_pass apply = CHOOSE(lanes, apply_dropout);
        apply(d, first * 64, last * 64 < d->count ? last * 64 : d->count);
        return 0;
    }
#endif
    (void)d, (void)first, (void)last;
    return lanes != 0;
}
