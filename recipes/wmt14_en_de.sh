#!/usr/bin/env bash
# Section 6.1, Table 2: WMT14 English to German. Needs GPUs.
#
#   [MODEL=base|big] [STEPS=N] recipes/wmt14_en_de.sh [--data-dir DIR] [WORK]
#
# Downloads Europarl v7, Common Crawl and News Commentary v9 (1.7 GB), newstest2013 to validate on
# and newstest2014 to test on (3,003 lines, and the 2,737 of the official evaluation); learns 37,000
# joint BPE subwords; trains the preset base (default) or big; averages its last 5 or 20
# checkpoints, 1,500 or 600 steps apart; translates with beam 4 and alpha 0.6; and compares
# BLEU, operations and hours with Table 2. All files go to WORK (default: runs/wmt14-en-de); run the
# same command again to resume after an interruption. STEPS overrides the preset's number of steps;
# checkpoints are closer together where there would be fewer than are averaged.
#
# Without a network, DIR holds the archives or the text; see docs/wmt14.md. MODEL=tiny learns
# nothing but shows that everything works. Needs `nmt`, `sacrebleu` and curl on the PATH. Nobody has
# run it on the whole text yet.
set -euo pipefail
. "$(dirname "$0")/help.sh"
. "$(dirname "$0")/wmt14.sh"

subwords=(--subwords bpe --vocab-size 37000 --joint)
big=()
wmt14 de "$@"
