#!/usr/bin/env bash
# Multi30k, English to German: 29,000 captions, tested on test_2016_flickr. Runs on CPU cores.
#
#   [STEPS=N] recipes/multi30k_en_de.sh DATA [WORK]
#
# DATA holds train.{en,de}, val.{en,de} and test_2016_flickr.{en,de} (plain, .xz or .gz): task 1 of
# https://github.com/multi30k/dataset. Corpus, model and scores go to WORK (default: runs/multi30k).
# Run it again to resume after an interruption. STEPS (default 1350) is the number of training
# steps: 40 minutes on two cores without AVX-512. Needs `nmt` on the PATH. The results are in
# docs/results.md.
set -euo pipefail
. "$(dirname "$0")/help.sh"
. "$(dirname "$0")/lib.sh"

enter_project en-de runs/multi30k train val test_2016_flickr "$@"
nmt prepare --vocab-size 8000
steps=${STEPS:-1350}
nmt train --max-steps "$steps" --set model.norm_order=pre --set model.dropout=0.15 \
  --set train.batch_tokens=3000 --set train.optimizer=muon --set train.learning_rate=5e-3 \
  --set train.warmup_steps=100 --set train.schedule=linear --set train.precision=fast \
  --set train.checkpoint_every="$((steps / 30 + (steps < 30)))" \
  --set train.validate_every="$((steps / 6 + (steps < 6)))" \
  --set train.validation_sentences=200
translate_and_score
