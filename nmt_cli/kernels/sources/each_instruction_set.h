/* Includes LOOPS, a file name, once for each instruction set of x86 processors: names begin with avx2_
   and avx512_. HAS_VECTORS is not defined for other processors and compilers. */

#include <math.h>
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#include <immintrin.h>
#define HAS_VECTORS

#pragma GCC push_options
#pragma GCC target("avx2,fma")
#define LANES 8
#define NAME(x) avx2_##x
#define FMA(a, b, c) ((floats)_mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c)))
#define MAXIMUM(a, b) ((floats)_mm256_max_ps((__m256)(a), (__m256)(b)))
#define MINIMUM(a, b) ((floats)_mm256_min_ps((__m256)(a), (__m256)(b)))
#define WIDENED(v) _mm256_cvtepu16_epi32((__m128i)(v))
#define SIGNS(v)                                                                             \
    (0xffffu & (uint32_t)_mm256_movemask_epi8(_mm256_permute4x64_epi64(                      \
                   _mm256_packs_epi16((__m256i)(v), _mm256_setzero_si256()), 0xd8)))
#include LOOPS
#undef floats
#undef ints
#undef LANES
#undef NAME
#undef FMA
#undef MAXIMUM
#undef MINIMUM
#undef WIDENED
#undef NARROWED
#undef SIGNS
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vnni,fma")
#define LANES 16
#define NAME(x) avx512_##x
#define FMA(a, b, c) ((floats)_mm512_fmadd_ps((__m512)(a), (__m512)(b), (__m512)(c)))
#define MAXIMUM(a, b) ((floats)_mm512_max_ps((__m512)(a), (__m512)(b)))
#define MINIMUM(a, b) ((floats)_mm512_min_ps((__m512)(a), (__m512)(b)))
#define WIDENED(v) _mm512_cvtepu16_epi32((__m256i)(v))
#define NARROWED(v) _mm512_cvtepi32_epi16((__m512i)(v))
#define SIGNS(v) ((uint32_t)_mm512_movepi16_mask((__m512i)(v)))
#include LOOPS
#undef floats
#undef ints
#undef LANES
#undef NAME
#undef FMA
#undef MAXIMUM
#undef MINIMUM
#undef WIDENED
#undef NARROWED
#undef SIGNS
#pragma GCC pop_options
#endif

/* Whether this processor has the instructions for so many lanes. */
static int has_lanes(int64_t lanes) {
#ifdef HAS_VECTORS
    if (lanes == 16)
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512vnni");
    if (lanes == 8) return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
    (void)lanes;
    return 0;
}

#ifdef HAS_VECTORS
#define CHOOSE(lanes, name) ((lanes) == 16 ? avx512_##name : avx2_##name)
#endif
