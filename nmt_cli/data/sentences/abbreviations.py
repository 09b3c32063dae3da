"""Common abbreviations by language, used beside those that are learnt from training text."""

from collections.abc import Mapping

from nmt_cli.data.languages.codes import base_code

# Abbreviations by language; those of "" are used for every language. They are written without the
# last full stop and used with those that are learnt, and alone where nothing was learnt.
#
# Titles and similar words precede another word and end no sentence. Those in lower case may be
# capitalised.
TITLES = {
    "": "Dr Prof Mr Mrs Ms Mx St Mme Mlle Mgr",
    "da": "hr fr f.eks bl.a",
    "de": "Hr Hrn Fr Frl Fa Dipl Ing Hl Chr z.B d.h u.a v.a i.d.R z.T bzw ca vgl evtl ggf inkl "
          "exkl sog",
    "en": "Gen Col Maj Capt Cmdr Lt Sgt Gov Sen Rep Rev Hon Messrs Fr Mt Ft Pres vs i.e e.g cf viz "
          "approx ca",
    "es": "sr sra srta sres D Dña dra Ud Uds Vd Vds Gral Lic Ing Arq p.ej",
    "fr": "M MM Mmes Mlles Me Vve cf c.-à-d env",
    "it": "sig sigg sig.ra dott dott.ssa ing avv arch geom on rag cfr",
    "nl": "dhr mevr mw drs ir mr ds bijv o.a d.w.z m.b.t t.o.v ca",
    "pl": "ul al np im św tzw prof inż mgr gen płk ks",
    "pt": "Sr Sra Srta Dra Eng Exmo Exma p.ex V.Exa",
    "ru": "г гг ул им стр см рис тов проф акад",
    "sv": "hr fr t.ex bl.a dvs",
}  # fmt: skip
# Words that are abbreviations where a number follows.
_REFERENCES = """
    no nos nr nrs n nº núm num fig figs abb art arts abs ch chap cap vol vols bd p pp s pag pág págs
    sec sect § eq ed op par para pt ref tel tab kap ziff z ss kl г д
    jan feb febr mar mär apr jun jul aug sep sept okt oct nov dec dez
    janv févr avr juil déc ene abr ago dic
"""
REFERENCES = frozenset(_REFERENCES.split())
# Words with such an end are too: Hauptstr. 5.
REFERENCE_ENDS = ("str",)
# Abbreviations that may also end a sentence.
OTHER_ABBREVIATIONS = {
    "": "etc inc ltd corp bros jr sr al",
    "de": "usw usf mio mrd tsd jh hrsg allg bspw zzgl str u.dgl",
    "en": "dept est min max misc ave blvd rd apt",
    "es": "ee uu aprox av avda",
    "fr": "av bd éd tél ex apr",
    "it": "ecc tel",
    "nl": "enz blz jl",
    "pl": "itd itp tys mln mld r w",
    "pt": "aprox tel av",
    "ru": "др пр т.д т.п тыс млн млрд руб коп",
    "sv": "osv m.m m.fl",
}  # fmt: skip
# Languages that write ordinal numbers with a full stop: am 3. Mai.
_ORDINALS = "cs da de et fi hr hu is lb lt lv no pl sk sl sr tr"
ORDINALS = frozenset(_ORDINALS.split())


def words_of(lists: Mapping[str, str], language: str) -> frozenset[str]:
    """The words that a table has for a language; all of its words if the language is unknown."""
    texts = [lists[""], lists.get(base_code(language), "")] if language else lists.values()
    return frozenset(word for text in texts for word in text.split())
