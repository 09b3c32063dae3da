"""Section 5: training, from batches to a model directory."""
