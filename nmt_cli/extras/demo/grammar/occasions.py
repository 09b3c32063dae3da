"""Everyday sentences: greetings, requests, and sentences in the passive."""

from dataclasses import replace

from nmt_cli.extras.demo.grammar import events
from nmt_cli.extras.demo.grammar.chooser import DEFINITE, Chooser
from nmt_cli.extras.demo.grammar.clauses import Clause, english_clause, fronted, german_clause
from nmt_cli.extras.demo.grammar.events import Tenses
from nmt_cli.extras.demo.grammar.nominals import Nominal, Pronoun
from nmt_cli.extras.demo.grammar.phrases import NounPhrase
from nmt_cli.extras.demo.grammar.sentences import Text, said
from nmt_cli.extras.demo.vocabulary import lexicon, words
from nmt_cli.extras.demo.vocabulary.german import present_form
from nmt_cli.extras.demo.vocabulary.lexicon import Verb

_PASSIVE: Tenses = (
    (3, "progressive"),
    (4, "past"),
    (3, "perfect"),
    (2, "future"),
    (2, "modal"),
)


def passive(ch: Chooser) -> Text:
    """A sentence in the passive."""
    verb = ch.pick(lexicon.verbs_with("", "passive"))
    tags = " ".join(tag for tag in verb.objects.split() if tag != "person") or "person"
    phrase: Nominal = ch.noun_phrase(tags, DEFINITE)
    if tags == "person" and ch.chance(0.3):
        phrase = ch.person()
    clause = Clause(phrase, verb, ch.weighted(_PASSIVE), passive=True)
    if clause.tense == "modal":
        clause = replace(clause, modal=ch.pick(lexicon.modals_named("can", "must", "should")))
    if clause.tense == "past" and events.is_you(phrase):
        clause = replace(clause, tense="perfect")
    if ch.chance(0.35):
        clause = replace(clause, agent=_agent(ch, phrase))
    elif ch.chance(0.2):
        clause = replace(clause, negated=True)
    if ch.chance(0.3):
        clause = replace(clause, time=events.time_for(ch, clause))
    return fronted(clause, ch.labels) if ch.chance(0.5) else said(ch, clause)


def _agent(ch: Chooser, patient: Nominal) -> Nominal:
    if ch.chance(0.35):
        return ch.name()
    agent = ch.noun_phrase("adult", ("the", "a", "owner"))
    if isinstance(patient, NounPhrase) and patient.noun.en == agent.noun.en:
        return ch.name()
    return agent


def greeting(ch: Chooser) -> Text:
    """A greeting, a goodbye, thanks or wishes."""
    ch.labels.add("greeting")
    kind = ch.weighted(((3, _hello), (2, _how_are_you), (2, _thanks), (2, _until), (2, _my_name)))
    return kind(ch)


def _hello(ch: Chooser) -> Text:
    en, de = ch.pick(
        (
            ("good morning", "guten Morgen"),
            ("good evening", "guten Abend"),
            ("good night", "gute Nacht"),
            ("hello", "hallo"),
            ("goodbye", "auf Wiedersehen"),
            ("happy birthday", "alles Gute zum Geburtstag"),
        )
    )
    name = ch.name()
    return f"{en}, {name.english('object')}!", f"{de}, {name.german('nom', ch.labels)}!"


def _how_are_you(ch: Chooser) -> Text:
    you = ch.you()
    ch.labels.add("wh_question")
    return "how are you?", f"wie geht es {you.german('dat', ch.labels)}?"


def _thanks(ch: Chooser) -> Text:
    noun = ch.pick(lexicon.nouns_tagged("gift letter picture cake book coffee soup bag")[0])
    thing = replace(ch.dress(noun, ("the",)), determiner="the", plural=False)
    if ch.chance(0.5):
        thing = replace(thing, determiner="owner", owner=ch.you())
        return f"thank you for {thing.english('object')}!", f"danke für {_acc(ch, thing)}!"
    name = ch.name()
    return (
        f"thank you for {thing.english('object')}, {name.english('object')}!",
        f"danke für {_acc(ch, thing)}, {name.german('nom', ch.labels)}!",
    )


def _acc(ch: Chooser, phrase: NounPhrase) -> str:
    return phrase.german("acc", ch.labels)


def _until(ch: Chooser) -> Text:
    en, de = ch.pick((("tomorrow", "morgen"), *((f"on {en}", de) for en, de in words.WEEKDAYS)))
    if en != "tomorrow":
        ch.labels.add("date")
    name = ch.name()
    return f"see you {en}, {name.english('object')}!", f"bis {de}, {name.german('nom', ch.labels)}!"


def _my_name(ch: Chooser) -> Text:
    ch.labels.add("name")
    name = ch.first_name().names[0]
    if ch.chance(0.5):
        city = ch.city()
        return (
            f"my name is {name} and I live in {city.english('object')}",
            f"ich heiße {name} und wohne in {city.german('dat', ch.labels)}",
        )
    return f"my name is {name}", f"ich heiße {name}"


def request(ch: Chooser) -> Text:
    """A request, such as `Open the window, Anna!`."""
    ch.labels.update(("imperative", "address"))
    you = ch.you()
    verb = ch.pick([verb for verb in lexicon.verbs() if verb.imperative])
    clause = events.event(ch, verb=verb, subject=you, time=0)
    negated = verb.frame == "acc" and ch.chance(0.25)
    if isinstance(clause.direct, NounPhrase) and not clause.direct.is_definite:
        negated = False
    clause = replace(clause, tense="present", modal=None, negated=negated, time=None)
    please = not negated and ch.chance(0.5)
    return _requested(ch, clause, verb, you, please=please)


def _requested(ch: Chooser, clause: Clause, verb: Verb, you: Pronoun, *, please: bool) -> Text:
    said = english_clause(replace(clause, negated=False)).removeprefix("you ")
    asked = german_clause(clause, ch.labels, "question")
    finite, subject = (
        present_form(verb.de, verb.du, verb.er, you.person),
        you.german("nom", set()),
    )
    rest = asked.removeprefix(f"{finite} {subject}").strip()
    form = {1: verb.imperative, 4: finite, 6: f"{finite} Sie"}[you.index]
    en = f"do not {said}" if clause.negated else said
    mark = "." if please else "!"
    polite = ("please ", "bitte ") if please else ("", "")
    return f"{polite[0]}{en}{mark}", f"{polite[1]}{form} {rest}".strip() + mark
