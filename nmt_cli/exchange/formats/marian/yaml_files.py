"""Reads YAML that others wrote: data without aliases and without deep nesting."""

from typing import Any

from nmt_cli.errors import DataError, UnavailableError
from nmt_cli.installation import install_command

DEEPEST = 4


def read_yaml_object(data: bytes, where: str) -> dict[str, Any]:
    """The mapping in YAML text; raises DataError, or UnavailableError without PyYAML.

    where: what the text is of, for errors. Aliases, with which a short text can describe a huge
    object, and deep nesting are refused before anything is built.
    """
    try:
        import yaml
    except ImportError as error:
        raise UnavailableError(
            "importing a Marian model needs the package PyYAML, which reads its settings",
            install_command("marian"),
        ) from error
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        text = data.decode("utf-8")
        depth = 0
        for event in yaml.parse(text, Loader=loader):
            if isinstance(event, yaml.AliasEvent):
                raise DataError(f"{where} has aliases, which Marian does not write")
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            if depth > DEEPEST:
                raise DataError(f"{where} is nested too deeply")
        document = yaml.load(text, Loader=loader)
    except (yaml.YAMLError, ValueError, TypeError, OverflowError, RecursionError) as error:
        reason = str(error).partition("\n")[0]
        raise DataError(f"{where} is not YAML: {reason}", "copy the files again") from error
    if not isinstance(document, dict):
        raise DataError(f"{where} holds no settings", "copy the files again")
    return document
