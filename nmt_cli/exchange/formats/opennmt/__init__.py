"""Checkpoints of OpenNMT-py 3: weights, settings and vocabularies, in."""
