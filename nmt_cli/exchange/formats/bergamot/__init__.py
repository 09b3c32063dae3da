"""Bergamot: int8 models for the translators of Firefox and other browsers, out."""
