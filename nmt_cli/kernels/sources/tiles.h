/* The instructions of AMX on tiles. For tests, NMT_EMULATE_TILES is the number of lanes of the kernels
   that have the same in plain C instead. */

/* TILE: bytes of a tile; TILE_LINE: bytes of one of its 16 rows. */
enum { TILE = 1024, TILE_LINE = 64 };

typedef struct {
    uint8_t palette, start, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} __attribute__((packed)) tile_config;

#ifdef NMT_EMULATE_TILES
static __thread tile_config configured;
static __thread uint8_t emulated[8][16][64];

static void tile_load_config(const tile_config *config) {
    configured = *config;
    memset(emulated, 0, sizeof emulated);
}

static void tile_release(void) { memset(&configured, 0, sizeof configured); }

static void tile_zero(int tile) { memset(emulated[tile], 0, sizeof emulated[tile]); }

static void tile_load(int tile, const void *from, int64_t stride) {
    for (int r = 0; r < configured.rows[tile]; r++)
        memcpy(emulated[tile][r], (const char *)from + r * stride, configured.row_bytes[tile]);
}

static void tile_store(int tile, void *to, int64_t stride) {
    for (int r = 0; r < configured.rows[tile]; r++)
        memcpy((char *)to + r * stride, emulated[tile][r], configured.row_bytes[tile]);
}

/* Sums of products of unsigned bytes of `a` with signed bytes of `b`, in quads. */
__attribute__((unused)) static void tile_multiply_int8(int sums, int a, int b) {
    for (int r = 0; r < configured.rows[sums]; r++)
        for (int c = 0; c < configured.row_bytes[sums] / 4; c++) {
            int32_t sum;
            memcpy(&sum, emulated[sums][r] + 4 * c, 4);
            for (int k = 0; k < configured.row_bytes[a]; k++)
                sum += emulated[a][r][k] * (int8_t)emulated[b][k / 4][4 * c + k % 4];
            memcpy(emulated[sums][r] + 4 * c, &sum, 4);
        }
}

/* The processor takes numbers below the least normal one for zero, and makes none. */
static inline float without_subnormal(float x) { return fabsf(x) < 0x1p-126f ? copysignf(0, x) : x; }

static inline float read_bf16(uint32_t upper_half) {
    float x;
    memcpy(&x, &upper_half, 4);
    return without_subnormal(x);
}

/* Sums of products of bf16 numbers, in pairs: those of the first numbers of all pairs, and those of the
   second, are added up first. Products are exact in float32. */
__attribute__((unused)) static void tile_multiply_bf16(int sums, int a, int b) {
    const int columns = configured.row_bytes[sums] / 4;
    for (int r = 0; r < configured.rows[sums]; r++) {
        float first[16] = {0}, second[16] = {0}, total[16];
        for (int k = 0; k < configured.row_bytes[a] / 4; k++) {
            uint32_t pair, pairs[16];
            memcpy(&pair, emulated[a][r] + 4 * k, 4);
            memcpy(pairs, emulated[b][k], sizeof pairs);
            const float x = read_bf16(pair << 16), y = read_bf16(pair & 0xffff0000);
            for (int c = 0; c < 16; c++) {
                first[c] = without_subnormal(first[c] + x * read_bf16(pairs[c] << 16));
                second[c] = without_subnormal(second[c] + y * read_bf16(pairs[c] & 0xffff0000));
            }
        }
        memcpy(total, emulated[sums][r], sizeof total);
        for (int c = 0; c < columns; c++)
            total[c] = without_subnormal(total[c] + without_subnormal(first[c] + second[c]));
        memcpy(emulated[sums][r], total, sizeof total);
    }
}
#else
/* The intrinsics of GCC do not name all of the memory that they read: it is complete before. */
#define tile_load_config(config)                        \
    do {                                                \
        __asm__ volatile("" : : "r"(config) : "memory"); \
        _tile_loadconfig(config);                       \
    } while (0)
#define tile_release() _tile_release()
#define tile_zero(tile) _tile_zero(tile)
#define tile_load(tile, from, stride) _tile_loadd(tile, from, stride)
#define tile_store(tile, to, stride) _tile_stored(tile, to, stride)
#define tile_multiply_int8(sums, a, b) _tile_dpbusd(sums, a, b)
#define tile_multiply_bf16(sums, a, b) _tile_dpbf16ps(sums, a, b)
#endif
