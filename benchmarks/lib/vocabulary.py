"""The vocabulary of made-up words that CTranslate2 is given: a name for each id."""

EOS = 3
NAMES = {1: "<unk>", 2: "<s>", EOS: "</s>"}


def token_name(token: int) -> str:
    """The name of an id in CTranslate2's vocabulary.

    >>> token_name(3), token_name(17)
    ('</s>', 'w17')
    """
    return NAMES.get(token, f"w{token}")
