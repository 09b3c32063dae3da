"""The recipes of WMT14: a miniature runs to its end; downloads, sums and calls are right."""

import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from nmt_cli.cli.app import make_command
from nmt_cli.config.schema import ResolvedConfig, SettingsLayer, resolve
from nmt_cli.extras.demo.grammar.pairs import make_pairs

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "recipes" / "wmt14_sources.txt"
# Leaves of what the real ones leave as much as the recipes look at.
NMT = """#!/bin/sh
printf '%s\\n' "$*" >> "$CALLS"
case $1 in
  init) echo > nmt.toml ;;
  prepare) mkdir -p corpus; echo '{}' ;;
  train)
    while [ "$1" != --out ]; do shift; done
    [ -d "$2" ] || { mkdir -p "$2/checkpoints/step-000000002"
                     echo '{}' > "$2/checkpoints/step-000000002/state.json"; } ;;
  average) mkdir -p "$4"; echo '{}' > "$4/manifest.json" ;;
  translate) while [ "$1" != -o ]; do shift; done; echo Satz > "$2" ;;
  bench) echo table ;;
esac
"""
SACREBLEU = """#!/bin/sh
printf 'sacrebleu %s\\n' "$*" >> "$CALLS"
echo "$2 $4 $6"
"""
CORPORA = {
    "training-parallel-europarl-v7.tgz": "training/europarl-v7.XX-en",
    "training-parallel-commoncrawl.tgz": "commoncrawl.XX-en",
    "training-parallel-nc-v9.tgz": "training/news-commentary-v9.XX-en",
    "training-parallel-un.tgz": "un/undoc.2000.XX-en",
    "training-giga-fren.tar": "giga-fren.release2.fixed",
}


class Folder:
    """A directory to run a recipe in, with commands, archives and a copy of the recipes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.recipes = path / "recipes"
        shutil.copytree(ROOT / "recipes", self.recipes)
        (path / "bin").mkdir()
        self.archives = path / "archives"
        self.archives.mkdir()
        self.provide("nmt", NMT)
        self.provide("sacrebleu", SACREBLEU)

    @property
    def work(self) -> Path:
        return self.path / "work"

    def provide(self, command: str, script: str) -> None:
        (self.path / "bin" / command).write_text(script)
        (self.path / "bin" / command).chmod(0o755)

    def run(self, tgt: str, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
        (self.path / "calls").write_text("")
        path = f"{self.path / 'bin'}{os.pathsep}{os.environ['PATH']}"
        paths = {"PATH": path, "CALLS": str(self.path / "calls"), "PYTHONPATH": str(ROOT)}
        return subprocess.run(
            [self.recipes / f"wmt14_en_{tgt}.sh", *arguments], cwd=self.path,
            env={**os.environ, **paths, **environ}, capture_output=True, text=True, check=False,
        )  # fmt: skip

    def calls(self) -> list[list[str]]:
        return [shlex.split(line) for line in (self.path / "calls").read_text().splitlines()]

    def archive(self, name: str, tgt: str, prefix: str = "") -> str:
        """Make the archive `name`; its SHA-256."""
        stem = CORPORA[name].replace("XX", tgt)
        path = self.path / "packed" / name
        gzipped = name.endswith(".tar")
        with tarfile.open(self.archives / name, "w" if gzipped else "w:gz") as archive:
            for language in (tgt, "en"):
                file = path / f"{stem}.{language}"
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(f"{language} of {stem}\n" * 3)
                if gzipped:
                    subprocess.run(["gzip", file], check=True)
                    file = file.with_name(file.name + ".gz")
                archive.add(file, f"{prefix}{file.relative_to(path)}")
        return hashlib.sha256((self.archives / name).read_bytes()).hexdigest()

    def list_sources(self, tgt: str, *folders: Path, sums: bool = True, prefix: str = "") -> None:
        """Archives of all corpora, and a table in which they are downloaded from `folders`."""
        addresses = " ".join(f"file://{folder}/" for folder in folders)
        lines = ["# a comment"]
        for name, stem in CORPORA.items():
            languages = "fr" if name in list(CORPORA)[3:] else "de,fr"
            if tgt not in languages:
                continue
            result = self.archive(name, tgt, prefix)
            suffix = ".LL.gz" if name.endswith(".tar") else ".LL"
            lines.append(f"{languages} {name} {stem}{suffix} {result if sums else '-'} {addresses}")
        (self.recipes / "wmt14_sources.txt").write_text("\n".join(lines) + "\n")


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def value(call: list[str], option: str) -> str:
    return call[call.index(option) + 1]


def settings(call: list[str]) -> dict[str, str]:
    places = [position for position, part in enumerate(call) if part == "--set"]
    return dict(call[position + 1].split("=", 1) for position in places)


def resolved(call: list[str], prepare: list[str]) -> ResolvedConfig:
    """What the calls of `nmt prepare` and `nmt train` come to."""
    options = {"--vocab-size": "data.vocab_size", "--subwords": "data.subwords"}
    flags: dict[str, object] = {"train.preset": value(call, "--preset")}
    flags |= {key: value(prepare, name) for name, key in options.items() if name in prepare}
    return resolve([SettingsLayer("recipe", {**flags, **settings(call)})])


# -- where the text comes from -------------------------------------------------------------------


def test_source_table_is_complete() -> None:
    rows = [line.split() for line in SOURCES.read_text().splitlines() if not line.startswith("#")]
    assert {row[1]: row[2] for row in rows} == {
        name: stem + (".LL.gz" if name.endswith(".tar") else ".LL")
        for name, stem in CORPORA.items()
    }
    assert [row[0] for row in rows] == ["de,fr"] * 3 + ["fr"] * 2
    for _, _, _, stated, *addresses in rows:
        assert re.fullmatch("[0-9a-f]{64}", stated)
        hosts = {address.split("/")[2] for address in addresses}
        assert len(hosts) >= 2
        assert all(address.startswith("http") and address.endswith("/") for address in addresses)
    assert len({row[3] for row in rows}) == 5


def test_sacrebleu_has_the_test_sets(folder: Folder) -> None:
    from sacrebleu.dataset import DATASETS

    folder.list_sources("de", folder.archives)
    assert folder.run("de", "work").returncode == 0
    asked = [call[1:] for call in folder.calls() if call[0] == "sacrebleu"]
    assert len(asked) == 6
    for call in asked:
        assert call[0::2] == ["-t", "-l", "--echo"]
        assert call[3] in DATASETS[call[1]].langpairs
        assert call[5] in DATASETS[call[1]].fieldnames(call[3])
    assert [call[1] for call in asked[::2]] == ["wmt13", "wmt14/full", "wmt14"]
    official = folder.work / "data" / "newstest2014-official.en"
    assert official.read_text() == "wmt14 en-de src\n"
    assert official.with_suffix(".de").read_text() == "wmt14 en-de ref\n"


def test_failing_mirror_or_wrong_download_uses_the_next_mirror(folder: Folder) -> None:
    wrong = folder.path / "wrong"
    wrong.mkdir()
    folder.list_sources("de", folder.path / "none", wrong, folder.archives)
    (wrong / "training-parallel-nc-v9.tgz").write_text("moved")
    done = folder.run("de", "work")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count(f"downloading file://{folder.archives}/") == 3
    assert done.stderr.count("its SHA-256 is not the known one") == 1
    text = folder.work / "data" / "news-commentary-v9.de-en.en"
    assert text.read_text() == "en of training/news-commentary-v9.de-en\n" * 3
    assert "europarl-v7.de-en.de: 3 lines" in done.stderr
    assert "newstest2014-official.en: 1 lines" in done.stderr
    assert [*(folder.work / "downloads").glob("*.part")] == []


def test_interrupted_download_continues(folder: Folder) -> None:
    folder.list_sources("de", folder.archives)
    name = "training-parallel-europarl-v7.tgz"
    data = bytearray((folder.archives / name).read_bytes())
    (folder.work / "downloads").mkdir(parents=True)
    part = folder.work / "downloads" / f"{name}.part"
    part.write_bytes(data[:100])
    # What is there is not asked for again.
    data[:100] = b"?" * 100
    (folder.archives / name).write_bytes(data)
    done = folder.run("de", "work")
    assert done.returncode == 0, done.stderr
    # A whole one that was not given its name yet.
    (folder.work / "downloads" / name).rename(part)
    shutil.rmtree(folder.work / "data")
    shutil.rmtree(folder.archives)
    folder.archives.mkdir()
    done = folder.run("de", "work")
    assert done.returncode == 0, done.stderr


def test_download_without_working_mirror_is_refused(folder: Folder) -> None:
    folder.list_sources("de", folder.path / "none", folder.path / "nowhere")
    done = folder.run("de", "work")
    assert done.returncode == 69
    assert "error: training-parallel-europarl-v7.tgz could not be downloaded" in done.stderr
    assert "--data-dir" in done.stderr
    assert folder.calls() == []


def test_unpublished_checksums_are_recorded_and_compared(folder: Folder) -> None:
    folder.list_sources("de", folder.archives, sums=False)
    done = folder.run("de", "work")
    assert done.returncode == 0, done.stderr
    noted = dict(
        line.split("  ")[::-1] for line in (folder.work / "wmt14.lock").read_text().splitlines()
    )
    assert len(noted) == 3 + 6
    for name in list(CORPORA)[:3]:
        assert noted[name] == hashlib.sha256((folder.archives / name).read_bytes()).hexdigest()
    # Taken out again: the archive is compared with what was noted.
    (folder.work / "data" / "commoncrawl.de-en.en").unlink()
    with (folder.work / "downloads" / "training-parallel-commoncrawl.tgz").open("ab") as file:
        file.write(b"x")
    done = folder.run("de", "work")
    assert done.returncode == 65
    assert "training-parallel-commoncrawl.tgz is damaged" in done.stderr


def test_a_changed_test_set_is_refused(folder: Folder) -> None:
    folder.list_sources("de", folder.archives)
    assert folder.run("de", "work").returncode == 0
    (folder.work / "data" / "newstest2014.de").write_text("easier\n")
    done = folder.run("de", "work")
    assert done.returncode == 65
    assert "data/newstest2014.de is not what it was" in done.stderr
    assert folder.calls() == []


def test_archive_with_other_content_is_refused(folder: Folder) -> None:
    folder.list_sources("de", folder.archives)
    table = folder.recipes / "wmt14_sources.txt"
    table.write_text(table.read_text().replace(" commoncrawl.XX", " uncommoncrawl.XX"))
    done = folder.run("de", "work")
    assert done.returncode == 65
    assert "training-parallel-commoncrawl.tgz has no uncommoncrawl.de-en.en" in done.stderr


def test_sacrebleu_test_sets_without_network(folder: Folder) -> None:
    folder.list_sources("de", folder.archives)
    folder.provide("sacrebleu", "#!/bin/sh\necho half\nexit 1\n")
    done = folder.run("de", "work")
    assert done.returncode == 69
    assert "sacreBLEU gave no wmt13" in done.stderr
    assert not (folder.work / "data" / "newstest2013.en").exists()


# -- local files ---------------------------------------------------------------------------------


def test_local_archives_and_text_replace_downloads(folder: Folder) -> None:
    folder.list_sources("fr", folder.path / "none", prefix="./")
    local = folder.archives
    (local / "europarl-v7.fr-en.en").write_text("one\n")
    (local / "europarl-v7.fr-en.fr").write_text("un\n")
    subprocess.run(["gzip", local / "europarl-v7.fr-en.fr"], check=True)
    (local / "giga-fren.release2.fixed.en").write_text("two\n")
    (local / "giga-fren.release2.fixed.fr.xz").write_bytes(
        subprocess.run(["xz", "-c"], input=b"deux\n", capture_output=True, check=True).stdout
    )
    for name in ("newstest2013", "newstest2014"):
        for language in ("en", "fr"):
            (local / f"{name}.{language}").write_text("three\n")
    subprocess.run(["xz", local / "newstest2013.en"], check=True)
    subprocess.run(["gzip", local / "newstest2014.fr"], check=True)
    done = folder.run("fr", "--data-dir", "archives", "work")
    assert done.returncode == 0, done.stderr
    for name in ("newstest2013.en", "newstest2013.fr", "newstest2014.fr"):
        assert (folder.work / "data" / name).read_text() == "three\n"
    assert "downloading" not in done.stderr
    assert not (folder.work / "downloads").exists()
    init = folder.calls()[0]
    assert init[0] == "init"
    trained = [init[n + 1 : n + 3] for n, part in enumerate(init) if part == "--train"]
    assert trained == [
        [f"{local}/europarl-v7.fr-en.en", f"{local}/europarl-v7.fr-en.fr.gz"],
        ["data/commoncrawl.fr-en.en", "data/commoncrawl.fr-en.fr"],
        ["data/news-commentary-v9.fr-en.en", "data/news-commentary-v9.fr-en.fr"],
        ["data/undoc.2000.fr-en.en", "data/undoc.2000.fr-en.fr"],
        [f"{local}/giga-fren.release2.fixed.en", f"{local}/giga-fren.release2.fixed.fr.xz"],
    ]
    assert "giga-fren.release2.fixed.fr.gz: 1 lines" in done.stderr
    assert not any(call[0] == "sacrebleu" for call in folder.calls())
    (local / "europarl-v7.fr-en.en").write_text("other\n")
    done = folder.run("fr", "--data-dir", "archives", "work")
    assert done.returncode == 65
    assert "europarl-v7.fr-en.en is not what it was" in done.stderr


def test_all_missing_data_are_named_at_once(folder: Folder) -> None:
    (folder.archives / "commoncrawl.de-en.en").touch()
    (folder.archives / "newstest2013.en").touch()
    done = folder.run("de", "--data-dir", "archives", "work")
    assert done.returncode == 66
    for name in list(CORPORA)[:3]:
        assert name in done.stderr
    for name in ("newstest2013.de", "newstest2014.en", "newstest2014-official.de"):
        assert name in done.stderr
    assert "newstest2013.en" not in done.stderr.split("error:")[1]
    assert folder.calls() == []


def test_local_archive_is_compared_with_the_published_checksum(folder: Folder) -> None:
    folder.list_sources("de", folder.path / "none")
    (folder.archives / "training-parallel-nc-v9.tgz").write_text("not it")
    done = folder.run("de", "--data-dir", "archives", "work")
    assert done.returncode == 65
    assert "training-parallel-nc-v9.tgz is damaged" in done.stderr


def test_text_of_another_source_needs_another_folder(folder: Folder) -> None:
    folder.list_sources("de", folder.archives)
    local = folder.path / "local"
    shutil.copytree(folder.archives, local)
    for name in ("newstest2013", "newstest2014", "newstest2014-official"):
        for language in ("en", "de"):
            (local / f"{name}.{language}").write_text("three\n")
    for first, second in (["--data-dir", "local"], []), ([], ["--data-dir", "local"]):
        done = folder.run("de", *first, "work")
        assert done.returncode == 0, done.stderr
        done = folder.run("de", *second, "work", MODEL="big")
        assert done.returncode == 78
        assert "work holds results of DATA=" in done.stderr
        assert f"DATA={local}" in done.stderr
        assert folder.calls() == []
        assert folder.run("de", *first, "work", MODEL="big").returncode == 0
        shutil.rmtree(folder.work)


def test_failed_download_does_not_rule_out_local_files(folder: Folder) -> None:
    folder.list_sources("de", folder.path / "none")
    assert folder.run("de", "work").returncode == 69
    for name in ("newstest2013", "newstest2014", "newstest2014-official"):
        for language in ("en", "de"):
            (folder.archives / f"{name}.{language}").write_text("three\n")
    done = folder.run("de", "--data-dir", "archives", "work")
    assert done.returncode == 0, done.stderr


# -- what is done with it ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tgt", "model"), [("de", "base"), ("de", "big"), ("fr", "base"), ("fr", "big")]
)
def test_wmt14_recipe_trains_the_papers_model(folder: Folder, tgt: str, model: str) -> None:
    folder.list_sources(tgt, folder.archives)
    done = folder.run(tgt, "work", MODEL=model)
    assert done.returncode == 0, done.stderr
    calls = {call[0]: call for call in folder.calls() if call[0] != "sacrebleu"}
    config, origins = resolved(calls["train"], calls["prepare"])
    paper = resolve([SettingsLayer("preset", {"train.preset": model})]).config
    changed = {key for key, origin in origins.items() if origin == "recipe"} - {"train.preset"}
    looks = {"train.validate_every", "train.validation_sentences"}
    kinds = {"data.vocab_size", "data.subwords"}
    assert changed - looks - kinds == (
        {"model.dropout"} if (tgt, model) == ("fr", "big") else set()
    )
    assert config.model.dropout == (0.3 if (tgt, model) == ("de", "big") else 0.1)
    assert config.train.validate_every % paper.train.checkpoint_every == 0
    expected = {"de": ("bpe", 37_000), "fr": ("wordpiece", 32_000)}[tgt]
    assert (config.data.subwords, config.data.vocab_size) == expected
    assert config.data.joint
    # Ten minutes of 0.4 s or 1.0 s between the last 5 or 20.
    seconds, kept = {"base": (0.4, 5), "big": (1.0, 20)}[model]
    assert config.train.checkpoint_every * seconds == 600
    assert config.train.keep_last == kept
    assert "--last" not in calls["average"]  # As many as keep_last says.
    assert (value(calls["translate"], "--beam"), value(calls["translate"], "--alpha")) == (
        "4",
        "0.6",
    )
    benches = [call for call in folder.calls() if call[0] == "bench"]
    assert [value(call, "--row") for call in benches] == [model] * 2
    assert ["--json" in call for call in benches] == [True, False]
    assert done.stdout == "table\n"
    for call in calls.values():
        assert {part for part in call if part.startswith("--")} <= OPTIONS


def test_wmt14_recipe_continues_after_interruption(folder: Folder) -> None:
    folder.list_sources("de", folder.archives)
    assert folder.run("de", "work").returncode == 0
    names = [call[0] for call in folder.calls() if call[0] != "sacrebleu"]
    assert names == [
        "init", "prepare", "train", "average", "translate", "translate", "bench", "bench",
    ]  # fmt: skip
    shutil.rmtree(folder.archives)
    shutil.rmtree(folder.work / "downloads")
    assert folder.run("de", "work").returncode == 0
    again = [call[0] for call in folder.calls()]
    assert again == ["prepare", "train", "bench", "bench"]
    # The other model shares text and corpus.
    assert folder.run("de", "work", MODEL="big").returncode == 0
    calls = folder.calls()
    assert [call[0] for call in calls] == names[1:]
    assert value(calls[1], "--out") == "big/model"
    assert value(calls[0], "--out") == value(calls[1], "--corpus") == "corpus"
    # Trained further: a new average, new translations.
    for name in ("average/manifest.json", "newstest2014.de", "newstest2014-official.de"):
        os.utime(folder.work / "base" / name, (1, 1))
    assert folder.run("de", "work", STEPS="200000").returncode == 0
    calls = folder.calls()
    assert [call[0] for call in calls] == names[1:]
    assert value(calls[1], "--max-steps") == "200000"
    assert [value(call, "-o") for call in calls[3:5]] == [
        "base/newstest2014.part", "base/newstest2014-official.part",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("model", "steps", "every"),
    [("base", 100, 20), ("base", 7_499, 1_499), ("base", 7_500, None), ("base", 3, 1),
     ("big", 11_999, 599), ("big", 12_000, None), ("tiny", 3, 1)],
)  # fmt: skip
def test_few_steps_leave_as_many_checkpoints_as_are_averaged(
    folder: Folder, model: str, steps: int, every: int | None
) -> None:
    folder.list_sources("de", folder.archives)
    done = folder.run("de", "work", MODEL=model, STEPS=str(steps))
    assert done.returncode == 0, done.stderr
    prepare, train = (
        next(call for call in folder.calls() if call[0] == name) for name in ("prepare", "train")
    )
    assert value(train, "--max-steps") == str(steps)
    assert settings(train).get("train.checkpoint_every") == (every and str(every))
    # A setting would win over the option.
    assert settings(train).get("train.max_steps", str(steps)) == str(steps)
    config = resolved(train, prepare).config.train
    assert steps // config.checkpoint_every >= min(config.keep_last, steps)


@pytest.mark.parametrize("steps", ["0", "1e5", "100 000", "-5", "many"])
def test_steps_that_are_no_number_are_refused_first(folder: Folder, steps: str) -> None:
    done = folder.run("de", "work", STEPS=steps)
    assert done.returncode == 2
    assert f"error: STEPS is `{steps}`" in done.stderr
    assert folder.calls() == []
    assert not folder.work.exists()


@pytest.mark.parametrize(
    ("arguments", "model", "code", "message"),
    [
        (["one", "two"], "base", 2, "usage: [MODEL=base|big] [STEPS=N] wmt14_en_de.sh"),
        (["--data-dir"], "base", 2, "usage: "),
        (["--datadir", "x"], "base", 2, "usage: "),
        ([], "huge", 2, "MODEL is base, big or tiny"),
        (["--data-dir", "none"], "base", 66, "there is no folder none"),
    ],
)
def test_wmt14_recipe_reports_wrong_arguments_first(
    folder: Folder, arguments, model, code, message
) -> None:
    done = folder.run("de", *arguments, MODEL=model)
    assert done.returncode == code
    assert message in done.stderr
    assert folder.calls() == []
    assert not (folder.path / "runs").exists()


def known_options() -> set[str]:
    group = make_command()
    commands = [
        group.get_command(None, name)
        for name in ("init", "prepare", "train", "average", "translate", "bench")
    ]
    commands += list(commands[-1].commands.values())
    return {name for command in commands for param in command.params for name in param.opts}


OPTIONS = known_options()


# -- the whole road ------------------------------------------------------------------------------


def provide_text(folder: Folder, tgt: str, names: list[str]) -> None:
    splits = {"newstest2013": ("valid", 20), "newstest2014": ("test", 12)}
    for seed, name in enumerate([*names, "newstest2013", "newstest2014", "newstest2014-official"]):
        split, count = splits.get(name.removesuffix("-official"), ("train", 300))
        pairs = list(make_pairs(count, seed=seed, split=split))
        sides = {"en": [pair.src for pair in pairs], tgt: [pair.tgt for pair in pairs]}
        for language, lines in sides.items():
            path = folder.archives / f"{name}.{language}"
            path.write_text("".join(f"{line}\n" for line in lines))


@pytest.mark.slow
@pytest.mark.parametrize("tgt", ["de", "fr"])
def test_wmt14_miniature_runs_to_its_end(folder: Folder, tgt: str) -> None:
    folder.provide("nmt", f'#!/bin/sh\nexec "{sys.executable}" -m nmt_cli "$@"\n')
    stems = [CORPORA[name].split("/")[-1].replace("XX", tgt) for name in CORPORA]
    provide_text(folder, tgt, stems[: 3 if tgt == "de" else 5])
    done = folder.run(tgt, "--data-dir", "archives", "work", MODEL="tiny")
    assert done.returncode == 0, done.stderr
    tiny = folder.work / "tiny"
    prepared = json.loads((folder.work / "prepare.json").read_text())
    assert prepared["read"] == 300 * (3 if tgt == "de" else 5)
    assert 0 < prepared["kept"] <= prepared["read"]
    assert "pairs kept" in done.stderr
    assert "averaged 2: tiny/model/checkpoints/step-000000004" in done.stderr
    assert (tiny / f"newstest2014.{tgt}").read_text().count("\n") == 12
    document = json.loads((tiny / "table2.json").read_text())
    assert (document["pair"], document["row"]) == (f"en-{tgt}", "base")
    assert (document["finished"], document["devices"]) == (True, ["CPU"])
    metrics = ["BLEU-paper", "BLEU-tokenized", "BLEU"] if tgt == "de" else ["BLEU-paper", "BLEU"]
    figures = document["figures"]
    tests = 2 if tgt == "de" else 1
    assert [figure["name"] for figure in figures[:-4]] == metrics * tests
    assert [figure["name"] for figure in figures[-4:]] == [
        "flops",
        "gpu_time_flops",
        "hours",
        "steps",
    ]
    assert figures[-1]["value"] == 6
    assert figures[-4]["value"] > 0
    assert f"Table 2, en-{tgt}, base" in done.stdout
    assert "no BLEU is compared" in done.stdout
    if tgt == "fr":
        return
    again = folder.run(tgt, "--data-dir", "archives", "work", MODEL="tiny")
    assert again.returncode == 0, again.stderr
    assert again.stdout == done.stdout
    assert "already finished" in again.stderr
    assert "averaged" not in again.stderr
