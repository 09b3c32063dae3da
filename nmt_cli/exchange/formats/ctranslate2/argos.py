"""Argos Translate and LibreTranslate: a package that holds a CTranslate2 model."""

import json
import shutil
import zipfile
from pathlib import Path

from nmt_cli import __version__
from nmt_cli.data.languages.english_names import english_name
from nmt_cli.exchange.formats.ctranslate2.target import CTranslate2, write_model
from nmt_cli.exchange.formats.ctranslate2.translator import CTranslate2Translator
from nmt_cli.exchange.requirements import SOURCE_SPM, TARGET_SPM, piece_names, text_notes
from nmt_cli.exchange.target import ForeignTranslator, Reason, SearchAdvice
from nmt_cli.model_dir import LoadedModel
from nmt_cli.storage import files

VERSION = "1.0"
# The oldest version of Argos Translate that reads such packages.
ARGOS_VERSION = "1.0"
SUFFIX = ".argosmodel"
# The package has this segmenter beside the folder of the CTranslate2 model.
SEGMENTER = "sentencepiece.model"
# A package of fixed dates: the same model gives the same bytes.
ZIP_DATE = (1980, 1, 1, 0, 0, 0)


class Argos(CTranslate2):
    """The target `--to argos`."""

    title = "Argos Translate"

    def reasons_against(self, loaded: LoadedModel) -> list[Reason]:
        """What CTranslate2 cannot run, two segmenters, and pieces of bytes."""
        reasons = super().reasons_against(loaded)
        if not loaded.subwords.joint:
            reasons.append(
                Reason(
                    f"data.joint=false, and a package of {self.title} has one segmenter for both "
                    "languages",
                    "data.joint=true",
                )
            )
        if "<0x00>" in piece_names(loaded.subwords, "tgt"):
            reasons.append(
                Reason(
                    f"data.byte_fallback=true, and {self.title} does not join bytes to characters",
                    "data.byte_fallback=false",
                )
            )
        return reasons

    def write(self, loaded: LoadedModel, directory: Path, precision: str) -> None:
        """Write one file, `translate-SRC_TGT-1_0.argosmodel`."""
        languages = loaded.config.languages
        name = f"translate-{languages.src}_{languages.tgt}-{VERSION.replace('.', '_')}"
        folder = files.make_directory(directory / name)
        write_model(loaded, files.make_directory(folder / "model"), precision)
        segmenter = (folder / "model" / SOURCE_SPM).read_bytes()
        for spm in (SOURCE_SPM, TARGET_SPM):
            files.remove(folder / "model" / spm)
        files.write_bytes(folder / SEGMENTER, segmenter)
        files.write_text(folder / "metadata.json", json.dumps(_metadata(loaded), indent=2) + "\n")
        files.write_text(folder / "README.md", self._readme(loaded))
        with files.writing(directory / f"{name}{SUFFIX}") as file:
            _zip(folder, file)
        files.remove(folder)

    def _readme(self, loaded: LoadedModel) -> str:
        languages = loaded.config.languages
        notes = "".join(f"\n{note}\n" for note in text_notes(loaded.config, self.title))
        return (
            f"# {languages.src} to {languages.tgt}\n\nExported by nmt {__version__}. Install it "
            "with `argostranslate.package.install_from_path` in Python; `argospm install` takes no "
            f"files.\n{notes}"
        )

    def open(self, directory: Path) -> ForeignTranslator:
        """The CTranslate2 model of the package, with its segmenter."""
        [package] = directory.glob(f"*{SUFFIX}")
        return _open_package(package, directory)

    def search_options(self, loaded: LoadedModel) -> SearchAdvice:
        """Argos Translate sets beam size 4 and the length penalty 0.2 itself."""
        return SearchAdvice(
            {"beam_size": 4, "length_penalty": 0.2},
            (
                f"{self.title} searches with its own settings, beam size 4 and the length penalty "
                "length^0.2, and not with those of this model.",
            ),
        )


TARGET = Argos()


def _metadata(loaded: LoadedModel) -> dict[str, object]:
    languages = loaded.config.languages
    return {
        "package_version": VERSION,
        "argos_version": ARGOS_VERSION,
        "from_code": languages.src,
        "from_name": english_name(languages.src) or languages.src,
        "to_code": languages.tgt,
        "to_name": english_name(languages.tgt) or languages.tgt,
    }


def _zip(folder: Path, file: object) -> None:
    """All files of `folder`, under its name, in a fixed order."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as package:  # type: ignore[call-overload]
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                name = path.relative_to(folder.parent).as_posix()
                entry = zipfile.ZipInfo(name, ZIP_DATE)
                entry.compress_type = zipfile.ZIP_DEFLATED
                entry.external_attr = 0o644 << 16
                with path.open("rb") as source, package.open(entry, "w") as packed:
                    shutil.copyfileobj(source, packed)


def _open_package(package: Path, directory: Path) -> ForeignTranslator:
    """Unpack beside the package, load, and remove what was unpacked."""
    unpacked = files.make_directory(directory / "unpacked")
    try:
        with zipfile.ZipFile(package) as archive:
            archive.extractall(unpacked)
        [folder] = unpacked.iterdir()
        segmenter = (folder / SEGMENTER).read_bytes()
        for spm in (SOURCE_SPM, TARGET_SPM):
            files.write_bytes(folder / "model" / spm, segmenter)
        return CTranslate2Translator(folder / "model")
    finally:
        files.remove(unpacked)
