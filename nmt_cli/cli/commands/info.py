"""`nmt info`: what a model holds, how good it is, and which toolkits can run it."""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from nmt_cli.cli.options.declarations import AsJson, ConfigFile, PathSets
from nmt_cli.plurals import counted

EXAMPLES = """
nmt info    the model of nmt.toml
nmt info model --json
"""

Model = Annotated[
    Path | None,
    typer.Argument(metavar="[MODEL]", help="Model directory to describe [default: model]"),
]


def command(
    model: Model = None,
    sets: PathSets = None,
    config_file: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Describe a model: size, vocabulary, validation score, origin, and possible exports.

    All files of the model are checked against its checksums: a damaged one is an error (exit code
    65). For each format that `nmt export` cannot write, every reason is shown. With --json, the
    shapes of all weights are included. While `nmt train` has published no weights yet, the state of
    the run is shown instead.
    """
    import json

    from nmt_cli.cli.environment import make_console
    from nmt_cli.cli.loading import require_models
    from nmt_cli.cli.settings import named_model

    model = named_model(model, sets, config_file)
    require_models([model], "name another one: nmt info MODEL")

    from nmt_cli.exchange.model_info import model_info
    from nmt_cli.model_dir import has_weights

    published = has_weights(model)
    info: Mapping[str, Any] = model_info(model) if published else _run_info(model)
    if as_json:
        document = {"schema": 1, "published": published, **info}
        sys.stdout.write(json.dumps(document, ensure_ascii=False) + "\n")
    else:
        make_console(sys.stdout).table(list(_rows(info) if published else _run_rows(info)))


def _run_info(model: Path) -> dict[str, object]:
    """The facts about a run that has published no weights yet, for JSON."""
    from nmt_cli.config.automatic import Intervals, max_steps
    from nmt_cli.exchange.model_info import architecture
    from nmt_cli.extras.tracking.records import read_log, summarise
    from nmt_cli.model_dir import load_config
    from nmt_cli.storage.locks import lock_holder
    from nmt_cli.storage.output_directory import LOG

    config = load_config(model)
    run = summarise(model, read_log(model) if (model / LOG).exists() else [])
    steps, interval = max_steps(config.train), Intervals.of(config.train).validate
    return {
        "model": str(model),
        **architecture(config),
        "step": run.step,
        "max_steps": steps,
        "state": run.state,
        "next_validation": min(steps, (run.step // interval + 1) * interval),
        "in_use_by": lock_holder(model) or None,
    }


def _run_rows(info: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield from _first_rows(info)
    yield "trained", f"{info['step']:,} of {counted(info['max_steps'], 'step')}"
    if not info["state"].startswith("at step"):
        yield "state", info["state"]
    if info["in_use_by"]:
        yield "in use by", info["in_use_by"]
    yield (
        "weights",
        f"none yet: the first validation, at step {info['next_validation']:,}, publishes them",
    )


def _first_rows(info: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield "model", info["model"]
    yield "languages", f"{info['src_lang']} to {info['tgt_lang']}"
    yield (
        "architecture",
        f"{info['kind']}, {info['encoder_layers']} + {info['decoder_layers']} layers",
    )


def _rows(info: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield from _first_rows(info)
    yield "parameters", f"{info['parameters']:,}"
    for name in ("d_model", "d_ff", "heads", "positions", "norm_order", "norm", "activation"):
        if info[name] is not None:
            yield name, str(info[name])
    shared = "shared" if info["joint_vocabulary"] else "separate"
    yield "subwords", f"{info['subwords']}, {shared}"
    yield "vocabulary", f"{info['src_vocab_size']:,} source, {info['tgt_vocab_size']:,} target"
    if info["shortlist"]:
        yield "shortlist", "yes"
    if info["step"] is not None:
        versions = f" with {info['trained_with']}" if info["trained_with"] else ""
        yield "trained", f"{counted(info['step'], 'step')}{versions}"
    if info["init_from"]:
        yield "fine-tuned from", info["init_from"]
    if info["imported_from"]:
        yield "imported from", info["imported_from"]
    if info["averaged"]:
        run = f" of {info['averaged_run']}" if info["averaged_run"] else ""
        yield "averaged", f"{info['averaged']}{run}"
    if info["published"]:
        yield "weights", info["published"]
    if info["validation"]:
        validation = info["validation"]
        sample = f"on at most {counted(validation['sentences'], 'sentence')}"
        yield "validation", f"BLEU {validation['bleu']:.2f} {sample} ({validation['signature']})"
    elif info["averaged"]:
        yield "validation", "none: `nmt average` does not translate; `nmt score` compares models"
    yield from _export_rows(info["export"])


def _export_rows(exports: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """A row for each format, or one for all of them where they have the same reason."""
    rows = {}
    for name, export in exports.items():
        problems = "; ".join(reason["problem"] for reason in export["reasons"])
        rows[name] = "possible" if export["possible"] else f"not possible: {problems}"
    if len(set(rows.values())) == 1:
        yield "export", next(iter(rows.values()))
        return
    for name, text in rows.items():
        yield f"export to {name}", text
