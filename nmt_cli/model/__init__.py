"""The Transformer of "Attention Is All You Need" (2017): one file for each part of section 3.

Legend of shapes, used in every signature of this package:

| name          | meaning                                                       |
|---------------|---------------------------------------------------------------|
| `tokens`      | tokens of a batch, all sentences one after the other          |
| `src`, `tgt`  | the same, of the source side and of the target side           |
| `sentences`   | sentences of a batch                                          |
| `length`      | of the longest sentence                                       |
| `queries`, `keys` | positions that look, positions looked at                  |
| `heads`       | h                                                             |
| `d_model`, `d_ff`, `d_k`, `d_v` | the paper's widths                          |
| `rows`        | hypotheses during search                                      |
| `vocabulary`  | entries of the target vocabulary                              |
"""
