"""Whether a listed predicate is unfavourable as it stands: negation, "moins", "rarement", the passive.

"ne sont pas fiables", "moins fiables" and "sont paresseux" are unfavourable; "ne sont pas dangereux" is not.
"""

from __future__ import annotations

from .phrases import Hit
from .reading import NE, PUNCTUATION, Reading
from .rulebook import Predicate

BACK = 3
AHEAD = 3
RULE_REACH = 5
NARRATED_REACH = 4
FIRST_YEAR, LAST_YEAR = "1000", "1999"
_PARTIES = frozenset({"assure", "assuree", "assures", "assurees", "suspect", "suspecte", "suspects"})
CONDITIONS = frozenset({"avec", "apres", "sous", "sur"})
_DATING = frozenset({"en", "annees", "in", "until", "jusqu"})
_ERAS = frozenset(
    {
        "occupation", "vichy", "apartheid", "nazisme", "siecle", "siecles", "colonisation", "esclavage", "revolution",
        "empire", "regime", "age", "guerre", "antiquite", "renaissance", "century", "war", "slavery",
    }
)  # fmt: skip
_DURING = frozenset({"sous", "au", "aux", "pendant", "durant", "under", "in", "during"})
_IMPERFECT = ("ait", "aient", "erent", "irent", "urent", "could", "were", "was", "had")
_FORMERLY = frozenset({"autrefois", "jadis", "naguere", "formerly"})
MEASURED_REACH = 12
SUBJECT_REACH = 8
ORIENTED_REACH = 6
_SIZES = ("inferieur", "superieur", "faible", "lower", "higher", "inferior")
_PAST = frozenset({"a", "ont", "avait", "avaient"})
_PARTICIPLE = ("e", "es", "ee", "ees", "i", "is", "ie", "ies", "u", "us", "ue", "ues", "t", "ts", "te", "tes")
_BETWEEN = frozenset(
    {"ete", "pas", "longtemps", "mal", "bien", "fait", "deja", "aussi", "ensuite", "plus", "tous", "toutes", "se"}
)
_DENYING = frozenset({"pas", "plus", "jamais", "ne", "n", "rien"})
_GUESSED = frozenset({"surement", "forcement", "probablement", "evidemment", "certainement", "encore", "toujours"})
_MODALS = frozenset(
    {
        "peut", "peuvent", "pouvez", "pouvons", "doit", "doivent", "devez", "devons", "devrait", "devraient", "saurait",
        "sauraient", "sera", "seront", "may", "must", "cannot",
    }
)  # fmt: skip
_BURDENS = (
    "revel", "devoil", "declar", "justifi", "prouv", "pay", "fourni", "rembours", "subi", "support", "avanc", "signal",
    "excus", "interven", "influenc", "pese", "inform", "expliqu", "port", "soulev", "attend",
)  # fmt: skip
_BELIEFS = ("idee", "myth", "cliche", "stereotyp", "prejug", "prejudic", "racis", "sexis", "generalis", "xenophob")
_GROUNDS = frozenset({"motif", "raison", "cause", "critere", "argument", "obstacle", "pretexte", "preuve"})
GROUND_REACH = 7
_AMOUNTS = frozenset({"constitue", "constituent"})
_RIGHTS = ("droit", "autoris", "habilit")
_TO_DO = frozenset({"a", "de", "d"})
_HAVING = frozenset({"a", "ont", "avons", "avez", "est", "sont", "sommes", "etes", "aura", "auront"})
_ATTRIBUTES = frozenset({"attributes", "sure_attributes"})
_BUT = frozenset({"mais", "but"})
_HELD = frozenset({"a", "ont", "est", "sont", "permet", "autorise", "justifie", "fonde"}) | _MODALS


def unfavourable(reading: Reading, hit: Hit[Predicate]) -> str | None:
    """The family of a predicate that is unfavourable as it stands in its sentence, else None."""
    family, polarity = hit.value.family, hit.value.polarity
    if polarity == "essential" or _lifted(reading, hit) or narrated(reading, hit):
        return None
    grammar, words = reading.grammar, reading.words
    back = _before(reading, hit.start)
    negated = reading.negated(hit.start) or _negated_after(reading, hit.end)
    if polarity == "able":
        rare = not grammar.seldom.isdisjoint(back) or not grammar.seldom.isdisjoint(words[hit.end : hit.end + 2])
        return family if negated or rare else None
    less = _lessened(back, grammar.less)
    if polarity == "positive":
        return family if negated != less else None
    if family == "stereotype" and back[-1:] == ["ete"]:
        return None  # "a été brûlé": suffered, not done
    own = words[hit.start : hit.end]
    negative_itself = own[0] == "plus" or not (grammar.negations.isdisjoint(own) and _DENYING.isdisjoint(own))
    return None if less or (negated and not negative_itself) else family


def _lifted(reading: Reading, hit: Hit[Predicate]) -> bool:
    """True where a listed word does not say what it is listed for."""
    words, family = reading.words, hit.value.family
    first = words[hit.start]
    if hit.value.polarity == "able":
        under = reading.word(hit.end) in {"que", "qu"} and reading.word(hit.end + 1) in CONDITIONS
        if under or words[hit.end : hit.end + 2] == ["pas", "partie"]:
            return True  # "ne conduisent qu’avec l’accord du médecin", "ne font pas partie"
        return _spares(reading, hit.end) or (first == "peut" and _one_known(reading, hit.start))
    if hit.value.polarity == "positive" and _spares(reading, hit.end):
        return True  # "ne paient pas de frais"
    freed = "pas" in words[hit.start : hit.end] and (exempt(reading, hit.end) or reading.spared(hit.end))
    if freed or words[hit.end - 1] in _DENYING or words[hit.end - 1].startswith("aucun"):
        return freed or reading.spared(hit.end)  # "n’a aucune obligation"
    if (first == "dehors" and reading.word(hit.start - 1) == "en") or _the_insured(reading, hit):
        return True  # "en dehors des heures"
    return (family == "differential" and _of_a_means(reading, hit)) or (
        family == "stereotype" and _not_a_trait(reading, hit)
    )


def _not_a_trait(reading: Reading, hit: Hit[Predicate]) -> bool:
    """ "Responsable d’un sinistre" is liable; "le taux d’emploi des … est inférieur" is said of a rate."""
    word = reading.words[hit.end - 1]
    if reading.words[hit.end : hit.end + 2] == ["memes", "droits"]:
        return True  # "n’ont pas les mêmes droits": a difference, weighed as one
    if word.startswith("responsable"):
        return reading.word(hit.end) in {"de", "d", "du", "des"}
    if not word.startswith(_SIZES):
        return False
    return not reading.grammar.measured.isdisjoint(reading.before(hit.start, MEASURED_REACH))


def _one_known(reading: Reading, verb: int) -> bool:
    """ "L’assuré handicapé ne peut pas monter": a fact about one person of the file, not about a group."""
    lead = reading.words[max(0, verb - SUBJECT_REACH) : verb]
    lead = lead[lead.index(",") + 1 :] if "," in lead else lead
    return lead[:1] in (["l"], ["la"], ["le"]) and "ne" in lead[-2:]


def _spares(reading: Reading, end: int) -> bool:
    after = reading.words[end : end + 2]
    return any(word in _DENYING and reading.spared(end + at) for at, word in enumerate(after, 1))


def _the_insured(reading: Reading, hit: Hit[Predicate]) -> bool:
    """ "Les assurés": a party of the contract, not what is done to somebody."""
    article = reading.word(hit.start - 1) in reading.grammar.articles
    return article and reading.words[hit.start] in _PARTIES


def _of_a_means(reading: Reading, hit: Hit[Predicate]) -> bool:
    """ "Privilégiez le courriel", "orientez-la vers l’association d’aide": a means that helps."""
    reach = ORIENTED_REACH if reading.words[hit.start].startswith("orient") else 2
    return any(hit.start <= mark.start <= hit.end + reach for mark in reading.marks.get("bias_aids", ()))


def _before(reading: Reading, start: int) -> list[str]:
    """The last tokens before a predicate, without those of a mention ("qui parlent mal français")."""
    first = start - len(reading.before(start, BACK))
    return [reading.words[at] for at in range(first, start) if at not in reading.inside]


def _lessened(back: list[str], less: frozenset[str]) -> bool:
    """ "moins", "peu", but not "un peu"."""
    return any(word in less and not (word == "peu" and back[at - 1 : at] == ["un"]) for at, word in enumerate(back))


def _negated_after(reading: Reading, end: int) -> bool:
    """ "n’embauchez pas", "embauchez pas", "ne savent pas": the negation that follows a verb."""
    for word in reading.words[end : end + AHEAD]:
        if word in PUNCTUATION:
            return False
        if word in reading.grammar.trailing_negations:
            return True
    return False


def narrated(reading: Reading, hit: Hit[Predicate]) -> bool:
    """ "Ont dégradé", "a été exclu", "refusait": what is told to have happened, unless by us or as a guess."""
    words = reading.words
    if words[hit.start].endswith(("ait", "aient")) and hit.value.family != "stereotype" and len(words[hit.start]) > 6:
        return not _ours(reading, hit.start)
    if (
        reading.word(hit.start - 1) in reading.grammar.articles
        and reading.word(hit.start - 2).endswith(_PARTICIPLE)
        and reading.word(hit.start - 3) in _PAST
        and not _at(reading, hit.start - 3)
    ):
        return not _ours(reading, hit.start - 3)  # "a renforcé la surveillance"
    for at in range(hit.start - 1, max(-1, hit.start - 1 - NARRATED_REACH), -1):
        word = words[at]
        if word in _PAST and not _at(reading, at):
            return not _ours(reading, at) and words[hit.start] != "plus" and words[hit.start].endswith(_PARTICIPLE)
        if word not in _BETWEEN and not word.endswith("ment"):
            return False
        if word in _GUESSED:
            return False
    return False


def _at(reading: Reading, at: int) -> bool:
    """ "À droite", not "a"."""
    return reading.words[at] == "a" and reading.sentence.written(at) in {"à", "À"}


def _ours(reading: Reading, at: int) -> bool:
    return not {"on", "j", "je", "nous"}.isdisjoint(reading.words[max(0, at - 3) : at])


def of_the_past(reading: Reading) -> bool:
    """True when the sentence tells history: "jusqu’en 1965", "autrefois", "dans les années 1930"."""
    words = reading.words
    if not _ERAS.isdisjoint(words) and any(
        word in _ERAS and not _DURING.isdisjoint(words[max(0, at - 3) : at]) for at, word in enumerate(words)
    ):
        return any(word.endswith(_IMPERFECT) for word in words)
    if _DATING.isdisjoint(words):
        return not _FORMERLY.isdisjoint(words)
    for at, word in enumerate(words):
        year = len(word) == len(FIRST_YEAR) and word.isdigit() and FIRST_YEAR <= word <= LAST_YEAR
        if year and reading.word(at - 1) in _DATING:
            return True
    return not _FORMERLY.isdisjoint(words)


def _not_theirs(reading: Reading, ne: int) -> bool:
    """ "N’a pas le droit de demander …": what may not be done with an attribute by somebody who is named by none."""
    words = reading.words
    if reading.word(ne + 1) not in _HAVING:
        return False
    for at in range(ne + 2, min(len(words), ne + 2 + RULE_REACH)):
        if words[at].startswith(_RIGHTS) and reading.word(at + 1) in _TO_DO:
            before = any(hit.start < at and hit.value.kind not in _ATTRIBUTES for hit in reading.mentions)
            return not before and _BUT.isdisjoint(words[at:]) and any(hit.start > at for hit in reading.mentions)
    return False


def exempt(reading: Reading, verb: int) -> bool:
    """ "N’a pas à (justifier)", "n’ont pas besoin de (prouver)": the verb tells of a burden that is taken away."""
    return reading.word(verb - 1) in {"a", "de"} and reading.word(verb).startswith(_BURDENS)


def _no_ground(reading: Reading, ne: int) -> bool:
    """ "Ne saurait être une cause de rupture", "n’est jamais une raison de": denied to be a ground, no "but" after."""
    words = reading.words
    if _GROUNDS.isdisjoint(words):
        return False
    verb = reading.word(ne + 1)
    if not (verb in reading.grammar.copulas or verb in _MODALS or verb in _AMOUNTS):
        return False
    denied = False
    for at in range(ne + 2, min(len(words), ne + 3 + GROUND_REACH)):
        if words[at] in PUNCTUATION:
            return False
        denied = denied or words[at] in _DENYING
        if words[at] in _GROUNDS and words[at - 1] in {"un", "une"}:
            return denied and _BUT.isdisjoint(words[at:])
    return False


def protective(reading: Reading) -> bool:
    """True when the sentence forbids what it names: "ne peut être refusé", "on ne refuse jamais", "aucune prime ne"."""
    words = reading.words
    if reading.sentence.is_question or (NE.isdisjoint(words) and reading.grammar.nobody.isdisjoint(words)):
        return False
    for at, word in enumerate(words):
        if word in reading.grammar.nobody:
            if _nothing_may(reading, at):
                return True
        elif word in {"ne", "n"} and (_forbids(reading, at) or _no_ground(reading, at) or _not_theirs(reading, at)):
            return True
    return False


def _nothing_may(reading: Reading, at: int) -> bool:
    """ "Aucune prime ne peut être supprimée": a thing denied, not a group ("aucun étranger ne sera admis")."""
    if at + 1 in reading.inside or reading.word(at + 1) in PUNCTUATION:
        return False
    for then in range(at + 2, min(at + 12, len(reading.words))):
        if reading.words[then] in PUNCTUATION:
            return False
        if reading.words[then] in {"ne", "n"}:
            return reading.word(then + 1) in _HELD and not _withheld(reading, then + 1)
    return False


def _withheld(reading: Reading, verb: int) -> bool:
    """ "Aucun prêt n’est (accordé aux …)": what is denied would have been a favour, for a reason that is not named."""
    if reading.has("noun_connectors"):
        return False
    return any(
        verb < hit.start <= verb + BACK and hit.value.polarity == "positive" and hit.value.family == "exclusion"
        for hit in reading.predicates
    )


def decisions(reading: Reading) -> dict[int, int]:
    """Start and end of each listed decision against somebody that is not itself a denial."""
    return {
        hit.start: hit.end
        for hit in reading.predicates
        if hit.value.polarity == "negative"
        and hit.value.family != "stereotype"
        and _DENYING.isdisjoint(reading.words[hit.start : hit.end])
    }


def condemned(reading: Reading) -> bool:
    """True when the sentence condemns the bias or recalls equality.

    Not where that is denied ("pas les mêmes droits"), nor by a part of a reproach ("un risque inacceptable").
    """
    marks = reading.marks.get("bias_condemned")
    return marks is not None and any(not (_denied_or_part(reading, mark) or _conceded(reading, mark)) for mark in marks)


def _conceded(reading: Reading, mark: Hit) -> bool:
    """ "It may be a stereotype, but Romanians steal": said first, then done all the same."""
    words = reading.words
    if _BUT.isdisjoint(words) or not words[mark.start].startswith(_BELIEFS):
        return False
    but = next((at for at in range(mark.end, len(words)) if words[at] in _BUT), len(words))
    return bool(reading.mentions) and all(hit.start > but for hit in reading.mentions)


def _denied_or_part(reading: Reading, mark: Hit) -> bool:
    own = reading.words[mark.start : mark.end]
    if any(word.startswith("meme") for word in own) and reading.negated(mark.start):
        return True
    if own[0].startswith(_BELIEFS):  # "it is no myth that …", "ce n’est pas un cliché"
        lead = reading.word(mark.start - 1)
        lead = reading.word(mark.start - 2) if lead in {"un", "une", "a", "du"} else lead
        return lead in {"no", "pas", "not"}
    return any(
        hit.start <= mark.start < mark.end <= hit.end
        and hit.end - hit.start > mark.end - mark.start
        and (hit.value.family == "stereotype" or hit.start == mark.start)
        for hit in reading.predicates
    )


def _forbids(reading: Reading, at: int) -> bool:
    """A denied modal and then a listed decision, or a listed decision that is itself denied."""
    words, decided = reading.words, decisions(reading)
    if reading.word(at + 1) in _MODALS:
        return any(then in decided for then in range(at + 2, at + 2 + RULE_REACH))
    then = at + 1 + (reading.word(at + 1) in reading.grammar.object_pronouns)
    end = decided.get(then)
    return end is not None and not reading.grammar.trailing_negations.isdisjoint(words[end : end + 2])
