"""Continuous batching: the translations of several callers share the slots of one search."""
