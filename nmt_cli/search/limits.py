"""How long a translation may become."""

from nmt_cli.config import Search
from nmt_cli.search.decoder import Source


def longest(source: Source, config: Search) -> int:
    """Ids of the longest translation of `source`, EOS not counted; a prefix always fits.

    >>> longest(Source([7, 8, 9, 3]), Search(max_extra_length=50))
    53
    """
    limit = len(source.ids) - 1 + config.max_extra_length
    if config.max_length:
        limit = min(limit, config.max_length)
    return max(limit, len(source.prefix))
