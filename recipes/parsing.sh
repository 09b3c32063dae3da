# Shared by the recipes of section 6.3, English constituency parsing; sourced, not run.

# choose_size FULL: refuse a $size that is neither FULL nor tiny.
choose_size() {
  if [ "$size" != "$1" ] && [ "$size" != tiny ]; then
    echo "error: SIZE is $1 or tiny, not $size" >&2
    exit 2
  fi
}

# is_prepared SPLIT: whether `nmt parse prepare` has written it to its end: it names .words last.
is_prepared() {
  [ -f "$work/data/$1.words" ]
}

# parse_and_score VOCABULARY SETTING...: train a parser on train and score its trees of test by
# labelled F1. VOCABULARY is the size of the vocabulary, SETTINGs are those of model and training,
# the array `subwords` holds more options of `nmt prepare`, and `test_limit` is the number of test
# sentences that are parsed (empty: all). Expects train, dev and test in $work/data, as
# `nmt parse prepare` writes them.
parse_and_score() {
  local vocabulary=$1 setting suffix test=data/test
  local settings=()
  shift
  for setting in "$@"; do
    settings+=(--set "$setting")
  done
  mkdir -p "$work"
  cd "$work"
  [ -f nmt.toml ] || nmt init --quiet --src-lang words --tgt-lang brackets --preset base \
    --train data/train.words data/train.brackets --valid data/dev.words data/dev.brackets
  # Word-pieces keep each bracket whole; BPE would cut `(NP` in two. Trees are longer than their
  # sentences, and a word like "Abstract" is a sentence here. Checks of translations do not apply.
  nmt prepare --vocab-size "$vocabulary" "${subwords[@]}" --set data.subwords=wordpiece \
    --set data.max_length=512 --set data.max_ratio=100 --set data.clean=off
  nmt train "${settings[@]}"
  if [ -n "$test_limit" ]; then
    test=data/test-first
    for suffix in words trees; do
      head -n "$test_limit" "data/test.$suffix" >"$test.$suffix"
    done
  fi
  nmt parse "$test.words" -o test.parsed --force
  nmt parse score test.parsed "$test.trees" --by-length
}

# parse_tiny: the same with a model that learns nothing, and the first 20 test sentences.
parse_tiny() {
  test_limit=20
  parse_and_score auto model.layers=1 model.d_model=16 model.d_ff=32 model.heads=2 \
    train.batch_tokens=200 train.max_steps="${STEPS:-4}" train.warmup_steps=4 \
    train.checkpoint_every=2 train.validation_sentences=0
}
