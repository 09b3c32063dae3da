"""Sources that let in only the words of a shortlist, and those that are forced."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

import torch

from nmt_cli.config import Search
from nmt_cli.data.shortlist import HINT, Shortlist
from nmt_cli.data.subwords import Subwords
from nmt_cli.errors import NoInputError
from nmt_cli.search.decoder import Source


def no_shortlist() -> Shortlist:
    """For a model that lies in no directory."""
    raise NoInputError("this model has no shortlist", HINT)


def narrowed(
    sources: Iterable[Source], shortlist: Shortlist, config: Search, subwords: Subwords
) -> Iterator[Source]:
    """Each source with what it allows: of its own subwords, prefix and terms, never of others."""
    always = [subwords.eos_id, *([subwords.unk_id] if config.replace_unknown else [])]
    for source in sources:
        forms = [form for term in (source.terms.forms if source.terms else ()) for form in term]
        forced = [*source.prefix, *(one for form in forms for one in form)]
        allowed = shortlist.allowed(source.ids, config.shortlist, [*always, *forced])
        yield replace(source, allowed=torch.from_numpy(allowed))
