"""Train and run Transformer translators: two text files in, a translator out."""

__version__ = "0.1.0"
