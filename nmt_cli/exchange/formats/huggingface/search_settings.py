"""The search settings of a generation_config.json."""

from collections.abc import Mapping
from typing import Any

from nmt_cli.config.search import SearchConfig
from nmt_cli.exchange.requirements import longest_output, power_exponent
from nmt_cli.model_dir import LoadedModel

# Settings of `generate` that nmt does not have, and the values that leave them out.
ONLY_THERE: Mapping[str, tuple[object, ...]] = {
    "diversity_penalty": (None, 0, 0.0),
    "encoder_no_repeat_ngram_size": (None, 0),
    "encoder_repetition_penalty": (None, 1.0, 1),
    "num_beam_groups": (None, 1),
    "suppress_tokens": (None, []),
    "begin_suppress_tokens": (None, []),
    "exponential_decay_length_penalty": (None,),
}


def read_search(generation: Mapping[str, Any]) -> tuple[dict[str, object], list[str]]:
    """Our search settings, and what is left out, in whole sentences.

    Missing settings have the defaults of transformers: beam size 1, length penalty 1.
    """
    beam = int(generation.get("num_beams") or 1)
    search: dict[str, object] = {"beam": beam, "max_length": 0}
    length_penalty = generation.get("length_penalty")
    exponent = 1.0 if length_penalty is None else float(length_penalty)
    notes = []
    if exponent < 0:
        notes.append(f"nmt has no negative length_penalty ({exponent:g}): it searches with 0.")
    search |= {"length_penalty": "power" if exponent > 0 else "none", "alpha": max(0.0, exponent)}
    if generation.get("do_sample"):
        search |= {
            "sample": True,
            "beam": 1,
            "temperature": float(generation.get("temperature") or 1.0),
            "top_k": int(generation.get("top_k", 50) or 0),
            "top_p": float(generation.get("top_p") or 1.0),
        }
    if generation.get("no_repeat_ngram_size"):
        search["no_repeat_ngram"] = int(generation["no_repeat_ngram_size"])
    if generation.get("min_new_tokens"):
        search["min_length"] = int(generation["min_new_tokens"])
    left_out = [
        f"{name}={generation[name]}"
        for name, unset in ONLY_THERE.items()
        if name in generation and generation[name] not in unset
    ]
    if any(len(word) != 1 for word in generation.get("bad_words_ids") or []):
        left_out.append("bad_words_ids of several ids")
    if generation.get("repetition_penalty") not in (None, 1, 1.0):
        left_out.append(f"repetition_penalty={generation['repetition_penalty']}")
    if left_out:
        notes.append(f"nmt does not have these settings of generation: {', '.join(left_out)}.")
    if beam > 1 and generation.get("early_stopping") != "never":
        notes.append(
            "nmt ends a beam search when no better translation can follow; transformers ends it "
            "earlier with this model's early_stopping, so that some translations may differ "
            "(`nmt translate --patience 1` ends it earlier, too)."
        )
    return search, notes


def settings_left_out(search: SearchConfig) -> tuple[str, ...]:
    """Settings that `generate` does not have: its `early_stopping` is a patience of 1."""
    return () if search.patience in (0, 1) else ("patience",)


def generation_options(loaded: LoadedModel) -> dict[str, object]:
    """The options of `generate` that search as this model does here."""
    search = loaded.config.search
    options: dict[str, object] = {
        "max_new_tokens": longest_output(loaded.config),
        "bad_words_ids": [[token] for token in loaded.config.model.banned_ids],
    }
    if search.sample:
        options |= {"do_sample": True, "temperature": search.temperature,
                    "top_k": search.top_k, "top_p": search.top_p}  # fmt: skip
    elif search.beam > 1:
        # `never` ends the search when no better translation can follow, True with patience 1.
        options |= {"num_beams": search.beam, "length_penalty": power_exponent(search),
                    "early_stopping": True if search.patience == 1 else "never"}  # fmt: skip
    if search.min_length:
        options["min_new_tokens"] = search.min_length
    if search.no_repeat_ngram:
        options["no_repeat_ngram_size"] = search.no_repeat_ngram
    return options
