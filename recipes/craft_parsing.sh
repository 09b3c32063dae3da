#!/usr/bin/env bash
# Section 6.3, parsing, on CRAFT: 97 biomedical articles, 30,830 trees. Runs on CPU cores.
#
#   [SIZE=small|tiny] [STEPS=N] recipes/craft_parsing.sh CRAFT [WORK]
#
# CRAFT holds ARTICLE.tree files and ids/craft-ids-{train,dev,test}.txt, the official split: the
# folders structural-annotation/treebank/penn and articles/ids of
# https://github.com/UCDenver-ccp/CRAFT (CC BY 3.0), in one directory. Text, corpus, model and
# scores go to WORK (default: runs/craft). Run it again to resume after an interruption. SIZE is
# small (default: 3 layers, d_model 256), or tiny, which learns nothing and parses only the first 20
# test sentences, but shows within minutes that everything works; each SIZE needs a WORK of its
# own. STEPS (default 4500) is the number of training steps: two hours. Needs `nmt` on the PATH. The
# results are in docs/results.md.
set -euo pipefail
. "$(dirname "$0")/help.sh"
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/parsing.sh"

if [ $# -lt 1 ] || [ $# -gt 2 ]; then
  echo "usage: $0 CRAFT [WORK]" >&2
  exit 2
fi
craft=$(realpath "$1")
work=${2:-runs/craft}
size=${SIZE:-small}
choose_size small

# require_file FILE
require_file() {
  if [ ! -f "$1" ]; then
    echo "error: $1 is missing" >&2
    exit 66
  fi
}

# trees_of SPLIT: sets files, the articles' trees.
trees_of() {
  local article ids=$craft/ids/craft-ids-$1.txt
  files=()
  require_file "$ids"
  for article in $(<"$ids"); do
    require_file "$craft/$article.tree"
    files+=("$craft/$article.tree")
  done
}

for split in train dev test; do
  trees_of "$split"
done
mkdir -p "$work"
keep_settings "$work/settings.txt" CRAFT="$craft" SIZE="$size"
for split in train dev test; do
  is_prepared "$split" && continue
  trees_of "$split"
  nmt parse prepare "${files[@]}" --out "$work/data/$split"
done

steps=${STEPS:-4500}
interval=$(share "$steps" 30)
subwords=() test_limit=''
case $size in
  small)
    # Labels and tags are few: a vocabulary of their own makes the output layer, most of the work
    # otherwise, small.
    subwords=(--set data.joint=false --set data.tgt_vocab_size=221)
    parse_and_score 8000 model.tie_embeddings=target model.layers=3 model.d_model=256 \
      model.d_ff=1024 model.heads=4 model.norm_order=pre model.dropout=0.2 \
      train.batch_tokens=2000 train.max_steps="$steps" train.optimizer=muon \
      train.learning_rate=4e-3 train.warmup_steps=150 train.schedule=linear train.precision=fast \
      train.checkpoint_every="$interval" train.validate_every="$((interval * 4))" \
      train.validation_sentences=50 ;;
  tiny) parse_tiny ;;
esac
