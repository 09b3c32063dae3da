/* float32 products for training on a CPU with `train.precision = split`, by the bf16 tiles of AMX.

   A number is taken as a sum of two bf16 numbers: `high`, the nearest one, and `low`, the nearest one to
   the rest, which is at most 2^-8 of the number. Both together differ from it by at most 2^-17 of it. A
   product is high x high + high x low + low x high, added up in float32; low x low, at most 2^-16 of it,
   is left out. */

#include <math.h>
#include <stdint.h>
#include <string.h>

#if defined(__GNUC__) && !defined(__clang__)
#ifdef NMT_EMULATE_TILES
#define HAS_TILES
#elif defined(__x86_64__) && defined(__linux__) && __GNUC__ >= 11
#define HAS_TILES
#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif
#endif

#include "tiles.h"

/* HALVES: the bytes of a tile of `high`, and that of `low` after it. DEEP: numbers of a row of a tile.
   PAIR: rows of two tiles, and columns. DEPTH: numbers of a sum that are laid in tiles together. PART: rows
   or columns of the longer side that are. */
enum { HALVES = 2 * TILE, DEEP = 32, PAIR = 32, DEPTH = 256, PART = 512 };
enum { AMX_LANES = 32 };
/* What `nmt_find_split` returns. */
enum { READY, NOT_COMPILED, NO_INSTRUCTIONS, NO_PERMISSION };

/* Numbers by index, which is a row or a column of the product, and depth, of which the product takes the
   sum. One of the strides is 1. */
typedef struct {
    const float *data;
    int64_t stride, depth_stride;
} operand;

/* out = left right, or out += left right with `accumulates`. left: (rows, depth); right: (columns, depth);
   out: (rows, columns), with rows `stride` numbers apart. */
typedef struct {
    operand left, right;
    float *out;
    int64_t stride, rows, columns, depth, accumulates;
} split_product;

static int64_t whole_pairs(int64_t size) { return (size + PAIR - 1) / PAIR * PAIR; }

/* The bytes of `scratch` of `nmt_split_product`. */
int64_t nmt_split_bytes(const split_product *p) {
    const int64_t shorter = p->rows < p->columns ? p->rows : p->columns;
    return (whole_pairs(shorter) + PART) / 16 * (DEPTH / DEEP) * HALVES + 64;
}

#ifdef HAS_TILES
#ifndef NMT_EMULATE_TILES
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,amx-tile,amx-bf16")
#endif
#define LANES 16
#define NAME(x) split_##x
#define FMA(a, b, c) ((a) * (b) + (c))
#include "split_tiles.h"
#ifndef NMT_EMULATE_TILES
#pragma GCC pop_options
#endif
#endif

/* Whether this processor has the instructions, and the system lets this process use them: READY, or why
   not. Linux reserves memory for tiles only for processes that have asked for it. */
int64_t nmt_find_split(void) {
#if defined(NMT_EMULATE_TILES) && defined(HAS_TILES)
    return READY;
#elif !defined(__x86_64__)
    return NO_INSTRUCTIONS;
#elif !defined(HAS_TILES)
    return NOT_COMPILED;
#else
    enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18, AMX_BF16 = 1 << 22, AMX_TILE = 1 << 24 };
    unsigned a, b, c, d = 0;
    const int known = __get_cpuid_count(7, 0, &a, &b, &c, &d);
    const int has_vectors = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw");
    if (!known || !has_vectors || !(d & AMX_TILE) || !(d & AMX_BF16)) return NO_INSTRUCTIONS;
    return syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) ? NO_PERMISSION : READY;
#endif
}

/* Compute the part of `out` that is in [first, last) of the longer side, rows or columns, in units of
   PAIR. Each number is the same for any division into ranges. Only where `nmt_find_split` returned READY;
   returns 0, or 1 for other lanes than those of AMX. */
int64_t nmt_split_product(int64_t lanes, const split_product *p, int64_t first, int64_t last,
                          void *scratch) {
#ifdef HAS_TILES
    if (lanes == AMX_LANES) {
        split_compute(p, first * PAIR, last * PAIR, scratch);
        return 0;
    }
#endif
    (void)p, (void)first, (void)last, (void)scratch;
    return lanes != 0;
}
