"""An exported directory of CTranslate2, run by its own library, for the comparison."""

import json
import logging
from pathlib import Path

from nmt_cli.exchange.requirements import SOURCE_SPM, TARGET_SPM


class CTranslate2Translator:
    """An exported directory, run by CTranslate2 and sentencepiece alone."""

    def __init__(self, directory: Path) -> None:
        import ctranslate2
        import sentencepiece

        # No warning that this CPU computes in float32 with weights in float16.
        ctranslate2.set_log_level(logging.ERROR)
        self._translator = ctranslate2.Translator(str(directory), device="cpu", intra_threads=1)
        self._source, self._target = (
            sentencepiece.SentencePieceProcessor(model_file=str(directory / name))
            for name in (SOURCE_SPM, TARGET_SPM)
        )
        self._source_names = _read_vocabulary(directory, "source")
        self._target_names = _read_vocabulary(directory, "target")
        self._config = json.loads((directory / "config.json").read_bytes())
        self._source_ids = {name: index for index, name in enumerate(self._source_names)}
        special = ("unk_token", "bos_token", "decoder_start_token")
        suppressed = dict.fromkeys(self._config[name] for name in special)
        # An imported model may have no padding.
        padding = [name for name in ["<pad>"] if name in self._target_names]
        self._suppressed = [[name] for name in (*suppressed, *padding)]

    def source_ids(self, line: str) -> list[int]:
        """The ids that CTranslate2 gives the pieces of sentencepiece, and EOS."""
        unknown = self._source_ids[self._config["unk_token"]]
        pieces = [*self._pieces(line), self._config["eos_token"]]
        return [self._source_ids.get(piece, unknown) for piece in pieces]

    def log_prob(self, source: list[int], target: list[int]) -> float:
        """The sum of CTranslate2's scores of the target's pieces and EOS."""
        [scored] = self._translator.score_batch(
            [[self._source_names[token] for token in source[:-1]]],
            [[self._target_names[token] for token in target[:-1]]],
        )
        assert len(scored.log_probs) == len(target)
        return float(sum(scored.log_probs))

    def translate(self, line: str, *, beam: int, length_penalty: float, max_length: int) -> str:
        """The best translation of a line."""
        [result] = self._translator.translate_batch(
            [self._pieces(line)],
            beam_size=beam,
            patience=beam,
            length_penalty=length_penalty,
            min_decoding_length=0,
            max_decoding_length=max_length,
            suppress_sequences=self._suppressed,
        )
        return str(self._target.decode(result.hypotheses[0]))

    def _pieces(self, line: str) -> list[str]:
        pieces: list[str] = self._source.encode(line, out_type=str)
        return pieces


def _read_vocabulary(directory: Path, side: str) -> list[str]:
    shared = directory / "shared_vocabulary.json"
    path = shared if shared.exists() else directory / f"{side}_vocabulary.json"
    names: list[str] = json.loads(path.read_bytes())
    return names
