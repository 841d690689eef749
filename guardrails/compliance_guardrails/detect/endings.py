"""The endings of French nouns, adjectives and verbs and of English words: from one folded word to all its forms.

Serves inflect.py, which knows how a list is written. It errs on the side of forms that do not exist (harmless: nobody
writes them) and, the endings of the third group apart, holds no word of its own. Everything here is folded.
"""

from __future__ import annotations

# Endings of nouns and adjectives on the folded masculine singular, longest first: (ending, replacements).
_ENDINGS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("teur", ("teur", "teurs", "teuse", "teuses", "trice", "trices")),
    ("eur", ("eur", "eurs", "euse", "euses", "eure", "eures")),
    ("eux", ("eux", "euse", "euses")),
    ("eau", ("eau", "eaux")),
    ("aux", ("aux",)),
    ("oux", ("oux", "ouse", "ouses", "ousse", "ousses")),
    ("if", ("if", "ifs", "ive", "ives")),
    ("ien", ("ien", "iens", "ienne", "iennes")),
    ("een", ("een", "eens", "eenne", "eennes")),
    ("ier", ("ier", "iers", "iere", "ieres")),
    ("er", ("er", "ers", "ere", "eres")),
    ("el", ("el", "els", "elle", "elles")),
    ("ul", ("ul", "uls", "ule", "ules")),
    ("al", ("al", "aux", "ale", "ales", "als")),
    ("ot", ("ot", "ots", "ote", "otes", "otte", "ottes")),
    ("et", ("et", "ets", "ette", "ettes", "ete", "etes")),
    ("on", ("on", "ons", "onne", "onnes", "one", "ones")),
    ("an", ("an", "ans", "ane", "anes", "anne", "annes")),
    ("anc", ("anc", "ancs", "anche", "anches")),
    ("rec", ("rec", "recs", "recque", "recques")),
    ("c", ("c", "cs", "que", "ques")),
    ("f", ("f", "fs", "ve", "ves")),
    ("s", ("s", "se", "ses", "sse", "sses")),
    ("x", ("x",)),
    ("e", ("e", "es", "ee", "ees")),
    ("u", ("u", "us", "ue", "ues")),
)
_ENDINGS_BY_LETTER = {letter: [pair for pair in _ENDINGS if pair[0][-1] == letter] for letter in "rxufnltcse"}
_ENDINGS_OF_VERBS = {
    "er": (
        "er e es ent ons ez ee ees ant ante antes ants ait ais aient ions iez era erai eras erons erez eront erait "
        "erais eraient erions eriez a ai as erent at assent"
    ),
    "ir": (
        "ir is it issons issez issent issait issais issaient issant ira irai iras irons irez iront irait irais iraient "
        "i ie ies irent isse"
    ),
    "re": (
        "re s ons ez ent ait ais aient ions iez ant ra rai ras rons rez ront rait rais raient e u us ue ues it irent"
    ),
}
_ER, _IR, _RE = (tuple(endings.split()) for endings in _ENDINGS_OF_VERBS.values())
# Verbs of the third group by the ending of their infinitive, longest first: what replaces it, then the stem of the
# imperfect and that of the future. A form that is also a very common word ("dû") is left out.
_IRREGULAR: tuple[tuple[str, str, str, str], ...] = (
    ("cueillir", "cueille cueilles cueillent cueilli cueillie cueillis cueillies", "cueill", "cueiller"),
    ("pouvoir", "peux peut peuvent puisse puissent pu", "pouv", "pourr"),
    ("vouloir", "veux veut veulent veuille veuillent veuillez voulu voulue voulus", "voul", "voudr"),
    ("prendre", "prends prend prennent prenne pris prise prises", "pren", "prendr"),
    ("savoir", "sais sait savent sache sachent sachez su sue sus sachant", "sav", "saur"),
    ("devoir", "dois doit doivent doive due dues", "dev", "devr"),
    ("cevoir", "cois coit coivent coive cu cue cus cues", "cev", "cevr"),
    ("valoir", "vaux vaut valent vaille valu", "val", "vaudr"),
    ("suivre", "suis suit suivent suive suivi suivie suivis suivies", "suiv", "suivr"),
    ("mettre", "mets met mettent mette mis mise mises", "mett", "mettr"),
    ("battre", "bats bat battent batte battu battue battus battues", "batt", "battr"),
    ("courir", "cours court courent coure couru", "cour", "courr"),
    ("mourir", "meurs meurt meurent meure mort morte morts mortes", "mour", "mourr"),
    ("partir", "pars part partent parte parti partie partis parties", "part", "partir"),
    ("sortir", "sors sort sortent sorte sorti sortie sortis sorties", "sort", "sortir"),
    ("sentir", "sens sent sentent sente senti sentie sentis senties", "sent", "sentir"),
    ("mentir", "mens ment mentent mente menti", "ment", "mentir"),
    ("dormir", "dors dort dorment dorme dormi", "dorm", "dormir"),
    ("servir", "sers sert servent serve servi servie servis servies", "serv", "servir"),
    ("querir", "quiers quiert quierent quiere quis quise quises", "quer", "querr"),
    ("rompre", "romps rompt rompent rompe rompu rompue rompus", "romp", "rompr"),
    ("croire", "crois croit croient croie cru crue crus", "croy", "croir"),
    ("suffire", "suffis suffit suffisent suffise suffi", "suffis", "suffir"),
    ("avoir", "a ai as ont aie ait aies aient ayez eu eue eus eut ayant", "av", "aur"),
    ("vivre", "vis vit vivent vive vecu vecue vecus", "viv", "vivr"),
    ("tenir", "tiens tient tiennent tienne tenu tenue tenus tenues", "ten", "tiendr"),
    ("venir", "viens vient viennent vienne venu venue venus venues", "ven", "viendr"),
    ("faire", "fais fait font fasse fassent faite faites faits", "fais", "fer"),
    ("boire", "bois boit boivent boive bu bue bus", "buv", "boir"),
    ("crire", "cris crit crivent crive crite crites crits", "criv", "crir"),
    ("plaire", "plais plait plaisent plaise plu", "plais", "plair"),
    ("aitre", "ais ait aissent aisse u ue us ues", "aiss", "aitr"),
    ("clure", "clus clut cluent clue clu clues", "clu", "clur"),
    ("indre", "ins int ignent igne inte intes ints", "ign", "indr"),
    ("voir", "vois voit voient voie vu vue vus vues", "voy", "verr"),
    ("vrir", "vre vres vrent vert verte verts vertes", "vr", "vrir"),
    ("frir", "fre fres frent fert ferte ferts fertes", "fr", "frir"),
    ("fuir", "fuis fuit fuient fuie fui", "fuy", "fuir"),
    ("uire", "uis uit uisent uise uite uites uits", "uis", "uir"),
    ("dire", "dis dit disent dise dite dites dits", "dis", "dir"),
    ("lire", "lis lit lisent lise lu lue lus lues", "lis", "lir"),
)  # fmt: skip
_WHOLE: tuple[tuple[str, str, str, str], ...] = (
    ("etre", "suis es est sommes etes sont sois soit soient soyez soyons ete fut furent", "et", "ser"),
    ("aller", "va vais vas vont aille aillent alle allee alles allees", "all", "ir"),
)
"""Verbs whose infinitive is also the ending of regular ones (`installer`)."""
_MUTE = tuple(ending for ending in _ER if ending in {"e", "es", "ent"} or (ending.startswith("er") and ending != "er"))
_IMPERFECT = ["ons", "ez", "ait", "ais", "aient", "ions", "iez"]
_PARTICIPLES = ["ant", "ante", "antes", "ants"]
_FUTURE = ["a", "ai", "as", "ont", "ons", "ez", "ait", "ais", "aient"]


def nominal(base: str) -> tuple[str, ...]:
    """`algerien` → algerien, algeriens, algerienne, algeriennes."""
    if base.endswith("e"):
        return (base, base + "s")
    for ending, forms in _ENDINGS_BY_LETTER.get(base[-1:], ()):
        if base.endswith(ending):
            head = base[: len(base) - len(ending)]
            return tuple([head + form for form in forms])
    return participle(base)


def participle(base: str) -> tuple[str, ...]:
    """`agé`, folded to `age` → age, ages, agee, agees."""
    return (base, base + "s", base + "e", base + "es")


def verbal(base: str) -> tuple[str, ...]:
    """`refuser` → its simple tenses and participles; -er, -ir (finir) and -re (vendre) verbs, and the third group."""
    if base.endswith("er") and base != "aller":
        return _first_group(base[:-2])
    for ending, forms, imperfect, future in _IRREGULAR:
        if base.endswith(ending):
            return _third_group(base, ending, forms, imperfect, future)
    for ending, forms, imperfect, future in _WHOLE:
        if base == ending:
            return _third_group(base, ending, forms, imperfect, future)
    if base.endswith("ir"):
        return tuple(base[:-2] + ending for ending in _IR)
    return (base[:-2], *(base[:-2] + ending for ending in _RE))


def _third_group(base: str, ending: str, forms: str, imperfect: str, future: str) -> tuple[str, ...]:
    head = base[: len(base) - len(ending)]
    found = [ending, *forms.split(), *(imperfect + end for end in _IMPERFECT), *(future + end for end in _FUTURE)]
    if not forms.endswith("ant"):  # `ayant` and `sachant` do not follow the imperfect
        found += [imperfect + end for end in _PARTICIPLES]
    return tuple([head + form for form in found])


def _first_group(stem: str) -> tuple[str, ...]:
    """-er verbs; `manger` keeps its e before a and o, `rejeter` doubles its t, `payer` changes its y."""
    if stem.endswith("g"):
        return tuple([(stem + "e" if ending[0] in "ao" else stem) + ending for ending in _ER])
    forms = tuple([stem + ending for ending in _ER])
    if stem.endswith(("el", "et")):
        return (*forms, *(stem + stem[-1] + ending for ending in _MUTE))
    if stem.endswith("y"):
        return (*forms, *(stem[:-1] + "i" + ending for ending in _MUTE))
    return forms


def english(base: str) -> tuple[str, ...]:
    """`deny` → deny, denies, denied, denying; also serves for plurals."""
    if base.endswith("y") and base[-2:-1] not in "aeiou":
        return (base, base[:-1] + "ies", base[:-1] + "ied", base + "ing")
    if base.endswith("e"):
        return (base, base + "s", base + "d", base[:-1] + "ing")
    if base.endswith(("s", "x", "ch", "sh")):
        return (base, base + "es", base + "ed", base + "ing")
    return (base, base + "s", base + "ed", base + "ing")
