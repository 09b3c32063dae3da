"""The page of `nmt serve`, to translate by hand in a browser."""
