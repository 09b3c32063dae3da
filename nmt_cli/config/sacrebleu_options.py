"""The options of sacreBLEU that `nmt score` lacks, and what it has instead."""

_HINTS = {
    ("--paired-bs", "--pbs"): (
        "`nmt score NEW REFERENCE --baseline OLD` tests a difference by paired bootstrap "
        "resampling; repeat --baseline for more systems"
    ),
    ("--paired-ar", "--par"): (
        "`nmt score NEW REFERENCE --baseline OLD` tests a difference by paired bootstrap "
        "resampling; nmt has no approximate randomization"
    ),
    ("--paired-bs-n", "--pbsn", "--paired-ar-n", "--parn", "--confidence-n", "--cin"): (
        "the resampling of --confidence and --baseline always draws 1,000 times, as that of "
        "sacreBLEU does by default"
    ),
    ("--ci",): "did you mean `--confidence`?",
    ("-m", "--metrics"): "repeat --metric: --metric bleu --metric chrf",
    ("-w", "--width", "--short", "--sh"): (
        "scores have two decimals; `--json` shows all digits, and `--score-only` only the score"
    ),
    ("-f", "--format"): "`--json` writes the results as JSON; the default is text",
    ("-l", "--language-pair"): (
        "`--tgt-lang CODE` names the language of the translations, such as --tgt-lang de"
    ),
    ("-t", "--test-set", "--echo"): (
        "the reference is a file, which sacreBLEU writes: `sacrebleu -t wmt14 -l en-de --echo ref "
        "> ref.de` and then `nmt score HYPOTHESIS ref.de`"
    ),
    ("--nr", "--num-refs"): (
        "each reference is a file of its own: nmt score HYPOTHESIS REFERENCE1 REFERENCE2"
    ),
    ("--tok",): "did you mean `--tokenize`?",
    ("--lc", "--chrf-lowercase"): "did you mean `--lowercase`?",
    ("-s", "--smooth-method", "--sv", "--smooth-value"): (
        "BLEU is smoothed as by default in sacreBLEU (`exp`); `--metric bleu-tokenized` is not "
        "smoothed, but tokenises the text by the rules of Moses"
    ),
    ("--cw", "--chrf-word-order"): "chrF++, of word order 2, is `--metric chrf++`",
    ("--sl", "--sentence-level"): (
        "`--worst N` shows the lines with the lowest chrF; `--by FILE` scores groups of lines"
    ),
    ("--origlang", "--ol", "--subset", "-d", "--detail"): (
        "`--by FILE` adds the scores of groups of lines; FILE has the group of each line"
    ),
}

# What to do instead, by option.
SACREBLEU_ADVICE = {name: hint for names, hint in _HINTS.items() for name in names}
