"""The note that a model is of a training run which has not come to its end."""

from pathlib import Path

from nmt_cli.errors import NmtError


def unfinished_note(model: Path) -> str:
    """What to say of a model whose training was interrupted or still goes on; "" of others.

    Only the log of a run tells it; models without one are finished.
    """
    from nmt_cli.config.schema import load
    from nmt_cli.extras.tracking.records import last_state
    from nmt_cli.storage.locks import lock_holder
    from nmt_cli.storage.model_check import CONFIG, WEIGHTS
    from nmt_cli.storage.output_directory import LOG
    from nmt_cli.storage.tensor_header import metadata_of_file

    if not (model / LOG).is_file():
        return ""
    try:
        (run_step, state), planned = last_state(model), load(model / CONFIG).train.max_steps
    except (NmtError, OSError):
        # Errors of the model are reported when it is loaded.
        return ""
    if not state.startswith("at step"):
        return ""
    # A run that goes on for more steps has the settings of the weights that it published before.
    total = f" of {planned:,}" if isinstance(planned, int) and run_step < planned else ""
    if lock_holder(model):
        parts = [f"`{model}` is still in training, at step {run_step:,}{total} or later"]
    else:
        parts = [f"the training of `{model}` stopped at step {run_step:,}{total}"]
        parts.append("the same `nmt train` command resumes it")
    step = metadata_of_file(model / WEIGHTS).get("step", "")
    if step.isdecimal():
        parts.insert(1, f"its weights of step {int(step):,} are used")
    return "; ".join(parts)
