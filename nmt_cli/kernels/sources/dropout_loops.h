/* Random bits and dropout, in vectors of LANES floats; included for each instruction set.

   Before inclusion: LANES, NAME(x) (the name of x for this instruction set), FMA(a, b, c),
   SIGNS(v) (the highest bit of each 16-bit number of v, as a mask). */

#include "narrow.h"

typedef uint32_t NAME(words) __attribute__((vector_size(4 * LANES), aligned(4)));
typedef uint64_t NAME(pairs) __attribute__((vector_size(4 * LANES), aligned(4)));
typedef int16_t NAME(levels) __attribute__((vector_size(4 * LANES), aligned(4)));

/* The next 624 words of the state. */
static void NAME(advance)(generator *state) {
    uint32_t *words = state->words;
#define TWISTED(i, following, far)                                                        \
    do {                                                                                  \
        const uint32_t mixed = (words[i] & 0x80000000u) | (words[following] & 0x7fffffffu); \
        words[i] = words[far] ^ (mixed >> 1) ^ (-(mixed & 1u) & 0x9908b0dfu);             \
    } while (0)
    for (int i = 0; i < WORDS - SHIFT; i++) TWISTED(i, i + 1, i + SHIFT);
    for (int i = WORDS - SHIFT; i < WORDS - 1; i++) TWISTED(i, i + 1, i + SHIFT - WORDS);
    TWISTED(WORDS - 1, 0, SHIFT - 1);
#undef TWISTED
    state->next = 0;
}

/* The next `count` words of the generator, at most LANES, before the last transformation. */
static inline NAME(words) NAME(take)(generator *state, int64_t count) {
    NAME(words) taken = (NAME(words)){0};
    if (state->next + LANES <= WORDS && count == LANES) {
        memcpy(&taken, state->words + state->next, sizeof taken);
        state->next += LANES;
        return taken;
    }
    for (int64_t i = 0; i < count; i++) {
        if (state->next == WORDS) NAME(advance)(state);
        taken[i] = state->words[state->next++];
    }
    return taken;
}

static void NAME(draw_bits)(generator *state, int64_t count, int64_t dropped_levels,
                            uint8_t *bits) {
    /* Two words for each number of 64 bits, which has four levels. */
    int64_t words = (count + 3) / 4 * 2;
    const int16_t least = (int16_t)(dropped_levels - 32768);
    const NAME(levels) bound = least - (NAME(levels)){0};
    for (; words > 0; words -= LANES, bits += LANES / 4) {
        NAME(words) y = NAME(take)(state, words < LANES ? words : LANES);
        y ^= y >> 11;
        y ^= (y << 7) & 0x9d2c5680u;
        y ^= (y << 15) & 0xefc60000u;
        y ^= y >> 18;
        /* The first word is the upper half of a number. */
        const NAME(pairs) pair = (NAME(pairs))y;
        const NAME(pairs) number = (pair >> 32) | (pair << 32);
        const uint32_t mask = SIGNS((NAME(levels))((NAME(levels))number >= bound));
        memcpy(bits, &mask, LANES / 4);
    }
}

static void NAME(apply_dropout)(const dropout *d, int64_t first, int64_t last) {
    const floats scale = NAME(all)(d->scale);
    ints place;
    for (int i = 0; i < LANES; i++) place[i] = 1 << i;
    for (int64_t i = first; i < last; i += LANES) {
        const int64_t count = last - i < LANES ? last - i : LANES;
        uint32_t mask = 0;
        memcpy(&mask, d->bits + i / 8, LANES / 8);
        const ints kept = (place & (int32_t)mask) != 0;
        floats value = NAME(load_some)(d->values, d->values_are_bf16, i, count) * scale;
        value = NAME(choose)(kept, value, (floats){0});
        if (d->residual) value += NAME(load_some)(d->residual, 0, i, count);
        NAME(store_some)(d->out, d->out_is_bf16, i, count, value);
    }
}
