"""Training (section 5 of the paper): from batches to a model directory."""
