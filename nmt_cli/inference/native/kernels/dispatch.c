/* The kernels for each instruction set, and which of them a processor has. */

#include "kernels.h"

#if defined(__x86_64__) && defined(__GNUC__) && defined(__linux__) && !defined(NMT_EMULATE_TILES)
#if (defined(__clang__) && __clang_major__ >= 12) || (!defined(__clang__) && __GNUC__ >= 11)
#define HAS_AMX
#endif
#endif

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#endif
#ifdef HAS_AMX
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The kinds of weights that the processor has AMX instructions for, as bits; 0 where the system does
   not let this process use tiles: Linux reserves memory for them only for processes that have asked. */
static int ask_for_tiles(void) {
    enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 };
    enum { AMX_BF16 = 1 << 22, AMX_TILE = 1 << 24, AMX_INT8 = 1 << 25 };
    unsigned a, b, c, d = 0;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(d & AMX_TILE)) return 0;
    if (syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA)) return 0;
    return (d & AMX_INT8 ? 1 << INT8 : 0) | (d & AMX_BF16 ? 1 << BF16 | 1 << SPLIT : 0);
}
#endif

/* The same, asked once. */
static int find_tile_kinds(void) {
#if defined(NMT_EMULATE_TILES)
    return 1 << BF16 | 1 << INT8 | 1 << SPLIT;
#elif defined(HAS_AMX)
    static int known = -1;
    int kinds = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (kinds < 0) {
        kinds = ask_for_tiles();
        __atomic_store_n(&known, kinds, __ATOMIC_RELAXED);
    }
    return kinds;
#else
    return 0;
#endif
}

#if defined(HAS_AMX) || defined(NMT_EMULATE_TILES)
#include "tiles.h"
#endif

#if NMT_EMULATE_TILES == 4
#define TILE_INSTRUCTIONS
#endif
#define LANES 4
#define TILE_ROWS 3
#define TILE_PANELS 1
#define NAME(x) plain_##x
#define FMA(a, b, c) ((a) * (b) + (c))
#include "instruction_set.h"

#if defined(__x86_64__) && defined(__GNUC__)
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif
#define LANES 8
#define TILE_ROWS 6
#define TILE_PANELS 1
#define NAME(x) avx2_##x
#define FMA(a, b, c) ((floats)_mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c)))
#define MAXIMUM(a, b) ((floats)_mm256_max_ps((__m256)(a), (__m256)(b)))
#define MINIMUM(a, b) ((floats)_mm256_min_ps((__m256)(a), (__m256)(b)))
/* Sums of two products fit into 16 bits: see LARGEST_WEIGHT in linear.py. Weights are operands
   in memory: registers have no room for them beside all sums. */
static inline __attribute__((always_inline)) __m256i multiply_quads(__m256i sum, const void *w,
                                                                    int32_t quad) {
    __m256i pairs;
    __asm__("vpmaddubsw %2, %1, %0"
            : "=x"(pairs)
            : "x"(_mm256_set1_epi32(quad)), "m"(*(const __m256i_u *)w));
    return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}
#define MULTIPLY_QUADS(sum, w, quad) multiply_quads((__m256i)(sum), w, quad)
#include "instruction_set.h"
#ifdef __clang__
#pragma clang attribute pop
#ifdef HAS_AMX
/* Compilers use these of AMX only where they are told to; a second attribute would not be read. */
#pragma clang attribute push( \
    __attribute__((target("avx512f,avx512bw,avx512vnni,fma,amx-tile,amx-int8,amx-bf16"))), \
    apply_to = function)
#else
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512vnni,fma"))), \
                             apply_to = function)
#endif
#else
#pragma GCC pop_options
#pragma GCC push_options
#ifdef HAS_AMX
#pragma GCC target("avx512f,avx512bw,avx512vnni,fma,amx-tile,amx-int8,amx-bf16")
#else
#pragma GCC target("avx512f,avx512bw,avx512vnni,fma")
#endif
#endif
#if defined(HAS_AMX) || NMT_EMULATE_TILES == 16
#define TILE_INSTRUCTIONS
#endif
#define LANES 16
#define TILE_ROWS 12
#define TILE_PANELS 2
#define NAME(x) avx512_##x
#define FMA(a, b, c) ((floats)_mm512_fmadd_ps((__m512)(a), (__m512)(b), (__m512)(c)))
#define MAXIMUM(a, b) ((floats)_mm512_max_ps((__m512)(a), (__m512)(b)))
#define MINIMUM(a, b) ((floats)_mm512_min_ps((__m512)(a), (__m512)(b)))
#define MULTIPLY_QUADS(sum, w, quad) \
    _mm512_dpbusd_epi32((__m512i)(sum), _mm512_set1_epi32(quad), *(const __m512i_u *)(w))
#include "instruction_set.h"
#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif

/* The kernels for so many lanes; null where the processor lacks their instructions. */
const kernels *find_kernels(int lanes) {
#if NMT_EMULATE_TILES == 4
    if (lanes == AMX_LANES) return &plain_tile_kernels;
#elif defined(HAS_AMX) || NMT_EMULATE_TILES == 16
    if (lanes == AMX_LANES)
        return find_kernels(16) && find_tile_kinds() ? &avx512_tile_kernels : 0;
#endif
#if defined(__x86_64__) && defined(__GNUC__)
    if (lanes == 16 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vnni"))
        return &avx512_kernels;
    if (lanes == 8 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return &avx2_kernels;
#endif
    return lanes == 4 ? &plain_kernels : 0;
}

/* Whether kernels of so many lanes have a form of their own for weights of this kind, and run here. */
int64_t nmt_has_form(int64_t lanes, int64_t kind) {
    if (lanes == AMX_LANES ? !(find_tile_kinds() >> kind & 1) : kind == SPLIT) return 0;
    return find_kernels((int)lanes) != 0;
}
