#!/usr/bin/env bash
# Section 6.2, Table 3: variations of the model. Needs GPUs; scaled down, it runs on CPU cores.
#
#   recipes/table3.sh WMT14 [WORK]
#   SIZE=small recipes/table3.sh MULTI30K [WORK]
#
# WMT14 is the directory of wmt14_en_de.sh once its text is prepared (corpus, data/newstest2013.*).
# Trains each row of the table, which is a preset, and compares perplexity and BLEU on newstest2013
# with the paper's: the last checkpoint alone, beam 4, alpha 0.6. Batches hold pairs of similar
# length in all rows, as in the paper. All files go to WORK (default: runs/table3); run it again to
# resume after an interruption. Each SIZE needs a WORK of its own.
#
# ROWS="base table3-heads-1" trains these rows alone; rows are named as their presets, and all names
# are listed if one is unknown. All rows have the seed 1; SEEDS="2 3" adds other seeds of the base
# model, whose differences are noise (default of small and tiny with all rows: 2 and 3).
#
# SIZE=small trains them all on captions (MULTI30K as in multi30k_en_de.sh) at a quarter of the size
# for 300 steps, with Muon and pre-norm: the paper's schedule learns too little in that time to tell
# the rows apart. SIZE=tiny learns nothing but shows that everything works, in some minutes: it
# trains each row for 2 steps and measures perplexity and BLEU on 20 pairs only. The results of
# SIZE=small are in docs/results.md; nobody has run it at full size yet.
set -euo pipefail
. "$(dirname "$0")/help.sh"
. "$(dirname "$0")/lib.sh"

# The rows, with their settings at SIZE=small, where the base model has 3 layers, d_model 128, d_ff
# 512 and 4 heads.
table3_rows() {
  cat <<'ROWS'
base
table3-heads-1 model.heads=1
table3-heads-4 model.heads=2
table3-heads-16 model.heads=8
table3-heads-32 model.heads=16
table3-d_k-16 model.d_k=8
table3-d_k-32 model.d_k=16
table3-layers-2 model.layers=1
table3-layers-4 model.layers=2
table3-layers-8 model.layers=4
table3-d_model-256 model.d_model=64
table3-d_model-1024 model.d_model=256
table3-d_ff-1024 model.d_ff=256
table3-d_ff-4096 model.d_ff=1024
table3-dropout-0.0 model.dropout=0.0
table3-dropout-0.2 model.dropout=0.2
table3-smoothing-0.0 train.label_smoothing=0.0
table3-smoothing-0.2 train.label_smoothing=0.2
table3-learned model.positions=learned
big model.d_model=256 model.d_ff=1024 model.heads=8 train.max_steps=900
ROWS
}

# read_size "$@": sets corpus, valid_src, valid_tgt and common, the settings of all rows; changes to
# WORK.
read_size() {
  case ${SIZE:-paper} in
    paper)
      [ $# -ge 1 ] && [ $# -le 2 ] || usage
      if [ ! -d "$1/corpus" ] || [ ! -f "$1/data/newstest2013.de" ]; then
        echo "error: $1 holds no prepared text of wmt14_en_de.sh" >&2
        exit 66
      fi
      corpus=$(realpath "$1/corpus")
      valid_src=$(realpath "$1/data/newstest2013.en")
      valid_tgt=$(realpath "$1/data/newstest2013.de")
      # On a GPU, packing=auto would sort only the row with one head, too wide for some kernels, and
      # pack all others.
      common=(train.packing=sorted train.checkpoint_every=2500 train.keep_last=1
        train.validate_every=20000)
      mkdir -p "${2:-runs/table3}"
      cd "${2:-runs/table3}"
      keep_settings size.txt SIZE=paper ;;
    small | tiny)
      [ $# -ge 1 ] && [ $# -le 2 ] || usage
      enter_project en-de runs/table3 train val test_2016_flickr "$@"
      corpus=corpus
      keep_settings size.txt SIZE="$SIZE"
      [ -d corpus ] || nmt prepare --vocab-size "$([ "$SIZE" = small ] && echo 4000 || echo auto)"
      if [ "$SIZE" = tiny ]; then
        head -n 20 "$valid_src" >valid20.src
        head -n 20 "$valid_tgt" >valid20.tgt
        valid_src=valid20.src valid_tgt=valid20.tgt
      fi
      common=(model.layers=3 model.d_model=128 model.d_ff=512 model.heads=4 model.norm_order=pre
        train.batch_tokens=2000 train.max_steps=300 train.optimizer=muon train.learning_rate=8e-3
        train.schedule=linear train.warmup_steps=40 train.precision=fast
        train.checkpoint_every=50 train.keep_last=1 train.validate_every=100000) ;;
    *)
      echo "error: SIZE is paper, small or tiny, not $SIZE" >&2
      exit 2 ;;
  esac
}

usage() {
  echo "usage: $0 DATA [WORK]" >&2
  exit 2
}

# row FOLDER PRESET SETTING...: train a row, then measure its perplexity and BLEU.
row() {
  local folder=rows/$1 preset=$2 setting
  local settings=()
  shift 2
  [ "${SIZE:-}" != tiny ] || set -- "$@" train.max_steps=2 train.checkpoint_every=1 \
    train.validation_sentences=0
  for setting in "${common[@]}" "$@"; do
    settings+=(--set "$setting")
  done
  [ -f "$folder/bleu.json" ] && return
  mkdir -p "$folder"
  nmt train --corpus "$corpus" --preset "$preset" --out "$folder/training" "${settings[@]}"
  nmt average "$folder/training" --last 1 --out "$folder/model" --force
  nmt score --set paths.model="$folder/model" --pairs "$valid_src" "$valid_tgt" --json |
    tail -n 1 >"$folder/perplexity.json"
  nmt translate --model "$folder/model" --beam 4 --alpha 0.6 --sentences line --markup off "$valid_src" \
    -o "$folder/valid.txt" --force
  nmt score "$folder/valid.txt" "$valid_tgt" --metric bleu-paper --tgt-lang de --json \
    >"$folder/bleu.part"
  mv "$folder/bleu.part" "$folder/bleu.json"
}

for name in ${ROWS:-}; do
  if ! table3_rows | cut -d " " -f 1 | grep -qx -- "$name"; then
    echo "error: ROWS: there is no row $name; rows are $(table3_rows | cut -d " " -f 1 | paste -s -d " ")" >&2
    exit 2
  fi
done
for seed in ${SEEDS:-}; do
  if [ "$seed" = 1 ]; then
    echo "error: SEEDS: 1 is the seed of the row base already; name others, such as 2 3" >&2
    exit 2
  fi
done
read_size "$@"
seeds=${SEEDS-$([ "${SIZE:-paper}" = paper ] || [ -n "${ROWS:-}" ] || echo 2 3)}
while read -r preset small; do
  [ -z "${ROWS:-}" ] || [[ " $ROWS " = *" $preset "* ]] || continue
  settings=()
  [ "${SIZE:-paper}" = paper ] || read -r -a settings <<<"$small"
  row "$preset" "$preset" "${settings[@]}" </dev/null
done < <(table3_rows)
for seed in $seeds; do
  row "base-seed-$seed" base train.seed="$seed" </dev/null
done
nmt bench table3 rows
