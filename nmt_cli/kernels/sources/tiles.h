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
__attribute__((unused)) static void tile_multiply(int sums, int a, int b) {
    for (int r = 0; r < configured.rows[sums]; r++)
        for (int c = 0; c < configured.row_bytes[sums] / 4; c++) {
            int32_t sum;
            memcpy(&sum, emulated[sums][r] + 4 * c, 4);
            for (int k = 0; k < configured.row_bytes[a]; k++)
                sum += emulated[a][r][k] * (int8_t)emulated[b][k / 4][4 * c + k % 4];
            memcpy(emulated[sums][r] + 4 * c, &sum, 4);
        }
}

/* float32 sums of products of bf16 numbers, in pairs: first those of each half of the pairs, as Intel's
   manual has it. Numbers below the smallest normal one are not taken for zero, as AMX does. */
__attribute__((unused)) static void tile_multiply_bf16(int sums, int a, int b) {
    const int columns = configured.row_bytes[sums] / 4;
    for (int r = 0; r < configured.rows[sums]; r++) {
        float first[16] = {0}, second[16] = {0}, total[16];
        for (int k = 0; k < configured.row_bytes[a] / 4; k++) {
            uint32_t pair, pairs[16];
            memcpy(&pair, emulated[a][r] + 4 * k, 4);
            memcpy(pairs, emulated[b][k], sizeof pairs);
            const union { uint32_t bits; float value; } x = {pair << 16}, y = {pair & 0xffff0000};
            for (int c = 0; c < 16; c++) {
                union { uint32_t bits; float value; } u = {pairs[c] << 16}, v = {pairs[c] & 0xffff0000};
                first[c] += x.value * u.value;
                second[c] += y.value * v.value;
            }
        }
        memcpy(total, emulated[sums][r], sizeof total);
        for (int c = 0; c < columns; c++) total[c] += first[c] + second[c];
        memcpy(emulated[sums][r], total, sizeof total);
    }
}
#else
#define tile_load_config(config) _tile_loadconfig(config)
#define tile_release() _tile_release()
#define tile_zero(tile) _tile_zero(tile)
#define tile_load(tile, from, stride) _tile_loadd(tile, from, stride)
#define tile_store(tile, to, stride) _tile_stored(tile, to, stride)
#define tile_multiply(sums, a, b) _tile_dpbusd(sums, a, b)
#define tile_multiply_bf16(sums, a, b) _tile_dpbf16ps(sums, a, b)
#endif
