"""The warnings about the text that `nmt prepare` gives at its end."""

from collections.abc import Iterable, Mapping, Sequence

from nmt_cli.config.automatic import FEWEST_OCCURRENCES
from nmt_cli.config.schema import DataConfig
from nmt_cli.data.cleaning.alignment.matching import MIN_PAIRS, MIN_PAIRS_RELATED
from nmt_cli.data.cleaning.chunks import FIRST_LINES, MixedWords
from nmt_cli.data.cleaning.held_out.copies import LEAST_SHARE, HeldOut
from nmt_cli.data.cleaning.held_out.faults import fault_notes, form_notes
from nmt_cli.data.cleaning.held_out.placeholders import placeholder_notes
from nmt_cli.data.cleaning.held_out.texts import HeldOutText
from nmt_cli.data.cleaning.kinds import HELD_OUT, KINDS, REPLACEMENT, drops
from nmt_cli.data.corpus.text_statistics import MOSTLY_SINGLE_SENTENCES, TextStatistics
from nmt_cli.data.languages.text_files import SIDES, remedies, texts_of
from nmt_cli.data.preparation.encode import SplitWriter
from nmt_cli.data.subwords.model import Subwords
from nmt_cli.plurals import agreeing, counted

# If a smaller share of the pairs is kept, this is reported, with this many reasons.
LEAST_KEPT = 0.5
# A corpus is swapped as a whole if a larger share of its pairs are.
MOST_SWAPPED = 0.5
MOST_REASONS = 3
# Words of mixed scripts are warned of in so many lines, and in this share of the lines.
FEWEST_MIXED, LEAST_MIXED = 3, 2e-4


def rare_entries(data: DataConfig, train: SplitWriter, subwords: Subwords) -> list[str]:
    """Return a warning for each vocabulary whose average entry is too rare to be learnt."""
    if data.vocab_size == "auto" or data.subwords in ("bytes", "chars") or data.subwords_from:
        return []
    vocabularies = [("", train.src.tokens + train.tgt.tokens, subwords.src_size)]
    if not data.joint:
        vocabularies = [
            ("source ", train.src.tokens, subwords.src_size),
            ("target ", train.tgt.tokens, subwords.tgt_size),
        ]
    return [
        f"the {name}vocabulary of {size:,} is large for {tokens:,} tokens: an entry occurs "
        f"{tokens / size:.1f} times on average; `--vocab-size auto` chooses a smaller one"
        for name, tokens, size in vocabularies
        if tokens < FEWEST_OCCURRENCES * size
    ]


def format_reasons(dropped: dict[str, int]) -> str:
    """The counts of dropped pairs with their reasons."""
    return ", ".join(f"{count:,} {reason}" for reason, count in dropped.items())


def few_kept(trained: int, set_apart: int, read: int, dropped: dict[str, int]) -> list[str]:
    """Return a warning if most pairs were dropped, which names the commonest reasons.

    trained: the pairs to train on; set_apart: those for validation and testing, which are kept too.
    """
    kept = trained + set_apart
    if kept >= LEAST_KEPT * read:
        return []
    commonest = sorted(dropped, key=lambda reason: -dropped[reason])[:MOST_REASONS]
    reasons = format_reasons({reason: dropped[reason] for reason in commonest})
    parts = f", {trained:,} to train on and {set_apart:,} set apart" if set_apart else ""
    return [
        f"only {kept:,} of {counted(read, 'pair')} {agreeing(kept, 'was', 'were')} kept "
        f"({kept / read:.1%}){parts}; dropped were {reasons}: are these the right files? "
        "`--dropped FILE` lists the dropped pairs"
    ]


def swapped_notes(data: DataConfig, counts: Sequence[tuple[int, int]]) -> list[str]:
    """Return a warning for each training corpus most of whose pairs seem swapped.

    counts: the swapped pairs of each corpus, and all of its pairs.
    """
    texts = texts_of(data.train, (), (), data.tsv_columns)
    found = [
        (text, swapped, pairs)
        for text, (swapped, pairs) in zip(texts, counts, strict=True)
        if swapped > MOST_SWAPPED * pairs
    ]
    return [
        f"{swapped:,} of {counted(pairs, 'pair')} of {text.shown} seem swapped, unlike the rest "
        f"of the training text: {remedy}"
        for (text, swapped, pairs), remedy in zip(
            found, remedies([text for text, *_ in found], texts), strict=True
        )
    ]


def replaced_notes(data: DataConfig, counts: Sequence[tuple[int, int]]) -> list[str]:
    """Return a note for each training corpus with U+FFFD that its files have themselves.

    counts: the pairs of each corpus that have it, and all of its pairs.
    """
    return [
        f"{shown}: {counted(damaged, 'pair')} {agreeing(damaged, 'has', 'have')} U+FFFD, which an "
        "earlier conversion wrote in place of letters that it could not read; the letters are "
        "lost: convert the original text again, from its true encoding, or leave such pairs out "
        "(`--clean`)"
        for paths, (damaged, _) in zip(data.train, counts, strict=True)
        if damaged and not drops(data, REPLACEMENT)
        for shown in (" and ".join(f"`{path}`" for path in paths),)
    ]


def mixed_notes(
    data: DataConfig, mixed: Mapping[tuple[int, int], MixedWords], pairs: int
) -> list[str]:
    """Return a warning for each side with words of mixed scripts that the repairs have left.

    mixed: the lines of each corpus and side (0 or 1); pairs: those of the whole text. Fewer lines
    may have symbols and names that are right.
    """
    notes = []
    for (corpus, side), words in mixed.items():
        if words.lines < max(FEWEST_MIXED, LEAST_MIXED * pairs):
            continue
        paths = data.train[corpus]
        shown = f"`{paths[min(side, len(paths) - 1)]}`"
        where = shown if len(paths) > 1 else f"the {SIDES[side]} of {shown}"
        examples = ", ".join(f"line {line:,}: `{word}`" for line, word in words.first.items())
        is_cut = words.lines > len(words.first)
        more, listed = (", ...", "; `--repaired FILE` lists all of them") if is_cut else ("", "")
        notes.append(
            f"{where}: {counted(words.lines, 'line')} keep letters of another script within words "
            f"({examples}{more}), which may be meant, so that they are not repaired: if they stand "
            f"in place of other letters, replace them in the file{listed}"
        )
    return notes


DROP_HELD_OUT = "to drop these training pairs: --set data.drop_held_out=true"


def overlap_notes(data: DataConfig, held_out: list[HeldOut]) -> list[str]:
    """Return a warning for each held-out set whose sentences also occur in the training text.

    There is none where these training pairs are dropped.
    """
    if drops(data, HELD_OUT):
        return []
    notes = []
    for sentences in held_out:
        found, targets = sentences.found_sources, sentences.found_targets
        if found:
            notes.append(
                f"{found:,} of {counted(sentences.count, f'{sentences.name} sentence')} also occur "
                f"in the training text; {DROP_HELD_OUT}"
            )
        if near := sentences.found_loose_sources:
            notes.append(
                f"{near:,} of {counted(sentences.count, f'{sentences.name} sentence')} occur in "
                "the training text with other capital letters or punctuation, and scores on "
                f"them are higher than on new text; {DROP_HELD_OUT}"
            )
        if _are_many(sentences):
            notes.append(
                f"{targets:,} of {counted(sentences.count, f'{sentences.name} target')} also occur "
                "in the training text beside other sources, as text for back-translation may have "
                f"them, and scores on them are higher than on new text; {DROP_HELD_OUT}"
            )
    return notes


def overlap_remarks(held_out: list[HeldOut], dropped: Mapping[str, int]) -> tuple[str, ...]:
    """Return what was dropped as copies of held-out text; dropped: the pairs by reason."""
    pairs = dropped.get(KINDS[HELD_OUT].name, 0)
    if not pairs:
        return ()
    found = [
        f"{count:,} of {counted(sentences.count, f'{sentences.name} {noun}')}{how}"
        for sentences in held_out
        for count, noun, how in (
            (sentences.found_sources, "sentence", ""),
            (
                sentences.found_loose_sources,
                "sentence",
                " with other capital letters or punctuation",
            ),
            (sentences.found_targets, "target", " beside other sources"),
        )
        if count
    ]
    copies, them = agreeing(pairs, "a copy", "copies"), agreeing(pairs, "it", "them")
    return (
        f"{counted(pairs, 'training pair')} {agreeing(pairs, 'was', 'were')} dropped as {copies} "
        f"of held-out text ({', '.join(found)}), so that scores on it are those of new text; "
        f"`--dropped FILE` lists {them}; the model does not learn {them}, so a formula that your "
        "texts repeat is better removed from the held-out text",
    )


def uncompared_remarks(pairs: int, compared: int | None) -> tuple[str, ...]:
    """Return that no pair was compared by its words, as a small text tells too little of them.

    compared: the pairs that were; None: they were not to be.
    """
    if compared != 0 or pairs < MIN_PAIRS_RELATED:
        return ()
    return (
        f"no pairs that are no translations of each other were looked for: {MIN_PAIRS:,} pairs "
        "without other faults are needed for that; look at some pairs yourself, in blocks, too",
    )


def sentence_remarks(statistics: TextStatistics) -> tuple[str, ...]:
    """Return what a model does with lines of several sentences, if a few lines are such lines."""
    share = statistics.src.several_sentences
    if statistics.has_single_sentences or share >= MOSTLY_SINGLE_SENTENCES:
        return ()
    return (
        f"{share:.0%} of the source lines have several sentences, so a model of this text "
        "translates such lines as they are; with `nmt translate --sentences split`, it translates "
        "each sentence on its own: compare both",
    )


def _are_many(sentences: HeldOut) -> bool:
    """Whether so many targets occur beside other sources that chance does not explain it."""
    targets = sentences.found_targets
    return targets > 0 and targets >= LEAST_SHARE * sentences.count


def header_remarks(held_out: Iterable[HeldOutText]) -> list[str]:
    """Say which held-out tables have a header."""
    return [text.header_note for text in held_out if text.header]


def empty_sides(held_out: Iterable[HeldOutText]) -> list[str]:
    """Return a warning for each held-out text that has empty sides."""
    notes = []
    for text in held_out:
        pairs = enumerate(text.pairs)
        empty = [text.line(index) for index, sides in pairs if not all(map(str.strip, sides))]
        if empty:
            has = "has" if len(empty) == 1 else "have"
            lines = ", ".join(f"{number:,}" for number in empty[:FIRST_LINES])
            more = ", ..." if len(empty) > FIRST_LINES else ""
            notes.append(
                f"{len(empty):,} of {len(text.src):,} {text.name} pairs {has} an empty side: "
                f"{agreeing(len(empty), 'line', 'lines')} {lines}{more}"
            )
    return notes


def held_out_notes(data: DataConfig, held_out: Sequence[HeldOutText]) -> list[str]:
    """Return the warnings about empty sides, placeholders and faults in held-out text."""
    notes = empty_sides(held_out)
    if data.clean == "off":
        return notes
    # Pairs that are set apart are those of the training text, which is checked and repaired.
    texts = [text for text in held_out if text.files]
    return [*notes, *placeholder_notes(texts), *fault_notes(texts), *form_notes(texts)]
