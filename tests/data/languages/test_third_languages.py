"""Lines in third languages are found in the same way in each process."""

import os
import subprocess
import sys

import pytest

# Each has three words of Catalan and three other ones of Italian, or of Dutch and of Swedish.
TIES = (
    "els amb seva non sono della", "aquest però els gli dei anche", "amb els aquest di che ho",
    "niet zijn naar inte från till", "aan hij dat och att för", "voor ook bij men på jag",
)  # fmt: skip
PROGRAM = (
    "import sys\n"
    "from nmt_cli.data.languages.third_languages import third_languages\n"
    "print(third_languages(sys.argv[1:], ('en', 'de')))\n"
)


@pytest.mark.parametrize("seed", range(3))
def test_languages_with_as_many_words_do_not_depend_on_the_hash_seed(seed: int) -> None:
    found = subprocess.run(
        [sys.executable, "-c", PROGRAM, *TIES],
        env={**os.environ, "PYTHONHASHSEED": str(seed)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout == "{'ca': [0, 1, 2], 'nl': [3, 4, 5]}\n"
