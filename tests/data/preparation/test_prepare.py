"""`prepare`: which pairs are kept or dropped and why; the same files for any workers."""

import gzip
import hashlib
import json
import random
import socket
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_cli.config.schema import Config, SettingsLayer, resolve
from nmt_cli.data import process_pool
from nmt_cli.data.cleaning import clean
from nmt_cli.data.cleaning.clean import Cleaning
from nmt_cli.data.cleaning.held_out.digests import find_duplicates
from nmt_cli.data.cleaning.kinds import KINDS
from nmt_cli.data.corpus.corpus import Corpus
from nmt_cli.data.preparation.encode import Tally, choose_sample, drop_reason
from nmt_cli.data.preparation.outdated import changes_since
from nmt_cli.data.preparation.passes import PreparedCorpus
from nmt_cli.data.preparation.prepare import prepare
from nmt_cli.data.text.lines import read_lines
from nmt_cli.errors import CannotCreateError, DataError, NmtError, NoInputError, UsageError

DATA = Path(__file__).resolve().parents[4] / "shared" / "data"


def made_up_pairs(count: int, seed: int) -> list[tuple[str, str]]:
    """Return pairs of sentences of made-up words; the target is the source in title case."""
    chooser = random.Random(seed)
    syllables = ["ba", "du", "gel", "mor", "nis", "tra", "vo", "kü", "ße"]
    pairs = []
    for _ in range(count):
        words = ["".join(chooser.choices(syllables, k=2)) for _ in range(chooser.randint(2, 9))]
        pairs.append((" ".join(words) + ".", " ".join(words).title() + "."))
    return pairs


class Project:
    """A folder of text files, and settings that name them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.out = folder / "corpus"

    def write(self, name: str, pairs: list[tuple[str, str]]) -> tuple[str, str]:
        paths = self.folder / f"{name}.src", self.folder / f"{name}.tgt"
        for path, lines in zip(paths, zip(*pairs, strict=True), strict=True):
            path.write_bytes("".join(f"{line}\n" for line in lines).encode())
        return str(paths[0]), str(paths[1])

    def config(self, *train: tuple[str, ...], **data: object) -> Config:
        values = {"data.train": list(train), "data.vocab_size": 80}
        return resolve(
            [
                SettingsLayer(
                    "test", {**values, **{f"data.{key}": value for key, value in data.items()}}
                )
            ]
        ).config

    def prepare(self, *train: tuple[str, ...], **data: object) -> PreparedCorpus:
        return prepare(self.config(*train, **data), self.out, workers=1)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def tree(folder: Path) -> dict[str, str]:
    """Return the hash of each file by name."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.mark.parametrize(
    "data", [{}, {"subwords": "wordpiece", "normalize": True, "joint": False, "sample_lines": 200}]
)
def test_files_are_the_same_for_any_number_of_workers(project, monkeypatch, data):
    monkeypatch.setattr(clean, "CHUNK_PAIRS", 37)
    monkeypatch.setattr(process_pool, "ALONE_SECONDS", 0.0)
    pairs = made_up_pairs(600, 1)
    config = project.config(
        project.write("one", [*pairs, ("", "x"), *pairs[:50]]),
        project.write("two", made_up_pairs(100, 2)),
        valid=project.write("valid", made_up_pairs(20, 3)),
        **data,
    )
    trees = []
    for workers in (1, 3):
        out = project.folder / f"corpus-{workers}"
        prepare(config, out, workers=workers)
        trees.append(tree(out))
    assert len(trees[0]) >= 18
    assert trees[0] == trees[1]


def test_dropped_pairs_are_counted_by_reason(project):
    good = made_up_pairs(50, 1)
    odd = [
        ("", "empty source"),
        ("empty target", " \t "),
        ("\x00\x0b", "only controls"),
        good[3],
        good[3],
        ("ba " * 300, "Du " * 300),
        ("ba du", " ".join(["Du Ba"] * 30)),
    ]
    prepared = project.prepare(project.write("train", good + odd), min_length=2)
    assert prepared.read == 57
    assert prepared.dropped == {
        "empty side": 3,
        "same pair before": 2,
        "too long": 1,
        "lengths too different": 1,
    }
    assert prepared.kept == 50
    assert prepared.read == prepared.kept + sum(prepared.dropped.values())
    corpus = Corpus.open(project.out)
    assert corpus.subwords.decode_source([src for src, _ in corpus.train]) == [a for a, _ in good]
    assert corpus.subwords.decode_target([tgt for _, tgt in corpus.train]) == [b for _, b in good]


@pytest.mark.parametrize(
    ("src", "tgt", "reason"),
    [
        (2, 2, "clean"),
        (1, 2, "too short"),
        (10, 11, "too long"),
        (2, 6, "clean"),
        (2, 7, "lengths too different"),
        (7, 2, "lengths too different"),
    ],
)
def test_drop_reason_at_the_limits(project, src, tgt, reason):
    data = project.config(min_length=2, max_length=10, max_ratio=3.0).data
    assert KINDS[drop_reason(data, src, tgt)].name == reason


def test_table_matches_the_corpus(project):
    prepared = project.prepare(
        project.write("train", made_up_pairs(200, 1)), valid=project.write("v", [("a ☃", "b")])
    )
    corpus = Corpus.open(project.out)
    assert prepared.src.tokens == len(corpus.train.src.ids) == corpus.train.src_lengths.sum()
    assert prepared.tgt.tokens == len(corpus.train.tgt.ids)
    text = list(read_lines(project.out / "train.tgt.txt"))
    words = sum(len(line.split()) for line in text)
    assert prepared.tgt.fertility == (prepared.tgt.tokens - 200) / words
    assert prepared.src_size == prepared.tgt_size == 80
    assert (prepared.src.unknowns, prepared.valid) == (0, 1)
    assert corpus.valid is not None
    assert (corpus.valid[0][0] == corpus.subwords.unk_id).sum() == 1


def test_tally_counts_unknowns_and_fertility():
    tally = Tally()
    tally.add(["a b", "c"], [[5, 1, 6, 3], [1, 3]], unk_id=1)
    assert (tally.sentences, tally.words, tally.tokens, tally.unknowns) == (2, 3, 6, 2)
    assert tally.fertility == 4 / 3


def test_origin_and_the_first_of_duplicates_are_kept(project):
    first, second = made_up_pairs(30, 1), made_up_pairs(40, 2)
    prepared = project.prepare(project.write("a", first), project.write("b", second + first))
    assert prepared.dropped == {"same pair before": 30}
    assert Corpus.open(project.out).train.origin.tolist() == [0] * 30 + [1] * 40


def test_duplicates_are_kept_without_drop_duplicates(project):
    pairs = made_up_pairs(30, 1)
    prepared = project.prepare(project.write("a", pairs * 2), drop_duplicates=False)
    assert (prepared.kept, prepared.dropped) == (60, {})


@given(st.lists(st.integers(0, 5)))
def test_find_duplicates_marks_repetitions(numbers):
    digests = b"".join(bytes([number]) * 16 for number in numbers)
    expected = [number in numbers[:index] for index, number in enumerate(numbers)]
    assert find_duplicates(digests).tolist() == expected


def test_stored_text_matches_the_ids(project):
    pairs = [*made_up_pairs(99, 1), ("", "x"), ("tab\there\u2028and\x1b[1m", "da\x0bdort\x85 ▁")]
    project.prepare(project.write("train", pairs), vocab_size=90)
    corpus = Corpus.open(project.out)
    src = list(read_lines(project.out / "train.src.txt"))
    tgt = list(read_lines(project.out / "train.tgt.txt"))
    assert (src[-1], tgt[-1]) == ("tab here and", "da dort… _")
    assert corpus.subwords.encode_source(src) == [ids.tolist() for ids, _ in corpus.train]
    assert corpus.subwords.encode_target(tgt) == [ids.tolist() for _, ids in corpus.train]


def test_validation_pairs_are_kept_unchanged(project):
    valid = [("  two  spaces\u2028", "a\x0bb"), ("", ""), ("ba " * 400, "x"), ("", "")]
    prepared = project.prepare(
        project.write("train", made_up_pairs(50, 1)), valid=project.write("valid", valid)
    )
    corpus = Corpus.open(project.out)
    assert corpus.valid is not None
    assert corpus.valid_text == ([src for src, _ in valid], [tgt for _, tgt in valid])
    assert len(corpus.valid) == prepared.valid == 4
    assert corpus.valid[1][0].tolist() == [corpus.subwords.eos_id]
    assert "2 of 4 validation pairs have an empty side: lines 2, 4" in prepared.notes


def test_test_set_is_checked_like_validation_text(project):
    train = project.write("train", made_up_pairs(50, 1))
    test = project.write("test", [("a b", "x"), ("", "y"), ("c", " "), ("d", "z")])
    more = project.write("more", [("", "x"), ("", ""), ("", "y"), ("", "z")])[1]
    prepared = prepare(project.config(train, test=(*test, more)), project.folder / "other")
    assert "2 of 4 test pairs have an empty side: lines 2, 3" in prepared.notes
    assert prepared.kept == 50
    short = project.write("short", [("", "x")])[1]
    for files in ((test[0], short), (*test, short)):
        error = refused(project, DataError, project.config(train, test=files))
        assert f"`{short}` has 1" in error.message
    fewer = project.write("fewer", [("", "y")] * 2)[1]
    # One error names the training and the test files.
    error = refused(project, DataError, project.config((train[0], fewer), test=(*test, short)))
    assert all(part in error.message for part in (f"`{fewer}` has 2", f"`{short}` has 1"))


def test_one_file_for_both_sides_is_refused(project):
    src, tgt = project.write("train", made_up_pairs(50, 1))
    (other := project.folder / "copy").write_bytes(Path(src).read_bytes())
    (link := project.folder / "link").symlink_to(src)
    for files in ((src, src), (src, str(link)), (src, f"{project.folder}/./{Path(src).name}")):
        error = refused(project, UsageError, project.config(files))
        assert error.message == f"data.train: `{src}` is given for both sides"
        error = refused(project, UsageError, project.config((src, tgt), valid=files))
        assert error.message == f"data.valid: `{src}` is given for both sides"
    # The same text under another name is accepted.
    assert project.prepare((src, str(other))).kept == 50


def test_text_that_looks_like_special_symbols_stays_text(project):
    pairs = [("</s> <pad> ba <unk>", "<s> <2de> <0x0A> Du")] * 9 + made_up_pairs(50, 1)
    project.prepare(project.write("train", pairs), drop_duplicates=False, vocab_size=120)
    corpus = Corpus.open(project.out)
    for side in (corpus.train.src, corpus.train.tgt):
        ends = side.offsets[1:] - 1
        assert (side.ids[ends] == corpus.subwords.eos_id).all()
        assert (np.delete(side.ids, ends) > corpus.subwords.eos_id).all()


def test_normalize_applies_moses_to_each_line(project):
    cleaning = Cleaning(normalize=True, src="en", tgt="fr")
    assert cleaning.clean("src", ["“Yes” – ‘no’…", ""]) == ["\"Yes\" - 'no'...", ""]
    assert cleaning.clean("tgt", ["« Oui » ?\u2028\r"]) == ['" Oui " ?']
    pairs = [(f"{a} “{n}”", f"{b} »{n}«") for n, (a, b) in enumerate(made_up_pairs(50, 1))]
    project.prepare(project.write("train", pairs), normalize=True)
    assert not set("“”»«") & set((project.out / "train.src.txt").read_text("utf-8"))


def test_tsv_and_stdin(project, monkeypatch):
    import io
    import sys

    pairs = made_up_pairs(60, 1)
    text = gzip.compress("".join(f"{src}\t{tgt}\r\n" for src, tgt in pairs).encode())
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    assert project.prepare(("-",)).kept == 60
    assert len(Corpus.open(project.out).train) == 60


def test_suspicious_text_is_used_with_notes(project):
    pairs = made_up_pairs(2_000, 1)
    src, tgt = project.write("train", pairs)
    Path(src).write_bytes(Path(src).read_bytes().replace(b"ba", b"b\xe4", 1))
    lines = Path(tgt).read_bytes().split(b"\n")[:-1]
    Path(tgt).write_bytes(b"\n".join(lines[:900] + lines[901:] + [b"x", b""]))
    prepared = project.prepare((src, tgt))
    assert len(prepared.notes) == 2
    assert "1 line is not UTF-8, the first at line:byte " in prepared.notes[0]
    assert "shifted against each other near line 90" in prepared.notes[1]


def test_choose_sample_is_random_but_repeatable():
    keep = np.arange(10_000) % 5 > 0
    assert (choose_sample(keep, 8_000, seed=1) == keep).all()
    sample = choose_sample(keep, 2_000, seed=1)
    assert (sample == choose_sample(keep, 2_000, seed=1)).all()
    assert (sample != choose_sample(keep, 2_000, seed=2)).any()
    assert not (sample & ~keep).any()
    assert sample.sum() == 2_000
    assert sample[:5_000].sum() > 800


def test_subwords_are_learnt_from_the_sample_only(project):
    train = project.write("train", made_up_pairs(300, 1))
    project.prepare(train, subwords="chars")
    whole = Corpus.open(project.out).subwords.src_size
    prepare(project.config(train, subwords="chars", sample_lines=1), project.out, force=True)
    assert Corpus.open(project.out).subwords.src_size < whole


def test_progress_is_reported_to_the_end(project, monkeypatch):
    monkeypatch.setattr(clean, "CHUNK_PAIRS", 50)
    reported: dict[str, list[tuple[int, int | None]]] = {}
    config = project.config(project.write("train", made_up_pairs(400, 1)))
    prepare(
        config, project.out, workers=1,
        progress=lambda stage, done, total: reported.setdefault(stage, []).append((done, total)),
    )  # fmt: skip
    assert list(reported) == [
        "read", "compare languages", "count words", "learn subwords", "encode", "measure text",
    ]  # fmt: skip
    assert [done for done, _ in reported["read"]] == list(range(50, 401, 50))
    assert reported["read"][-1] == reported["encode"][-1] == (400, 400)


def refused(project: Project, error: type[NmtError], config: Config) -> NmtError:
    """Return the error of `prepare`, and check that no files are left."""
    before = sorted(project.folder.iterdir())
    with pytest.raises(error) as caught:
        prepare(config, project.out, workers=1)
    assert sorted(project.folder.iterdir()) == before
    assert caught.value.hint or error is NoInputError
    return caught.value


def test_missing_training_files_setting_is_refused(project):
    error = refused(project, UsageError, project.config())
    assert "--train SRC TGT" in error.hint
    assert "nmt init" in error.hint


def test_all_missing_files_are_named_in_one_error(project):
    config = project.config(
        ("none.src", str(project.folder)), valid=["nothing", "-"], test=["absent.src", "absent.tgt"]
    )
    message = refused(project, NoInputError, config).message
    for name in ("none.src", str(project.folder), "nothing", "`-`", "absent.src", "absent.tgt"):
        assert name in message


def test_wrong_number_of_files_is_refused(project):
    src, tgt = project.write("train", made_up_pairs(9, 1))
    assert "3 files" in refused(project, UsageError, project.config((src, tgt, tgt))).message
    assert "0 files" in refused(project, UsageError, project.config(())).message
    with pytest.raises(UsageError, match="only once"):
        prepare(project.config(("-", "-")), project.out)


@pytest.mark.parametrize("text", [[], [("", "")], [("\x00", "a"), ("a", " ")]])
def test_text_without_pairs_is_refused(project, text):
    (empty := project.folder / "empty").touch()
    paths = project.write("train", text) if text else (str(empty), "/dev/null")
    assert "no pair" in refused(project, DataError, project.config(paths)).message


def test_error_if_the_filters_drop_all_pairs(project):
    train = project.write("train", made_up_pairs(30, 1))
    config = project.config(train, min_length=200, max_length=300)
    assert "30 too short" in refused(project, DataError, config).message


def test_misaligned_and_damaged_files_are_refused(project):
    src, tgt = project.write("train", made_up_pairs(900, 1))
    other, _ = project.write("other", made_up_pairs(899, 2))
    assert "has 900" in refused(project, DataError, project.config((other, tgt))).message
    whole = gzip.compress(Path(src).read_bytes())
    Path(src).write_bytes(whole[: len(whole) // 2])
    assert "ends in the middle" in refused(project, DataError, project.config((src, tgt))).message


def test_one_error_names_all_reasons_against_the_work(project):
    train = project.write("train", made_up_pairs(60, 1))
    project.prepare(train)
    src, _ = project.write("valid", made_up_pairs(6, 2))
    _, tgt = project.write("other", made_up_pairs(5, 3))
    latin = project.folder / "latin.src"
    latin.write_bytes("für Äpfel, schön\n".encode("latin-1") * 5)
    (dropped := project.folder / "dropped.tsv").write_text("mine")
    (repaired := project.folder / "repaired.tsv").write_text("mine")
    config = project.config(train, valid=[src, tgt], test=[str(latin), tgt], clean="strict")
    with pytest.raises(CannotCreateError) as caught:
        prepare(config, project.out, dropped=dropped, repaired=repaired)
    for part in ("dropped.tsv` exists already", "repaired.tsv` exists already",
                 'data.clean was "safe", is "strict"', "latin.src", "has 6 lines"):  # fmt: skip
        assert part in caught.value.message
    config = project.config(("none.src", tgt), valid=[src, tgt])
    message = refused(project, NoInputError, config).message
    assert "none.src" in message
    assert "has 6 lines" in message


def written(folder: Path) -> dict[Path, tuple[int, int]]:
    """Return the inode and modification time of each file, which reading does not change."""
    stats = {path: path.stat() for path in folder.rglob("*")}
    return {path: (stat.st_ino, stat.st_mtime_ns) for path, stat in stats.items()}


def test_same_text_and_settings_reuse_the_corpus(project):
    train = project.write("train", made_up_pairs(60, 1))
    first = project.prepare(train)
    before = written(project.out)
    again = project.prepare(train)
    assert again.reused
    assert not first.reused
    assert again == PreparedCorpus(**{**vars(first), "reused": True})
    assert written(project.out) == before


def test_files_of_a_killed_run_are_removed_by_the_next(project):
    """This also holds for a run that reuses the corpus."""
    left = project.out.with_name(f".tmp-corpus.{2**31 - 1}@{socket.gethostname()}")
    train = project.write("train", made_up_pairs(60, 1))
    for reused in (False, True):
        (left / "work").mkdir(parents=True)
        assert project.prepare(train).reused is reused
        assert not left.exists()


def test_changed_settings_are_refused_with_the_difference(project):
    train = project.write("train", made_up_pairs(60, 1))
    project.prepare(train)
    before = tree(project.out)
    message = refused(project, CannotCreateError, project.config(train, vocab_size=70)).message
    assert "data.vocab_size was 80, is 70" in message
    project.write("train", made_up_pairs(60, 2))
    error = refused(project, CannotCreateError, project.config(train))
    assert error.message.endswith(
        f"differently: the text of `{train[0]}` and `{train[1]}` has changed"
    )
    assert "--force" in error.hint
    assert tree(project.out) == before
    prepare(project.config(train), project.out, force=True, workers=1)
    assert tree(project.out) != before


def test_only_what_differs_is_named_as_changed(project):
    train = project.write("train", made_up_pairs(60, 1))
    valid = project.write("valid", made_up_pairs(5, 2))
    project.prepare(train)
    error = refused(project, CannotCreateError, project.config(train, valid=valid))
    shown = json.dumps(valid)
    assert error.message.endswith(f"prepared differently: data.valid was [], is {shown}")
    prepare(project.config(train, valid=valid), project.out, force=True, workers=1)
    other = project.write("other", made_up_pairs(5, 3))
    error = refused(project, CannotCreateError, project.config(train, valid=other))
    assert error.message.endswith(f"data.valid was {shown}, is {json.dumps(other)}")
    error = refused(project, CannotCreateError, project.config(train))
    assert error.message.endswith(f"prepared differently: data.valid was {shown}, is []")


@pytest.mark.parametrize("name", ["valid", "test"])
def test_held_out_files_may_move_but_not_change(project, name):
    train = project.write("train", made_up_pairs(60, 1))
    files = project.write("held", made_up_pairs(5, 2))
    project.prepare(train, **{name: files})
    (project.folder / "moved").mkdir()
    moved = project.write("moved/held", made_up_pairs(5, 2))
    for file in files:
        Path(file).unlink()
    assert project.prepare(train, **{name: moved}).reused
    project.write("moved/held", made_up_pairs(5, 3))
    error = refused(project, CannotCreateError, project.config(train, **{name: moved}))
    assert error.message.endswith(
        f"differently: the text of `{moved[0]}` and `{moved[1]}` has changed"
    )


def test_of_many_changed_files_the_first_three_are_named(project):
    train = [project.write(f"train{n}", made_up_pairs(20, n)) for n in range(4)]
    project.prepare(*train)
    names = [f"`{path}`" for pair in train for path in pair]
    more = project.config(*train[1:], project.write("more", made_up_pairs(20, 9)))
    message = refused(project, CannotCreateError, more).message
    gone, new = (f"`{path[0]}` and `{path[1]}`" for path in (train[0], more.data.train[-1]))
    assert message.endswith(f"differently: data.train no longer has {gone}, and now has {new}")
    for n in range(4):
        project.write(f"train{n}", made_up_pairs(20, 5 + n))
    message = refused(project, CannotCreateError, project.config(*train)).message
    assert message.endswith(f"the text of {', '.join(names[:3])} and 5 more has changed")
    changes = changes_since(project.out, project.config(*train))
    assert [change.description for change in changes] == [message.partition("differently: ")[2]]


def test_changed_training_settings_reuse_the_corpus(project):
    train = project.write("train", made_up_pairs(60, 1))
    project.prepare(train)
    config = resolve([SettingsLayer("test", {"data.train": [train], "data.vocab_size": 80,
                                     "train.max_steps": 7, "model.heads": 4})]).config  # fmt: skip
    assert prepare(config, project.out).reused


def test_directory_that_is_not_a_corpus_is_not_replaced(project):
    project.out.mkdir()
    (project.out / "precious").write_text("mine")
    train = project.write("train", made_up_pairs(60, 1))
    message = refused(project, CannotCreateError, project.config(train)).message
    assert "was not written by nmt" in message
    assert (project.out / "precious").read_text() == "mine"


@pytest.mark.skipif(not (DATA / "multi30k").is_dir(), reason="the shared data is not here")
def test_prepare_of_real_captions(project):
    names = (str(DATA / "multi30k/train.en.xz"), str(DATA / "multi30k/train.de.xz"))
    valid = [str(DATA / "multi30k/val.en"), str(DATA / "multi30k/val.de")]
    prepared = project.prepare(names, valid=valid, vocab_size=8_000)
    assert (prepared.read, prepared.kept, prepared.valid) == (29_000, 28_995, 1_014)
    assert prepared.src.unknowns == prepared.tgt.unknowns == 0
    assert 1.15 < prepared.src.fertility < 1.25
    assert 1.25 < prepared.tgt.fertility < 1.4
