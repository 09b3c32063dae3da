"""Keys and passwords of the user's environment are in nothing that `nmt` shows or writes."""

from collections.abc import Callable
from pathlib import Path

import pytest
from corpora import reversal_pairs, write_pairs
from faults.support.attacks import make_model_directory
from faults.tally import fault

from nmt_cli.cli import app, main

Checks = Callable[..., None]

CANARY = "CANARY-7f3a"
SECRETS = {
    "WANDB_API_KEY": f"{CANARY}-1", "HF_TOKEN": f"{CANARY}-2",
    "AWS_SECRET_ACCESS_KEY": f"{CANARY}-3",
    "DATABASE_URL": f"postgres://user:{CANARY}-4@host/db", "NMT_TOKEN": f"{CANARY}-5",
    "NMT_SERVER_PASSWORD": f"{CANARY}-6", "https_proxy": f"http://user:{CANARY}-7@proxy",
}  # fmt: skip


def attempts(folder: Path) -> list[list[str]]:
    """Commands that work, and that fail in each way."""
    train = write_pairs(folder, "train", reversal_pairs(200, 1))
    model = str(make_model_directory(folder / "model"))
    (folder / "text").write_text("abc\n")
    corpus = str(folder / "corpus")
    return [
        ["--version", "--json"],
        ["doctor", "--json"],
        ["config", "show"],
        ["prepare", "--train", *train, "--out", corpus, "--subwords", "chars", "--json"],
        ["prepare", "--train", *train, "--out", corpus, "--subwords", "bytes"],
        ["train", "--corpus", str(folder / "absent")],
        ["translate", "--model", model, str(folder / "text"), "--json"],
        ["translate", "--model", str(folder), str(folder / "text"), "--debug"],
        ["score", str(folder / "text"), str(folder / "text"), "--json"],
        ["score", "--nonsense"],
        ["average", model, "--out", str(folder / "average"), "--debug"],
    ]


@pytest.mark.slow
@fault("U12")
def test_no_command_shows_or_writes_a_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str],
    checks: Checks,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    tried = attempts(tmp_path)
    for arguments in tried:
        main(arguments)
        assert CANARY not in "".join(capfd.readouterr()), arguments
        checks()
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or CANARY.encode() not in path.read_bytes(), path
    checks()


@fault("U12")
def test_bug_report_holds_no_environment_values(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def invoke(arguments: object) -> int:
        password = "-".join(["CANARY", "7f3a"])
        return len(password) // 0

    monkeypatch.setattr(app, "invoke", invoke)
    assert main(["train", "--debug"]) == 1
    shown = capsys.readouterr().err
    assert "ZeroDivisionError" in shown
    assert CANARY not in shown
