/* Vectors of LANES floats, included for each instruction set: loads, sums, exponentials.

   Before inclusion: LANES, NAME(x) (the name of x for this instruction set), FMA(a, b, c), and where
   there are such instructions MAXIMUM(a, b) and MINIMUM(a, b), which are b where a number is NaN. */

typedef float NAME(floats) __attribute__((vector_size(4 * LANES), aligned(4)));
typedef int32_t NAME(ints) __attribute__((vector_size(4 * LANES), aligned(4)));
#define floats NAME(floats)
#define ints NAME(ints)

static inline floats NAME(load)(const float *from) { return *(const floats *)from; }
static inline void NAME(store)(float *to, floats value) { *(floats *)to = value; }
static inline floats NAME(all)(float value) { return value - (floats){0}; }

static inline floats NAME(choose)(ints condition, floats yes, floats no) {
    return (floats)(((ints)yes & condition) | ((ints)no & ~condition));
}

/* The greater of both, and the lesser; a where either is NaN. */
#ifdef MAXIMUM
static inline floats NAME(greater)(floats a, floats b) { return MAXIMUM(b, a); }
static inline floats NAME(lesser)(floats a, floats b) { return MINIMUM(b, a); }
#else
static inline floats NAME(greater)(floats a, floats b) { return NAME(choose)(b > a, b, a); }
static inline floats NAME(lesser)(floats a, floats b) { return NAME(choose)(b < a, b, a); }
#endif

/* The vector turned by `width` lanes. GCC makes one instruction of places that are constants. */
#ifdef __clang__
static inline floats NAME(turn)(floats values, int width) {
    floats turned;
    for (int i = 0; i < LANES; i++) turned[i] = values[(i + width) % LANES];
    return turned;
}
#define TURN(values, width) NAME(turn)(values, width)
#else
#define TURNED(i, width) (((i) + (width)) % LANES)
#define FOUR_TURNED(i, width) \
    TURNED(i, width), TURNED(i + 1, width), TURNED(i + 2, width), TURNED(i + 3, width)
#if LANES == 4
#define TURN(values, width) __builtin_shuffle(values, (ints){FOUR_TURNED(0, width)})
#elif LANES == 8
#define TURN(values, width) \
    __builtin_shuffle(values, (ints){FOUR_TURNED(0, width), FOUR_TURNED(4, width)})
#else
#define TURN(values, width)                                                                 \
    __builtin_shuffle(values, (ints){FOUR_TURNED(0, width), FOUR_TURNED(4, width),          \
                                     FOUR_TURNED(8, width), FOUR_TURNED(12, width)})
#endif
#endif

/* By halves: additions are ordered as in a tree. */
static inline float NAME(sum)(floats values) {
#if LANES > 8
    values += TURN(values, 8);
#endif
#if LANES > 4
    values += TURN(values, 4);
#endif
    values += TURN(values, 2);
    values += TURN(values, 1);
    return values[0];
}

static inline float NAME(greatest)(floats values) {
#if LANES > 8
    values = NAME(greater)(values, TURN(values, 8));
#endif
#if LANES > 4
    values = NAME(greater)(values, TURN(values, 4));
#endif
    values = NAME(greater)(values, TURN(values, 2));
    values = NAME(greater)(values, TURN(values, 1));
    return values[0];
}
#undef TURN
#undef TURNED
#undef FOUR_TURNED

/* e^x to about one unit in the last place; tiny below -87; NaN gives NaN. */
static inline floats NAME(exp)(floats x) {
    const floats low = NAME(all)(-87.0f), high = NAME(all)(88.0f), magic = NAME(all)(12582912.0f);
    x = NAME(lesser)(NAME(greater)(x, low), high);
    floats shifted = FMA(x, NAME(all)(1.44269504f), magic);
    floats n = shifted - magic;
    floats r = FMA(n, NAME(all)(-0.693145752f), x);
    r = FMA(n, NAME(all)(-1.42860677e-6f), r);
    floats p = FMA(r, NAME(all)(1.98756915e-4f), NAME(all)(1.39819995e-3f));
    p = FMA(p, r, NAME(all)(8.33345190e-3f));
    p = FMA(p, r, NAME(all)(4.16657962e-2f));
    p = FMA(p, r, NAME(all)(1.66666657e-1f));
    p = FMA(p, r, NAME(all)(0.5f));
    p = FMA(p * r, r, r) + 1.0f;
    ints power = ((ints)shifted << 23) + (127 << 23);
    return p * (floats)power;
}

/* The lanes of the vector at `begin` that are below `limit`: all bits set there. */
static inline ints NAME(below)(int64_t begin, int64_t limit) {
    ints lane;
    for (int i = 0; i < LANES; i++) lane[i] = i;
    return lane < (int32_t)(limit - begin);
}

/* All bits set where a number is not NaN. */
static inline ints NAME(is_number)(floats value) { return value == value; }
