#!/usr/bin/env bash
# Section 6.1, Table 2: WMT14 English to French. Needs GPUs.
#
#   [MODEL=base|big] [STEPS=N] recipes/wmt14_en_fr.sh [--data-dir DIR] [WORK]
#
# Downloads Europarl v7, Common Crawl, News Commentary v9, the UN's documents and the 10^9 French-
# English corpus (6.6 GB, 40 million pairs), newstest2013 to validate on and newstest2014 to test on
# (3,003 lines); learns 32,000 joint word-pieces; trains the preset base (default) or big, the
# latter with dropout 0.1 as the paper has it for French; averages its last 5 or 20 checkpoints,
# 1,500 or 600 steps apart; translates with beam 4 and alpha 0.6; and compares BLEU, operations
# and hours with Table 2. All files go to WORK (default: runs/wmt14-en-fr); run the same command
# again to resume after an interruption. STEPS overrides the preset's number of steps; checkpoints
# are closer together where there would be fewer than are averaged.
#
# Without a network, DIR holds the archives or the text; see docs/wmt14.md. MODEL=tiny learns
# nothing but shows that everything works. Needs `nmt`, `sacrebleu` and curl on the PATH. Nobody has
# run it on the whole text yet.
set -euo pipefail
. "$(dirname "$0")/help.sh"
. "$(dirname "$0")/wmt14.sh"

subwords=(--subwords wordpiece --vocab-size 32000 --joint)
big=(model.dropout=0.1)
wmt14 fr "$@"
