"""The Transformer of "Attention Is All You Need" (2017), and its baselines.

The names of dimensions in the signatures of this package:

| name          | meaning                                                       |
|---------------|---------------------------------------------------------------|
| `tokens`      | tokens of a batch, all sentences concatenated                 |
| `src`, `tgt`  | the same, of the source side and of the target side           |
| `sentences`   | sentences of a batch                                          |
| `length`      | length of the longest sentence                                |
| `queries`, `keys` | positions that attend, positions attended to              |
| `heads`       | h, the attention heads                                        |
| `d_model`, `d_ff`, `d_k`, `d_v` | the paper's widths                          |
| `rows`        | hypotheses during search                                      |
| `vocabulary`  | entries of the target vocabulary                              |
"""
