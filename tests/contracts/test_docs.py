"""The generated documents say what the commands say."""

import html
import re
import shlex
import shutil
import subprocess
import tarfile
from pathlib import Path
from runpy import run_path

import pytest

from nmt_cli.cli import docs
from nmt_cli.config.presets import PRESETS
from nmt_cli.config.schema import SETTINGS, of_preset, with_values
from nmt_cli.extras.demo.files import TEST_PAIRS, TRAIN_PAIRS
from nmt_cli.model.kinds import count_parameters

ROOT = Path(__file__).resolve().parents[2]


def test_cli_guide_is_current() -> None:
    assert (ROOT / docs.GUIDE).read_text() == docs.guide(), "run `make docs`"


def test_every_help_begins_with_examples() -> None:
    for path, command, context in docs.walk_commands():
        if path == "nmt config":
            continue
        text = command.get_help(context)
        assert 0 < text.find("Examples:") < text.find("Options:"), path


def test_top_level_help_fits_a_small_terminal() -> None:
    path, command, context = next(docs.walk_commands())
    lines = command.get_help(context).splitlines()
    assert path == "nmt"
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80


def test_commands_that_draw_say_which_files_they_replace() -> None:
    helps = {path: command.get_help(context) for path, command, context in docs.walk_commands()}
    for path in ("nmt runs", "nmt plot", "nmt attention", "nmt bench layers"):
        assert "is replaced without it" in " ".join(helps[path].split())


def test_every_option_has_help() -> None:
    mute = [
        f"{path} {parameter.name}"
        for path, command, _ in docs.walk_commands()
        for parameter in command.params
        if not getattr(parameter, "help", None)
    ]
    assert mute == []


def test_generated_docs_equal_the_compared_ones(tmp_path: Path) -> None:
    docs.main(tmp_path)
    assert (tmp_path / docs.GUIDE).read_text() == docs.guide()
    assert (tmp_path / docs.SURFACE).read_text() == docs.surface()


def test_documented_archive_of_a_model_has_the_documented_files_only(tmp_path: Path) -> None:
    text = (ROOT / "docs/translating.md").read_text(encoding="utf-8")
    section = text.partition("## Giving a model to others")[2].partition("\n## ")[0]
    shutil.copytree(ROOT / "tests/golden/model-v1", tmp_path / "model")
    (tmp_path / "model/checkpoints").mkdir()
    for name in (".lock", "log.jsonl", "checkpoints/state.safetensors"):
        (tmp_path / "model" / name).write_text("process 1 on host")
    [command] = re.findall(r"^tar .*", section, re.MULTILINE)
    subprocess.run(shlex.split(command), cwd=tmp_path, check=True, timeout=60)
    with tarfile.open(tmp_path / "model.tar.gz") as archive:
        names = {name.split("/")[1] for name in archive.getnames() if "/" in name}
    assert "model.safetensors" in names
    documented = {name.strip("/") for name in re.findall(r"^\| `(.*?)` \|", section, re.MULTILINE)}
    assert names <= documented


@pytest.mark.parametrize("preset", ["base", "big"])
def test_disk_space_of_wmt14_follows_from_the_size_of_the_weights(preset: str) -> None:
    text = (ROOT / "docs/wmt14.md").read_text(encoding="utf-8")
    [row] = [line for line in text.splitlines() if line.startswith(f"| `{preset}/` |")]
    shown = [float(number) for number in re.findall(r"([\d.]+) GB", row)]
    sizes = {"model.src_vocab_size": 37_000, "model.tgt_vocab_size": 37_000}
    config = with_values(of_preset(preset), sizes)
    weights = 4 * count_parameters(config.model) / 1e9
    checkpoints = config.train.keep_last + config.train.keep_best
    assert f"{checkpoints} checkpoints" in row
    # Both moments beside two checkpoints; two more with their moments; two models.
    total = (checkpoints + 2 * 2 + 2 * 3 + 2) * weights
    assert shown[:2] == pytest.approx([total] * 2, rel=0.02)
    assert shown[2] == pytest.approx(weights, rel=0.01)


def test_picture_shows_the_recorded_demo() -> None:
    picture = run_path(str(ROOT / "docs/picture.py"))
    record = (ROOT / "docs/demo.txt").read_text(encoding="utf-8")
    words = " ".join(picture["shown_lines"](record)).split()
    assert svg_text((ROOT / "docs/demo.svg").read_text(encoding="utf-8")) == words, "`make docs`"


def test_picture_has_only_lines_of_the_recorded_demo() -> None:
    picture = run_path(str(ROOT / "docs/picture.py"))
    record = (ROOT / "docs/demo.txt").read_text(encoding="utf-8").splitlines()
    shown = picture["shown_lines"]("\n".join(record))
    assert [line for line in shown if line != picture["CUT"] and line not in record] == []
    assert "[...]" in shown


def test_picture_has_the_current_figures_of_the_demo() -> None:
    """The preset's number of steps and the demo's numbers of sentences."""
    shown = " ".join(svg_text((ROOT / "docs/demo.svg").read_text(encoding="utf-8")))
    steps = PRESETS["tiny"]["train.max_steps"]
    assert f"{steps} steps on" in shown
    assert f"step {steps}, " in shown
    assert re.findall(r"step (\d+),", shown)[-1] == str(steps)
    assert f"{TRAIN_PAIRS:,} sentence pairs" in shown
    assert f"% of {TEST_PAIRS:,}" in shown


def test_picture_fits_on_a_page() -> None:
    text = (ROOT / "docs/demo.svg").read_text(encoding="utf-8")
    [height] = re.findall(r'<svg [^>]*viewBox="0 0 [\d.]+ ([\d.]+)"', text)
    assert float(height) < 900


def svg_text(svg: str) -> list[str]:
    """The words of the picture, from top to bottom, without its title."""
    lines = re.findall(r'<text class="[^"]*-r\d+"[^>]*>(.*?)</text>', svg)
    return html.unescape(" ".join(lines)).split()


def test_contributing_lists_current_layers_and_folders() -> None:
    architecture = run_path(str(ROOT / "docs/architecture.py"))
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert page == architecture["current"](), "run `make docs`"


def test_contributing_layers_follow_the_import_contract() -> None:
    architecture = run_path(str(ROOT / "docs/architecture.py"))
    pyproject = (
        '[[tool.importlinter.contracts]]\ntype = "layers"\n'
        'layers = ["nmt_cli.config | nmt_cli.storage", "nmt_cli.errors"]\n'
    )
    assert architecture["layers"](pyproject).splitlines()[1:-1] == ["config | storage", "errors"]


PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("recipes/**/*.md")])


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-") for text in headings}


@pytest.mark.parametrize("page", PAGES, ids=[path.relative_to(ROOT).as_posix() for path in PAGES])
def test_links_lead_to_files_and_headings(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    wrong = []
    for link in re.findall(r"\]\((?!https?:|mailto:)([^)\s]+)\)", text):
        name, _, anchor = link.partition("#")
        target = page.parent / name if name else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            wrong.append(link)
    assert wrong == []


def test_glossary_is_sorted_and_names_what_exists() -> None:
    text = (ROOT / "docs" / "glossary.md").read_text()
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", text, re.MULTILINE)[1:]
    words = [word.lower() for word, _ in rows]
    assert len(words) > 30
    assert words == sorted(words)
    assert set(re.findall(r"`((?:train|search|model|data)\.\w+)`", text)) <= SETTINGS.keys()
    surface = (ROOT / docs.SURFACE).read_text()
    for option in re.findall(r"`(?:nmt \w+ )?(--[a-z-]+)`", text):
        assert option in surface, option
