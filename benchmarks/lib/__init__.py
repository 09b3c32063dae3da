"""What the benchmarks share: measuring, peers, sentences, and workers."""
