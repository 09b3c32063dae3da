"""The members of an ensemble: models with the same vocabularies and special ids."""

from collections.abc import Sequence
from typing import NamedTuple

from nmt_cli.config.schema import Config
from nmt_cli.data.subwords.model import Subwords
from nmt_cli.errors import ConfigError
from nmt_cli.inference.engines import Engine
from nmt_cli.inference.ensemble import Ensemble
from nmt_cli.installation import announce_torch
from nmt_cli.plurals import counted
from nmt_cli.search.decoder import Symbols


class EnsembleMember(NamedTuple):
    """The settings and subwords of a member, which have to fit those of the other members."""

    config: Config
    subwords: Subwords


def check_members(members: Sequence[EnsembleMember]) -> None:
    """Raise ConfigError unless all members have the same vocabularies and special ids."""
    first = members[0]
    for position, other in enumerate(members[1:], 2):
        for side in ("source", "target"):
            ours, theirs = (_pieces(member.subwords, side) for member in (first, other))
            if ours != theirs:
                raise ConfigError(
                    f"model {position} of the ensemble has another {side} vocabulary than the "
                    f"first: {_difference(ours, theirs)}",
                    "the models of an ensemble must be trained on one prepared corpus",
                )
        if Symbols.of(first.config.model) != Symbols.of(other.config.model):
            raise ConfigError(
                f"model {position} of the ensemble has other special ids than the first",
                "the models of an ensemble must be trained on one prepared corpus",
            )


def _pieces(subwords: Subwords, side: str) -> list[str]:
    if side == "source":
        return subwords.source_pieces(range(subwords.src_size))
    return subwords.target_pieces(range(subwords.tgt_size))


def _difference(ours: Sequence[str], theirs: Sequence[str]) -> str:
    if len(ours) != len(theirs):
        return f"{counted(len(theirs), 'subword')}, not {len(ours):,}"
    pairs = enumerate(zip(ours, theirs, strict=True))
    index = next(index for index, (our, their) in pairs if our != their)
    return f"id {index} is `{theirs[index]}`, not `{ours[index]}`"


def joint_engine(engines: Sequence[Engine]) -> Engine:
    """An engine that averages the probabilities of several engines."""
    announce_torch("the mean of an ensemble")
    about = f"{len(engines)} models: " + "; ".join(engine.about for engine in engines)
    notices = dict.fromkeys(engine.notice for engine in engines if engine.notice)
    return Engine(
        "ensemble",
        about,
        lambda slots, beam: Ensemble([engine.decoder(slots, beam) for engine in engines]),
        "; ".join(notices),
        min(engine.slots for engine in engines),
        min(engine.batch_tokens for engine in engines),
        any(engine.reusable for engine in engines),
    )
