"""Hugging Face: export to MarianMTModel and Pegasus directories, and import of them."""
