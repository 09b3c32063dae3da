/* Rounds weights and lays them out in panels, as `linear` describes. The bytes are the same on every
   processor. One thread does it: reading the weights takes longer. */

#include "kernels.h"

/* COLUMNS: inputs that are laid out at a time, so that a part of a panel stays in the first cache. */
enum { LARGEST_WEIGHT = 64, QUAD = 4, COLUMNS = 256 };
/* Units of packed weights; they are read and written where other types are kept. */
typedef uint32_t word __attribute__((may_alias));
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

/* Round to the nearest bf16, of two the even one. */
static void round_bf16(const float *from, int64_t count, half *to) {
    for (int64_t i = 0; i < count; i++) {
        const uint32_t bits = bits_of(from[i]);
        to[i] = (half)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
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

/* lay_out: write `count` units of each of the rows, which are COLUMNS units long, into the places
   from `place` on of each line of a panel. copy: fill a panel of `count` lines with these outputs. */
#define LAYOUT(unit, lay_out, copy)                                                               \
    static void lay_out(const unit *rows, int64_t count, int64_t place, int64_t places,           \
                        unit *to) {                                                               \
        if (places == PANEL) {                                                                    \
            for (int64_t i = 0; i < count; i++)                                                   \
                for (int64_t r = 0; r < PANEL; r++) to[i * PANEL + r] = rows[r * COLUMNS + i];    \
            return;                                                                               \
        }                                                                                         \
        for (int64_t r = 0; r < places; r++)                                                      \
            for (int64_t i = 0; i < count; i++)                                                   \
                to[i * PANEL + place + r] = rows[r * COLUMNS + i];                                \
    }                                                                                             \
    static void copy(const unit *packed, const int64_t *outputs, int64_t count, unit *to) {       \
        const unit *from[PANEL];                                                                  \
        for (int64_t r = 0; r < PANEL; r++)                                                       \
            from[r] = packed + outputs[r] / PANEL * count * PANEL + outputs[r] % PANEL;           \
        for (int64_t i = 0; i < count * PANEL; i += PANEL)                                        \
            for (int64_t r = 0; r < PANEL; r++) to[i + r] = from[r][i];                           \
    }
LAYOUT(word, lay_out_words, copy_words)
LAYOUT(half, lay_out_halves, copy_halves)

/* Convert `count` weights of a row to units. scale, total: of INT8. */
static void convert(int64_t kind, const float *from, int64_t count, float scale, int32_t *total,
                    void *to) {
    if (kind == FLOAT32) memcpy(to, from, sizeof *from * count);
    else if (kind == BF16) round_bf16(from, count, to);
    else {
        *total += round_int8(from, count, scale, to);
        memset((int8_t *)to + count, 0, -count & (QUAD - 1));
    }
}

/* Pack `rows` rows into their places of a panel; output: the first of them. */
static void pack_panel(const packing *p, const float *weight, int64_t output, int64_t rows) {
    const int64_t inputs = p->inputs, panel = output / PANEL, place = output % PANEL;
    const int64_t together = p->kind == INT8 ? QUAD : 1, bytes = p->kind == BF16 ? 2 : 4;
    const int64_t units = (inputs + together - 1) / together;
    float scales[PANEL] = {0}, part[PANEL * COLUMNS];
    int32_t totals[PANEL] = {0};
    for (int64_t r = 0; r < rows && p->scales; r++)
        scales[r] = find_scale(weight + r * inputs, inputs);
    for (int64_t unit = 0; unit < units; unit += COLUMNS) {
        const int64_t begin = unit * together, left = inputs - begin;
        const int64_t count = left < COLUMNS * together ? left : COLUMNS * together;
        for (int64_t r = 0; r < rows; r++)
            convert(p->kind, weight + r * inputs + begin, count, scales[r], totals + r,
                    (char *)part + r * COLUMNS * bytes);
        char *to = (char *)p->packed + (panel * units + unit) * PANEL * bytes;
        const int64_t lines = (count + together - 1) / together;
        if (bytes == 2) lay_out_halves((half *)part, lines, place, rows, (half *)to);
        else lay_out_words((word *)part, lines, place, rows, (word *)to);
    }
    if (!p->scales) return;
    memcpy(p->scales + output, scales, sizeof *scales * rows);
    memcpy(p->totals + output, totals, sizeof *totals * rows);
}

/* Pack the rows of a task. Places of rows that no task has stay as they are. */
int64_t nmt_pack(const packing *p) {
    const int64_t end = p->first + p->rows;
    for (int64_t output = p->first, next; output < end; output = next) {
        next = (output / PANEL + 1) * PANEL < end ? (output / PANEL + 1) * PANEL : end;
        pack_panel(p, p->weight + (output - p->first) * p->inputs, output, next - output);
    }
    return 1;
}

/* Copy these outputs of packed weights, (panels, units, PANEL) numbers of 2 or 4 bytes, to panels
   in this order. count: a multiple of PANEL. */
int64_t nmt_copy_outputs(const void *packed, const int64_t *outputs, int64_t count, int64_t units,
                         int64_t bytes, void *to) {
    for (int64_t i = 0; i < count; i += PANEL) {
        if (bytes == 2) copy_halves(packed, outputs + i, units, (half *)to + i * units);
        else copy_words(packed, outputs + i, units, (word *)to + i * units);
    }
    return 1;
}
