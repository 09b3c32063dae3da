/* A step of plain beam search in every busy slot: the decoder, the best candidates, the finished and
   the live hypotheses. `search.beam.BeamSearch` does the same with arrays, to the bit. */

#include <float.h>

#include "top_k.h"

typedef struct {
    float log_prob, token_score;
    int64_t parent, id;
} candidate;

/* The arrays of `search.beam_state.BeamState`, of the finished hypotheses in it, and of
   `search.backpointers.Backpointers`, whose capacity is `steps`. limits, prefixes (slots,
   prefix_steps): as in BeamSearch. penalties: of each length. candidates: that a slot chooses at a
   step. kept: finished hypotheses of a slot. The others are room for the busy rows: for `candidates`
   numbers each in top_scores, top_ids; for one each banned id in edit_rows, edit_ids, bias, saved;
   block_maxima, block_ids and best have room for `candidates` in all. */
typedef struct {
    int64_t slots, candidates, kept, steps, prefix_steps, words, eos, bans;
    float *log_probs;
    int64_t *ids, *parents, *lengths, *busy;
    float *finished_scores, *finished_log_probs, *eos_scores;
    int64_t *finished_lengths, *finished_parents;
    int64_t *past_ids, *past_parents;
    float *past_scores;
    const int64_t *limits, *prefixes;
    const float *penalties;
    const int64_t *banned;
    int64_t *rows, *row_of, *parent_rows, *forced, *edit_rows, *edit_ids, *top_ids, *block_ids;
    float *bias, *saved, *top_scores, *block_maxima;
    candidate *best;
    float reward;
} beam_task;

/* The decoder's step: rows continue their parents with their last ids. */
static int64_t run_decoder(const beam_task *t, int64_t lanes, const model *m, const state *s) {
    state with_ids = *s;
    for (int64_t row = 0; row < t->slots * s->beam; row++)
        t->parent_rows[row] = row / s->beam * s->beam + t->parents[row];
    with_ids.parents = t->parent_rows;
    with_ids.ids = t->ids;
    return nmt_step(lanes, m, &with_ids);
}

/* The id that a slot has to produce, or -1. */
static int64_t find_forced(const beam_task *t, int64_t slot) {
    const int64_t length = t->lengths[slot], last = t->prefix_steps - 1;
    if (length == t->limits[slot]) return t->eos;
    return t->prefixes[slot * t->prefix_steps + (length < last ? length : last)];
}

/* The best words of each row without the banned ones; a forced id may be one of these. */
static int64_t find_words(const beam_task *t, int64_t k, int64_t lanes, const model *m,
                          const state *s) {
    const int64_t busy_rows = s->busy * s->beam;
    int64_t edits = 0;
    for (int64_t row = 0; row < t->slots * s->beam; row++) t->row_of[row] = -1;
    for (int64_t n = 0; n < busy_rows; n++) {
        const int64_t slot = s->slots[n / s->beam], row = slot * s->beam + n % s->beam;
        t->rows[n] = row;
        t->row_of[row] = n;
        t->forced[row] = find_forced(t, slot);
        for (int64_t i = 0; t->forced[row] < 0 && i < t->bans; i++, edits++) {
            t->edit_rows[edits] = row;
            t->edit_ids[edits] = t->banned[i];
            t->bias[edits] = -INFINITY;
        }
    }
    top_k_task task = {
        .busy = busy_rows, .words = t->words, .blocks = s->widest / BLOCK, .k = k, .edits = edits,
        .rows = t->rows, .row_of = t->row_of, .forced = t->forced, .edit_rows = t->edit_rows,
        .edit_ids = t->edit_ids, .bias = t->bias, .totals = s->totals, .logits = s->logits,
        .maxima = s->maxima, .values = t->top_scores, .saved = t->saved,
        .block_maxima = t->block_maxima, .ids = t->top_ids, .block_ids = t->block_ids,
        .shortlists = s->shortlists, .beam = s->beam,
    };
    return nmt_top_k(lanes, m, s, &task);
}

/* The best candidates of a slot, in descending order; equal ones keep theirs. Returns how many. */
static int64_t find_candidates(const beam_task *t, int64_t slot, int64_t k, int64_t beam) {
    int64_t count = 0;
    for (int64_t parent = 0; parent < beam; parent++) {
        const int64_t row = slot * beam + parent;
        for (int64_t n = row * k; n < (row + 1) * k; n++) {
            /* Where a model gives NaN there are no candidates. */
            const float score = isnan(t->top_scores[n]) ? -INFINITY : t->top_scores[n];
            const float finite = score < FLT_MAX ? score : FLT_MAX;
            const float log_prob = t->log_probs[row] + finite;
            int64_t i = count;
            while (i && log_prob > t->best[i - 1].log_prob) i--;
            /* The words of a row are sorted. */
            if (i == t->candidates) break;
            if (count < t->candidates) count++;
            memmove(t->best + i + 1, t->best + i, sizeof(candidate) * (count - 1 - i));
            t->best[i] = (candidate){log_prob, finite, parent, t->top_ids[n]};
        }
    }
    return count;
}

static float reward_of(const beam_task *t, int64_t length) { return t->reward * (float)length; }

/* Insert a hypothesis that ends into the finished ones of its slot, if it is good enough. */
static void finish(const beam_task *t, int64_t slot, const candidate *ended) {
    const int64_t first = slot * t->kept, length = t->lengths[slot];
    float score = ended->log_prob / t->penalties[length + 1];
    if (t->reward != 0) score += reward_of(t, length + 1);
    int64_t i = first + t->kept;
    if (!(score > t->finished_scores[i - 1])) return;
    for (i--; i > first && score > t->finished_scores[i - 1]; i--) {
        t->finished_scores[i] = t->finished_scores[i - 1];
        t->finished_log_probs[i] = t->finished_log_probs[i - 1];
        t->eos_scores[i] = t->eos_scores[i - 1];
        t->finished_lengths[i] = t->finished_lengths[i - 1];
        t->finished_parents[i] = t->finished_parents[i - 1];
    }
    t->finished_scores[i] = score;
    t->finished_log_probs[i] = ended->log_prob;
    t->eos_scores[i] = ended->token_score;
    t->finished_lengths[i] = length;
    t->finished_parents[i] = ended->parent;
}

/* Let the best candidates that do not end live on, and note where they come from. Rows that have
   none get log-probability -inf. */
static void keep_live(const beam_task *t, int64_t slot, int64_t count, int64_t beam) {
    const int64_t first = slot * beam, past = (slot * t->steps + t->lengths[slot]) * beam;
    int64_t kept = 0;
    for (int with_dead = 0; with_dead < 2; with_dead++) {
        for (int64_t n = 0; n < count && kept < beam; n++) {
            const candidate *c = t->best + n;
            const int dead = c->id == t->eos || c->log_prob == -INFINITY;
            if (dead != with_dead) continue;
            t->log_probs[first + kept] = dead ? -INFINITY : c->log_prob;
            t->ids[first + kept] = t->past_ids[past + kept] = c->id;
            t->parents[first + kept] = t->past_parents[past + kept] = c->parent;
            t->past_scores[past + kept] = c->token_score;
            kept++;
        }
    }
}

/* Whether no live hypothesis can be better than the worst finished one. */
static int is_done(const beam_task *t, int64_t slot, int64_t beam) {
    const int64_t longest = t->limits[slot] + 1, next = t->lengths[slot] + 1;
    float bound = t->log_probs[slot * beam] / t->penalties[longest];
    if (t->reward != 0) bound += reward_of(t, t->reward > 0 ? longest : next);
    return t->finished_scores[slot * t->kept + t->kept - 1] >= bound;
}

/* Returns 0 where the processor has no kernels of so many lanes. */
int64_t nmt_beam_step(int64_t lanes, const model *m, const state *s, const beam_task *t) {
    const int64_t k = t->candidates < t->words ? t->candidates : t->words;
    if (!run_decoder(t, lanes, m, s) || !find_words(t, k, lanes, m, s)) return 0;
    for (int64_t n = 0; n < s->busy; n++) {
        const int64_t slot = s->slots[n], count = find_candidates(t, slot, k, s->beam);
        for (int64_t i = 0; i < count; i++)
            if (t->best[i].id == t->eos) finish(t, slot, t->best + i);
        keep_live(t, slot, count, s->beam);
        t->lengths[slot]++;
        if (!is_done(t, slot, s->beam)) continue;
        t->busy[slot] = 0;
        for (int64_t row = slot * s->beam; row < (slot + 1) * s->beam; row++)
            t->log_probs[row] = -INFINITY;
    }
    return 1;
}
