/* Products of 8-bit weights for each instruction set, chosen when the program runs. */

#include "product.h"

#define LANES 4
#define TILE_ROWS 3
#define NAME(x) plain_##x
#include "vectors.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif
#define LANES 8
#define TILE_ROWS 6
#define NAME(x) avx2_##x
#define WIDE_WEIGHTS __m256i
#define WIDEN(from) _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(from)))
#define MULTIPLY_PAIRS(sum, w, pair) \
    _mm256_add_epi32((__m256i)(sum), _mm256_madd_epi16(w, _mm256_set1_epi32(pair)))
#include "vectors.h"
#ifdef __clang__
#pragma clang attribute pop
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512vnni,fma"))), \
                             apply_to = function)
#else
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vnni,fma")
#endif
#define LANES 16
#define TILE_ROWS 12
#define NAME(x) avx512_##x
#define WIDE_WEIGHTS __m512i
#define WIDEN(from) _mm512_cvtepi8_epi16(_mm256_loadu_si256((const __m256i *)(from)))
#define MULTIPLY_PAIRS(sum, w, pair) \
    _mm512_dpwssd_epi32((__m512i)(sum), w, _mm512_set1_epi32(pair))
#include "vectors.h"
#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif

/* The kernels of that many lanes; null where the processor has not got them. */
static const kernels *find_kernels(int lanes) {
#if defined(__x86_64__) && defined(__GNUC__)
    if (lanes == 16 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vnni"))
        return &avx512_kernels;
    if (lanes == 8 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return &avx2_kernels;
#endif
    return lanes == 4 ? &plain_kernels : 0;
}

enum { MOST_THREADS = 64 };
/* Less work than this is done sooner than a thread is started. */
static const int64_t WORTH_A_THREAD = 1 << 22;

typedef struct {
    const kernels *kernels;
    const product_task *task;
    int64_t first, last;
} share;

static void *work(void *given) {
    const share *own = given;
    own->kernels->multiply(own->task, own->first, own->last);
    return 0;
}

/* out = x W^T + b over `rows` rows; `whole` and `scales` are room for x. 0: no such kernels. */
int nmt_product(int lanes, int threads, const linear *l, const float *x, int64_t rows, float limit,
                int16_t *whole, float *scales, float *out) {
    const kernels *chosen = find_kernels(lanes);
    if (!chosen) return 0;
    const int64_t even = (l->inputs + 1) / 2 * 2, panels = (l->outputs + PANEL - 1) / PANEL;
    for (int64_t row = 0; row < rows; row++)
        scales[row] = chosen->to_whole(x + row * l->inputs, l->inputs, limit, whole + row * even);
    product_task task = {l, rows, out, whole, scales};
    int64_t shares = rows * l->inputs * l->outputs / WORTH_A_THREAD;
    if (shares > threads) shares = threads;
    if (shares > MOST_THREADS) shares = MOST_THREADS;
    if (shares < 1) shares = 1;
    share all[MOST_THREADS];
    pthread_t running[MOST_THREADS];
    int started[MOST_THREADS] = {0};
    for (int64_t i = 0; i < shares; i++)
        all[i] = (share){chosen, &task, panels * i / shares, panels * (i + 1) / shares};
    for (int64_t i = 1; i < shares; i++)
        started[i] = !pthread_create(&running[i], 0, work, &all[i]);
    for (int64_t i = 0; i < shares; i++)
        if (!started[i]) work(&all[i]);
    for (int64_t i = 1; i < shares; i++)
        if (started[i]) pthread_join(running[i], 0);
    return 1;
}
