#!/usr/bin/env bash
# Section 6.3, Table 4: parsing, on the Wall Street Journal of the Penn Treebank. Needs a GPU.
#
#   [SIZE=paper|tiny] [STEPS=N] [VOCABULARY=N] recipes/wsj_parsing.sh WSJ [WORK]
#
# WSJ is your own copy of the treebank's parsed/mrg/wsj (LDC99T42): folders 02 to 23 with files of
# trees. As in the paper: trained on sections 02-21, validated on 22, tested on 23; 4 layers,
# d_model 1024, 16,000 subwords (VOCABULARY=32000 for more text), beam 21, alpha 0.3, output up to
# input + 300; the paper's F1 is 91.3. The paper chose dropout, learning rate and beam size on
# section 22 and took the rest from its base model for translation: 100,000 steps of 25,000 tokens.
# Chosen here: dropout 0.2, the learning rate of equation 3, STEPS (default 20000) of 8,000 tokens.
# Text, corpus, model and scores go to WORK (default: runs/wsj). Run it again to resume after an
# interruption. SIZE is paper (default), or tiny, which learns nothing and parses only the first 20
# test sentences, but shows within minutes that everything works; each SIZE and VOCABULARY needs a
# WORK of its own. Needs `nmt` on the PATH. Nobody has run it on the treebank itself yet.
set -euo pipefail
. "$(dirname "$0")/help.sh"
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/parsing.sh"

if [ $# -lt 1 ] || [ $# -gt 2 ]; then
  echo "usage: $0 WSJ [WORK]" >&2
  exit 2
fi
wsj=$(realpath "$1")
work=${2:-runs/wsj}
size=${SIZE:-paper} vocabulary=${VOCABULARY:-16000}
choose_size paper
for section in $(seq -f %02.0f 2 23); do
  if [ ! -d "$wsj/$section" ]; then
    echo "error: $wsj/$section is missing" >&2
    exit 66
  fi
done
mkdir -p "$work"
keep_settings "$work/settings.txt" WSJ="$wsj" SIZE="$size" VOCABULARY="$vocabulary"

# prepare_sections SPLIT FIRST LAST: the trees of these sections, in order.
prepare_sections() {
  local split=$1 section
  local files=()
  is_prepared "$split" && return
  for section in $(seq -f %02.0f "$2" "$3"); do
    files+=("$wsj/$section"/*)
  done
  nmt parse prepare "${files[@]}" --out "$work/data/$split"
}

prepare_sections train 2 21
prepare_sections dev 22 22
prepare_sections test 23 23
steps=${STEPS:-20000}
subwords=() test_limit=''
case $size in
  paper)
    parse_and_score "$vocabulary" model.layers=4 model.d_model=1024 model.dropout=0.2 \
      train.batch_tokens=8000 train.max_steps="$steps" \
      train.checkpoint_every="$(share "$steps" 40)" train.validation_sentences=0 ;;
  tiny) parse_tiny ;;
esac
