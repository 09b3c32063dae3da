#!/usr/bin/env bash
# Compares later methods with the paper's training at equal compute: a small model on Multi30k.
#
#   recipes/comparisons.sh DATA [WORK]
#
# DATA as in multi30k_en_de.sh. Each line of WORK/results.tsv (default: runs/comparisons) is one
# run: its name, steps, counted FLOPs, seconds of training, and BLEU of beam search on the
# validation pairs. Run it again to resume after an interruption. One seed each: differences below
# a point of BLEU are noise. The results are in docs/results.md.
set -euo pipefail
. "$(dirname "$0")/help.sh"
. "$(dirname "$0")/lib.sh"

enter_project en-de runs/comparisons train val test_2016_flickr "$@"
[ -d corpus ] || nmt prepare --vocab-size 4000

# run NAME STEPS SETTING...: train a model and add its line to the table.
run() {
  local name=$1 steps=$2 setting bleu
  local settings=()
  shift 2
  if [ -f results.tsv ] && cut -f 1 results.tsv | grep -qx "$name"; then return; fi
  for setting in "$@"; do
    settings+=(--set "$setting")
  done
  nmt train --max-steps "$steps" --out "$name" \
    --set model.d_model=128 --set model.d_ff=512 --set train.batch_tokens=3000 \
    --set train.checkpoint_every="$((steps / 20))" --set train.validate_every="$steps" \
    --set train.validation_sentences=2 "${settings[@]}"
  nmt translate --model "$name" "$valid_src" -o "$name.txt" --force --sentences line --markup off
  # By itself, since a failure within another command's arguments does not end the recipe.
  bleu=$(nmt score "$name.txt" "$valid_tgt" --metric bleu | sed -n 1p)
  printf '%s\t%s\t%s\t%s\t%s\n' "$name" "$steps" "$(last flops)" "$(last seconds)" "$bleu" \
    >>results.tsv
}

# last KEY: the last value of KEY in the log of the run.
last() {
  grep -o "\"$1\": [0-9.e+]*" "$name/log.jsonl" | tail -n 1 | cut -d ' ' -f 2
}

# Steps are chosen so that all but one cost as much as 600 of the paper's. Muon's own products,
# which are not counted, make its steps 11 % more expensive here; the shorter run costs 40 %
# including them.
paper=(train.warmup_steps=200)
linear=(model.norm_order=pre train.schedule=linear train.warmup_steps=60 train.learning_rate=4e-3)
muon=("${linear[@]}" train.optimizer=muon train.learning_rate=8e-3)
modern=("${linear[@]}" model.norm=rms_norm model.activation=swiglu model.d_ff=344)

run paper 600 "${paper[@]}"
run muon-short 215 "${muon[@]}" train.warmup_steps=30
run muon 600 "${muon[@]}"
run linear 600 "${linear[@]}"
run modern 600 "${modern[@]}"
run modern-muon 600 "${modern[@]}" train.optimizer=muon train.learning_rate=8e-3
run paper-ema 600 "${paper[@]}" train.ema=0.98
run schedule-free 600 "${linear[@]}" train.optimizer=schedule_free train.schedule=constant
run large-batch 300 "${linear[@]}" train.batch_tokens=6000 train.learning_rate=5.6e-3
run deep-shallow 600 "${linear[@]}" model.encoder_layers=5 model.decoder_layers=1
run r-drop 300 "${linear[@]}" train.r_drop=1.0
run subword-dropout 600 "${linear[@]}" train.subword_dropout=0.1
column -t -s "$(printf '\t')" results.tsv
