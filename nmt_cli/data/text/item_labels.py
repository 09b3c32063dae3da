"""The sequences of letters and numbers that list items have as their labels."""

LETTERS = tuple("abcdefghijklmnopqrstuvwxyz")
ROMANS = ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii", "xiii", "xiv")
SEQUENCES = (LETTERS, ROMANS, tuple(map(str, range(1, 100))))
