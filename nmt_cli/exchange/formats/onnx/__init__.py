"""ONNX: export to three graphs, named as in the directories of Hugging Face's optimum."""
