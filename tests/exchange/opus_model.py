"""A MarianMTModel that transformers trains, in a directory laid out like those of OPUS-MT."""

import io
import json
import random
from pathlib import Path
from typing import Any

import sentencepiece
import torch

# The languages swap the vowels, or leave them out.
TAGS = (">>vow<<", ">>abj<<")
WORDS = ["bado", "kelim", "nosu", "tirap", "wolce", "fad", "jum", "eri", "osk", "upa"]
SWAPPED, LEFT_OUT = str.maketrans("aeiou", "eioua"), str.maketrans("", "", "aeiou")


def source_line(chooser: random.Random) -> str:
    """A tag and some words."""
    words = " ".join(chooser.choices(WORDS, k=chooser.randint(1, 4)))
    return f"{chooser.choice(TAGS)} {words}"


def translation(line: str) -> str:
    """The translation of a line with a tag."""
    tag, text = line.split(" ", 1)
    return text.translate(SWAPPED if tag == TAGS[0] else LEFT_OUT)


def make_opus_model(directory: Path, *, steps: int = 150, seed: int = 1) -> Any:
    """Train a model for some steps and save it; returns the model of transformers.

    As in OPUS-MT: two segmenters with one vocabulary that is not in the order of either, EOS is
    id 0, padding the last one and the first input of the decoder, special ids of sentencepiece
    are 0, 1 and 2, and what is never generated is a bad word.
    """
    import transformers

    directory.mkdir(parents=True)
    chooser = random.Random(seed)
    lines = [source_line(chooser) for _ in range(2_000)]
    texts = {
        "source.spm": [line.split(" ", 1)[1] for line in lines],
        "target.spm": [translation(line) for line in lines],
    }
    segmenters = {}
    for name, text in texts.items():
        (directory / name).write_bytes(_segmenter(text))
        segmenters[name] = sentencepiece.SentencePieceProcessor(str(directory / name))
    pieces = {
        segmenter.id_to_piece(index)
        for segmenter in segmenters.values()
        for index in range(3, len(segmenter))
    }
    entries = ["</s>", "<unk>", *sorted(pieces, key=lambda piece: piece[::-1]), *TAGS, "<pad>"]
    vocabulary = {entry: index for index, entry in enumerate(entries)}
    (directory / "vocab.json").write_text(json.dumps(vocabulary))
    options = {"source_lang": "en", "target_lang": "mul", "tokenizer_class": "MarianTokenizer"}
    (directory / "tokenizer_config.json").write_text(json.dumps(options))
    model = _trained(directory, vocabulary, lines, steps, seed)
    pad = vocabulary["<pad>"]
    model.generation_config = transformers.GenerationConfig(
        bad_words_ids=[[pad]], num_beams=3, length_penalty=0.8, early_stopping="never",
        max_new_tokens=40, max_length=None, decoder_start_token_id=pad, pad_token_id=pad,
        eos_token_id=0,
    )  # fmt: skip
    model.save_pretrained(str(directory))
    return model


def _segmenter(lines: list[str]) -> bytes:
    content = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=content, vocab_size=34, num_threads=1,
        hard_vocab_limit=False, minloglevel=4,
    )  # fmt: skip
    return content.getvalue()


def _trained(
    directory: Path, vocabulary: dict[str, int], lines: list[str], steps: int, seed: int
) -> Any:
    import transformers

    transformers.logging.set_verbosity_error()
    tokenizer = transformers.AutoTokenizer.from_pretrained(str(directory))
    pad = vocabulary["<pad>"]
    torch.manual_seed(seed)
    config = transformers.MarianConfig(
            vocab_size=len(vocabulary),
            d_model=32,
            encoder_layers=2,
            decoder_layers=1,
        encoder_attention_heads=4,
            decoder_attention_heads=4,
            encoder_ffn_dim=64,
        decoder_ffn_dim=64,
            activation_function="swish",
            scale_embedding=True,
            dropout=0.0,
        max_position_embeddings=128,
            pad_token_id=pad,
            eos_token_id=0,
            bos_token_id=None,
            decoder_start_token_id=pad,
            forced_eos_token_id=0,
            init_std=0.05,
    )  # fmt: skip
    model = transformers.MarianMTModel(config)
    # transformers trains no bias of the logits, but Marian does.
    model.final_logits_bias.copy_(torch.randn(1, len(vocabulary)) / 10)
    optimizer = torch.optim.Adam(model.parameters(), 5e-3)
    for step in range(steps):
        some = lines[step * 32 % len(lines) :][:32]
        batch = tokenizer(
            some, text_target=list(map(translation, some)), return_tensors="pt", padding=True
        )
        batch["labels"][batch["labels"] == pad] = -100
        optimizer.zero_grad()
        model(**batch).loss.backward()
        optimizer.step()
    return model.eval()
