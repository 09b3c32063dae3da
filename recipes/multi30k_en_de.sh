#!/usr/bin/env bash
# Multi30k, English to German: 29,000 captions, test_2016_flickr. Two CPU cores, 40 minutes.
#
#   recipes/multi30k_en_de.sh DATA [WORK]
#
# DATA holds train.{en,de}, val.{en,de} and test_2016_flickr.{en,de} (plain, .gz or .xz): task 1 of
# https://github.com/multi30k/dataset. WORK (default: runs/multi30k) takes the corpus, the model and
# the scores. Run it again to go on where it was interrupted. Needs `nmt` on the PATH.
set -euo pipefail

data=${1:?usage: recipes/multi30k_en_de.sh DATA [WORK]}
work=${2:-runs/multi30k}

file() { # the one of NAME, NAME.xz, NAME.gz that exists
  for suffix in "" .xz .gz; do
    if [ -f "$data/$1$suffix" ]; then realpath "$data/$1$suffix"; return; fi
  done
  echo "error: $data/$1 is missing (also as .xz, .gz)" >&2
  exit 66
}

train_src=$(file train.en) train_tgt=$(file train.de)
valid_src=$(file val.en) valid_tgt=$(file val.de)
test_src=$(file test_2016_flickr.en) test_tgt=$(file test_2016_flickr.de)

mkdir -p "$work"
cd "$work"
[ -f nmt.toml ] || nmt init --src-lang en --tgt-lang de --preset small \
  --train "$train_src" "$train_tgt" --valid "$valid_src" "$valid_tgt" --test "$test_src" "$test_tgt"

[ -d corpus ] || nmt prepare --vocab-size 8000
nmt train --max-steps 3000 --set model.dropout=0.25 --set train.batch_tokens=3000 \
  --set train.learning_rate=2e-3 --set train.warmup_steps=500 --set train.schedule=linear \
  --set train.precision=bf16 --set train.checkpoint_every=200 --set train.validation_sentences=200

for beam in 1 4; do
  nmt translate --beam "$beam" "$test_src" -o "test.beam$beam.de"
  nmt score "test.beam$beam.de" "$test_tgt" --metric bleu --metric chrf --confidence --json |
    tee "scores.beam$beam.jsonl"
done
