#!/usr/bin/env bash
# Tatoeba, English to German: 166,000 short general sentences, preset `small`. On CPU cores.
#
#   recipes/tatoeba_en_de.sh DATA [WORK]
#
# DATA holds train.{en,de}, dev.{en,de} and test.{en,de} (plain, .xz or .gz), with no sentence of
# dev or test in train. WORK (default: runs/tatoeba) takes the corpus, the model and the scores.
# Run it again to go on where it was interrupted. Needs `nmt` on the PATH.
# What it gives is in docs/results.md.
set -euo pipefail

data=${1:?usage: recipes/tatoeba_en_de.sh DATA [WORK]}
work=${2:-runs/tatoeba}
. "$(dirname "$0")/lib.sh"

train_src=$(data_file train.en) train_tgt=$(data_file train.de)
valid_src=$(data_file dev.en) valid_tgt=$(data_file dev.de)
test_src=$(data_file test.en) test_tgt=$(data_file test.de)

mkdir -p "$work"
cd "$work"
[ -f nmt.toml ] || nmt init --src-lang en --tgt-lang de --preset small \
  --train "$train_src" "$train_tgt" --valid "$valid_src" "$valid_tgt" --test "$test_src" "$test_tgt"

nmt prepare
nmt train --max-steps 3000 --set train.learning_rate=2e-3 --set train.warmup_steps=500 \
  --set train.schedule=linear --set train.precision=bf16 --set train.checkpoint_every=200 \
  --set train.validation_sentences=200
translate_and_score "$test_src" "$test_tgt"
