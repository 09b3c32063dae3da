/* Plain beam search in every busy slot: steps of the decoder, the best candidates, the finished and
   the live hypotheses. `search.beam.BeamSearch` does the same with arrays, to the bit. */

#include <float.h>

#include "top_k.h"

/* After so many nanoseconds a search returns to its caller, who may have other things to do. */
static const int64_t LONGEST_CALL = 1000000;

typedef struct {
    float log_prob, token_score;
    int64_t parent, id;
} candidate;

/* A live hypothesis at a step: its last id, the log-probability of this, and the hypothesis of the
   step before that it continues. */
typedef struct {
    int64_t id;
    int32_t parent;
    float score;
} backpointer;

/* A hypothesis that ended after `length` ids, continuing hypothesis `parent`. */
typedef struct {
    float score, log_prob, eos_score;
    int32_t parent;
    int64_t length;
} finished_hypothesis;

/* A search. candidates: that a slot chooses at a step; kept: finished hypotheses of a slot; penalties: of
   each length. past: (slots, steps, beam); prefixes: (slots, prefix_steps) ids that are forced, or -1.
   enough: finished hypotheses that end the search of a slot, if not 0; ends: how many a slot has.
   done: how many slots are done after a call, the first of done_slots. min_length: the fewest ids of a
   hypothesis. The others are laid out by `nmt_lay_out_search`; limits: the most ids of a hypothesis of
   each slot. */
typedef struct {
    int64_t slots, beam, candidates, kept, words, start, eos, bans, steps, prefix_steps, enough, done;
    int64_t min_length;
    const int64_t *banned;
    const float *penalties;
    backpointer *past;
    int64_t *prefixes, *done_slots;
    float reward;
    float *log_probs;
    int64_t *ids, *parents, *lengths, *limits, *ends;
    finished_hypothesis *finished;
    int64_t *rows, *row_of, *parent_rows, *forced, *edit_rows, *edit_ids, *top_ids, *block_ids;
    float *bias, *saved, *top_scores, *block_maxima;
    candidate *best;
} beam_search;

/* The next bytes of the room, from a cache line on. */
static void *take(char **room, int64_t bytes) {
    char *from = *room;
    *room += (bytes + 63) / 64 * 64;
    return from;
}

static char *lay_out(beam_search *t, char *room) {
    const int64_t rows = t->slots * t->beam, most = t->candidates;
    const int64_t edits = rows * (t->bans + (t->min_length > 0));
    int64_t **integers[] = {&t->ids, &t->parents, &t->rows, &t->row_of, &t->parent_rows, &t->forced};
    for (int i = 0; i < 6; i++) *integers[i] = take(&room, sizeof(int64_t) * rows);
    t->lengths = take(&room, sizeof(int64_t) * t->slots);
    t->limits = take(&room, sizeof(int64_t) * t->slots);
    t->ends = take(&room, sizeof(int64_t) * t->slots);
    t->edit_rows = take(&room, sizeof(int64_t) * edits);
    t->edit_ids = take(&room, sizeof(int64_t) * edits);
    t->top_ids = take(&room, sizeof(int64_t) * rows * most);
    t->block_ids = take(&room, sizeof(int64_t) * most);
    t->log_probs = take(&room, sizeof(float) * rows);
    t->bias = take(&room, sizeof(float) * edits);
    t->saved = take(&room, sizeof(float) * edits);
    t->top_scores = take(&room, sizeof(float) * rows * most);
    t->block_maxima = take(&room, sizeof(float) * most);
    t->finished = take(&room, sizeof(finished_hypothesis) * t->slots * t->kept);
    t->best = take(&room, sizeof(candidate) * most);
    return room;
}

/* Bytes of the room that `nmt_lay_out_search` needs. */
int64_t nmt_search_bytes(const beam_search *t) {
    beam_search copy = *t;
    char *begin = (char *)64;
    return lay_out(&copy, begin) - begin;
}

/* Have the search use this room, which begins at a cache line. size: of the struct, for the caller;
   returns 0 if the caller has it otherwise. */
int64_t nmt_lay_out_search(beam_search *t, int64_t size, char *room) {
    if (size != sizeof *t) return 0;
    lay_out(t, room);
    memset(t->ids, 0, sizeof(int64_t) * t->slots * t->beam);
    memset(t->parents, 0, sizeof(int64_t) * t->slots * t->beam);
    return 1;
}

/* Begin in `count` slots, each with one live hypothesis that has no ids yet. numbers: the slots, then the
   limit of each. */
int64_t nmt_begin_search(const beam_search *t, const int64_t *numbers, int64_t count) {
    for (int64_t n = 0; n < count; n++) {
        const int64_t slot = numbers[n], first = slot * t->beam;
        t->lengths[slot] = t->ends[slot] = 0;
        t->limits[slot] = numbers[count + n];
        for (int64_t i = first; i < first + t->beam; i++) {
            t->log_probs[i] = i == first ? 0.0f : -INFINITY;
            t->ids[i] = t->start;
            t->parents[i] = 0;
        }
        for (int64_t i = 0; i < t->kept; i++) t->finished[slot * t->kept + i].score = -INFINITY;
        for (int64_t i = 0; i < t->prefix_steps; i++) t->prefixes[slot * t->prefix_steps + i] = -1;
    }
    return 1;
}

/* The decoder's step: rows continue their parents with their last ids. */
static int64_t run_decoder(const beam_search *t, int64_t lanes, const model *m, const state *s) {
    state with_ids = *s;
    for (int64_t row = 0; row < t->slots * t->beam; row++)
        t->parent_rows[row] = row / t->beam * t->beam + t->parents[row];
    with_ids.parents = t->parent_rows;
    with_ids.ids = t->ids;
    return nmt_step(lanes, m, &with_ids);
}

/* The id that a slot has to produce, or -1. */
static int64_t find_forced(const beam_search *t, int64_t slot) {
    const int64_t length = t->lengths[slot], last = t->prefix_steps - 1;
    if (length == t->limits[slot]) return t->eos;
    return t->prefixes[slot * t->prefix_steps + (length < last ? length : last)];
}

/* Forbid an id in a row. */
static void forbid(const beam_search *t, int64_t edit, int64_t row, int64_t id) {
    t->edit_rows[edit] = row;
    t->edit_ids[edit] = id;
    t->bias[edit] = -INFINITY;
}

/* The best words of each row without the banned ones, and without EOS while it is too short; a forced
   id may be one of these. */
static int64_t find_words(const beam_search *t, int64_t k, int64_t lanes, const model *m,
                          const state *s) {
    const int64_t busy_rows = s->busy * s->beam;
    int64_t edits = 0;
    for (int64_t row = 0; row < t->slots * t->beam; row++) t->row_of[row] = -1;
    for (int64_t n = 0; n < busy_rows; n++) {
        const int64_t slot = s->slots[n / s->beam], row = slot * t->beam + n % s->beam;
        t->rows[n] = row;
        t->row_of[row] = n;
        t->forced[row] = find_forced(t, slot);
        if (t->forced[row] >= 0) continue;
        for (int64_t i = 0; i < t->bans; i++) forbid(t, edits++, row, t->banned[i]);
        if (t->lengths[slot] < t->min_length) forbid(t, edits++, row, t->eos);
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

/* The best candidates of a slot, whose first `rows` rows have words, in descending order; equal ones keep
   theirs. Returns how many. */
static int64_t find_candidates(const beam_search *t, int64_t slot, int64_t rows, int64_t k) {
    int64_t count = 0;
    for (int64_t parent = 0; parent < rows; parent++) {
        const int64_t row = slot * t->beam + parent;
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

static float reward_of(const beam_search *t, int64_t length) { return t->reward * (float)length; }

/* Insert a hypothesis that ends into the finished ones of its slot, if it is good enough. */
static void finish(const beam_search *t, int64_t slot, const candidate *ended) {
    const int64_t length = t->lengths[slot];
    finished_hypothesis *finished = t->finished + slot * t->kept;
    float score = ended->log_prob / t->penalties[length + 1];
    if (t->reward != 0) score += reward_of(t, length + 1);
    int64_t i = t->kept - 1;
    if (!(score > finished[i].score)) return;
    for (; i && score > finished[i - 1].score; i--) finished[i] = finished[i - 1];
    finished[i] = (finished_hypothesis){score, ended->log_prob, ended->token_score,
                                        (int32_t)ended->parent, length};
}

/* Let the best candidates that do not end live on, and note where they come from. Rows that have
   none get log-probability -inf. */
static void keep_live(const beam_search *t, int64_t slot, int64_t count) {
    const int64_t first = slot * t->beam;
    backpointer *past = t->past + (slot * t->steps + t->lengths[slot]) * t->beam;
    int64_t kept = 0;
    for (int with_dead = 0; with_dead < 2; with_dead++) {
        for (int64_t n = 0; n < count && kept < t->beam; n++) {
            const candidate *c = t->best + n;
            const int dead = c->id == t->eos || c->log_prob == -INFINITY;
            if (dead != with_dead) continue;
            t->log_probs[first + kept] = dead ? -INFINITY : c->log_prob;
            t->ids[first + kept] = c->id;
            t->parents[first + kept] = c->parent;
            past[kept] = (backpointer){c->id, (int32_t)c->parent, c->token_score};
            kept++;
        }
    }
}

/* Whether no live hypothesis can be better than the worst finished one, or enough have finished. */
static int is_done(const beam_search *t, int64_t slot) {
    const int64_t longest = t->limits[slot] + 1, next = t->lengths[slot] + 1;
    float bound = t->log_probs[slot * t->beam] / t->penalties[longest];
    if (t->reward != 0) bound += reward_of(t, t->reward > 0 ? longest : next);
    if (t->enough && t->ends[slot] >= t->enough) return 1;
    return t->finished[(slot + 1) * t->kept - 1].score >= bound;
}

/* The rows of a slot that a step needs: where all sentences begin, only the first hypothesis lives. */
static int64_t count_rows(const beam_search *t, const state *s) {
    for (int64_t n = 0; n < s->busy; n++)
        if (t->lengths[s->slots[n]]) return t->beam;
    return 1;
}

/* Extend the hypotheses of the busy slots by one id. */
static int64_t run_step(beam_search *t, int64_t lanes, const model *m, const state *of_decoder) {
    const int64_t k = t->candidates < t->words ? t->candidates : t->words;
    state step = *of_decoder;
    const state *s = &step;
    step.beam = count_rows(t, s);
    step.kept = k < KEPT ? k : KEPT;
    if (!run_decoder(t, lanes, m, s) || !find_words(t, k, lanes, m, s)) return 0;
    for (int64_t n = 0; n < s->busy; n++) {
        const int64_t slot = s->slots[n], count = find_candidates(t, slot, s->beam, k);
        for (int64_t i = 0; i < count; i++) {
            if (t->best[i].id != t->eos) continue;
            finish(t, slot, t->best + i);
            t->ends[slot] += i < t->beam && t->best[i].log_prob > -INFINITY;
        }
        keep_live(t, slot, count);
        t->lengths[slot]++;
        if (is_done(t, slot)) t->done_slots[t->done++] = slot;
    }
    return 1;
}

/* Run steps until a slot is done, `most` are run, or a while has passed; returns how many.
   0 where the processor has no kernels of so many lanes. */
int64_t nmt_run_search(int64_t lanes, const model *m, const state *s, beam_search *t, int64_t most) {
    const int64_t begin = nanoseconds();
    int64_t steps = 0;
    t->done = 0;
    while (steps < most && !t->done) {
        if (!run_step(t, lanes, m, s)) return 0;
        steps++;
        if (nanoseconds() - begin > LONGEST_CALL) break;
    }
    return steps;
}

/* Read the finished hypotheses of a slot, best first; returns how many. Of each: its length with EOS;
   `steps` places for its ids and for their log-probabilities; its score and its log-probability. */
int64_t nmt_read_finished(const beam_search *t, int64_t slot, int64_t *lengths, int64_t *ids,
                          float *token_scores, float *scores) {
    const finished_hypothesis *finished = t->finished + slot * t->kept;
    const backpointer *past = t->past + slot * t->steps * t->beam;
    int64_t count = 0;
    for (; count < t->kept && finished[count].score > -INFINITY; count++) {
        const finished_hypothesis *f = finished + count;
        lengths[count] = f->length + 1;
        scores[2 * count] = f->score;
        scores[2 * count + 1] = f->log_prob;
        ids[f->length] = t->eos;
        token_scores[f->length] = f->eos_score;
        for (int64_t step = f->length, parent = f->parent; step-- > 0;) {
            const backpointer *p = past + step * t->beam + parent;
            ids[step] = p->id;
            token_scores[step] = p->score;
            parent = p->parent;
        }
        ids += t->steps;
        token_scores += t->steps;
    }
    return count;
}
