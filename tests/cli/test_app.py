"""The frame of `nmt`: exit codes, hints, streams, threads; what every command can rely on."""

import errno
import importlib.util
import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from nmt_cli import __version__, errors
from nmt_cli.cli import app, docs, environment, main
from nmt_cli.cli.app import broken_example
from nmt_cli.cli.error_reporting import as_user_error
from nmt_cli.cli.settings import model_option
from nmt_cli.cli.used_settings import is_used
from nmt_cli.config.schema import SETTINGS
from nmt_cli.config.synonyms import OPTIONS, set_key
from nmt_cli.machine import usable_cores
from nmt_cli.storage.manifest import MANIFEST
from nmt_cli.storage.model_check import CONFIG

ROOT = Path(__file__).resolve().parents[2]


def run(
    arguments: list[str], *, shell: str = "", environ: Mapping[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run the real `nmt`; `shell` is what follows it on the command line, such as `>&-`."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    line = f'exec "$0" -m nmt_cli "$@" {shell}'
    return subprocess.run(
        ["bash", "-c", line, sys.executable, *arguments],
        capture_output=True, text=True, check=False, timeout=60,
        env={**kept, "PYTHONPATH": str(ROOT), **(environ or {})},
    )  # fmt: skip


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> object:
    """Make the command fail with any exception."""

    def fail_with(error: BaseException) -> None:
        def invoke(arguments: object) -> int:
            raise error

        monkeypatch.setattr(app, "invoke", invoke)

    return fail_with


# Quotas, read-only and network disks, and too many open files.
OF_THE_SYSTEM = (
    errno.EDQUOT, errno.EIO, errno.EROFS, errno.EFBIG, errno.EMFILE, errno.ENFILE, errno.EPERM,
    errno.ENAMETOOLONG, errno.ELOOP, errno.ESTALE,
)  # fmt: skip


class TestExitCodes:
    @pytest.mark.parametrize(
        ("error", "code"),
        [
            (errors.DataError("a"), 65),
            (errors.TryAgainError("a"), 75),
            (KeyboardInterrupt(), 130),
            (BrokenPipeError(errno.EPIPE, "x"), 141),
            (OSError(errno.ENOSPC, "No space left on device"), 74),
            (PermissionError(errno.EACCES, "Permission denied"), 74),
            *((OSError(number, os.strerror(number)), 74) for number in OF_THE_SYSTEM),
            (FileNotFoundError(errno.ENOENT, "No usable temporary directory found in ['/a']"), 74),
            (BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable"), 75),
            (RuntimeError("can't start new thread"), 75),
            (FileNotFoundError(errno.ENOENT, "x"), 1),
            (ZeroDivisionError("x"), 1),
            (SystemExit(7), 7),
            (SystemExit(None), 0),
            (SystemExit("text"), 1),
        ],
    )
    def test_each_error_class_has_its_exit_code(
        self, failing: object, error: BaseException, code: int
    ) -> None:
        failing(error)  # type: ignore[operator]
        assert main([]) == code

    @pytest.mark.parametrize(
        ("stdout_fails", "name", "message"),
        [
            (False, None, "reading or writing failed: "),
            (True, None, "stdout, the standard output, cannot be written: "),
            # What stdout still holds fails, too, but it is the other output that is reported.
            (True, "out.de", "reading or writing failed: .*'out.de'"),
        ],
    )
    def test_output_that_fails_is_named(
        self, monkeypatch: pytest.MonkeyPatch, stdout_fails: bool, name: str | None, message: str
    ) -> None:
        full = OSError(errno.ENOSPC, "No space left on device", name)

        class FullStdout(io.StringIO):
            def flush(self) -> None:
                raise OSError(errno.ENOSPC, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", FullStdout() if stdout_fails else io.StringIO())
            problem = as_user_error(full)
        assert problem is not None
        assert re.match(message, problem.message)

    def test_unexpected_exception_is_reported_as_bug_with_debug_hint(
        self, failing: object, capsys: pytest.CaptureFixture[str]
    ) -> None:
        failing(ZeroDivisionError("division by zero"))  # type: ignore[operator]
        main([])
        err = capsys.readouterr().err
        assert err.startswith(
            "error: this is a bug in nmt: ZeroDivisionError: division by zero\n\nhint: "
        )
        assert "--debug" in err
        assert "Traceback" not in err

    @pytest.mark.parametrize(
        "error",
        [
            ModuleNotFoundError("No module named 'nmt_cli.x'", name="nmt_cli.x"),
            ImportError("cannot import name 'y' from 'nmt_cli.x'", name="nmt_cli.x"),
        ],
    )
    def test_missing_module_of_nmt_is_a_changed_installation(
        self, failing: object, capsys: pytest.CaptureFixture[str], error: ImportError
    ) -> None:
        failing(error)  # type: ignore[operator]
        assert main([]) == 75
        assert capsys.readouterr().err == (
            f"error: nmt was changed while it ran: {type(error).__name__}: {error}\n\n"
            "hint: run the command again; if the error comes again, install nmt again\n"
        )

    def test_missing_module_of_another_package_is_a_bug(self, failing: object) -> None:
        failing(ModuleNotFoundError("No module named 'x'", name="x"))  # type: ignore[operator]
        assert main([]) == 1
        failing(ImportError("no name"))  # type: ignore[operator]
        assert main([]) == 1

    @pytest.mark.parametrize("way", ["option", "variable"])
    def test_debug_shows_the_traceback(
        self,
        failing: object,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
        way: str,
    ) -> None:
        failing(errors.DataError("x"))  # type: ignore[operator]
        if way == "variable":
            monkeypatch.setenv("NMT_DEBUG", "1")
        assert main(["train", "--debug"] if way == "option" else ["train"]) == 65
        assert "Traceback (most recent call last)" in capsys.readouterr().err

    def test_debug_after_two_dashes_is_an_argument(self) -> None:
        assert not environment.debugging(["translate", "--", "--debug"])
        assert environment.debugging(["translate", "--debug", "--"])

    def test_broken_pipe_prints_nothing(
        self, failing: object, capsys: pytest.CaptureFixture[str]
    ) -> None:
        failing(BrokenPipeError(errno.EPIPE, "x"))  # type: ignore[operator]
        main([])
        assert capsys.readouterr().err == ""


class TestUsage:
    def test_a_model_before_the_text_is_given_with_its_option(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.chdir(tmp_path)
        Path("my model").mkdir()
        for name in (CONFIG, MANIFEST):
            Path("my model", name).touch()
        assert main(["translate", "my model", "two.en", "--beam", "2"]) == 2
        hint = "hint: the model is given with --model: nmt translate --model 'my model' two.en"
        assert f"{hint} --beam 2\n" in capsys.readouterr().err
        assert main(["doctor", "my model"]) == 2
        assert "nmt translate" not in capsys.readouterr().err

    @pytest.mark.parametrize(
        ("arguments", "message", "hint"),
        [
            (["trian"], "there is no command `trian`", "did you mean `train`?"),
            (["xyz"], "there is no command `xyz`", "known: attention, average"),
            (["init", "--frce"], "`nmt init` has no option `--frce`", "did you mean `--force`?"),
            (["init", "-Z"], "`nmt init` has no option `-Z`", "`nmt init --help` shows"),
            (
                ["translate", "-beam_size", "5"],
                "`nmt translate` has no option `-beam_size`",
                "did you mean `--beam`?",
            ),
            (
                ["translate", "-src", "a"],
                "`nmt translate` has no option `-src`",
                "nmt translate FILE",
            ),
            (
                ["translate", "--path", "m"],
                "`nmt translate` has no option `--path`",
                "did you mean `--model`?",
            ),
            (["-v"], "`nmt` has no option `-v`", "did you mean `-V`?"),
            (["--verzion"], "`nmt` has no option `--verzion`", "did you mean `--version`?"),
            (["init", "a", "b"], "nmt init: got unexpected extra argument(s) (b)", "--train SRC"),
            (
                ["init", "--train-tsv", "a", "b", "c"],
                "nmt init: got unexpected extra argument(s) (c)",
                "--train-tsv FILE for each table",
            ),
            (["serve", "a", "b"], "nmt serve: got unexpected extra argument(s) (b)", "--port"),
            *(
                ([command, "my", "texts"], f"nmt {command}: got unexpected extra", words)
                for command in ("init", "prepare", "train")
                for words in ("a path with spaces needs quotation marks",)
            ),
            (["config", "show", "model.heads"], "nmt config show: got unexpected", "show --about"),
            (
                ["translate", "a", "b"],
                "nmt translate: got unexpected extra",
                "-o FILE names the file",
            ),
            (
                ["train", "--set", "train.seed=2", "--set", "train.max_steps", "100"],
                "nmt train: got unexpected extra argument(s) (100)",
                "write it as --set train.max_steps=100",
            ),
            (
                ["translate", "--set", "search.beam", "8", "a.txt"],
                "nmt translate: got unexpected extra argument(s) (a.txt)",
                "write it as --set search.beam=8",
            ),
            *(
                (
                    ["config", "show", "--set", *words],
                    "nmt config show: got unexpected extra",
                    "write it as --set model.heads=4",
                )
                for words in (
                    ["model.heads", "=", "4"],
                    ["model.heads", "=4"],
                    ["model.heads=", "4"],
                )
            ),
            (
                ["config", "show", "--set", "data.src", "a b"],
                "nmt config show: got unexpected extra",
                "write it as --set 'data.src=a b'",
            ),
            (["attention", "a", "b"], "nmt attention: got unexpected extra", "in quotation marks"),
            (["plot", "positions", "-o", "x"], "`nmt plot` has", "did you mean `--out`?"),
            (["init", "--train", "a"], "nmt init: option `--train` requires 2 arguments", "--help"),
            (["train", "--gpus"], "nmt train: option `--gpus` requires", "`nmt train --help`"),
            (["bench", "layers", "--n"], "nmt bench layers: option", "`nmt bench layers --help`"),
            (["train", "--lr", "1"], "`nmt train` has no", "`--set train.learning_rate=X`?"),
            (["train", "--batch-size", "1"], "`nmt train` has", "`--set train.batch_tokens=N`?"),
            (["train", "--epochs", "1"], "`nmt train` has no", "did you mean `--max-epochs`?"),
            (["train", "--gpu", "1"], "`nmt train` has no", "did you mean `--gpus`?"),
            (["translate", "--gpu"], "`nmt translate` has no", "did you mean `--device cuda`?"),
            (["translate", "--src", "a"], "`nmt translate` has no", "nmt translate FILE"),
            (["translate", "--out", "x"], "`nmt translate` has", "did you mean `--output`?"),
            (["translate", "--temp", "1"], "`nmt translate` has", "did you mean `--temperature`?"),
            (["train", "--finetune-from-model", "x"], "`nmt train` has", "`--init-from`?"),
            (["train", "--init", "m"], "`nmt train` has", "`--init-from`?"),
            (["train", "--pretrained", "m"], "`nmt train` has", "`--init-from`?"),
            (["train", "--from", "m"], "`nmt train` has", "`--init-from`?"),
            (["train", "--checkpoint", "x"], "`nmt train` has", "`--init-from`?"),
            (["prepare", "--source-vocab", "x"], "`nmt prepare` has", "`--subwords-from`?"),
            (["finetune", "x"], "there is no command", "`nmt train --init-from MODEL`?"),
            (
                ["train", "--warmup-updates", "9"],
                "`nmt train` has",
                "`--set train.warmup_steps=N`?",
            ),
            (
                ["init", "--set", "a=1"],
                "`nmt init` has no option `--set`",
                "write other settings in",
            ),
            (["train", "--update-freq", "9"], "`nmt train` has", "`train.micro_batch_tokens`"),
            (
                ["train", "-accum_count", "4"],
                "`nmt train` has no option `-accum_count`",
                "micro_batch_tokens`",
            ),
            (["train", "-world_size", "1"], "`nmt train` has no option `-world_size`", "`--gpus`?"),
            (["train", "-save_model", "m"], "`nmt train` has no option `-save_model`", "`--out`?"),
            (["train", "-data", "m"], "`nmt train` has no option `-data`", "`--corpus`?"),
            (
                ["train", "-rnn_size", "8"],
                "`nmt train` has no option `-rnn_size`",
                "`--set model.d_model=N`?",
            ),
            (
                ["train", "-transformer_ff", "8"],
                "`nmt train` has no option `-trans",
                "`--set model.d_ff=N`?",
            ),
            (
                ["train", "-valid_steps", "8"],
                "`nmt train` has no option",
                "`--set train.validate_every=N`?",
            ),
            (
                ["translate", "--lenpen", "1"],
                "`nmt translate` has no",
                "--length-penalty power --alph",
            ),
            (["translate", "--remove-bpe"], "`nmt translate` has", "translations are plain text"),
            (["translate", "-n_best", "5"], "`nmt translate` has", "did you mean `--n-best`?"),
            (["translate", "-tgt_file_prefix"], "`nmt translate`", "did you mean `--prefix`?"),
            (["translate", "--prefix-size", "2"], "`nmt translate`", "did you mean `--prefix`?"),
            (["translate", "-report_align"], "`nmt translate`", "did you mean `--alignment`?"),
            (["prepare", "-share_vocab"], "`nmt prepare` has", "did you mean `--joint`?"),
            (["train", "-batch_type", "tokens"], "`nmt train` has", "counted in tokens"),
            (["average", "--inputs", "x"], "`nmt average` has", "nmt average MODEL... --out DIR"),
            (["translate", "--beam_size", "4"], "`nmt translate` has", "did you mean `--beam`?"),
            (["translate", "--unnormalized"], "`nmt translate`", "`--length-penalty none`?"),
            (["translate", "--no-repeat-ngram-size", "3"], "`nmt", "`--no-repeat-ngram`?"),
            (["train", "--task", "x"], "`nmt train` has no", "did you mean `--preset`?"),
            (["prepare", "--joined-dictionary"], "`nmt prepare` has", "did you mean `--joint`?"),
            (["info", "--model", "x"], "`nmt info` has no", "nmt info MODEL"),
            (["serve", "--model", "x"], "`nmt serve` has no", "nmt serve MODEL"),
            (["serve", "--alpha=1"], "`nmt serve`", "`--set search.alpha=X`?"),
            (["serve", "--replace_unknown"], "`nmt serve`", "`--set search.replace_unknown=true`?"),
            (["serve", "--length-penalty=power"], "`nmt serve`", "search.length_penalty=power`?"),
            (["score", "--top-k", "2"], "`nmt score` has no", "`--set search.top_k=N`?"),
            (["parse", "text", "--temperature", "2"], "`nmt", "`--set search.temperature=X`?"),
            (["train", "--tie-embeddings"], "`nmt train`", "`--set model.tie_embeddings=target`?"),
            (["prepare", "--max-ratio", "4"], "`nmt prepare`", "`--set data.max_ratio=X`?"),
            (["train", "--max-steps", "ten"], "nmt train: invalid value", "--help"),
            (["generate"], "there is no command `generate`", "did you mean `translate`?"),
            (["evaluate"], "there is no command `evaluate`", "did you mean `score`?"),
            (["preprocess"], "there is no command `preprocess`", "did you mean `prepare`?"),
            (["help", "trian"], "there is no command `trian`", "did you mean `train`?"),
            (["help", "trane"], "there is no command `trane`", "did you mean `train`?"),
            (["completion"], "there is no command", "did you mean `nmt --install-completion`?"),
            (["config", "shwo"], "nmt config: no such command `shwo`. Did you mean `show`?", "he"),
        ],
    )
    def test_misspelt_option_or_command_gets_a_suggestion(
        self, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str, hint: str
    ) -> None:
        assert main(arguments) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith(f"error: {message}")
        assert f"\n\nhint: {hint}" in err or hint in err.split("\n\nhint: ")[1]

    @pytest.mark.parametrize(
        ("arguments", "hint"),
        [
            (["--preset", "transformer-big"], "its sizes are `--preset big`"),
            (["--set", "train.accum_count=2"], "did you mean `train.batch_tokens`?"),
            (["--set", "train.early_stopping=4"], "did you mean `train.patience`?"),
        ],
    )
    def test_names_of_other_toolkits_for_settings_get_a_suggestion(
        self, capsys: pytest.CaptureFixture[str], arguments: list[str], hint: str
    ) -> None:
        assert main(["train", *arguments]) == 78
        assert capsys.readouterr().err.endswith(f"\n\nhint: {hint}\n")

    def test_a_missing_choice_is_named_on_one_line(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["export", "--out", "x"]) == 2
        message = capsys.readouterr().err.partition("\n\nhint:")[0]
        assert "missing option `--to`" in message
        assert "\\n" not in message
        assert "\t" not in message

    @pytest.mark.parametrize(
        "arguments",
        [["train", "--teacher", "m"], ["score", "--pretrained", "m"], ["score", "--from", "m"],
         ["info", "--keep-numbers"], ["train", "--keep-numbers"], ["score", "a", "--seed", "5"],
         ["serve", "--heads", "4"], ["average", "--beam-size", "4"], ["prepare", "--lr", "1"],
         ["export"]],
    )  # fmt: skip
    def test_unknown_command_or_option_gets_no_far_fetched_suggestion(
        self, capsys: pytest.CaptureFixture[str], arguments: list[str]
    ) -> None:
        assert main(arguments) == 2
        assert "did you mean" not in capsys.readouterr().err

    def test_each_search_setting_that_is_no_option_of_serve_is_named_with_set(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        commands = {path: command for path, command, _ in docs.walk_commands()}
        own = {name for each in commands["nmt serve"].params for name in each.opts}
        settings = {key: each for key, each in SETTINGS.items() if key.startswith("search.")}
        named = {key: each.option for key, each in settings.items() if each.option not in own}
        assert len(named) > 10
        for key, option in named.items():
            assert main(["serve", option, "1"]) == 2
            assert f"hint: did you mean `--set {key}=" in capsys.readouterr().err, option

    @pytest.mark.parametrize(
        "words",
        [["translate", "a"], ["serve"], ["score"], ["average", "a", "b"], ["attention", "a b"],
         ["parse", "text"], ["plot", "schedule"], ["shortlist"], ["info"],
         ["export", "--to", "onnx", "--out", "x"]],
    )  # fmt: skip
    def test_settings_that_a_command_refuses_are_those_that_no_hint_suggests(
        self,
        capsys: pytest.CaptureFixture[str],
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        words: list[str],
    ) -> None:
        monkeypatch.chdir(tmp_path)
        command = words[1] if words[0] == "parse" else words[0]
        suggested = {
            set_key(option)
            for options in OPTIONS.values()
            for option in options
            if option.startswith("--set ")
        }
        for key in (*sorted(suggested), "train.keep_last", "paths.corpus", "data.train"):
            main([*words, "--set", f"{key}=[]"])
            is_refused = "this command does not use the setting" in capsys.readouterr().err
            assert is_refused is not is_used(key, command), key

    @pytest.mark.parametrize("way", ["-h", "help"])
    def test_every_command_shows_help_with_both_flags(
        self, capsys: pytest.CaptureFixture[str], way: str
    ) -> None:
        paths = [path.split()[1:] for path, _, _ in docs.walk_commands()]
        assert [] in paths
        assert ["bench", "layers"] in paths
        for path in paths:
            assert main([*path, "--help"]) == 0
            expected = capsys.readouterr().out
            assert expected.startswith(" ".join(["Usage: nmt", *path]))
            assert main(["help", *path] if way == "help" else [*path, "-h"]) == 0, path
            assert capsys.readouterr().out == expected

    def test_nmt_without_arguments_shows_help_on_stderr(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main([]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith("Usage: nmt ")

    def test_help_goes_to_stdout(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["--help"]) == 0
        assert capsys.readouterr().out.startswith("Usage: nmt ")

    def test_every_command_accepts_debug(self, capsys: pytest.CaptureFixture[str]) -> None:
        for arguments in ([], ["config", "show"], *([name] for name in app.COMMANDS)):
            assert main([*arguments, "--debug", "--help"]) == 0, arguments
        assert capsys.readouterr().err == ""


class TestVersion:
    def test_version_is_one_line(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["--version"]) == 0
        assert capsys.readouterr().out == f"nmt {__version__}\n"

    def test_version_json_names_library_versions(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["--version", "--json"]) == 0
        result = json.loads(capsys.readouterr().out)
        assert result["nmt"] == __version__
        assert {"schema", "python", "sentencepiece", "sacrebleu"} <= set(result)
        assert ("torch" in result) == (importlib.util.find_spec("torch") is not None)


class TestStreams:
    """With the real process, as a shell starts it."""

    def test_closed_stdout_is_an_error_when_output_is_written(self) -> None:
        done = run(["config", "show"], shell=">&-")
        assert done.returncode == 74
        assert done.stderr.startswith("error: ")

    def test_full_disk_behind_stdout_is_an_error(self) -> None:
        done = run(["--version"], shell="> /dev/full")
        assert done.returncode == 74
        assert "No space left" in done.stderr
        assert "Exception ignored" not in done.stderr

    def test_closed_stderr_keeps_exit_code(self) -> None:
        done = run(["config", "show", "--set", "model.headz=1"], shell="2>&-")
        assert (done.returncode, done.stdout, done.stderr) == (78, "", "")

    def test_stdout_pipe_closed_by_reader_prints_no_error(self) -> None:
        line = f'{sys.executable} -m nmt_cli config show | true; echo "${{PIPESTATUS[0]}}"'
        done = subprocess.run(
            ["bash", "-c", line], capture_output=True, text=True, check=False,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        # The text fits the pipe's buffer where `true` ends late.
        assert done.stdout in ("141\n", "0\n")
        assert done.stderr == ""


class TestEnvironment:
    @pytest.mark.parametrize(
        ("variables", "interactive", "color"),
        [
            ({}, True, True),
            ({"NO_COLOR": "1"}, True, False),
            ({"TERM": "dumb"}, False, False),
            ({"CI": "true"}, False, False),
            ({"CI": "true", "FORCE_COLOR": "1"}, False, True),
            ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, True, False),
        ],
    )
    def test_terminal_detection_respects_environment_variables(
        self,
        monkeypatch: pytest.MonkeyPatch,
        variables: dict[str, str],
        interactive: bool,
        color: bool,
    ) -> None:
        for name in ("NO_COLOR", "FORCE_COLOR", "CI"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("TERM", "xterm")
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        terminal = io.StringIO()
        monkeypatch.setattr(terminal, "isatty", lambda: True, raising=False)
        console = environment.make_console(terminal)
        assert (console.interactive, console.color) == (interactive, color)
        if "FORCE_COLOR" not in variables:
            log = environment.make_console(io.StringIO())
            assert (log.interactive, log.color) == (False, False)

    @pytest.mark.parametrize(
        ("started", "on_path", "called"),
        [
            ("bin/nmt", True, "nmt"),
            ("bin/nmt", False, "{}/bin/nmt"),
            ("other/nmt", True, "{}/other/nmt"),
            ("missing/nmt", False, "nmt"),
            ("nmt_cli/__main__.py", True, "nmt"),
            ("nmt_cli/__main__.py", False, "{}/bin/python -m nmt_cli"),
            ("a-program", False, "nmt"),
        ],
    )
    def test_program_name_in_hints_can_be_executed(
        self,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        started: str,
        on_path: bool,
        called: str,
    ) -> None:
        script = tmp_path / "bin" / "nmt"
        script.parent.mkdir()
        script.touch(mode=0o755)
        (tmp_path / "other").mkdir()
        (tmp_path / "other" / "nmt").touch()
        monkeypatch.setattr(sys, "argv", [str(tmp_path / started)])
        monkeypatch.setattr(sys, "executable", str(tmp_path / "bin" / "python"))
        monkeypatch.setenv("PATH", str(script.parent if on_path else tmp_path))
        assert environment.name_of_program() == called.format(tmp_path)

    def test_thread_environment_variable_reaches_torch(self) -> None:
        code = (
            "import os, sys; sys.argv = ['nmt', '--version']; import nmt_cli.cli as c\n"
            "try: c.run()\n"
            "except SystemExit: print(os.environ['OMP_WAIT_POLICY'], os.environ['OMP_NUM_THREADS'])"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True,
            env={"PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        assert done.stdout.split()[-2:] == ["PASSIVE", str(usable_cores())]


class TestFailedRanks:
    """Ranks that fail, and launchers, end at once: threads of torch might abort them on the way."""

    @staticmethod
    def leave(
        code: int, world_size: str, *, before: str = "", shell: str = ""
    ) -> "subprocess.CompletedProcess[str]":
        """A process that leaves with `code`, and would abort were the interpreter taken down."""
        script = (
            "import atexit, os, sys; from nmt_cli.cli import environment\n"
            "atexit.register(os.abort)\n"
            "sys.stdout.write('data'); sys.stderr.reconfigure(line_buffering=False)\n"
            f"sys.stderr.write('error: why'); {before}\n"
            f"environment.leave({code})"
        )
        line = f'exec "$0" -c "$1" {shell}'
        return subprocess.run(
            ["bash", "-c", line, sys.executable, script],
            capture_output=True, text=True, check=False, timeout=60,
            env={"PYTHONPATH": str(ROOT), "WORLD_SIZE": world_size},
        )  # fmt: skip

    def test_failed_rank_leaves_with_its_exit_code_and_flushed_output(self) -> None:
        done = self.leave(73, "2")
        assert (done.returncode, done.stdout, done.stderr) == (73, "data", "error: why")

    def test_failed_rank_does_not_wait_for_endless_thread(self) -> None:
        endless = "import threading; threading.Thread(target=threading.Event().wait).start()"
        assert self.leave(75, "2", before=endless).returncode == 75

    @pytest.mark.parametrize("before", ["sys.stderr.close()", "os.close(2)"])
    def test_failed_rank_keeps_exit_code_with_closed_stderr(self, before: str) -> None:
        assert self.leave(73, "2", before=before).returncode == 73

    def test_failed_rank_keeps_exit_code_with_full_stdout(self) -> None:
        assert self.leave(73, "2", shell="> /dev/full").returncode == 73

    @pytest.mark.parametrize("code", [0, 75])
    def test_launcher_leaves_with_the_exit_code_of_its_ranks(self, code: int) -> None:
        launched = "import torch.distributed.launcher.api"
        assert self.leave(code, "1", before=launched).returncode == code

    def test_server_leaves_at_once(self) -> None:
        done = self.leave(0, "1", before="sys.modules[environment.SERVER] = sys")
        assert (done.returncode, done.stdout, done.stderr) == (0, "data", "error: why")

    @pytest.mark.parametrize(("code", "world_size"), [(0, "2"), (73, "1")])
    def test_successful_or_single_rank_runs_exit_handlers(self, code: int, world_size: str) -> None:
        """Here what is registered for the end still runs: it aborts."""
        assert self.leave(code, world_size).returncode == -signal.SIGABRT


def test_shell_completion_lists_the_commands() -> None:
    done = run([], environ={"_NMT_COMPLETE": "complete_bash", "COMP_WORDS": "nmt t",
                            "COMP_CWORD": "1"})  # fmt: skip
    assert done.stdout.split() == ["train", "translate"]


def test_help_examples_wrap_between_words_and_can_be_copied() -> None:
    whole = 'echo "two words" | nmt train --preset small --set model.dropout=0.3 --out runs/small'
    lines = broken_example(whole, 40)
    assert all(len(line) <= 40 for line in lines)
    assert all(line.endswith(" \\") for line in lines[:-1])
    shell = "\n".join(lines).replace("\\\n", " ")
    assert shlex.split(shell) == shlex.split(whole)
    assert any("--out runs/small" in line for line in lines)
    assert broken_example("nmt train  as the file says, on one GPU or on several", 30) == [
        "nmt train", "    as the file says, on one", "    GPU or on several"
    ]  # fmt: skip


def test_examples_of_the_help_can_be_copied(capsys, monkeypatch) -> None:
    """At the width of a small terminal, descriptions are comments of the shell."""
    monkeypatch.setenv("COLUMNS", "80")
    programs = {"nmt", "echo", "cat", "zcat", "cd", "torchrun"}
    for path, _, _ in docs.walk_commands():
        assert main([*path.split()[1:], "--help"]) == 0
        shown = capsys.readouterr().out
        examples = shown.partition("Examples:\n")[2].partition("\n\n")[0]
        assert examples, path
        for line in examples.replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            assert words[:1] == [] or words[0] in programs, line
            assert len(line) < 80 or "    #" not in line, line


@pytest.mark.parametrize(
    ("option", "hint"),
    [
        ("--step", "`--max-steps`"),
        ("--batch", "`--set train.batch_tokens=N`"),
        ("--optimizer", "`--set train.optimizer=muon`"),
        ("--workers", "`--threads`"),
        ("--resume", "training resumes by itself"),
        ("--cpu", "CUDA_VISIBLE_DEVICES=-1"),
    ],
)
def test_train_hints_at_options_of_other_toolkits(option: str, hint: str, capfd) -> None:
    assert main(["train", option]) == 2
    assert hint in capfd.readouterr().err


@pytest.mark.parametrize("arguments", [["-V"], ["version"], ["--version"]])
def test_version_is_printed_by_each_spelling(arguments: list[str], capfd) -> None:
    assert main(arguments) == 0
    assert capfd.readouterr().out == f"nmt {__version__}\n"


def test_config_without_subcommand_shows_its_subcommands(capfd) -> None:
    assert main(["config"]) == 2
    shown = capfd.readouterr()
    assert shown.out == ""
    assert "nmt config" in shown.err
    assert "presets" in shown.err


@pytest.mark.parametrize(
    ("name", "has_hint"), [("hello", True), ("good morning", True), ("texts/a.en", False)]
)
def test_missing_file_that_may_be_text_gets_an_echo_hint(
    name: str, has_hint: bool, tmp_path: Path, monkeypatch, capfd
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["translate", name]) == 66
    assert ("echo" in capfd.readouterr().err) == has_hint


def test_next_command_names_a_model_other_than_the_default(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert model_option("model") == ""
    assert model_option("runs/my model") == " --model 'runs/my model'"
    (tmp_path / "nmt.toml").write_text('[paths]\nmodel = "runs/a"\n')
    assert model_option("runs/a") == ""
    assert model_option("model") == " --model model"
    (tmp_path / "my own.toml").write_text('[paths]\nmodel = "runs/b"\n')
    assert model_option("runs/b", Path("my own.toml")) == " --config 'my own.toml'"
    named = " --config 'my own.toml' --model runs/a"
    assert model_option("runs/a", Path("my own.toml")) == named


@pytest.mark.parametrize(
    ("arguments", "hints"),
    [
        (["config", "--preset", "big"], ["`nmt config show --preset big`", "`nmt config presets`"]),
        (["bench"], ["commands: layers, ", "table2, ", "for example: nmt bench layers --out "]),
        (["plot"], ["WHAT: positions, schedule or smoothing; for example: nmt plot positions; "]),
        (["attention"], ['for example: nmt attention "The dog sleeps."; `nmt attention --help`']),
    ],
)
def test_missing_arguments_are_explained_with_an_example(
    arguments: list[str], hints: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    err = " ".join(capsys.readouterr().err.split())
    for hint in hints:
        assert hint in err


@pytest.mark.parametrize("text", ["The dog sleeps .", "Sleep", "Sleep.", 30 * "A dog sleeps. "])
def test_text_in_place_of_a_file_hints_at_stdin_for_parse(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["parse", text]) == 66
    err = " ".join(capsys.readouterr().err.split())
    assert f"there is no file `{text.strip()}" in err
    assert f"echo {shlex.quote(text)} | nmt parse" in err


def test_model_in_place_of_a_file_hints_at_the_option(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    model = tmp_path / "my model"
    model.mkdir()
    for name in ("config.toml", "manifest.json"):
        (model / name).touch()
    assert main(["translate", "my model"]) == 66
    err = " ".join(capsys.readouterr().err.split())
    assert "`my model` is a model, a file with text is needed here" in err
    assert "nmt translate --model 'my model'" in err
    (model / "manifest.json").unlink()
    assert main(["translate", "my model"]) == 66
    assert "--model" not in capsys.readouterr().err


@pytest.mark.parametrize("name", ["text.en", "texts/en", "text.en.txt"])
def test_name_of_a_file_is_not_taken_for_text(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["parse", name]) == 66
    assert "echo" not in capsys.readouterr().err


def test_a_file_without_permission_has_the_exit_code_of_a_missing_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Root may read every file, so that the check of the system is replaced."""
    path = tmp_path / "tokens"
    path.write_text("secret\n")
    monkeypatch.setattr(os, "access", lambda *_arguments, **_options: False)
    assert main(["serve", "--token-file", str(path)]) == 66
    err = capsys.readouterr().err
    assert f"`{path}` is not readable" in err
    assert "hint: check its permissions" in err
