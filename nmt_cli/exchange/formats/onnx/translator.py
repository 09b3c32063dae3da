"""An exported directory, run by onnxruntime and sentencepiece alone, in batches with padding."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nmt_cli.exchange.formats.huggingface.json_files import read_json
from nmt_cli.exchange.requirements import SOURCE_SPM, TARGET_SPM

ENCODER, DECODER, DECODER_WITH_PAST = (
    "encoder_model.onnx", "decoder_model.onnx", "decoder_with_past_model.onnx",
)  # fmt: skip
CONFIG = "config.json"
# Sentences at a time: their logits take 100 MB with 32,000 words and 100 subwords each.
BATCH = 8
# The tag of a target language that some imported models have at the start of a line.
TAG = re.compile(r">>.+?<<")

Arrays = dict[str, np.ndarray]


class OnnxTranslator:
    """Scores and translates greedily, by all three graphs."""

    def __init__(self, directory: Path) -> None:
        import onnxruntime
        import sentencepiece

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self._encoder, self._decoder, self._with_past = (
            onnxruntime.InferenceSession(
                str(directory / name), options, providers=["CPUExecutionProvider"]
            )
            for name in (ENCODER, DECODER, DECODER_WITH_PAST)
        )
        self._source, self._target = (
            sentencepiece.SentencePieceProcessor(model_file=str(directory / name))
            for name in (SOURCE_SPM, TARGET_SPM)
        )
        self._settings = read_json(directory / CONFIG)
        self._unk = read_json(directory / "tokenizer_config.json")["unk_token"]
        self._source_ids: dict[str, int] = read_json(directory / "vocab.json")
        target = directory / "target_vocab.json"
        target_ids = read_json(target) if target.exists() else self._source_ids
        self._target_names = {index: name for name, index in target_ids.items()}

    def source_ids(self, line: str) -> list[int]:
        """The ids that the vocabulary gives the pieces of sentencepiece, and EOS."""
        tag = TAG.match(line)
        tags = [tag[0]] if tag and tag[0] in self._source_ids else []
        text = line[len(tags[0]) :].lstrip() if tags else line
        unknown = self._source_ids[self._unk]
        pieces = [*tags, *self._source.encode(text, out_type=str)]
        ids = [self._source_ids.get(piece, unknown) for piece in pieces]
        return [*ids, int(self._settings["eos_token_id"])]

    def log_prob(self, source: list[int], target: list[int]) -> float:
        """The log-probability of one pair."""
        return self.log_probs([(source, target)])[0]

    def log_probs(self, pairs: Sequence[tuple[list[int], list[int]]]) -> list[float]:
        """The log-probabilities of pairs.

        The decoder's graphs compute one half of each sentence each, so that both are compared.
        """
        result = []
        for batch in _batches(pairs):
            sources, targets = ([pair[side] for pair in batch] for side in (0, 1))
            start = self._settings["decoder_start_token_id"]
            inputs, _ = _padded([[start, *target[:-1]] for target in targets])
            outputs, inside = _padded(targets)
            middle = (inputs.shape[1] + 1) // 2
            logits, state = self._start(sources, inputs[:, :middle])
            if middle < inputs.shape[1]:
                rest = self._step(state, inputs[:, middle:])
                logits = np.concatenate([logits, rest], axis=1)
            scores = np.take_along_axis(logits, outputs[:, :, None], axis=2)[:, :, 0]
            result += np.where(inside > 0, scores, 0).sum(axis=1, dtype=np.float64).tolist()
        return result

    def translate(self, line: str, *, beam: int, length_penalty: float, max_length: int) -> str:
        """The greedy translation of a line."""
        [text] = self.translations([line], [max_length], beam=beam, length_penalty=length_penalty)
        return text

    def translations(
        self, lines: Sequence[str], limits: Sequence[int], *, beam: int, length_penalty: float
    ) -> list[str]:
        """The greedy translations of lines; limits: the most subwords of each, without EOS."""
        if beam != 1 or length_penalty:
            raise ValueError("onnxruntime has no beam search for these graphs")
        result = []
        for batch in _batches(list(zip(map(self.source_ids, lines), limits, strict=True))):
            sources, longest = ([each[part] for each in batch] for part in (0, 1))
            for ids in self._greedy(sources, longest):
                pieces = [self._target_names[token] for token in ids]
                result.append(str(self._target.decode(pieces)))
        return result

    def _greedy(self, sources: list[list[int]], limits: list[int]) -> list[list[int]]:
        """The likeliest ids, one after the other, up to EOS or the limit of each source."""
        eos = self._settings["eos_token_id"]
        start = np.full((len(sources), 1), self._settings["decoder_start_token_id"], np.int64)
        logits, state = self._start(sources, start)
        chosen = [logits[:, -1].argmax(axis=1)]
        ended = chosen[0] == eos
        while len(chosen) < max(limits) and not ended.all():
            logits = self._step(state, chosen[-1][:, None])
            chosen.append(logits[:, -1].argmax(axis=1))
            ended |= chosen[-1] == eos
        result = []
        for row, limit in zip(np.stack(chosen, axis=1).tolist(), limits, strict=True):
            ids = row[: row.index(eos)] if eos in row else row
            result.append(ids[:limit])
        return result

    def _start(self, sources: list[list[int]], inputs: np.ndarray) -> tuple[np.ndarray, Arrays]:
        """The logits after the first tokens, and the inputs of `_step`."""
        ids, mask = _padded(sources)
        [memory] = self._encoder.run(None, {"input_ids": ids, "attention_mask": mask})
        logits, presents = _run(
            self._decoder,
            {
                "input_ids": inputs,
                "encoder_attention_mask": mask,
                "encoder_hidden_states": memory,
            },
        )
        return logits, {"encoder_attention_mask": mask, **presents}

    def _step(self, state: Arrays, inputs: np.ndarray) -> np.ndarray:
        """The logits after the next tokens, whose keys and values `state` then has too."""
        logits, presents = _run(self._with_past, {"input_ids": inputs, **state})
        state.update(presents)
        return logits


def _run(session: Any, inputs: Arrays) -> tuple[np.ndarray, Arrays]:
    """The logits, and the keys and values under their names as inputs of the next step."""
    names = [output.name for output in session.get_outputs()]
    outputs = dict(zip(names, session.run(None, inputs), strict=True))
    logits: np.ndarray = outputs.pop("logits")
    return logits, {
        name.replace("present.", "past_key_values."): value for name, value in outputs.items()
    }


def _batches(items: Sequence[Any]) -> Iterator[Sequence[Any]]:
    for start in range(0, len(items), BATCH):
        yield items[start : start + BATCH]


def _padded(rows: Sequence[Sequence[int]]) -> tuple[np.ndarray, np.ndarray]:
    """The rows with zeros at their ends, and 1 where they are inside."""
    ids = np.zeros((len(rows), max(map(len, rows))), np.int64)
    inside = np.zeros_like(ids)
    for index, row in enumerate(rows):
        ids[index, : len(row)] = row
        inside[index, : len(row)] = 1
    return ids, inside
