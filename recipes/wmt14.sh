# Shared by the recipes of WMT14: from text to Table 2; sourced, not run.

recipes=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$recipes/lib.sh"
. "$recipes/wmt14_text.sh"

# wmt14 TGT "$@": the whole recipe, with its own arguments. The recipe sets `subwords`,
# options of `nmt prepare`, and `big`, settings of the big model beyond its preset.
wmt14() {
  tgt=$1
  shift
  model=${MODEL:-base}
  sources=$recipes/wmt14_sources.txt
  read_arguments "$@"
  choose_model
  mkdir -p "$work"
  cd "$work"
  trap leave_nothing_empty EXIT
  keep_settings source.txt DATA="${data_dir:-download}"
  get_text
  trap - EXIT
  [ -f nmt.toml ] || nmt init --quiet --src-lang en --tgt-lang "$tgt" --preset base "${train[@]}" \
    --valid data/newstest2013.en "data/newstest2013.$tgt" \
    --test data/newstest2014.en "data/newstest2014.$tgt"
  nmt prepare --out "$corpus" "${subwords[@]}" --json >prepare.json
  nmt train --corpus "$corpus" --preset "$row" --out "$model/model" "${settings[@]}"
  average_translate_compare
}

# Where text is missing, neither empty folders nor the record of its source stay behind.
leave_nothing_empty() {
  rmdir data 2>/dev/null || true
  [ -e data ] || [ -e nmt.toml ] || rm -f source.txt
  rmdir "$PWD" 2>/dev/null || true
}

# Sets work and data_dir.
read_arguments() {
  local name="wmt14_en_$tgt.sh"
  work='' data_dir=''
  while [ $# -gt 0 ]; do
    if [ "$1" = --data-dir ] && [ $# -gt 1 ]; then
      data_dir=$2
      shift
    elif [ -n "$work" ] || [ "${1#-}" != "$1" ]; then
      say "usage: [MODEL=base|big] [STEPS=N] $name [--data-dir DIR] [WORK]"
      exit 2
    else
      work=$1
    fi
    shift
  done
  work=${work:-runs/wmt14-en-$tgt}
  if [ -n "$data_dir" ]; then
    [ -d "$data_dir" ] || fail 66 "there is no folder $data_dir" "it is to hold the text of WMT14"
    data_dir=$(cd "$data_dir" && pwd)
  fi
}

# Sets row (of Table 2), corpus, settings, and for `tiny` other subwords.
choose_model() {
  local setting interval averaged
  local chosen=()
  row=$model corpus=corpus
  # interval and averaged: steps between checkpoints, and how many are averaged.
  case $model in
    # The preset leaves open how often to validate, which changes no weight.
    base)
      interval=1500 averaged=5
      chosen=(train.validate_every=15000 train.validation_sentences=0) ;;
    big)
      interval=600 averaged=20
      chosen=(train.validate_every=6000 train.validation_sentences=0 "${big[@]}") ;;
    tiny)
      interval=2 averaged=2
      row=base corpus=corpus-tiny
      subwords+=(--vocab-size auto)
      chosen=(model.layers=1 model.d_model=16 model.d_ff=32 model.heads=2 train.batch_tokens=400
        train.warmup_steps=4 train.checkpoint_every=2 train.keep_last=2
        train.validation_sentences=0)
      STEPS=${STEPS:-6} ;;
    *) fail 2 "there is no model $model" "MODEL is base, big or tiny" ;;
  esac
  settings=()
  if [ -n "${STEPS:-}" ]; then
    [[ $STEPS =~ ^[1-9][0-9]*$ ]] ||
      fail 2 "STEPS is \`$STEPS\`" "it is a number of steps, such as 50000"
    settings+=(--max-steps "$STEPS")
    [ "$STEPS" -ge $((averaged * interval)) ] ||
      chosen+=(train.checkpoint_every="$(share "$STEPS" "$averaged")")
  fi
  for setting in "${chosen[@]}"; do
    settings+=(--set "$setting")
  done
}

# stale FILE SOURCE: whether FILE is missing, or older than the SOURCE it is made from.
stale() {
  [ ! -f "$1" ] || [ "$2" -nt "$1" ]
}

# Averages the last checkpoints (as many as the preset keeps: 5 of base, 20 of big), translates the
# test sets and prints the table; steps that are done are skipped.
average_translate_compare() {
  local name newest
  local tests=()
  for newest in "$model"/model/checkpoints/step-*/state.json; do :; done
  if stale "$model/average/manifest.json" "$newest"; then
    nmt average "$model/model" --out "$model/average" --force
  fi
  for name in newstest2014 newstest2014-official; do
    [ -f "data/$name.$tgt" ] || continue
    if stale "$model/$name.$tgt" "$model/average/manifest.json"; then
      nmt translate --model "$model/average" --beam 4 --alpha 0.6 --sentences line --markup off "data/$name.en" \
        -o "$model/$name.part" --force
      mv "$model/$name.part" "$model/$name.$tgt"
    fi
    tests+=(--test "$model/$name.$tgt" "data/$name.$tgt")
  done
  nmt bench table2 --model "$model/model" --row "$row" "${tests[@]}" --json >"$model/table2.json"
  nmt bench table2 --model "$model/model" --row "$row" "${tests[@]}"
}
