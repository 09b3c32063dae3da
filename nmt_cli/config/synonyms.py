"""Names of commands, options and settings in other toolkits, for hints."""

from collections.abc import Callable, Iterable

from nmt_cli.config.sacrebleu_options import SACREBLEU_ADVICE
from nmt_cli.errors import nearest

COMMANDS = {
    "generate": "translate",
    "interactive": "translate",
    "decode": "translate",
    "infer": "translate",
    "inference": "translate",
    "predict": "translate",
    "eval": "score",
    "evaluate": "score",
    "bleu": "score",
    "inspect": "info",
    "show": "info",
    "quantize": "export",
    "merge": "average",
    "clean": "prepare",
    "stats": "prepare",
    "test": "score",
    "sacrebleu": "score",
    "preprocess": "prepare",
    "tokenize": "prepare",
    "binarize": "prepare",
    "build-vocab": "prepare",
    "finetune": "nmt train --init-from MODEL",
    "fine-tune": "nmt train --init-from MODEL",
    "adapt": "nmt train --init-from MODEL",
    "continue": "nmt train --init-from MODEL",
    "completion": "nmt --install-completion",
    "completions": "nmt --install-completion",
}

# The first that a command has is suggested; `--set` needs a command that takes settings.
_BATCH = ("--batch-tokens", "--set train.batch_tokens=N")
_BEAM = ("--beam", "--set search.beam=N")
_OUT = ("--out", "--output")
_RATE = ("--set train.learning_rate=X",)
_STEPS = ("--max-steps", "--set train.max_steps=N")
_EPOCHS = ("--max-epochs", "--set train.max_epochs=N")
_START = ("--init-from",)
_VOCABULARY = ("--subwords-from",)
OPTIONS = {
    "--finetune-from-model": _START,
    "--finetune-from": _START,
    "--train-from": _START,
    "--load-model": _START,
    "--pretrained-model": _START,
    "--pretrained": _START,
    "--checkpoint": _START,
    "--restore-file": _START,
    "--params": _START,
    "--from": (*_START, *_VOCABULARY),
    "--path": ("--model",),
    "--update-vocab": _VOCABULARY,
    "--source-vocab": _VOCABULARY,
    "--target-vocab": _VOCABULARY,
    "--src-vocab": _VOCABULARY,
    "--tgt-vocab": _VOCABULARY,
    "--srcdict": _VOCABULARY,
    "--tgtdict": _VOCABULARY,
    "--vocab": _VOCABULARY,
    "--vocabs": _VOCABULARY,
    "--lr": _RATE,
    "--step": _STEPS,
    "--batch": _BATCH,
    "--optimizer": ("--set train.optimizer=muon",),
    "--optim": ("--set train.optimizer=muon",),
    "--workers": ("--threads",),
    "--num-workers": ("--threads",),
    "--cpu": ("--device cpu",),
    "--learning-rate": _RATE,
    "--batch-size": _BATCH,
    "--batch-tokens": _BATCH,
    "--beam-size": _BEAM,
    "--num-beams": _BEAM,
    "--gpu": ("--gpus", "--device cuda"),
    "--gpus": ("--device cuda",),
    "--cuda": ("--gpus", "--device cuda"),
    "--device": ("--gpus",),
    "--epochs": _EPOCHS,
    "--max-epoch": _EPOCHS,
    "--steps": _STEPS,
    "--train-steps": _STEPS,
    "--max-update": _STEPS,
    "-o": _OUT,
    "--output": _OUT,
    "--out": _OUT,
    "--output-dir": _OUT,
    "--save-dir": _OUT,
    "--save": _OUT,
    "--corpus": _OUT,
    "--source-lang": ("--src-lang",),
    "--target-lang": ("--tgt-lang",),
    "--max-tokens": _BATCH,
    "--arch": ("--preset",),
    "--epoch": _EPOCHS,
    "--fp16": ("--precision", "--set train.precision=fast"),
    "--bf16": ("--precision", "--set train.precision=bf16"),
    "--label-smoothing": ("--set train.label_smoothing=X",),
    "--heads": ("--set model.heads=N",),
    "--layers": ("--set model.layers=N",),
    "--lenpen": ("--alpha", "--set search.alpha=X"),
    "--nbest": ("--n-best",),
    "--world-size": ("--gpus",),
    "--gpu-ranks": ("--gpus",),
    "--distributed-world-size": ("--gpus",),
    "--save-model": ("--out",),
    "--data": ("--corpus",),
    "--valid-steps": ("--set train.validate_every=N",),
    "--save-checkpoint-steps": ("--set train.checkpoint_every=N",),
    "--keep-checkpoint": ("--set train.keep_last=N",),
    "--hidden-size": ("--set model.d_model=N",),
    "--rnn-size": ("--set model.d_model=N",),
    "--word-vec-size": ("--set model.d_model=N",),
    "--transformer-ff": ("--set model.d_ff=N",),
    "--keep-last-epochs": ("--set train.keep_last=N",),
    "--joined-dictionary": ("--joint",),
    "--task": ("--preset",),
    "--bpe-codes": ("--set data.subwords=bpe",),
    "--warmup": ("--set train.warmup_steps=N",),
    "--warmup-updates": ("--set train.warmup_steps=N",),
    "--warmup-steps": ("--set train.warmup_steps=N",),
    "--save-interval": ("--set train.checkpoint_every=N",),
    "--save-interval-updates": ("--set train.checkpoint_every=N",),
    "--devices": ("--gpus",),
    "--trainpref": ("--train",),
    "--validpref": ("--valid",),
    "--dropout": ("--set model.dropout=X",),
    "--no-repeat-ngram-size": ("--no-repeat-ngram",),
    "--block-ngram-repeat": ("--no-repeat-ngram",),
    "--unnormalized": ("--length-penalty none",),
    "--early-stopping": ("--patience",),
    "--word-penalty": ("--word-reward",),
    "--tgt-file-prefix": ("--prefix",),
    "--prefix-size": ("--prefix",),
    "--report-align": ("--alignment",),
    "--print-alignment": ("--alignment",),
    "--share-vocab": ("--joint",),
    "--shared-vocab": ("--joint",),
}

# The settings that `--set` changes for a command, by their sections.
SET_SECTIONS = {
    **dict.fromkeys(("translate", "serve", "score", "text"), ("search",)),
    "prepare": ("data",),
    "train": ("train", "model"),
}

# Options of other toolkits, by command, that nmt lacks: what to do instead.
ADVICE = {
    ("train", "--resume"): "training resumes by itself: run the same command again",
    ("train", "--continue"): "training resumes by itself: run the same command again",
    ("train", "--restore"): "training resumes by itself: run the same command again",
    ("train", "--device"): (
        "training uses all GPUs, or --gpus N of them; CUDA_VISIBLE_DEVICES=-1 hides the GPUs"
    ),
    ("train", "--cpu"): (
        "without a GPU training runs on the CPU by itself; CUDA_VISIBLE_DEVICES=-1 hides the GPUs"
    ),
    **{
        ("translate", name): "the text is an argument or comes from a pipe: nmt translate FILE"
        for name in ("--src", "--source", "--input", "-s", "-i")
    },
    **{
        (command, name): f"the model is an argument: nmt {command} MODEL"
        for command in ("average", "serve", "info", "export")
        for name in ("--model", "-m")
    },
    **{
        ("score", name): "the files are arguments: nmt score HYPOTHESIS REFERENCE"
        for name in ("-i", "--hyp", "--hypothesis", "--sys", "--input", "--ref", "--reference")
    },
    **{
        ("score", name): (
            "translate with it first: `nmt translate --precision int8 TEST -o OUT` and then "
            "`nmt score OUT`"
        )
        for name in ("--precision", "--int8", "--quantize")
    },
    **{
        ("train", name): (
            "`train.batch_tokens` is the size of a step's batch, which is split into as many "
            "micro-batches as `train.micro_batch_tokens` needs"
        )
        for name in ("--update-freq", "--accum-count", "--gradient-accumulation-steps")
    },
    **{
        ("train", name): (
            "batches are always counted in tokens: `--set train.batch_tokens=N` is the size of a "
            "step's batch over all GPUs"
        )
        for name in ("--batch-type", "--batch-size-type")
    },
    **{
        ("translate", name): (
            "`--length-penalty power --alpha X` divides scores by length^X, as fairseq, Marian and "
            "CTranslate2 do; `--alpha X` alone is that of the paper's formula"
        )
        for name in ("--lenpen", "--normalize")
    },
    **{
        ("translate", name): "translations are plain text, with words in one piece"
        for name in ("--remove-bpe", "--post-process")
    },
    ("average", "--inputs"): "the models are arguments: nmt average MODEL... --out DIR",
    ("average", "--input"): "the models are arguments: nmt average MODEL... --out DIR",
    **{
        ("score", name): "scores are written to stdout; `nmt translate -o FILE` writes translations"
        for name in ("-o", "--output")
    },
    ("score", "--seed"): (
        "the resampling of --confidence and --baseline always has the seed of sacreBLEU, 12345"
    ),
    **{("score", name): hint for name, hint in SACREBLEU_ADVICE.items()},
    **{
        ("init", name): "the languages are named by --src-lang and --tgt-lang"
        for name in ("-s", "-t", "--src", "--tgt", "--source", "--target")
    },
    ("init", "--set"): (
        "write other settings in nmt.toml, or give them later: `nmt prepare --set KEY=VALUE`, "
        "`nmt train --set KEY=VALUE`"
    ),
    ("info", "--preset"): (
        "`nmt config presets` compares the presets, with --json with exact numbers of parameters"
    ),
    ("config", "--preset"): (
        "`nmt config show --preset big` shows the settings of a preset; `nmt config presets` "
        "compares all presets"
    ),
}

# What an option takes, where its name promises something else to users of other toolkits.
VALUES = {
    "--gpus": "give a number of GPUs; with CUDA_VISIBLE_DEVICES=-1 training runs on the CPU",
    "--max-hours": "give hours, such as 0.25 for 15 minutes",
    "--length-penalty": (
        "--length-penalty names a formula; --alpha X sets its exponent, such as --alpha 0.6"
    ),
}

# So many settings are suggested for one that is unknown; the hint where there is none.
MOST_MEANT = 4
ALL_SETTINGS = "`nmt config show` lists all settings"

# Other names of values, by option.
VALUE_NAMES = {
    "--to": {"hf": "huggingface", "transformers": "huggingface", "ct2": "ctranslate2"},
}

# What to do instead of giving more arguments than a command takes.
EXTRA_ARGUMENTS = {
    "translate": (
        'a path with spaces needs quotation marks, and a text comes from a pipe: echo "..." | nmt '
        "translate; only one file is translated at a time, and -o FILE names the file to write"
    ),
    "init": (
        "name the text with options: --train SRC TGT, and --train-tsv FILE for each table, which "
        "can be repeated, --valid SRC TGT, --test SRC TGT; a path with spaces needs quotation marks"
    ),
    "prepare": (
        "name the text with options: --train SRC TGT, and --train-tsv FILE for each table, which "
        "can be repeated, or in nmt.toml; a path with spaces needs quotation marks"
    ),
    "train": (
        "name the prepared corpus with --corpus DIR, and the model's directory with --out; a path "
        "with spaces needs quotation marks"
    ),
    "attention": "put the sentence in quotation marks; --target TEXT gives its translation",
    "serve": "a server has one model; for two, start one for each, with another --port",
    "show": "for one setting: nmt config show --about | grep heads",
}

# By the name of a setting alone, or by its whole key.
_SETTINGS = {
    **dict.fromkeys(("bpe.dropout", "data.dropout", "subwords.dropout"), "train.subword_dropout"),
    "lr": "train.learning_rate",
    "batch_size": "train.batch_tokens",
    "epochs": "train.max_epochs",
    "steps": "train.max_steps",
    "warmup": "train.warmup_steps",
    "valid_every": "train.validate_every",
    "eval_every": "train.validate_every",
    **dict.fromkeys(
        ("max_tokens", "accum_count", "update_freq", "batch_type"), "train.batch_tokens"
    ),
    **dict.fromkeys(("max_update", "train_steps"), "train.max_steps"),
    **dict.fromkeys(("valid_steps", "validate_interval_updates"), "train.validate_every"),
    **dict.fromkeys(("save_checkpoint_steps", "save_interval_updates"), "train.checkpoint_every"),
    **dict.fromkeys(("keep_checkpoint", "keep_interval_updates"), "train.keep_last"),
    **dict.fromkeys(("warmup_updates", "lr_warmup"), "train.warmup_steps"),
    **dict.fromkeys(("decay_method", "lr_scheduler"), "train.schedule"),
    "early_stopping": "train.patience",
    "max_epoch": "train.max_epochs",
    "optim": "train.optimizer",
    **dict.fromkeys(("clip_norm", "max_grad_norm"), "train.max_gradient_norm"),
    **dict.fromkeys(("hidden_size", "rnn_size", "word_vec_size"), "model.d_model"),
    **dict.fromkeys(("transformer_ff", "ff_size"), "model.d_ff"),
    **dict.fromkeys(("num_heads", "attention_heads"), "model.heads"),
    **dict.fromkeys(("num_layers", "enc_layers"), "model.layers"),
    "beam_size": "search.beam",
    "num_beams": "search.beam",
    "lenpen": "search.alpha",
    **dict.fromkeys(("betas", "adam_betas", "adam_beta1"), "train.beta1"),
    "adam_beta2": "train.beta2",
    **dict.fromkeys(("eps", "adam_eps", "adam_epsilon"), "train.epsilon"),
}


def meant_option(
    name: str,
    known: Iterable[str],
    setting: str = "",
    *,
    is_used: Callable[[str], bool] = lambda _: True,
) -> str:
    """The option of a command that `name` probably means, possibly with a value, or "".

    setting: the `--set` of the setting with this name, if there is one; is_used: whether the
    command uses the setting with a dotted key.

    >>> meant_option("--lr", ["--preset", "--set"]), meant_option("--lr", ["--preset"])
    ('--set train.learning_rate=X', '')
    >>> meant_option("--gpu", ["--device"]), meant_option("--frce", ["--force"])
    ('--device cuda', '--force')
    """
    known, name = list(known), name.replace("_", "-")
    if name in known:
        return name
    options = [option for option in OPTIONS.get(name, ()) if option.split()[0] in known]
    used = [
        option for option in options if not option.startswith("--set ") or is_used(set_key(option))
    ]
    if used:
        return used[0]
    # What is an option of other toolkits is no slip of the pen.
    return setting or ("" if options else nearest(name, known))


def set_key(option: str) -> str:
    """The dotted key of a `--set` with its value.

    >>> set_key("--set search.beam=N")
    'search.beam'
    """
    return option.removeprefix("--set ").partition("=")[0]


def meant_setting(key: str, known: Iterable[str]) -> str:
    """The dotted key that the unknown `key` probably means, or "".

    >>> meant_setting("train.valid_every", ["train.validate_every"])
    'train.validate_every'
    >>> meant_setting("train.adam_betas", []), meant_setting("search.lenpen", [])
    ('train.beta1', 'search.alpha')
    >>> meant_setting("subwords.dropout", ["model.dropout"])
    'train.subword_dropout'
    """
    known = list(known)
    name = key.split(".")[-1]
    same_name = [setting for setting in known if setting.split(".")[1] == name]
    other_name = _SETTINGS.get(key) or _SETTINGS.get(name)
    return other_name or next(iter(same_name), "") or nearest(key, known)


def meant_setting_hint(key: str, known: Iterable[str]) -> str:
    """A hint with the settings that the unknown `key` may mean, or "".

    Where it is like no setting, these are the ones of its section that have a word like its name.

    >>> meant_setting_hint("search.lenght", ["search.max_length", "search.beam", "data.length"])
    'did you mean `search.max_length`?'
    """
    known = list(known)
    section, _, name = key.rpartition(".")
    best = meant_setting(key, known)
    meant = (
        [best]
        if best
        else [
            setting
            for setting in known
            if setting.startswith(f"{section}.") and nearest(name, setting.split(".")[1].split("_"))
        ]
    )
    names = " or ".join(f"`{setting}`" for setting in meant[:MOST_MEANT])
    return f"did you mean {names}?" if names else ""
