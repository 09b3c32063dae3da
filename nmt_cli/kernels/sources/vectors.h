/* Vectors of LANES floats, included for each instruction set: loads, sums, exponentials.

   Before inclusion: LANES, NAME(x) (the name of x for this instruction set), FMA(a, b, c). */

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

static inline floats NAME(greater)(floats a, floats b) { return NAME(choose)(b > a, b, a); }

/* By halves: additions are ordered as in a tree. */
static inline float NAME(sum)(floats values) {
    float each[LANES];
    NAME(store)(each, values);
    for (int width = LANES / 2; width; width /= 2)
        for (int i = 0; i < width; i++) each[i] += each[i + width];
    return each[0];
}

static inline float NAME(greatest)(floats values) {
    float maximum = values[0];
    for (int i = 1; i < LANES; i++) maximum = values[i] > maximum ? values[i] : maximum;
    return maximum;
}

/* e^x to about one unit in the last place; tiny below -87; NaN gives NaN. */
static inline floats NAME(exp)(floats x) {
    const floats low = NAME(all)(-87.0f), high = NAME(all)(88.0f), magic = NAME(all)(12582912.0f);
    x = NAME(choose)(x < low, low, x);
    x = NAME(choose)(x > high, high, x);
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
