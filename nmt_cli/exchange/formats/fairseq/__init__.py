"""Checkpoints of fairseq: weights, settings and dictionaries, in."""
