"""Reads pickled checkpoints of other toolkits, for `nmt import` only, in a process of its own."""
