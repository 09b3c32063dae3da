"""Marian NMT: model.npz with its settings and vocabularies, in and out."""
