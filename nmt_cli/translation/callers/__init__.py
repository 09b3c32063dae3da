"""How translators are called: by lines of several types, by several threads, one after another."""
