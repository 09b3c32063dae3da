"""Options of sacreBLEU lead to what `nmt score` has instead."""

import subprocess
import sys

import pytest

from nmt_cli.cli import main
from nmt_cli.config.sacrebleu_options import SACREBLEU_ADVICE
from nmt_cli.scoring.scores import RESAMPLES


@pytest.mark.parametrize(
    ("arguments", "option", "hint"),
    [
        (["--paired-bs", "a", "b"], "--paired-bs", "--baseline OLD` tests a difference by paired"),
        (["a", "b", "-pbs"], "-pbs", "--baseline OLD` tests a difference by paired bootstrap"),
        (["--paired-ar"], "--paired-ar", "nmt has no approximate randomization"),
        (["--paired-bs-n", "500"], "--paired-bs-n", f"always draws {RESAMPLES:,} times"),
        (["-cin", "500"], "-cin", f"always draws {RESAMPLES:,} times"),
        (["-m", "bleu", "chrf"], "-m", "--metric bleu --metric chrf"),
        (["--metrics", "bleu", "chrf"], "--metrics", "--metric bleu --metric chrf"),
        (["-w", "4"], "-w", "scores have two decimals; `--json` shows all digits"),
        (["-l", "en-de"], "-l", "such as --tgt-lang de"),
        (["-t", "wmt14"], "-t", "--echo ref > ref.de` and then `nmt score HYPOTHESIS ref.de`"),
        (["-ci"], "-ci", "did you mean `--confidence`?"),
        (["-lc"], "-lc", "did you mean `--lowercase`?"),
        (["-tok", "none"], "-tok", "did you mean `--tokenize`?"),
        (["-cw", "2"], "-cw", "`--metric chrf++`"),
    ],
)
def test_options_of_sacrebleu_lead_to_ours(
    arguments: list[str], option: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["score", *arguments]) == 2
    message, said = capsys.readouterr().err.split("hint: ")
    assert f"`nmt score` has no option `{option}`" in message
    assert hint in " ".join(said.split())


def test_options_with_advice_are_those_of_sacrebleu() -> None:
    # In another process, as its command line changes how a broken pipe ends this one.
    command = [sys.executable, "-m", "sacrebleu", "--help"]
    text = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    words = set(text.replace(",", " ").split())
    # `-tok` is looked up as `--tok`.
    unknown = [name for name in SACREBLEU_ADVICE if not {name, name.removeprefix("-")} & words]
    assert unknown == []
