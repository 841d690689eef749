"""Whether a listed predicate is unfavourable as it stands: negation, "moins", "rarement", the passive.

"ne sont pas fiables", "moins fiables" and "sont paresseux" are unfavourable; "ne sont pas dangereux" is not.
"""

from __future__ import annotations

from .phrases import Hit
from .reading import PUNCTUATION, Reading
from .rulebook import Predicate

BACK = 3
AHEAD = 3
RULE_REACH = 5
NARRATED_REACH = 4
FIRST_YEAR, LAST_YEAR = "1000", "1999"
_PARTIES = frozenset({"assure", "assuree", "assures", "assurees", "suspect", "suspecte", "suspects"})
_CONDITIONS = frozenset({"avec", "apres", "sous", "sur"})
_NE = frozenset({"ne", "n"})
_DATING = frozenset({"en", "annees", "in", "until", "jusqu"})
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
    negative_itself = own[0] == "plus" or not grammar.negations.isdisjoint(own)
    return None if less or (negated and not negative_itself) else family


def _lifted(reading: Reading, hit: Hit[Predicate]) -> bool:
    """True where a listed word does not say what it is listed for."""
    words, family = reading.words, hit.value.family
    first = words[hit.start]
    if hit.value.polarity == "able":
        if reading.word(hit.end) in {"que", "qu"} and reading.word(hit.end + 1) in _CONDITIONS:
            return True  # "ne conduisent qu’avec l’accord du médecin"
        return _spares(reading, hit.end) or (first == "peut" and _one_known(reading, hit.start))
    if hit.value.polarity == "positive" and _spares(reading, hit.end):
        return True  # "ne paient pas de frais"
    if words[hit.end - 1] in _DENYING or words[hit.end - 1].startswith("aucun"):
        return reading.spared(hit.end)  # "n’a aucune obligation"
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
    ):
        return not _ours(reading, hit.start - 3)  # "a renforcé la surveillance"
    for at in range(hit.start - 1, max(-1, hit.start - 1 - NARRATED_REACH), -1):
        word = words[at]
        if word in _PAST:
            return not _ours(reading, at) and words[hit.start].endswith(_PARTICIPLE)
        if word not in _BETWEEN and not word.endswith("ment"):
            return False
        if word in _GUESSED:
            return False
    return False


def _ours(reading: Reading, at: int) -> bool:
    return not {"on", "j", "je", "nous"}.isdisjoint(reading.words[max(0, at - 3) : at])


def of_the_past(reading: Reading) -> bool:
    """True when the sentence tells history: "jusqu’en 1965", "autrefois", "dans les années 1930"."""
    words = reading.words
    if _DATING.isdisjoint(words):
        return not _FORMERLY.isdisjoint(words)
    for at, word in enumerate(words):
        year = len(word) == len(FIRST_YEAR) and word.isdigit() and FIRST_YEAR <= word <= LAST_YEAR
        if year and reading.word(at - 1) in _DATING:
            return True
    return not _FORMERLY.isdisjoint(words)


def protective(reading: Reading) -> bool:
    """True when the sentence forbids what it names: "ne peut être refusé", "on ne refuse jamais", "aucune prime ne"."""
    words = reading.words
    if reading.sentence.is_question or (_NE.isdisjoint(words) and reading.grammar.nobody.isdisjoint(words)):
        return False
    for at, word in enumerate(words):
        if word in reading.grammar.nobody:
            if _nothing_may(reading, at):
                return True
        elif word in {"ne", "n"} and _forbids(reading, at):
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
            return reading.word(then + 1) in _HELD
    return False


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
    return marks is not None and any(not _denied_or_part(reading, mark) for mark in marks)


def _denied_or_part(reading: Reading, mark: Hit) -> bool:
    if reading.words[mark.start].startswith("meme") and reading.negated(mark.start):
        return True
    return any(
        hit.start < mark.start and mark.end <= hit.end and hit.value.family == "stereotype"
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
