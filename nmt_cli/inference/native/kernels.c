/* The kernels for each instruction set, and which of them a processor has. */

#include "kernels.h"

#define LANES 4
#define TILE_ROWS 3
#define NAME(x) plain_##x
#define FMA(a, b, c) ((a) * (b) + (c))
#include "vectors.h"
#include "products.h"

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
#define FMA(a, b, c) ((floats)_mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c)))
#define WIDE_WEIGHTS __m256i
#define LOAD_WIDE(from) _mm256_loadu_si256((const __m256i *)(from))
#define WIDEN(from) _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(from)))
#define MULTIPLY_PAIRS(sum, w, pair) \
    _mm256_add_epi32((__m256i)(sum), _mm256_madd_epi16(w, _mm256_set1_epi32(pair)))
#include "vectors.h"
#include "products.h"
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
#define FMA(a, b, c) ((floats)_mm512_fmadd_ps((__m512)(a), (__m512)(b), (__m512)(c)))
#define WIDE_WEIGHTS __m512i
#define LOAD_WIDE(from) _mm512_loadu_si512((const void *)(from))
#define WIDEN(from) _mm512_cvtepi8_epi16(_mm256_loadu_si256((const __m256i *)(from)))
#define MULTIPLY_PAIRS(sum, w, pair) \
    _mm512_dpwssd_epi32((__m512i)(sum), w, _mm512_set1_epi32(pair))
#include "vectors.h"
#include "products.h"
#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif

/* The kernels of that many lanes; null where the processor has not got them. */
const kernels *find_kernels(int lanes) {
#if defined(__x86_64__) && defined(__GNUC__)
    if (lanes == 16 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vnni"))
        return &avx512_kernels;
    if (lanes == 8 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return &avx2_kernels;
#endif
    return lanes == 4 ? &plain_kernels : 0;
}
