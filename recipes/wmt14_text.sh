# Downloads, checks, unpacks and counts the text of WMT14; sourced, not run. Needs lib.sh.
#
# Everything runs in the working directory. $tgt is de or fr; if $data_dir is set, it holds local
# files and nothing is downloaded; $sources is wmt14_sources.txt.

say() {
  echo "$*" >&2
}

# fail CODE MESSAGE HINT
fail() {
  printf 'error: %s\n\nhint: %s\n' "$2" "$3" >&2
  exit "$1"
}

sha256() {
  if command -v sha256sum >/dev/null; then sha256sum "$1"; else shasum -a 256 "$1"; fi |
    cut -d ' ' -f 1
}

# verified FILE NAME [SUM]: whether FILE has this SHA-256. Without SUM (or with -) it is
# compared with the entry of NAME in wmt14.lock, which the first run makes.
verified() {
  local found wanted=${3:--}
  touch wmt14.lock
  if [ "$wanted" = - ]; then
    wanted=$(awk -v name="$2" 'substr($0, 67) == name { print $1 }' wmt14.lock)
  fi
  found=$(sha256 "$1")
  if [ -z "$wanted" ]; then
    echo "$found  $2" >>wmt14.lock
    return
  fi
  [ "$found" = "$wanted" ]
}

# The path of $data_dir/NAME, NAME.gz or NAME.xz, whichever exists, or nothing.
local_file() {
  local suffix
  for suffix in "" .gz .xz; do
    if [ -f "$data_dir/${1%.gz}$suffix" ]; then
      echo "$data_dir/${1%.gz}$suffix"
      return
    fi
  done
}

# unchanged PATH: fail if the text differs from that of an earlier run.
unchanged() {
  verified "$1" "$1" || fail 65 "$1 is not what it was when this work began" \
    "put the old file back, or begin in another directory"
}

# report_lines PATH NAME: print the number of lines of PATH, which is counted only once.
report_lines() {
  local lines
  touch counts.tsv
  lines=$(awk -F '\t' -v name="$1" '$1 == name { print $2 }' counts.tsv)
  if [ -z "$lines" ]; then
    lines=$(unpack "$1" | wc -l)
    lines=$((lines))
    printf '%s\t%s\n' "$1" "$lines" >>counts.tsv
  fi
  say "$2: $lines lines"
}

# download ARCHIVE SUM FOLDER...: into downloads/, from the first mirror that has it; an
# interrupted download is resumed.
download() {
  local archive=$1 sum=$2 folder complete part=downloads/$1.part
  local quietly=()
  shift 2
  [ -t 2 ] || quietly=(-sS)
  mkdir -p downloads
  for folder in "$@"; do
    say "downloading $folder$archive"
    complete=yes
    curl -fL "${quietly[@]}" --connect-timeout 30 --retry 2 -C - -o "$part" "$folder$archive" ||
      complete=no
    # If the file is complete already, curl fails too.
    if [ -f "$part" ] && { [ $complete = yes ] || [ "$sum" != - ]; }; then
      if verified "$part" "$archive" "$sum"; then
        mv "$part" "downloads/$archive"
        return
      fi
      [ $complete = no ] || rm "$part"
    fi
    [ $complete = no ] || say "warning: this is another file: its SHA-256 is not the known one"
  done
  fail 69 "$archive could not be downloaded" \
    "run the same command again, or get it in another way: put it into $PWD/downloads, or begin \
in another WORK and name its folder with --data-dir"
}

# take_out ARCHIVE MEMBER...: unpack these files of the archive into data/.
take_out() {
  local archive=$1 member
  shift
  say "taking $* out of $archive"
  rm -rf data/part
  mkdir -p data/part
  # Members may be called ./NAME.
  tar -xf "$archive" -C data/part "$@" 2>/dev/null || tar -xf "$archive" -C data/part
  for member in "$@"; do
    [ -f "data/part/$member" ] || fail 65 "$archive has no $member" "is it the archive of WMT14?"
    mv "data/part/$member" "data/${member##*/}"
  done
  rm -r data/part
}

# get_pair ARCHIVE EN TGT SUM FOLDER...: both sides of a corpus; EN and TGT are files in the
# archive. Adds to the list `train`, or to `missing`.
get_pair() {
  local archive=$1 en=$2 other=$3 sum=$4 path
  shift 4
  local files=("data/${en##*/}" "data/${other##*/}")
  if [ -n "$data_dir" ] && [ -n "$(local_file "${en##*/}")" ] &&
    [ -n "$(local_file "${other##*/}")" ]; then
    files=("$(local_file "${en##*/}")" "$(local_file "${other##*/}")")
    unchanged "${files[0]}"
    unchanged "${files[1]}"
  elif [ ! -f "${files[0]}" ] || [ ! -f "${files[1]}" ]; then
    path=${data_dir:-downloads}/$archive
    if [ -n "$data_dir" ] && [ ! -f "$path" ]; then
      missing+=("${en##*/} and ${other##*/}, or $archive")
      return
    fi
    if [ -f "$path" ]; then
      verified "$path" "$archive" "$sum" || fail 65 "$path is damaged: its SHA-256 is another" \
        "remove it and run the same command again"
    else
      download "$archive" "$sum" "$@"
    fi
    take_out "$path" "$en" "$other"
  fi
  report_lines "${files[0]}" "${en##*/}"
  report_lines "${files[1]}" "${other##*/}"
  train+=(--train "${files[@]}")
}

# get_held_out NAME SET: NAME.en and NAME.$tgt of sacreBLEU's test set SET, as data/NAME.*.
get_held_out() {
  local name=$1 set=$2 language field file
  for language in en "$tgt"; do
    field=ref
    [ "$language" != en ] || field=src
    if [ -n "$data_dir" ]; then
      file=$(local_file "$name.$language")
      if [ -z "$file" ]; then
        missing+=("$name.$language")
        continue
      fi
      unpack "$file" >"data/$name.$language"
    elif [ ! -f "data/$name.$language" ]; then
      sacrebleu -t "$set" -l "en-$tgt" --echo "$field" >"data/$name.part" ||
        fail 69 "sacreBLEU gave no $set" "is there a network? without: --data-dir"
      mv "data/$name.part" "data/$name.$language"
    fi
    unchanged "data/$name.$language"
    report_lines "data/$name.$language" "$name.$language"
  done
}

# Gets all text and fills the list `train` with options of `nmt init`.
get_text() {
  local languages archive pattern sum folders
  local missing=()
  train=()
  mkdir -p data
  while read -r languages archive pattern sum folders <&3; do
    [[ ,$languages, == *,$tgt,* ]] || continue
    pattern=${pattern//XX/$tgt}
    # shellcheck disable=SC2086  # folders are several words
    get_pair "$archive" "${pattern//LL/en}" "${pattern//LL/$tgt}" "$sum" $folders
  done 3<"$sources"
  get_held_out newstest2013 wmt13
  get_held_out newstest2014 wmt14/full
  [ "$tgt" != de ] || get_held_out newstest2014-official wmt14
  if [ ${#missing[@]} -gt 0 ]; then
    fail 66 "$data_dir lacks $(printf '%s; ' "${missing[@]}" | sed 's/; $//')" \
      "text may be plain, .gz or .xz; the archives are those of wmt14_sources.txt"
  fi
}
