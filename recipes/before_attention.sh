#!/usr/bin/env bash
# Compares the Transformer with the models that it replaced: a recurrent model, a convolutional
# model and a Transformer of about the same size (1.1 M weights at a vocabulary of 1,500), trained
# for the same number of steps.
#
#   recipes/before_attention.sh PROJECT SRC TGT [STEPS]
#
# PROJECT: a directory with nmt.toml and a corpus, as `nmt demo` and the other recipes make it; SRC,
# TGT: its test files (plain, .xz or .gz), as whole paths or relative to PROJECT; STEPS: default
# 900, of 1,000 tokens. Each line of PROJECT/before-attention/results.tsv is one model: its kind, steps,
# counted FLOPs, seconds of training, BLEU of the whole test set, and of its short, middle and long
# sentences (a third each, by words of the source). Run it again to resume after an interruption.
set -euo pipefail
. "$(dirname "$0")/help.sh"
. "$(dirname "$0")/lib.sh"

if [ $# -lt 3 ] || [ $# -gt 4 ]; then
  echo "usage: $0 PROJECT SRC TGT [STEPS]" >&2
  exit 2
fi
cd "$1"
src=$2 tgt=$3 steps=${4:-900}
for file in nmt.toml "$src" "$tgt"; do
  if [ ! -f "$file" ]; then
    [[ $file == /* ]] || file=$1/$file
    echo "error: $file is missing" >&2
    exit 66
  fi
done
[ -d corpus ] || nmt prepare
out=before-attention
mkdir -p "$out"
keep_settings "$out/settings.txt" SRC="$src" TGT="$tgt" STEPS="$steps"
unpack "$src" >"$out/source"
unpack "$tgt" >"$out/reference"
src=$out/source tgt=$out/reference

# The line numbers of the test set, the shortest lines first, in three parts.
awk '{ print NF, NR }' "$src" | sort -n -k 1,1 -k 2,2 | cut -d ' ' -f 2 >"$out/by-length"
third=$((($(wc -l <"$out/by-length") + 2) / 3))
for part in 1 2 3; do
  sed -n "$(((part - 1) * third + 1)),$((part * third))p" "$out/by-length" >"$out/part$part"
done

# part_of N FILE: the lines of FILE that belong to part N.
part_of() {
  awk 'NR == FNR { line[FNR] = $0; next } { print line[$1] }' "$2" "$out/part$1"
}

# bleu HYPOTHESES REFERENCES
bleu() {
  nmt score "$1" "$2" --metric bleu --json | grep -o '"value": [0-9.e+-]*' |
    awk 'NR == 1 { printf "%.2f\n", $2 }'
}

# last KEY: the last value of KEY in the log of the run.
last() {
  grep -o "\"$1\": [0-9.e+]*" "$model/log.jsonl" | tail -n 1 | cut -d ' ' -f 2
}

# compare NAME PRESET SETTING...: train a model and add its line to the table.
compare() {
  local name=$1 preset=$2 setting part line
  local settings=()
  shift 2
  model=$out/$name
  if [ -f "$out/results.tsv" ] && cut -f 1 "$out/results.tsv" | grep -qx "$name"; then return; fi
  for setting in "$@"; do
    settings+=(--set "$setting")
  done
  nmt train --preset "$preset" --max-steps "$steps" --out "$model" \
    --set train.batch_tokens=1000 --set train.warmup_steps="$(share "$steps" 9)" \
    --set train.optimizer=adam --set train.schedule=linear --set train.label_smoothing=0 \
    --set model.dropout=0 --set train.max_gradient_norm=1 --set train.validation_sentences=2 \
    --set train.checkpoint_every="$(share "$steps" 10)" --set train.validate_every="$steps" \
    "${settings[@]}"
  nmt translate --model "$model" "$src" -o "$model.txt" --force --sentences line --markup off
  line="$name\t$steps\t$(last flops)\t$(last seconds)\t$(bleu "$model.txt" "$tgt")"
  for part in 1 2 3; do
    part_of "$part" "$model.txt" >"$out/part.output"
    part_of "$part" "$tgt" >"$out/part.reference"
    line+="\t$(bleu "$out/part.output" "$out/part.reference")"
  done
  printf '%b\n' "$line" >>"$out/results.tsv"
}

compare rnn rnn model.d_model=160 train.learning_rate=3e-3
compare conv conv model.d_model=128 model.layers=4 model.max_positions=256 train.learning_rate=3e-3
compare transformer tiny train.learning_rate=3e-3
{
  printf 'kind\tsteps\tFLOPs\tseconds\tBLEU\tshort\tmiddle\tlong\n'
  cat "$out/results.tsv"
} | column -t -s "$(printf '\t')"
