"""The kinds of sentences that are built from one clause: statements and questions."""

from dataclasses import replace

from nmt_cli.extras.demo.grammar import events
from nmt_cli.extras.demo.grammar.chooser import DEFINITE, Chooser
from nmt_cli.extras.demo.grammar.clauses import Clause, english_clause, fronted, german_clause
from nmt_cli.extras.demo.grammar.events import Tenses
from nmt_cli.extras.demo.grammar.nominals import Name, Nominal, Pronoun, WhoWhat
from nmt_cli.extras.demo.grammar.phrases import NounPhrase, TimePhrase
from nmt_cli.extras.demo.vocabulary import lexicon, words
from nmt_cli.extras.demo.vocabulary.german import Case
from nmt_cli.extras.demo.vocabulary.lexicon import Verb

Text = tuple[str, str]  # English and German, without capital letter and final mark.

QUESTION: Tenses = (
    (4, "present"),
    (4, "progressive"),
    (3, "past"),
    (4, "perfect"),
    (2, "future"),
    (4, "modal"),
)
_SHORT_TENSES: Tenses = (
    (3, "present"),
    (2, "progressive"),
    (2, "past"),
    (1, "future"),
    (1, "perfect"),
)
NOW: Tenses = ((1, "present"),)
NOW_OR_THEN: Tenses = ((3, "present"), (1, "past"))


def said(ch: Chooser, clause: Clause) -> Text:
    """The words of the clause as a plain statement."""
    return english_clause(clause), german_clause(clause, ch.labels)


def statement(ch: Chooser) -> Text:
    """A plain main clause, sometimes with its time in front."""
    clause = events.event(ch, negation=0.3)
    if clause.time and ch.chance(0.5):
        return fronted(clause, ch.labels)
    return english_clause(clause), german_clause(clause, ch.labels)


def short_statement(ch: Chooser) -> Text:
    """A short statement, such as `The small dog sleeps.`"""
    verbs = [verb for verb in lexicon.verbs_named("sleep play work sing come") if not verb.frame]
    verb = ch.pick(verbs)
    subject = ch.noun_phrase(verb.subjects, ("the", "a", "this"))
    if "animal" in verb.subjects and ch.chance(0.5):
        subject = ch.noun_phrase("animal", ("the", "a", "this"))
    if subject.adjective is None and ch.chance(0.5):
        subject = replace(subject, adjective=ch.pick(events.looks(subject)))
    tenses: Tenses = (
        (3, "present"),
        (2, "progressive"),
        (2, "past"),
        (1, "future"),
        (1, "perfect"),
    )
    clause = replace(events.event(ch, tenses, verb=verb, subject=subject, time=0.2), place=None)
    return english_clause(clause), german_clause(clause, ch.labels)


def description(ch: Chooser) -> Text:
    """A description of how, where or what somebody or something is."""
    kind = ch.weighted(((6, "state"), (3, "place"), (2, "this"), (1, "trade"), (1, "weather")))
    if kind == "this":
        return _this_is(ch)
    if kind == "weather":
        time = ch.pick((TimePhrase("today", "heute"), None))
        return fronted(replace(ch.pick(weather()), time=time), ch.labels)
    if kind == "place":
        clause = events.whereabouts(ch)
    elif kind == "trade":
        clause = _trade(ch)
    else:
        tags = ch.pick(("person", "animal", "thing food", "place opening text"))
        subject = ch.subject(tags, DEFINITE)
        clause = events.state(ch, subject, NOW_OR_THEN, negation=0.3)
        if tags in ("person", "animal") and ch.chance(0.2):
            clause = replace(clause, time=events.time_for(ch, clause))
    return fronted(clause, ch.labels)


def _this_is(ch: Chooser) -> Text:
    phrase = ch.noun_phrase("person pet thing opening house", ("a", "owner"))
    phrase = replace(phrase, plural=False)
    return "this is " + phrase.english("subject"), "das ist " + phrase.german("nom", ch.labels)


def _trade(ch: Chooser) -> Clause:
    """A profession, in German without an article unless it has an adjective: `er ist Arzt`."""
    subject: Nominal = Name((ch.pick(words.MALE),), "m")
    if ch.chance(0.6):
        subject = ch.simple("brother father uncle", DEFINITE)
    trade = ch.dress(ch.pick(lexicon.nouns_tagged("teacher doctor student")[0]), ("a",))
    said = trade.german("nom", ch.labels) if trade.adjective else trade.noun.de
    return Clause(subject, None, "present", predicate=(trade.english("subject"), said))


def weather() -> tuple[Clause, ...]:
    """A sentence about the weather, such as `It is cold.`"""
    it = Pronoun(2)
    return (
        Clause(it, None, "present", predicate=("cold", "kalt")),
        Clause(it, None, "present", predicate=("warm", "warm")),
        Clause(it, None, "present", predicate=("very cold", "sehr kalt")),
    )


def yes_no_question(ch: Chooser) -> Text:
    """A yes-no question, such as `Does the man sleep?`"""
    ch.labels.add("yes_no_question")
    if ch.chance(0.25):
        subject = _not_me(ch, ch.pick(("person", "thing place")))
        clause = events.state(ch, subject, NOW_OR_THEN)
    else:
        verb = ch.pick(lexicon.verbs())
        subject = _asking_subject(ch, verb)
        clause = events.event(ch, QUESTION, verb=verb, subject=subject, time=0.2)
    return (
        english_clause(clause, "question"),
        german_clause(clause, ch.labels, "question"),
    )


def wh_question(ch: Chooser) -> Text:
    """A question with who, what, where, when, why or which."""
    ch.labels.add("wh_question")
    kinds = ((3, _who), (3, _whom), (3, _what), (3, _where), (3, _when_why), (2, _which))
    return ch.weighted(kinds)(ch)


def _who(ch: Chooser) -> Text:
    who = WhoWhat({"nom": "wer"}, "who")
    verb = ch.pick(lexicon.personal_verbs())
    clause = events.event(ch, QUESTION, verb=verb, subject=who, time=0.2)
    return english_clause(clause), german_clause(clause, ch.labels)


def _asked(ch: Chooser, clause: Clause, en: str, de: str) -> Text:
    return (
        english_clause(clause, "question", en),
        german_clause(clause, ch.labels, "question", de),
    )


def _asking_subject(ch: Chooser, verb: Verb) -> Nominal:
    if verb in lexicon.personal_verbs() and ch.chance(0.35):
        return ch.you()
    return _not_me(ch, verb.subjects)


def _not_me(ch: Chooser, tags: str) -> Nominal:
    # Questions about the speaker's own actions are unusual.
    subject = ch.subject(tags, DEFINITE)
    return Pronoun(3) if subject == Pronoun(0) else subject


def _whom(ch: Chooser) -> Text:
    verb = ch.pick(lexicon.verbs_named("see visit look help belong call pick invite"))
    clause = events.event(ch, QUESTION, verb=verb, subject=_asking_subject(ch, verb), time=0.0)
    case: Case = clause.direct_case
    ch.labels.add("dative" if case == "dat" else "accusative")
    return _asked(ch, replace(clause, direct=None), "who", "wem" if case == "dat" else "wen")


def _what(ch: Chooser) -> Text:
    verb = ch.pick(lexicon.verbs_named("buy sell repair read eat drink look need bring"))
    clause = events.event(ch, QUESTION, verb=verb, subject=_asking_subject(ch, verb), time=0.15)
    time = clause.time if clause.time and not clause.time.mid else None
    return _asked(ch, replace(clause, direct=None, time=time), "what", "was")


def _where(ch: Chooser) -> Text:
    verb = ch.pick(lexicon.verbs_named("sleep work play wait live go drive stay"))
    if verb.frame:
        verb = ch.pick(lexicon.verbs_named("work live go"))
    if ch.chance(0.35):
        subject = ch.subject(ch.pick(("person", "carried", "place")), ("the", "owner"))
        return _asked(ch, Clause(subject, None, "present"), "where", "wo")
    clause = events.event(ch, QUESTION, verb=verb, subject=_asking_subject(ch, verb), time=0.0)
    clause = replace(clause, place=None, direct=None)
    return _asked(ch, clause, "where", "wohin" if verb.place == "to" else "wo")


def _when_why(ch: Chooser) -> Text:
    en, de = ch.pick((("when", "wann"), ("when", "wann"), ("why", "warum")))
    verb = ch.pick(
        lexicon.verbs_named("work sing play go drive arrive get come call help visit sell")
    )
    tenses: Tenses = QUESTION
    if en == "when":
        tenses = ((3, "past"), (3, "future"), (3, "modal"))
    subject = _asking_subject(ch, verb)
    if en == "when" and events.is_you(subject):
        tenses = ((3, "future"), (3, "modal"))
    return _asked(ch, events.event(ch, tenses, verb=verb, subject=subject, time=0.0), en, de)


def _which(ch: Chooser) -> Text:
    verb = ch.pick(lexicon.verbs_named("buy sell read repair"))
    clause = events.event(ch, QUESTION, verb=verb, subject=_asking_subject(ch, verb), time=0.0)
    noun = ch.pick([n for n in lexicon.nouns_tagged(verb.objects)[0] if "mass" not in n.tags])
    if ch.chance(0.35):
        which = NounPhrase(noun, "how many", plural=True)
    else:
        which = NounPhrase(noun, "which", plural=ch.chance(0.2))
    en, de = which.english("object"), which.german("acc", ch.labels)
    return _asked(ch, replace(clause, direct=None), en, de)
