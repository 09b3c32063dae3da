#!/usr/bin/env bash
# Tatoeba, English to German: 166,000 short general sentences, preset `paper-small`. Runs on CPU
# cores.
#
#   recipes/tatoeba_en_de.sh DATA [WORK]
#
# DATA holds train.{en,de}, dev.{en,de} and test.{en,de} (plain, .xz or .gz), with no sentence of
# dev or test in train. Corpus, model and scores go to WORK (default: runs/tatoeba).
# Run it again to resume after an interruption. Needs `nmt` on the PATH. The results are in
# docs/results.md.
set -euo pipefail
. "$(dirname "$0")/help.sh"
. "$(dirname "$0")/lib.sh"

enter_project en-de runs/tatoeba train dev test "$@"
nmt prepare --vocab-size 8000
nmt train --max-steps 1700 --set model.norm_order=pre --set train.batch_tokens=3000 \
  --set train.learning_rate=2.5e-3 --set train.warmup_steps=200 --set train.schedule=linear \
  --set train.precision=fast --set train.checkpoint_every=85 \
  --set train.validate_every=340 --set train.validation_sentences=200
translate_and_score
