# Shared by the recipes of section 6.3, English constituency parsing; sourced, not run.

# parse_and_score: what both do once $work/data holds train, dev and test as `nmt parse prepare`
# writes them: a parser learnt from train, and the labelled F1 of the trees of test.
#
# parse_and_score VOCABULARY SETTING...: a number, and settings of model and training. `subwords`
# holds more options of `nmt prepare`.
parse_and_score() {
  local vocabulary=$1 setting
  local settings=()
  shift
  for setting in "$@"; do
    settings+=(--set "$setting")
  done
  mkdir -p "$work"
  cd "$work"
  [ -f nmt.toml ] || nmt init --src-lang words --tgt-lang brackets --preset base \
    --train data/train.words data/train.brackets --valid data/dev.words data/dev.brackets
  # Word-pieces keep each bracket whole; BPE would cut `(NP` in two. Trees are longer than their
  # sentences, and a word like "Abstract" is a sentence here.
  nmt prepare --vocab-size "$vocabulary" "${subwords[@]}" --set data.subwords=wordpiece \
    --set data.max_length=512 --set data.max_ratio=100
  nmt train "${settings[@]}"
  nmt parse data/test.words -o test.parsed
  nmt parse score test.parsed data/test.trees --by-length
}
