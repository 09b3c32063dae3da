# Shared by the recipes; sourced, not run.

# enter_project PAIR WORK TRAIN VALID TEST "$@": the first step of every recipe that reads files
# NAME.src and NAME.tgt. PAIR is src-tgt; TRAIN, VALID and TEST are NAMEs; the recipe's own
# arguments follow: DATA and, optionally, another WORK. Writes nmt.toml into WORK, which is of this
# DATA alone, and changes to it; sets valid_src, valid_tgt, test_src and test_tgt.
enter_project() {
  local src=${1%-*} tgt=${1#*-} work=$2 train=$3 valid=$4 test=$5
  local train_src train_tgt
  shift 5
  if [ $# -lt 1 ] || [ $# -gt 2 ]; then
    echo "usage: $0 DATA [WORK]" >&2
    exit 2
  fi
  data=$1
  [ ! -d "$data" ] || data=$(realpath "$data")
  work=${2:-$work}
  train_src=$(data_file "$train.$src")
  train_tgt=$(data_file "$train.$tgt")
  valid_src=$(data_file "$valid.$src")
  valid_tgt=$(data_file "$valid.$tgt")
  test_src=$(data_file "$test.$src")
  test_tgt=$(data_file "$test.$tgt")
  mkdir -p "$work"
  cd "$work"
  keep_settings data.txt DATA="$data"
  [ -f nmt.toml ] || nmt init --quiet --src-lang "$src" --tgt-lang "$tgt" --preset paper-small \
    --train "$train_src" "$train_tgt" --valid "$valid_src" "$valid_tgt" \
    --test "$test_src" "$test_tgt"
}

# keep_settings FILE SETTING...: refuse to go on in a folder whose results are of other settings, of
# which FILE in it keeps a record.
keep_settings() {
  local file=$1 settings
  shift
  settings=$*
  if [ -f "$file" ] && [ "$(<"$file")" != "$settings" ]; then
    echo "error: $(dirname "$(realpath "$file")") holds results of $(<"$file"), not of $settings" >&2
    echo >&2
    echo "hint: remove this folder to begin again, or use another one" >&2
    exit 78
  fi
  printf '%s\n' "$settings" >"$file"
}

# share STEPS PARTS: a PARTS-th of the steps, at least 1.
share() {
  echo $(($1 < $2 ? 1 : $1 / $2))
}

# data_file NAME: the path of $data/NAME, NAME.xz or NAME.gz, whichever exists.
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

# unpack FILE: the text of a plain file, of a .gz or of a .xz.
unpack() {
  case $1 in
    *.gz) gzip -cd "$1" ;;
    *.xz) xz -cd "$1" ;;
    *) cat "$1" ;;
  esac
}

# Translates the test set with greedy and with beam search, and scores both.
translate_and_score() {
  local beam
  for beam in 1 4; do
    nmt translate --beam "$beam" "$test_src" -o "test.beam$beam.txt" --force \
      --markup off
    echo "beam $beam:"
    nmt score "test.beam$beam.txt" "$test_tgt" --metric bleu --metric chrf --confidence
  done
}
