"""Finds comments of translators in brackets on one side only: `[sic]`, `(see note 3)`."""

import re

# What stands alone in the brackets of a comment, in English, German, French, Spanish, Portuguese
# and Italian: that something is doubtful, illegible or missing, a reference to a note, a note of
# the translator, or a literal translation; and what transcribers write of sounds.
_DOUBTS = (
    r"sic!?|\?{1,3}!?|!\?|unclear|not clear|inaudible|illegible|unintelligible|indistinct"
    r"|unreadable|uncertain"
    r"|(?:meaning|word|text|translation|sense) (?:unclear|unknown|uncertain|missing)"
    r"|not translated|untranslated|no translation|unklar|unverständlich|unleserlich"
    r"|nicht übersetzt|illisible|incompréhensible|incertain|non traduit|ilegible|ininteligible"
    r"|poco claro|no traducido|inaudível|ilegível|não traduzido|illeggibile|incomprensibile"
)
_SOUNDS = (
    r"laughs?|laughter|laughing|music|applause|sighs?|coughs?|crosstalk|silence|pause"
    r"|lachen|lacht|gelächter|musik|applaus|beifall|seufzt|rires?|musique|applaudissements|soupirs?"
    r"|risas?|música|aplausos?|suspiros?|silencio|risos?|silêncio|risate?|musica|applausi|sospir[oi]"
)
_NOTE = (
    r"note|notes|footnote|fn\.?|anm(?:erkung|\.)|fu(?:ß|ss)note|nota|notas|remarque|nota a pie"
    r"|note de bas de page"
)
_REFERENCES = (
    rf"(?:see|cf\.?|siehe|s\.|vgl\.|voir|v\.|véase|ver|vedi) (?:the |also |auch |aussi |la )?"
    rf"(?:{_NOTE})(?: (?:no\. ?|n° ?)?\d{{1,3}}| above| below| oben| unten| ci-dessous| ci-dessus)?"
    rf"|(?:footnote|fußnote|translator[’']s note|tn) \d{{1,3}}"
)
_NOTES = (
    r"(?:translator[’']?s?[’']? note|note (?:of|by|from) (?:the )?translators?|t/?n|tr\. note"
    r"|anm(?:erkung|\.) d(?:es|er|\.) ü(?:bersetz(?:ers|erin)|bers\.|\.)|n\. ?d\. ?t\."
    r"|note d(?:u|e la) traduct(?:eur|rice)|nota d(?:el traductor|o tradutor|el traduttore))"
    r"(?:\s?[:–-]\s?[^][(){}]{1,200})?"
)
_LITERALS = (
    r"(?:lit\.|literally|lit :|wörtl\.|wörtlich|litt\.|littéralement|literalmente|letteralmente)"
    r" ?:? ?[^][(){}]{1,100}"
)
COMMENT = re.compile(
    rf"[\[(] ?(?:{_DOUBTS}|{_SOUNDS}|{_REFERENCES}|{_NOTES}|{_LITERALS}) ?[\])]", re.IGNORECASE
)
# List items such as `a)` have no opening ones.
_CLOSING = re.compile(r"[\])}）］】」]")


def has_one_comment(src: str, tgt: str) -> bool:
    """Return whether a side has a comment in brackets, and the other one lacks these brackets.

    >>> has_one_comment("He [sic] goes.", "Er geht."), has_one_comment("a (see note 3)", "b")
    (True, True)
    >>> has_one_comment("He [sic] goes.", "Er [so] geht."), has_one_comment("a (EU)", "b")
    (False, False)
    """
    return any(
        COMMENT.search(side) and len(_CLOSING.findall(side)) > len(_CLOSING.findall(other))
        for side, other in ((src, tgt), (tgt, src))
    )
