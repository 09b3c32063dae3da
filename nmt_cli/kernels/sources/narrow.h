/* Vectors of LANES numbers that are stored as float32 or bf16; included for each instruction set.

   Before inclusion, where the compiler makes several instructions of them: WIDENED(v), the numbers of 16
   bits without sign as integers, and NARROWED(v), the lower 16 bits of integers. */

#include "vectors.h"

typedef uint16_t NAME(halves) __attribute__((vector_size(2 * LANES), aligned(2)));
#define halves NAME(halves)

/* A bf16 number is the upper half of a float; the nearest one, and of two the even one. */
static inline halves NAME(round_bf16)(floats value) {
    const ints bits = (ints)value;
    const ints rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
    const ints whole = NAME(is_number)(value);
    const ints number = (rounded & whole) | (0x7fc0 & ~whole);
#ifdef NARROWED
    return (halves)NARROWED(number);
#else
    return __builtin_convertvector(number, halves);
#endif
}

static inline floats NAME(widen)(halves narrow) {
#ifdef WIDENED
    return (floats)((ints)WIDENED(narrow) << 16);
#else
    return (floats)(__builtin_convertvector(narrow, ints) << 16);
#endif
}

/* Numbers [i, i + count) as floats, and zeros after them; count is at most LANES. */
static inline __attribute__((always_inline)) floats NAME(load_some)(const void *from, int is_bf16,
                                                                    int64_t i, int64_t count) {
    if (is_bf16) {
        halves narrow = (halves){0};
        if (count == LANES)
            memcpy(&narrow, (const uint16_t *)from + i, sizeof narrow);
        else
            memcpy(&narrow, (const uint16_t *)from + i, 2 * count);
        return NAME(widen)(narrow);
    }
    if (count == LANES) return NAME(load)((const float *)from + i);
    floats value = (floats){0};
    memcpy(&value, (const float *)from + i, 4 * count);
    return value;
}

static inline __attribute__((always_inline)) void NAME(store_some)(void *to, int is_bf16, int64_t i,
                                                                   int64_t count, floats value) {
    if (is_bf16) {
        const halves narrow = NAME(round_bf16)(value);
        if (count == LANES)
            memcpy((uint16_t *)to + i, &narrow, sizeof narrow);
        else
            memcpy((uint16_t *)to + i, &narrow, 2 * count);
    } else if (count == LANES) {
        NAME(store)((float *)to + i, value);
    } else {
        memcpy((float *)to + i, &value, 4 * count);
    }
}

#undef halves
