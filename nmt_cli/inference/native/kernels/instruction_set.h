/* All kernels of an instruction set. Before inclusion: LANES (floats of a vector), NAME(x) (the name
   of x for this instruction set), FMA(a, b, c), MAXIMUM, MINIMUM and MULTIPLY_QUADS or not,
   TILE_INSTRUCTIONS if there are those of tiles.h, and the sizes of tiles in registers:
   TILE_ROWS, the most rows, and TILE_PANELS, with how many panels they are multiplied at once. */

#define VECTORS (PANEL / LANES)
#define TILE_VECTORS (TILE_ROWS * TILE_PANELS * VECTORS)

#include "simd.h"
#include "attention.h"
#include "quantize.h"
#include "tile.h"
#include "gemm.h"
#include "head.h"

static const kernels NAME(kernels) = {
    NAME(multiply), NAME(head), NAME(attention), NAME(normalise), NAME(activate), NAME(merge_sums),
};

#ifdef TILE_INSTRUCTIONS
#include "tiled_rows.h"
#include "tiled_products.h"
#include "tiled_head.h"
#endif

#undef operands
#undef row_block
#undef floats
#undef ints
#undef bytes
#undef VECTORS
#undef TILE_VECTORS
#undef LANES
#undef TILE_ROWS
#undef TILE_PANELS
#undef NAME
#undef FMA
#undef MAXIMUM
#undef MINIMUM
#undef MULTIPLY_QUADS
#undef TILE_INSTRUCTIONS
