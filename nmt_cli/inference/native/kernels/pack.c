/* Rounds weights and lays them out in panels, as `linear` describes. The bytes are the same on every
   processor. One thread does it: reading the weights takes longer. */

#include "kernels.h"

/* COLUMNS: units of each row that are laid out at a time, so that a part of a panel stays in the first
   cache. TILE_PAIRS: pairs of inputs in a tile of AMX. */
enum { LARGEST_WEIGHT = 64, COLUMNS = 256, TILE_PAIRS = 16 };
/* A unit of packed weights: a float, a pair of bf16 or a quad of int8. */
typedef uint32_t unit __attribute__((may_alias));
typedef uint16_t half __attribute__((may_alias));
static const uint32_t INFINITE = 0x7f800000;

/* Rows of the weights of a layer, (rows, inputs), to be packed as the outputs from `first` on.
   packed, scales, totals: those of the whole layer; the last two for INT8 only. */
typedef struct {
    const float *weight;
    int64_t first, rows, inputs, kind;
    void *packed;
    float *scales;
    int32_t *totals;
} packing;

static uint32_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* The bits of the nearest bf16, of two the even one. */
static uint32_t round_bits(float value) {
    const uint32_t bits = bits_of(value);
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

static void round_bf16(const float *from, int64_t count, half *to) {
    for (int64_t i = 0; i < count; i++) to[i] = (half)round_bits(from[i]);
}

/* Round what rounding to bf16 leaves; of numbers that become infinite, nothing. */
static void round_rest(const float *from, int64_t count, half *to) {
    for (int64_t i = 0; i < count; i++) {
        const uint32_t bits = round_bits(from[i]) << 16;
        float high;
        memcpy(&high, &bits, sizeof high);
        /* A mask, because compilers make no vectors of a difference that is computed sometimes. */
        const uint32_t finite = -(uint32_t)((bits & INFINITE) != INFINITE);
        to[i] = (half)(round_bits(from[i] - high) & finite);
    }
}

/* The greatest absolute value of a row, over the largest weight. */
static float find_scale(const float *row, int64_t inputs) {
    /* As integers, the bits of positive floats have the same order, with NaN above all others. */
    int32_t greatest = 0;
    for (int64_t i = 0; i < inputs; i++) {
        const int32_t bits = (int32_t)(bits_of(row[i]) & 0x7fffffff);
        greatest = bits > greatest ? bits : greatest;
    }
    float value;
    memcpy(&value, &greatest, sizeof value);
    return value / LARGEST_WEIGHT;
}

/* Round row / scale to integers, and return their sum. */
static int32_t round_int8(const float *from, int64_t count, float scale, int8_t *to) {
    const float divisor = scale > 0 ? scale : 1;
    int32_t total = 0;
    if ((bits_of(scale) & INFINITE) == INFINITE) {
        /* Some weight is not finite; the conversion of large numbers is not defined in C. */
        for (int64_t i = 0; i < count; i++) {
            const float rounded = rintf(from[i] / divisor);
            const int fits = rounded >= -2147483648.0f && rounded < 2147483648.0f;
            to[i] = fits ? (int8_t)(int32_t)rounded : 0;
            total += to[i];
        }
        return total;
    }
    /* Adding it leaves an integer in the low bits, rounded to the nearest, of two the even one. */
    const float magic = 12582912.0f;
    for (int64_t i = 0; i < count; i++) {
        to[i] = (int8_t)(bits_of(from[i] / divisor + magic) - bits_of(magic));
        total += to[i];
    }
    return total;
}

/* Write `count` units of each of the rows, which are COLUMNS units long, into the places from `place` on
   of each line of a panel. */
static void lay_out(const unit *rows, int64_t count, int64_t place, int64_t places, unit *to) {
    if (places == PANEL) {
        for (int64_t i = 0; i < count; i++)
            for (int64_t r = 0; r < PANEL; r++) to[i * PANEL + r] = rows[r * COLUMNS + i];
        return;
    }
    for (int64_t r = 0; r < places; r++)
        for (int64_t i = 0; i < count; i++) to[i * PANEL + place + r] = rows[r * COLUMNS + i];
}

/* How many inputs a unit is for. */
static int64_t find_together(int64_t kind) {
    return kind == INT8 ? 4 : kind == FLOAT32 ? 1 : 2;
}

/* The lines of a panel. Those of SPLIT weights are the pairs of high halves, then as many of low ones,
   both in whole tiles. */
static int64_t find_lines(int64_t kind, int64_t inputs) {
    const int64_t together = find_together(kind), lines = (inputs + together - 1) / together;
    return kind == SPLIT ? (lines + TILE_PAIRS - 1) / TILE_PAIRS * TILE_PAIRS * 2 : lines;
}

/* Convert `count` weights of a row to units, the last of them filled up with zeros. low: whether the
   low halves are wanted (SPLIT). scale, total: of INT8. */
static void convert(int64_t kind, int low, const float *from, int64_t count, float scale,
                    int32_t *total, unit *to) {
    if (kind == FLOAT32) memcpy(to, from, sizeof *from * count);
    else if (kind == INT8) {
        *total += round_int8(from, count, scale, (int8_t *)to);
        memset((int8_t *)to + count, 0, -count & 3);
    } else {
        if (low) round_rest(from, count, (half *)to);
        else round_bf16(from, count, (half *)to);
        if (count & 1) ((half *)to)[count] = 0;
    }
}

/* Pack `rows` rows into their places of a panel; output: the first of them. */
static void pack_panel(const packing *p, const float *weight, int64_t output, int64_t rows) {
    const int64_t inputs = p->inputs, place = output % PANEL, lines = find_lines(p->kind, inputs);
    const int64_t together = find_together(p->kind);
    const int halves = p->kind == SPLIT ? 2 : 1;
    unit *panel = (unit *)p->packed + output / PANEL * lines * PANEL, part[PANEL * COLUMNS];
    float scales[PANEL] = {0};
    int32_t totals[PANEL] = {0};
    for (int64_t r = 0; r < rows && p->scales; r++)
        scales[r] = find_scale(weight + r * inputs, inputs);
    for (int64_t begin = 0; begin < inputs; begin += COLUMNS * together) {
        const int64_t left = inputs - begin;
        const int64_t count = left < COLUMNS * together ? left : COLUMNS * together;
        for (int low = 0; low < halves; low++) {
            const int64_t line = begin / together + low * lines / 2;
            for (int64_t r = 0; r < rows; r++)
                convert(p->kind, low, weight + r * inputs + begin, count, scales[r],
                        totals + r, part + r * COLUMNS);
            lay_out(part, (count + together - 1) / together, place, rows, panel + line * PANEL);
        }
    }
    if (!p->scales) return;
    memcpy(p->scales + output, scales, sizeof *scales * rows);
    memcpy(p->totals + output, totals, sizeof *totals * rows);
}

/* Pack the rows of a task. Places that have no row or no input stay as they are. */
int64_t nmt_pack(const packing *p) {
    const int64_t end = p->first + p->rows;
    for (int64_t output = p->first, next; output < end; output = next) {
        next = (output / PANEL + 1) * PANEL < end ? (output / PANEL + 1) * PANEL : end;
        pack_panel(p, p->weight + (output - p->first) * p->inputs, output, next - output);
    }
    return 1;
}

/* Copy these outputs of packed weights, (panels, lines, PANEL) units, to panels in this order. count: a
   multiple of PANEL. */
int64_t nmt_copy_outputs(const unit *packed, const int64_t *outputs, int64_t count, int64_t lines,
                         unit *to) {
    for (int64_t first = 0; first < count; first += PANEL) {
        const unit *from[PANEL];
        for (int64_t r = 0; r < PANEL; r++) {
            const int64_t output = outputs[first + r];
            from[r] = packed + output / PANEL * lines * PANEL + output % PANEL;
        }
        for (int64_t i = 0; i < lines * PANEL; i += PANEL, to += PANEL)
            for (int64_t r = 0; r < PANEL; r++) to[r] = from[r][i];
    }
    return 1;
}
