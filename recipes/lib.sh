# Shared by the recipes; sourced, not run.

# The path of the one of $data/NAME, NAME.xz, NAME.gz that exists.
data_file() {
  local suffix
  for suffix in "" .xz .gz; do
    if [ -f "$data/$1$suffix" ]; then
      realpath "$data/$1$suffix"
      return
    fi
  done
  echo "error: $data/$1 is missing (also as .xz, .gz)" >&2
  exit 66
}

# Greedy and beam search on the test set, each with its scores.
translate_and_score() {
  local source=$1 reference=$2 beam
  for beam in 1 4; do
    nmt translate --beam "$beam" "$source" -o "test.beam$beam.txt"
    echo "beam $beam:"
    nmt score "test.beam$beam.txt" "$reference" --metric bleu --metric chrf --confidence
  done
}
