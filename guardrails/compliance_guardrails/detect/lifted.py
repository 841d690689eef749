"""What lifts the reasoning of a whole query: a burden forbidden, a text retold, history, a form, a question of rights.

And what a fact of life needs to count: illness, age or family explain many things, so a sentence that reasons from
them flags only where a decision, a doubt or a guess stands beside them. Used by attributes.py alone; told.py holds
what the bias screen shares. Small words are here, word lists in attributes.yaml.
"""

from __future__ import annotations

from itertools import pairwise

from .polarity import decisions, unfavourable
from .reading import NE, PUNCTUATION, Reading, Reason
from .rules_models import Characteristic
from .told import OF_LIFE
from .verdicts import BURDENS, GUESS, their_own, verdict

REACH = 6
SOURCE_REACH = 5
LAST_YEAR = "1969"
ADULT = 18
_NOBODY = frozenset({"aucun", "aucune", "personne", "nul", "nulle"})
_NEVER = frozenset({"jamais", "pas", "plus", "rien"})
_ASKED_OF = frozenset(
    {
        "assureur", "banque", "banquier", "employeur", "mutuelle", "bailleur", "proprietaire", "compagnie", "organisme",
        "preteur", "entreprise", "patron", "agence", "hopital", "ecole", "assurance", "courtier", "fils", "fille",
    }
)  # fmt: skip
_SOME_OR_MY = frozenset({"un", "une", "mon", "ma", "mes"})
_MAY = frozenset({"peut", "peuvent", "doit", "a", "est", "pourrait"})
_LAW = frozenset({"loi", "legal", "legale", "licite", "code", "recours", "rgpd", "droits"})
_DATED = frozenset({"en", "apres", "avant", "vers", "jusqu", "annees", "depuis"})
_BORN = frozenset({"ne", "nee", "nes", "nees", "construit", "construite"})
_OUGHT = frozenset({"faut", "doit", "devons", "devez", "convient", "faudrait"})
_DOUBT = ("suppos", "presum", "conclu", "dedui", "soupconn", "suspect", "accus", "jug")
_DEMAND = ("demand", "exig", "reclam", "impos", "factur", "appliqu", "prelev")
_DEMANDED = BURDENS | {
    "piece",
    "pieces",
    "document",
    "documents",
    "preuve",
    "preuves",
    "majoration",
    "tarif",
}
_TEXTS = frozenset({"jugement", "decision", "courrier", "lettre", "texte", "temoignage", "recit", "affaire", "plainte"})
_VOICES = frozenset({
    "article", "articles", "arret", "arrets", "film", "roman", "reportage", "jurisprudence",
    "juge", "juges", "cour", "tribunal", "defenseur", "conseil", "cassation", "mediateur", "halde", "podcast", "livre",
    "documentaire", "emission", "rumeur", "rumeurs", "journal", "presse", "serie", "blog", "forum", "etude",
})  # fmt: skip
_ARTICLES = frozenset({"le", "la", "l", "les", "un", "une", "cet", "cette", "ce", "du", "d", "des"})
_THAT = frozenset({"que", "qu", "d", "de", "avoir"})
_SO = frozenset({"mais", "donc", "alors", "si"})
_HEARSAY = frozenset({"aurait", "auraient"})
_PUNISHED = ("puni", "sanctionn", "condamn", "poursuivi", "passible")
_WILL_BE = frozenset({"est", "sont", "sera", "seront", "serait", "ete"})
_SAYS = (
    "raconte", "soutien", "invoque", "ecri", "affirme", "pretend", "denonce", "reproche", "accuse", "menace", "allegue",
    "rapporte", "relate", "plaint", "proteste", "conteste", "plaide", "reconna", "argue", "valoir", "jure", "avoue",
    "dit", "explique", "estime", "croit",
)  # fmt: skip
_TELLING = frozenset({"dit", "explique", "estime", "croit"})
_LAST_PARTS = frozenset({"selon", "apres"})
_I = frozenset({"je", "j", "on"})
_US = _I | {"nous"}
_FORM = frozenset({"avez", "etes", "prenez", "suivez", "percevez", "souffrez", "fumez", "portez", "touchez"})
_TICK = frozenset({"cochez", "indiquez", "precisez"})
_OTHERS = frozenset({"il", "elle", "ils", "elles", "on", "son", "sa", "ses", "leur", "leurs"})
_DATA = frozenset({
    "numero", "code", "case", "champ", "formulaire", "civilite", "pronom", "accord", "rubrique", "convention", "visa",
    "fatca", "fiscal", "fiscale", "passeport", "consulat", "ambassade", "apostille", "traduction", "bilaterale",
    "impot", "impots", "taxe", "resident", "residente", "anglais", "langue", "interprete", "traduit", "traduite",
    "carte", "permis", "plaque", "regime", "caisse", "format",
})  # fmt: skip
_RECORDED = frozenset({
    Characteristic.SEX, Characteristic.GENDER_IDENTITY, Characteristic.BIRTH, Characteristic.NATIONALITY,
})  # fmt: skip
_ILLS = frozenset({"chute", "chutes", "deces", "maladie", "maladies", "cancer", "accident", "accidents"})
_YOURS = frozenset({"votre", "vos"})
_COUNTS = ("jou", "chang", "influ", "pes", "modifi", "entre")
_CAUSES = frozenset({"a", "au", "en", "parce", "pour", "de", "du"})
_NONE = frozenset({"aucun", "aucune", "rien", "pas"})
_NEAR = frozenset({"entre", "chez", "avec", "pour", "de", "a"})
_PRETEXT = frozenset({"pretexte", "motif"})
_FEELS = frozenset({"envie", "peur", "doute", "doutes", "mal"})
_TELLS = frozenset({"ai", "avons", "avait", "avais"})
_HELPS = (
    "rappel", "avanc", "repren", "decal", "envo", "adress", "ecri", "previ", "prevo", "attend", "aid", "accompagn",
    "expliqu", "relis", "tradui", "telephon", "recoi", "accueil", "install", "cherch", "reserv", "remplac",
    "rempli", "laiss",
)  # fmt: skip
_WEIGH = frozenset({
    "forcement", "certainement", "surement", "evidemment", "probablement", "surtout", "trop", "basse", "bas",
    "pire", "douter", "doute", "negative", "mauvaise", "mauvais", "should", "we", "i", "refuse",
    "trompe", "ment", "exagere", "classee", "inutile",
})  # fmt: skip
_LESSENED = ("ecourt", "abreg", "redui", "baiss", "minor", "diminu", "repouss", "plafonn", "retard", "ralenti")
_ASKED = frozenset({"faut", "doit", "dois", "doivent", "non", "accord", "vaut", "est", "suffit", "peut", "should"})


def lifts(reading: Reading) -> bool:
    """True when nothing in the sentence is the caller's own reasoning."""
    return (
        _forbidden(reading)
        or _long_ago(reading)
        or _asks_for_rights(reading)
        or _sourced(reading)
        or _filled_in(reading)
    )


def weighs(reading: Reading, reason: Reason) -> bool:
    """True unless the reason is a fact of life, or of a form, beside which nothing is decided, doubted or guessed."""
    span = reading.words[reason.start : reason.end]
    if denied(reading, reason):
        return False
    if reason.rule == "comparison":
        return _compares(reading, reason)
    recorded = reason.characteristic in _RECORDED and not _DATA.isdisjoint(reading.words)
    if recorded or "vous" in span or (reading.sentence.is_question and not _YOURS.isdisjoint(span)):
        return _decides(reading, reason)
    caused = reason.rule == "consequence" and reading.has("causal_verbs")
    if reason.characteristic not in OF_LIFE or caused or not _PRETEXT.isdisjoint(span[:3]):
        return True
    return not _minor(span) and _stands(reading, reason, span)


def _minor(span: list[str]) -> bool:
    return any(word.isdigit() and int(word[:3]) < ADULT for word in span)


def denied(reading: Reading, reason: Reason) -> bool:
    """ "…, pas parce que vous êtes …", "et non à la maladie", "n’a joué aucun rôle"; or only counted."""
    if reading.sentence.is_question:
        return False
    if reason.rule == "comparison":
        return not _compares(reading, reason)
    words = reading.words
    if reading.word(reason.start - 1) == "pas" or _minor(words[reason.start : reason.end]):
        return True
    if any(a == "non" and b in _CAUSES for a, b in pairwise(words[: reason.end])):
        return True
    ends = reading.words[reason.end - 1].startswith(_COUNTS) and reason.rule == "consequence"
    return ends and not _NONE.isdisjoint(reading.words[reason.end - 2 : reason.end + 2])


def _compares(reading: Reading, reason: Reason) -> bool:
    """False for what is only counted, and for "le vieux Leica vaut plus que l’appareil neuf"."""
    words, end = reading.words, reason.end
    if reading.word(end) in {"que", "qu"} and not reading.things.isdisjoint(range(end, end + 4)):
        return False
    ill = reason.characteristic in OF_LIFE and not _ILLS.isdisjoint(words)
    counted = not reading.sentence.is_question and (
        words[reason.start + 1] in {"de", "d"}
        or any(word.startswith("nombreu") for word in words)
        or not reading.grammar.measured.isdisjoint(words[: reason.start])
    )
    return not (counted or ill) or any(unfavourable(reading, found) for found in reading.predicates)


def _stands(reading: Reading, reason: Reason, span: list[str]) -> bool:
    """True when a decision, a doubt or a guess stands beside a fact of life."""
    words = reading.words
    bare = words[0] not in reading.grammar.articles and words[0] not in reading.grammar.pronouns
    if bare and reason.start == 0 and reason.rule == "consequence" and not reading.sentence.is_question:
        return True  # "Retraitée donc disponible"
    outside = words[: reason.start] + words[reason.end :] if reason.rule.startswith("causal") else words
    asked = reading.sentence.is_question and not _ASKED.isdisjoint(outside)
    ours = any(
        word in _US and outside[max(0, at - 1)] not in _NEAR and not _kindly(outside[at + 1 : at + 4])
        for at, word in enumerate(outside)
    )
    weighed = ours or not _WEIGH.isdisjoint(outside) or any(word.startswith(_LESSENED) for word in outside)
    needless = "besoin" in outside and outside[outside.index("besoin") - 1] == "pas"
    if reason.rule != "consequence" and _apart(reading, reason):
        return True
    return asked or weighed or needless or ("conge" not in span and _decides(reading, reason))


def _apart(reading: Reading, reason: Reason) -> bool:
    """True when a verdict stands before or after the reason."""
    sides = ((0, reason.start), (reason.end, len(reading.words)))
    return any(verdict(reading, reason.characteristic, first, last) for first, last in sides if first < last)


def _kindly(words: list[str]) -> bool:
    """ "(Je) lui ai lu le contrat", "(on) avance la visite": told, or done for them, and not denied."""
    told = not _TELLS.isdisjoint(words) or any(word.startswith(_HELPS) for word in words)
    return told and (NE | _FEELS).isdisjoint(words)


def _decides(reading: Reading, reason: Reason) -> bool:
    """True when something unfavourable stands beside a reason."""
    marks = reading.marks.get("measures", ())
    return any(not reason.start <= mark.start < reason.end for mark in marks) or any(
        not (reason.start <= found.start < reason.end or their_own(reading, found.start))
        and unfavourable(reading, found)
        for found in reading.predicates
    )


def _forbidden(reading: Reading) -> bool:
    """ "Ne demandez jamais de caution parce que …", "n’en concluez pas …": a burden or a doubt ruled out."""
    words = reading.words
    if reading.sentence.is_question:
        return False
    if words[:2] in (["loin", "de"], ["hors", "de"]) or (words[:2] == ["je", "ne"] and "que" in words[4:7]):
        return True
    for at, word in enumerate(words):
        if word in _NOBODY and (not at or words[at - 1] in PUNCTUATION) and _I.isdisjoint(words):
            named = word.startswith("aucun") and not {at + 1, at + 2}.isdisjoint(reading.inside)
            if not named and not NE.isdisjoint(words[at + 1 : at + 2 + REACH]):
                return True  # "aucune pièce ne lui a été demandée …", "personne n’est reçu …"
    for at, word in enumerate(words[:-2]):
        if word not in NE or (at and words[at - 1] not in PUNCTUATION | {"et", "on", "nous", "il"}):
            continue
        verb = at + 1 + (words[at + 1] in reading.grammar.object_pronouns)
        if reading.word(verb + 1) not in _NEVER:
            continue
        if words[verb] in _OUGHT:
            verb += 2
        if words[verb].startswith(_DOUBT):
            return True
        asked = words[verb + 2 : verb + 2 + REACH]
        if words[verb].startswith(_DEMAND) and not (_DEMANDED | reading.grammar.burdens).isdisjoint(asked):
            return True
    return False


def told(reading: Reading, reason: Reason) -> bool:
    """ "Plaide que …", "d’après son avocat", "le podcast …": told or condemned, and nothing made of it here."""
    words, start = reading.words, reason.start
    before, after = words[: reason.end], words[reason.end :]
    if "qui" in before and any(a in _WILL_BE and b.startswith(_PUNISHED) for a, b in pairwise(after)):
        return True
    ours = reading.sentence.is_question or not (_US.isdisjoint(after) and _SO.isdisjoint(words[:start]))
    if ours or any(at >= reason.end and words[at - 1] in PUNCTUATION for at in decisions(reading)):
        return False
    voices = _VOICES if reading.grammar.quoting.isdisjoint(words[:4]) else _VOICES | _TEXTS
    if any(word in voices and reading.word(at - 1) in _ARTICLES for at, word in enumerate(before[:REACH])):
        return True
    if any(_says(reading, at) for at, word in enumerate(words[1:start], 1) if word.startswith(_SAYS)):
        return True
    return not _HEARSAY.isdisjoint(words) and GUESS.isdisjoint(words) and _US.isdisjoint(words)


def _sourced(reading: Reading) -> bool:
    """ "Selon elle", "d’après son avocat", "selon le journal"; not where we say something as well."""
    words = reading.words
    if reading.sentence.is_question or _LAST_PARTS.isdisjoint(words) or not _US.isdisjoint(words):
        return False
    return any(_source(reading, at) for at, word in enumerate(words) if word in _LAST_PARTS)


def _source(reading: Reading, at: int) -> bool:
    if reading.words[at] == "apres" and reading.word(at - 1) != "d":
        return False
    named = reading.words[at + 1 : at + 1 + SOURCE_REACH]
    person = named[:1] in (["lui"], ["elle"]) or not reading.persons.isdisjoint(range(at, at + SOURCE_REACH))
    return person or not _VOICES.isdisjoint(named) or "serait" in reading.words


def _says(reading: Reading, at: int) -> bool:
    """True when the verb of saying at `at` is somebody else's, and what it says follows."""
    words = reading.words
    if words[at - 1] in PUNCTUATION or not _US.isdisjoint(words[max(0, at - 3) : at]):
        return False
    said = words[at + 1 : at + 1 + (1 if words[at] in _TELLING else SOURCE_REACH)]
    return not _THAT.isdisjoint(said)


def _long_ago(reading: Reading) -> bool:
    """ "Ils ont fui en 1685": history, unless somebody was born then."""
    words = reading.words
    for at, word in enumerate(words):
        if len(word) == 4 and word.isdigit() and "1000" <= word <= LAST_YEAR and reading.word(at - 1) in _DATED:
            return reading.word(at - 2) not in _BORN
    return False


def _asks_for_rights(reading: Reading) -> bool:
    """ "Mon banquier peut-il …", "… à cause de la nationalité ? Que dit la loi ?": a question about what is allowed."""
    words = reading.words
    if not reading.sentence.is_question:
        return False
    asked = words[1] if len(words) > 1 else ""
    if words[0] in _SOME_OR_MY and asked in _ASKED_OF:
        return not _MAY.isdisjoint(words[2:6]) and not _OTHERS.isdisjoint(words[3:8])
    return not _LAW.isdisjoint(reading.sentence.next_tokens[:7])


def _filled_in(reading: Reading) -> bool:
    """ "Avez-vous été hospitalisé en raison de …", "cochez la case si vous …": a form that asks its reader."""
    words = reading.words
    asks = len(words) > 1 and words[1] == "vous" and words[0] in _FORM and reading.sentence.is_question
    return (asks or (words[0] in _TICK and "vous" in words)) and _OTHERS.isdisjoint(words)
