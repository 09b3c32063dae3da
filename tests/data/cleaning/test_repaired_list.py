"""The list of repaired pairs: which pairs, in which order, and when it is written."""

from pathlib import Path

import pytest
from corpora import tiny_config, write_pairs
from synthetic_pairs import two_languages

from nmt_cli.config.schema import Config
from nmt_cli.data.cleaning import clean
from nmt_cli.data.cleaning.chunks import Cleaning, RawChunk, clean_chunk
from nmt_cli.data.preparation.prepare import prepare
from nmt_cli.data.process_pool import ProcessPool
from nmt_cli.errors import CannotCreateError, DataError, WriteError
from nmt_cli.storage import files

HEADER = "file\tline\trepairs\tsource\ttarget\trepaired_source\trepaired_target\n"
CLEAN = two_languages(300, 1)
DIRTY = [
    ("Tom &amp; <b>sen</b>", "spe ing"),
    ("12. Ka\x07 to", "Tra ble"),
    ("ka to", "fÃ¼r \u200bble"),
    (CLEAN[3][0] + "&#8203;", CLEAN[3][1]),
    ("&nbsp;", "tra"),
    ("<b>ya</b> to", "<b>ow</b> ble"),
    ("lo\rru\x85", "tra\u2028spe"),
    ("ka@@ to", "\ufeff\x84tra\x93"),
]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def config_of(*train: tuple[str, ...], **data: object) -> Config:
    settings = {f"data_{key}": value for key, value in data.items()}
    return tiny_config(data_train=train, **{"data_vocab_size": 200, **settings})


def write_dirty(folder: Path) -> Config:
    """The settings for two files, whose pairs from 301 on need repair, and a table."""
    src, tgt = write_pairs(folder, "train", [*CLEAN, *DIRTY])
    more = two_languages(50, 2)
    rows = ["en&#9;\tde", *("\t".join(pair) for pair in more), "a &lt;\tb\tc", "&lt; mi\tble"]
    Path("my\ttable.tsv").write_text("".join(f"{row}\n" for row in rows))
    return config_of((Path(src).name, Path(tgt).name), ("my\ttable.tsv",))


ROWS = [
    ["train.src", "301", "HTML entities; tags on one side only",
     "Tom &amp; <b>sen</b>", "spe ing", "Tom & sen", "spe ing"],
    ["train.src", "302", "control characters; line numbers on one side only",
     "12. Ka\x07 to", "Tra ble", "Ka to", "Tra ble"],
    ["train.src", "303", "invisible characters; UTF-8 read in another encoding (Ã¼)",
     "ka to", "fÃ¼r \u200bble", "ka to", "für ble"],
    # These two are dropped after their repair.
    ["train.src", "304", "HTML entities; invisible characters",
     CLEAN[3][0] + "&#8203;", CLEAN[3][1], *CLEAN[3]],
    ["train.src", "305", "HTML entities", "&nbsp;", "tra", "", "tra"],
    ["train.src", "307", "control characters; Windows-1252 read as Latin-1",
     "lo ru\x85", "tra\u2028spe", "lo ru…", "tra spe"],
    ["train.src", "308", "byte order marks in the text; Windows-1252 read as Latin-1; "
     "marks of subwords (@@, ▁)", "ka@@ to", "\ufeff\x84tra\x93", "kato", "„tra“"],
    ["my table.tsv", "1", "HTML entities; control characters", "en&#9;", "de", "en", "de"],
    ["my table.tsv", "52", "HTML entities", "a &lt; b c", "", "a < b c", ""],
    ["my table.tsv", "53", "HTML entities", "&lt; mi", "ble", "< mi", "ble"],
]  # fmt: skip
LIST = HEADER + "".join("\t".join(row) + "\n" for row in ROWS)


def test_repaired_pairs_are_listed_before_and_after(folder: Path) -> None:
    config = write_dirty(folder)
    listed = folder / "repaired.tsv"
    result = prepare(
        config, folder / "corpus", workers=1, dropped=folder / "d.tsv", repaired=listed
    )
    assert listed.read_bytes().decode() == LIST
    assert result.repaired == len(ROWS)
    dropped = [row.split("\t")[:3] for row in (folder / "d.tsv").read_text().split("\n")[1:-1]]
    assert ["train.src", "304", "same pair before"] in dropped
    assert ["train.src", "305", "empty side"] in dropped
    counts = {finding.kind: finding.pairs for finding in result.findings}
    for kind in ("HTML entities", "control characters", "marks of subwords (@@, ▁)"):
        assert counts[kind] == sum(kind in row[2].split("; ") for row in ROWS)


@pytest.mark.parametrize("workers", [1, 2])
def test_the_list_does_not_depend_on_chunks_and_processes(
    folder: Path, workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clean, "CHUNK_PAIRS", 101 if workers > 1 else 3)
    monkeypatch.setattr("nmt_cli.data.process_pool.ALONE_SECONDS", 0.0)
    result = prepare(
        write_dirty(folder), folder / "corpus", workers=workers, repaired=folder / "repaired.tsv"
    )
    assert (folder / "repaired.tsv").read_bytes().decode() == LIST
    assert result.repaired == len(ROWS)


@pytest.mark.parametrize("chunk_pairs", [2, 8_192])
def test_pairs_that_look_the_same_come_last_and_those_with_letters_left_are_listed(
    folder: Path, chunk_pairs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All lines that the warning counts are listed, also those that it does not show."""
    monkeypatch.setattr(clean, "CHUNK_PAIRS", chunk_pairs)
    mixed = [("ka to", f"na\u03b7 ble {word}") for word in "abcdefg"]
    # Last, one that is repaired, too, and one that is dropped.
    mixed += [("ka &lt; to", "na\u03b7 blu"), ("", "na\u03b7")]
    write_pairs(folder, "train", [*CLEAN, ("cafe\u0301", "tra"), *mixed])
    result = prepare(
        config_of(("train.src", "train.tgt")), folder / "corpus", workers=1,
        repaired=folder / "repaired.tsv",
    )  # fmt: skip
    rows = [row.split("\t") for row in (folder / "repaired.tsv").read_text().split("\n")[1:-1]]
    left = "letters of another script, not repaired"
    assert [tuple(row[1:3]) for row in rows] == [
        *((str(line), left) for line in range(302, 309)),
        ("309", f"HTML entities; {left}"),
        ("310", left),
        ("301", "another Unicode form than NFC"),
    ]
    assert rows[0][3:] == ["ka to", "na\u03b7 ble a"] * 2
    assert (result.repaired, result.letters_left) == (2, 8)
    [note] = [note for note in result.notes if "another script" in note]
    assert "8 lines keep" in note
    assert note.endswith("...), which may be meant, so that they are not repaired: if they stand "
                         "in place of other letters, replace them in the file; "
                         "`--repaired FILE` lists all of them")  # fmt: skip


def test_the_corpus_is_the_same_with_and_without_the_list(folder: Path) -> None:
    config = write_dirty(folder)
    assert prepare(config, folder / "a", workers=1).repaired is None
    prepare(config, folder / "b", workers=1, repaired=folder / "repaired.tsv")
    contents = [
        {
            path.relative_to(folder / name): path.read_bytes()
            for path in sorted((folder / name).rglob("*"))
            if path.is_file()
        }
        for name in ("a", "b")
    ]
    assert contents[0] == contents[1]


def test_rows_are_made_only_for_the_list(folder: Path) -> None:
    pairs = (["&lt; a"], ["b"], [], [])
    for kept, rows in ((False, []), (True, [b"7\tHTML entities\t&lt; a\tb\t< a\tb\n"])):
        cleaning = Cleaning(False, "en", "de", keep_repaired=kept)
        assert clean_chunk(RawChunk(cleaning, 0, 7, *pairs)).repaired_rows == rows
    config = write_dirty(folder)
    for kept in (False, True):
        (work := folder / f"work-{kept}").mkdir()
        with ProcessPool(1) as pool:
            text = clean.clean_training_text(
                config, work, pool, [], lambda *_: None, keep_repaired=kept
            )
        names = {path.name for path in work.iterdir()}
        assert names == {"clean.src", "clean.tgt", "originals.tsv"} | (
            {"repaired.tsv"} if kept else set()
        )
        assert text.repaired_rows == kept * len(ROWS)


def test_only_control_characters_are_repaired_without_cleaning(folder: Path) -> None:
    src, tgt = write_pairs(folder, "train", [*CLEAN, *DIRTY])
    result = prepare(
        config_of((src, tgt), clean="off"), folder / "corpus", workers=1,
        repaired=folder / "repaired.tsv",
    )  # fmt: skip
    rows = [row.split("\t") for row in (folder / "repaired.tsv").read_text().split("\n")[1:-1]]
    assert [(row[1], row[2]) for row in rows] == [
        (line, "control characters") for line in ("302", "307", "308")
    ]
    assert rows[0][3:] == ["12. Ka\x07 to", "Tra ble", "12. Ka to", "Tra ble"]
    assert result.repaired == 3


def test_a_clean_text_has_a_list_without_rows(folder: Path) -> None:
    train = write_pairs(folder, "train", CLEAN)
    result = prepare(
        config_of(train), folder / "corpus", workers=1, repaired=folder / "repaired.tsv"
    )
    assert ((folder / "repaired.tsv").read_text(), result.repaired) == (HEADER, 0)


def test_a_preparation_that_fails_leaves_no_list_and_an_earlier_one(folder: Path) -> None:
    write_dirty(folder)
    config = config_of(("train.src", "train.tgt"), min_length=400, max_length=500)
    listed = folder / "repaired.tsv"
    before = sorted(folder.iterdir())
    for earlier in ("", f"{HEADER}earlier\n"):
        if earlier:
            listed.write_text(earlier)
        with pytest.raises(DataError, match="no training pair is left"):
            prepare(config, folder / "corpus", force=True, workers=1, repaired=listed)
        assert {*folder.iterdir()} == {*before, *([listed] if earlier else [])}
    assert listed.read_text() == earlier


def test_a_file_that_appears_meanwhile_is_kept(folder: Path) -> None:
    config, listed = write_dirty(folder), folder / "repaired.tsv"

    def write_other(stage: str, done: int, total: int | None) -> None:
        listed.write_text("mine\n")

    with pytest.raises(CannotCreateError, match="another process has written"):
        prepare(config, folder / "corpus", workers=1, repaired=listed, progress=write_other)
    assert listed.read_text() == "mine\n"
    assert (folder / "repaired-2.tsv").read_bytes().decode() == LIST


def test_a_list_that_cannot_be_completed_leaves_the_earlier_one(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, listed = write_dirty(folder), folder / "repaired.tsv"
    listed.write_text(f"{HEADER}earlier\n")
    rename = files.DISK.rename

    def fail(source: Path, target: Path) -> None:
        if target == listed:
            raise OSError(28, "No space left on device")
        rename(source, target)

    monkeypatch.setattr(files.DISK, "rename", fail)
    with pytest.raises(WriteError, match=r"repaired\.tsv"):
        prepare(config, folder / "corpus", force=True, workers=1, repaired=listed)
    assert listed.read_text() == f"{HEADER}earlier\n"
    assert not list(folder.glob(f"{files.TEMPORARY_PREFIX}*"))


@pytest.mark.parametrize("done", ["dropped", "repaired"])
def test_a_text_that_begins_as_a_list_is_not_replaced(folder: Path, done: str) -> None:
    config = write_dirty(folder)
    prepare(config, folder / "corpus", workers=1, **{done: folder / "list.tsv"})
    header = (folder / "list.tsv").read_text().partition("\n")[0]
    train = write_pairs(folder, "train", [(header, "ka"), *CLEAN])
    text = Path(train[0]).read_bytes()
    (folder / "link").symlink_to(train[0])
    for name in ("train.src", "link"):
        with pytest.raises(CannotCreateError, match="is an input file"):
            prepare(
                config_of(train), folder / "corpus", force=True, workers=1, **{done: folder / name}
            )
    assert Path(train[0]).read_bytes() == text
