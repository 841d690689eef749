"""What a sentence only tells: history, a belief rejected, what others say or do, care for somebody's own good.

`lifts` looks at the whole sentence, `aside` at the tokens that are somebody else's claim, `cared_for` at whom advice or
an order is for. Small words are here, word lists in bias_grammar.yaml and bias_predicates.yaml. Linear in the tokens.
"""

from __future__ import annotations

from .persons import STATES, own_care
from .phrases import Hit
from .polarity import of_the_past
from .reading import NE, PUNCTUATION, Reading
from .rulebook import Mention
from .rules_models import Characteristic
from .told import spoken_of

REACH = 5
CLAIM_REACH = 20
CARE_REACH = 8
_THAT = frozenset({"que", "qu", "that", "selon"})
_BELIEVING = frozenset({"penser", "croire", "affirmer", "pretendre", "supposer", "imaginer", "dire"})
_BELIEFS = frozenset(
    {
        "idee", "argument", "affirmation", "prejuge", "these", "theorie", "croyance", "discours", "raisonnement",
        "idea", "claim", "view", "assumption", "belief", "notion",
    }
)  # fmt: skip
_CUES = _BELIEFS | NE
_REJECTS = (
    "rejet", "refut", "contest", "condamn", "combat", "recus", "refus", "dement", "denonc", "repouss", "reject",
    "disput", "oppos", "rebut",
)  # fmt: skip
_SHARES = ("accept", "partag", "souscri", "adher", "croy", "valid", "share", "believe")
_WRONG = (
    "faux", "fauss", "dement", "contredi", "absurd", "erreur", "erron", "refut", "wrong", "false", "untrue", "mistake",
    "prejug", "injur",
)  # fmt: skip
_OURS = frozenset({"crois", "croyons", "pense", "pensons"})
_TO_BELIEVE = frozenset({"croyez", "pensez"})
_INFERS = (
    "suppos", "presum", "conclu", "dedui", "soupconn", "suspect", "interpret", "confond", "assimil", "attribu", "imput",
    "imagin", "stigmatis", "generalis",
)  # fmt: skip
_WORKS = frozenset({"roman", "film", "livre", "piece", "reportage", "documentaire", "novel", "book", "movie", "play"})
_TELLS = ("racont", "relat", "montr", "decri", "evoqu", "depein", "tell", "show", "describe")
_SAYS = (
    "affirm", "preten", "soutien", "jur", "repet", "croit", "croient", "pense", "estim", "dit", "disent", "lance",
    "claim", "say", "said", "think", "believe", "insist",
)  # fmt: skip
_COMPLAINS = ("accus", "reproch", "plaint", "plaign", "denonc", "complain", "blame")
_TOLD = _SAYS + _COMPLAINS
_HAVING = frozenset({"avoir", "that", "having"})
_US = frozenset({"je", "j", "on", "nous", "vous", "i", "we", "you"})
_GOES_ON = frozenset({"puis", "mais", "donc", "alors", "then", "but", "so"})
_DECIDERS = (
    "employeur", "patron", "recruteur", "proprietaire", "bailleur", "assureur", "banque", "entreprise", "societe",
    "agence", "restaura", "landlord", "employer", "compan", "firm", "bank", "insurer", "recruiter", "club",
)  # fmt: skip
_SOME = frozenset({"certain", "certains", "certaines", "beaucoup", "trop", "plusieurs", "too", "many", "some"})
_BLAME = ("hont", "scandal", "indign", "revolt", "choqu", "shame", "disgrac", "outrag")
_HAVE = frozenset({"a", "avez", "ont", "avait"})
_DENIALS = frozenset({"pas", "jamais", "aucun", "aucune", "not", "never"})
_HARM = ("seul", "surveillance", "pression", "danger", "soleil", "chaleur", "froid", "alone", "unattended", "pressure")


def lifts(reading: Reading) -> bool:
    """True when the sentence as a whole tells, rejects or blames what is biased in it."""
    return (
        of_the_past(reading)
        or _of_a_belief(reading)
        or _blamed(reading)
        or _narrated(reading)
        or _only_spoken_of(reading)
    )


def aside(reading: Reading) -> set[int]:
    """The tokens of what others are told to claim ("qui affirme que …", "accuse l’agence d’avoir …")."""
    words, tokens = reading.words, set[int]()
    for at, word in enumerate(words):
        if not word.startswith(_TOLD) or at in tokens or not _claims(words, at):
            continue
        for then in range(at + 1, len(words)):
            if words[then] in PUNCTUATION and words[then] != '"' and _ends(words, then):
                break
            tokens.add(then)
    return tokens


def _claims(words: list[str], at: int) -> bool:
    """True for a verb of saying or complaining with what is said, that is not ours."""
    said = words[at].startswith(_SAYS) and not _THAT.isdisjoint(words[at + 1 : at + 3])
    if not said and not (words[at].startswith(_COMPLAINS) and not _HAVING.isdisjoint(words[at + 1 : at + REACH + 2])):
        return False
    return at > 0 and _US.isdisjoint(words[max(0, at - 3) : at]) and words[at - 1] not in PUNCTUATION


def _ends(words: list[str], at: int) -> bool:
    """A sign ends what is claimed; a comma only before an order or a conclusion (", refusez", ", donc")."""
    then = words[at + 1] if at + 1 < len(words) else ""
    return words[at] != "," or then in _GOES_ON or then.endswith("ez")


def cared_for(reading: Reading, hit: Hit[Mention]) -> bool:
    """ "Ne laissez pas une personne âgée seule", "… ne devrait pas dormir": for the good of whom it names."""
    if hit.value.characteristic not in STATES:
        return False
    after = reading.words[hit.end : hit.end + CARE_REACH]
    denied = not _DENIALS.isdisjoint(reading.words[max(0, hit.start - REACH) : hit.start]) or "pas" in after
    if denied and hit.value.characteristic is not Characteristic.SEX and any(word.startswith(_HARM) for word in after):
        return True
    return own_care(reading, hit, hit.end)


def _of_a_belief(reading: Reading) -> bool:
    """ "Nous rejetons l’idée que …", "croire que … est une erreur": the sentence is about a belief."""
    words = reading.words
    if words[0] in _BELIEVING and reading.word(1) in _THAT and "est" in words:
        return "," in words or any(word.startswith(_WRONG) for word in words)
    for at, word in enumerate(words) if not _CUES.isdisjoint(words) else ():
        if word in NE and not _DENIALS.isdisjoint(words[at + 2 : at + 4]) and _not_inferred(reading, at):
            return True
        if word in _BELIEFS and not _THAT.isdisjoint(words[at + 1 : at + 3]):
            lead, after = words[max(0, at - REACH) : at], words[at + 3 : at + CLAIM_REACH]
            if any(word.startswith(_REJECTS) for word in lead):
                return _DENIALS.isdisjoint(lead)
            if any(word.startswith(_SHARES) for word in lead) and not _DENIALS.isdisjoint(lead):
                return True
            return any(word.startswith(_WRONG) for word in after) and _DENIALS.isdisjoint(after)
    return False


def _not_inferred(reading: Reading, ne: int) -> bool:
    """ "Je ne crois pas que les jeunes fraudent", "n’interprétez pas l’accent comme …"."""
    verb, that = reading.word(ne + 1), reading.word(ne + 3) in _THAT
    if verb in _OURS and that:
        return any(hit.start > ne and hit.value.polarity == "negative" for hit in reading.predicates)
    return (verb in _TO_BELIEVE and that) or (verb.startswith(_INFERS) and verb.endswith(("ez", "ons")))


def _narrated(reading: Reading) -> bool:
    """ "Le roman raconte comment …"."""
    words = reading.words[: 2 * REACH]
    return not _WORKS.isdisjoint(words) and any(word.startswith(_TELLS) for word in words)


def _only_spoken_of(reading: Reading) -> bool:
    """ "Reformule : « … »": every group is named in words that are spoken of as words."""
    spoken = spoken_of(reading)
    return bool(spoken) and all(hit.start in spoken for hit in reading.mentions)


def _blamed(reading: Reading) -> bool:
    """ "Trop d’employeurs refusent …", "cette entreprise …, c’est une honte", "vous m’avez refusé …"."""
    words = reading.words
    for at, word in enumerate(words) if "m" in words else ():
        if word == "m" and reading.word(at + 1) in _HAVE:
            done = [hit for hit in reading.predicates if at < hit.start <= at + REACH]
            return any(hit.value.family != "stereotype" and hit.value.polarity == "negative" for hit in done)
    decider = next((at for at in range(min(REACH, len(words))) if words[at].startswith(_DECIDERS)), None)
    if decider is None:
        return False
    return not _SOME.isdisjoint(words[:decider]) or any(word.startswith(_BLAME) for word in words[decider:])
