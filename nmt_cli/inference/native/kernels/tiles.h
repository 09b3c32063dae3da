/* The instructions of AMX on tiles, or with NMT_EMULATE_TILES the same in plain C for tests. */

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
static void tile_multiply(int sums, int a, int b) {
    for (int r = 0; r < configured.rows[sums]; r++)
        for (int c = 0; c < configured.row_bytes[sums] / 4; c++) {
            int32_t sum;
            memcpy(&sum, emulated[sums][r] + 4 * c, 4);
            for (int k = 0; k < configured.row_bytes[a]; k++)
                sum += emulated[a][r][k] * (int8_t)emulated[b][k / 4][4 * c + k % 4];
            memcpy(emulated[sums][r] + 4 * c, &sum, 4);
        }
}
#else
#define tile_load_config(config) _tile_loadconfig(config)
#define tile_release() _tile_release()
#define tile_zero(tile) _tile_zero(tile)
#define tile_load(tile, from, stride) _tile_loadd(tile, from, stride)
#define tile_store(tile, to, stride) _tile_stored(tile, to, stride)
#define tile_multiply(sums, a, b) _tile_dpbusd(sums, a, b)
#endif
