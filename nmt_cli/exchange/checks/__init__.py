"""Comparisons of a model with the same model in another toolkit, and checks without one."""
