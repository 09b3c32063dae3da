"""How settings of a corpus are typed as options of `nmt prepare`, for hints."""

import shlex
from collections.abc import Mapping

# The settings with options that are not spelt `--set KEY=VALUE`.
_OPTIONS = {
    "data.vocab_size": "--vocab-size",
    "data.subwords": "--subwords",
    "data.valid_split": "--valid-split",
    "data.test_split": "--test-split",
    "data.tsv_columns": "--tsv-columns",
    "languages.src": "--src-lang",
    "languages.tgt": "--tgt-lang",
}
_FLAGS = {
    ("data.clean", "strict"): "--clean",
    ("data.clean", "off"): "--no-clean",
    ("data.joint", True): "--joint",
    ("data.joint", False): "--separate",
    ("data.normalize", True): "--normalize",
    ("data.normalize", False): "--no-normalize",
}


def options_for(values: Mapping[str, object]) -> list[str]:
    """The options that set these values, by dotted key; lists have none.

    >>> options_for({"data.clean": "strict", "data.vocab_size": 500, "data.seed": 2})
    ['--clean', '--vocab-size 500', '--set data.seed=2']
    """
    return [_option(key, value) for key, value in values.items() if not isinstance(value, tuple)]


def file_options(values: Mapping[str, object]) -> list[str]:
    """The options that name the text files of these settings, by dotted key.

    >>> train = ("a.en", "a.de"), ("b c.tsv",)
    >>> file_options({"data.train": train, "data.test": ("t.en", "t.de"), "data.valid": ("v.tsv",)})
    ['--train a.en a.de', "--train-tsv 'b c.tsv'", '--valid-tsv v.tsv', '--test t.en t.de']
    """
    train = values.get("data.train", ())
    named = [
        ("--train" if len(paths) > 1 else "--train-tsv", paths)
        for paths in (train if isinstance(train, tuple) else ())
    ]
    for key, option in (("data.valid", "--valid"), ("data.test", "--test")):
        files = values.get(key, ())
        # These options take a table or two files.
        if isinstance(files, tuple) and files and len(files) <= 2:
            named.append((option if len(files) > 1 else f"{option}-tsv", files))
    return [f"{option} {' '.join(map(shlex.quote, paths))}" for option, paths in named]


def _option(key: str, value: object) -> str:
    if (key, value) in _FLAGS:
        return _FLAGS[key, value]
    text = str(value).lower() if isinstance(value, bool) else shlex.quote(str(value))
    return f"{_OPTIONS[key]} {text}" if key in _OPTIONS else f"--set {key}={text}"
