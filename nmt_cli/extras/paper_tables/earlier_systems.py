"""The systems that Table 2 of the paper compares the Transformer with, and a run beside them."""

from typing import NamedTuple


class EarlierSystem(NamedTuple):
    """A row of Table 2 for one language pair: BLEU and training cost as printed there.

    flops: None where Table 2 has no figure. source: the publication that Table 2 cites.
    """

    system: str
    bleu: float
    flops: float | None
    source: str


class Beside(NamedTuple):
    """A run beside an earlier system; None where one of the two has no figure.

    difference: BLEU of the run minus that of the system. flops_ratio: the FLOPs of the run, counted
    as GPU time x peak, divided by those of the system.
    """

    difference: float | None
    flops_ratio: float | None


BYTENET = "Kalchbrenner et al. 2016, arXiv:1610.10099"
DEEP_ATT = "Zhou et al. 2016, arXiv:1606.04199"
GNMT = "Wu et al. 2016, arXiv:1609.08144"
CONVS2S = "Gehring et al. 2017, arXiv:1705.03122"
MOE = "Shazeer et al. 2017, arXiv:1701.06538"
# By target language, from English, in the order of Table 2.
EARLIER: dict[str, tuple[EarlierSystem, ...]] = {
    "de": (
        EarlierSystem("ByteNet", 23.75, None, BYTENET),
        EarlierSystem("GNMT + RL", 24.6, 2.3e19, GNMT),
        EarlierSystem("ConvS2S", 25.16, 9.6e18, CONVS2S),
        EarlierSystem("MoE", 26.03, 2.0e19, MOE),
        EarlierSystem("GNMT + RL, ensemble", 26.30, 1.8e20, GNMT),
        EarlierSystem("ConvS2S, ensemble", 26.36, 7.7e19, CONVS2S),
    ),
    "fr": (
        EarlierSystem("Deep-Att + PosUnk", 39.2, 1.0e20, DEEP_ATT),
        EarlierSystem("GNMT + RL", 39.92, 1.4e20, GNMT),
        EarlierSystem("ConvS2S", 40.46, 1.5e20, CONVS2S),
        EarlierSystem("MoE", 40.56, 1.2e20, MOE),
        EarlierSystem("Deep-Att + PosUnk, ensemble", 40.4, 8.0e20, DEEP_ATT),
        EarlierSystem("GNMT + RL, ensemble", 41.16, 1.1e21, GNMT),
        EarlierSystem("ConvS2S, ensemble", 41.29, 1.2e21, CONVS2S),
    ),
}
HEADER = ("earlier system", "BLEU", "this run", "FLOPs", "this run", "published in")


def beside(system: EarlierSystem, bleu: float | None, flops: float | None) -> Beside:
    """A run with this BLEU and these FLOPs beside an earlier system.

    >>> beside(EARLIER["de"][1], 27.3, 3.3e18)
    Beside(difference=2.7, flops_ratio=0.143)
    """
    return Beside(
        None if bleu is None else round(bleu - system.bleu, 2),
        None if flops is None or system.flops is None else float(f"{flops / system.flops:.3g}"),
    )


def document(tgt: str, bleu: float | None, flops: float | None) -> list[dict[str, object]]:
    """The earlier systems of a target language beside a run, for JSON."""
    return [
        {**system._asdict(), **beside(system, bleu, flops)._asdict()} for system in EARLIER[tgt]
    ]


def rows(tgt: str, bleu: float | None, flops: float | None) -> list[tuple[str, ...]]:
    """The same as rows of a table with the columns of HEADER."""
    table: list[tuple[str, ...]] = []
    for system in EARLIER[tgt]:
        difference, ratio = beside(system, bleu, flops)
        table.append(
            (
                system.system,
                f"{system.bleu:.2f}",
                "" if difference is None else f"{difference:+.2f}",
                "" if system.flops is None else f"{system.flops:.1e}",
                "" if ratio is None else f"{ratio:g} x",
                system.source,
            )
        )
    return table
