#!/usr/bin/env bash
# Multi30k, English to German: 29,000 captions, tested on test_2016_flickr. On CPU cores.
#
#   recipes/multi30k_en_de.sh DATA [WORK]
#
# DATA holds train.{en,de}, val.{en,de} and test_2016_flickr.{en,de} (plain, .xz or .gz): task 1 of
# https://github.com/multi30k/dataset. WORK (default: runs/multi30k) takes the corpus, the model and
# the scores. Run it again to go on where it was interrupted. Needs `nmt` on the PATH.
# What it gives is in docs/results.md.
set -euo pipefail

data=${1:?usage: recipes/multi30k_en_de.sh DATA [WORK]}
work=${2:-runs/multi30k}
. "$(dirname "$0")/lib.sh"

train_src=$(data_file train.en) train_tgt=$(data_file train.de)
valid_src=$(data_file val.en) valid_tgt=$(data_file val.de)
test_src=$(data_file test_2016_flickr.en) test_tgt=$(data_file test_2016_flickr.de)

mkdir -p "$work"
cd "$work"
[ -f nmt.toml ] || nmt init --src-lang en --tgt-lang de --preset small \
  --train "$train_src" "$train_tgt" --valid "$valid_src" "$valid_tgt" --test "$test_src" "$test_tgt"

nmt prepare --vocab-size 8000
nmt train --max-steps 2600 --set model.norm_order=pre --set model.dropout=0.15 \
  --set train.batch_tokens=3000 --set train.learning_rate=2.5e-3 --set train.warmup_steps=200 \
  --set train.schedule=linear --set train.precision=bf16 --set train.checkpoint_every=130 \
  --set train.validate_every=260 --set train.validation_sentences=200
translate_and_score "$test_src" "$test_tgt"
