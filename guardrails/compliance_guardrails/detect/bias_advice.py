"""Advice, habits and forecasts about a group that need no listed predicate: "on évite", "je mettrais", "autant partir".

Whoever writes "on", "je" or "mieux vaut" beside a protected group says what is done with it. Every verb counts but the
harmless ones (`plain_verbs` of bias_predicates.yaml) and the denied ones ("on ne refuse personne"). Positions only;
bias_frames.py joins them with a group, and the caller has seen to the contexts.
"""

from __future__ import annotations

from collections.abc import Iterator

from .needs import ALAS, OPENERS
from .reading import PUNCTUATION, WE, Reading

MAX_CLITICS = 4
OPENER_REACH = 4
HEAD_REACH = 4
_CLITICS = frozenset({"vous", "ne", "n", "le", "la", "les", "l", "lui", "leur", "y", "en", "me", "m", "se", "s"})
_DENIALS = frozenset({"pas", "plus", "jamais", "rien", "guere", "aucun", "aucune", "personne"})
_GOES = frozenset({"va", "vais", "allons", "irait", "ira"})
_NOT_ADVICE = frozenset({"quand", "lorsqu", "si", "dont", "comme", "ou", "que", "qu"})
_AUXILIARIES = frozenset({"a", "ai", "avons", "avait", "avais", "avions", "aura", "aurai", "aurait", "aurais"})
_INFINITIVE = ("er", "ir", "re")
_FRENCH = frozenset({"la", "le", "les", "l", "un", "une", "de", "des", "du", "d", "ne", "n", "que", "qu", "ces", "ce"})
_VALUES = frozenset({"vaut", "vaudrait"})
_GAINS = frozenset({"gagnerait", "gagnerais", "gagnerions", "gagneriez", "gagneraient", "interet", "quitte"})
_FORETOLD = ("ra", "ront", "rait", "raient")
_COMPLEMENT = frozenset({"aux", "au", "du"})
_PRONOUNS = frozenset({"il", "elle", "ils", "elles"})
_PRONOUNS_EN = frozenset({"he", "she", "they", "i", "we"})
EXCUSE_REACH = 6
_THEIR = frozenset({"il", "elle", "son", "sa", "c", "he", "she", "his", "her"})
WHOEVER = frozenset({"celui", "celle", "ceux", "qui"})


_WOULD = frozenset({"would", "d", "should", "will", "ll"})
_ADVISING = frozenset({"i", "we", "you", "better", "might"})
_DEALING = frozenset({"reason", "argue", "deal", "work", "rely", "count", "trust", "talk"})
_FAIR = frozenset({"treat", "charge", "ask", "judge", "assume", "discriminate", "penalise", "single", "know"})
"""English verbs that are no advice against anybody when denied ("we would not treat him differently")."""


def find(reading: Reading) -> Iterator[tuple[int, int]]:
    """Spans of advice and habits, as tokens."""
    if not reading.grammar.english.isdisjoint(reading.words):
        yield from _in_english(reading)
        return
    harmless = {at for hit in reading.marks.get("plain_verbs", ()) for at in range(hit.start, hit.end)}
    for at, word in enumerate(reading.words):
        if word in WE:
            end = _spoken(reading, at, harmless)
        elif word in {"autant", "plutot", "a"} or word in _VALUES or word in _GAINS:
            end = _counselled(reading, at, harmless)
        else:
            continue
        if end is not None:
            yield at, end


def _in_english(reading: Reading) -> Iterator[tuple[int, int]]:
    """ "I would not bother", "we’d rather not insure", "better to hire", "you might as well close"."""
    words = reading.words
    if _ADVISING.isdisjoint(words):
        return
    orders = {hit.start for hit in reading.marks.get("english_orders", ())}
    for at, word in enumerate(words):
        verb = _english_verb(reading, at) if word in _ADVISING else None
        if verb is None:
            continue
        denied = False
        while reading.word(verb) in {"cannot", "not", "never", "t", "rather", "to", "off"}:
            denied = denied or words[verb] in {"cannot", "not", "never", "t"}
            verb += 1
        told = reading.word(verb)
        hostile = told not in _FAIR and not _hostile(reading, verb) if denied else verb in orders
        if hostile and told.isalpha() and told not in reading.grammar.copulas:
            yield at, verb + 1


def _english_verb(reading: Reading, at: int) -> int | None:
    """Where what "I", "we", "you", "better" or "might" at `at` advises begins, or None when it advises nothing."""
    words, follow = reading.words, reading.word(at + 1)
    match words[at]:
        case "i" | "we":
            verb = at + 2 if follow in _WOULD else at + 1 if follow == "never" else None
        case "better":
            begins = at == 0 or words[at - 1] in PUNCTUATION or words[at - 1] in {"be", "is", "d"}
            verb = at + 1 if begins else None
        case "might":
            verb = at + 3 if words[at + 1 : at + 3] == ["as", "well"] else None
        case _:
            dealing = follow in {"cannot", "can"} and not _DEALING.isdisjoint(words[at + 2 : at + 5])
            verb = at + 1 + (follow == "can") if dealing else None
    return verb


def forecasts(reading: Reading) -> Iterator[tuple[int, int]]:
    """ "Elle ne reviendra pas", "il claquera la porte": what somebody is foretold to do, or never to do."""
    words, grammar = reading.words, reading.grammar
    if _PRONOUNS.isdisjoint(words):
        return
    for at, word in enumerate(words):
        if word not in _PRONOUNS:
            continue
        denied = reading.word(at + 1) in {"ne", "n"}
        verb = _after_clitics(reading, at)
        told = reading.word(verb)
        if len(told) < 5 or not told.endswith(_FORETOLD):
            continue
        if denied:
            harmless = told in grammar.harmless_when_denied or _hostile(reading, verb)
            harmless = harmless or _DENIALS.isdisjoint(words[verb + 1 : verb + 3])
        else:
            harmless = told in grammar.harmless_forecasts
        if not harmless:
            yield at, min(verb + 2, len(words))


def foretold(reading: Reading, start: int, end: int) -> int | None:
    """Where a forecast ends that is made of a group heading its sentence: "ceux qui ont parlé chercheront"."""
    if start > HEAD_REACH or reading.word(start - 1) in _COMPLEMENT:
        return None
    many = reading.words[end - 1].endswith("s")
    endings = _FORETOLD if reading.words[start] in WHOEVER else ("rait", "raient")
    for at in range(end, min(len(reading.words), end + HEAD_REACH)):
        word = reading.words[at]
        if word in PUNCTUATION or word in {"ne", "n", "qui", "que", "qu"}:
            return None
        if many and word.endswith(("ra", "rait")):
            return None  # "l’exposition sur les Roms ouvrira"
        if len(word) > 5 and word.endswith(endings) and word not in reading.grammar.harmless_forecasts:
            return at + 1
    return None


def verdicts(reading: Reading) -> Iterator[tuple[int, int]]:
    """ "…, ça promet", "les autres beaucoup moins": a spoken verdict, or a contrast with everybody else."""
    words = reading.words
    if "ca" not in words and "autres" not in words:
        return
    for at, word in enumerate(words):
        follow = reading.word(at + 1)
        if word == "ca" and follow and follow not in PUNCTUATION and reading.word(at - 1) not in _NOT_ADVICE:
            yield at, at + 2
        elif word == "autres" and reading.word(at - 1) in {"les", "aux", "nos"} and _contrasted(reading, at - 2):
            yield at - 1, at + 1


def _contrasted(reading: Reading, before: int) -> bool:
    """True when "les autres" opens a part of the sentence rather than being likened ("comme les autres")."""
    return reading.word(before) in {",", ";", ":", "et", "mais", "pas", "pour"}


def excused(reading: Reading, start: int, end: int) -> bool:
    """ "Très bien, mais c’est une femme", "bon, dommage qu’il soit gay": praise, and a group that takes it back."""
    words = reading.words
    but = next((at for at in range(start - 1, max(-1, start - EXCUSE_REACH), -1) if words[at] in ALAS), None)
    if but is None or reading.word(end) not in PUNCTUATION or _THEIR.isdisjoint(words[but + 1 : start + 1]):
        return False
    return any(hit.end <= but and hit.value.polarity == "positive" for hit in reading.predicates)


def opened(reading: Reading, start: int, end: int) -> bool:
    """ "Avec un accent pareil, …", "chez ces familles, …": a group opens the sentence, the verdict comes after."""
    words = reading.words
    if words[0] == "with" and start <= 2 and "name" in words[start:end]:
        return not _PRONOUNS_EN.isdisjoint(words[end : end + OPENER_REACH])
    if start > OPENER_REACH or words[0] not in OPENERS or not {"votre", "vos"}.isdisjoint(words):
        return False
    if any(word == "vous" and not reading.word(at - 1).endswith("ez") for at, word in enumerate(words)):
        return False  # not "préparez-vous"
    return "," in words[end : end + OPENER_REACH]


def _spoken(reading: Reading, at: int, harmless: set[int]) -> int | None:
    """The end of what "on", "je" or "nous" is said to do, when that is not harmless."""
    if reading.words[at] == "on" and at and _FRENCH.isdisjoint(reading.words) and reading.word(at - 1).isalpha():
        return None  # "celebrated Eid on Friday"
    if reading.word(at - 1 - (reading.word(at - 1) == "l")) in _NOT_ADVICE or at in reading.quoted:
        return None
    verb = _after_clitics(reading, at)
    if reading.word(verb) in _GOES and reading.word(at) != "nous":
        verb += 1
        while reading.word(verb) in _DENIALS or reading.word(verb) in _CLITICS:
            verb += 1
    word = reading.word(verb)
    if len(word) < 3 or word in reading.grammar.copulas or word in _AUXILIARIES or word in PUNCTUATION:
        return None
    if reading.words[at] == "nous" and not word.endswith("ons"):
        return None
    if word.endswith("ait") and not word.endswith("rait") and reading.word(verb + 1) in {"que", "qu"}:
        return None  # "on considérait que"
    return _unfriendly(reading, at, verb, harmless)


def _after_clitics(reading: Reading, at: int) -> int:
    verb = at + 1
    while reading.word(verb) in _CLITICS and verb - at <= MAX_CLITICS:
        verb += 1
    return verb


def _unfriendly(reading: Reading, at: int, verb: int, harmless: set[int]) -> int | None:
    """The end of a verb that is hostile as it stands: not harmless, or a harmless one denied."""
    words = reading.words
    denied = not {"ne", "n"}.isdisjoint(words[at:verb]) or not _DENIALS.isdisjoint(words[verb + 1 : verb + 2])
    if not denied:
        return None if verb in harmless else verb + 1
    if "que" in words[verb + 1 : verb + 4] and _DENIALS.isdisjoint(words[at : verb + 3]):
        return verb + 1  # "on ne prend que …"
    if words[verb] in reading.grammar.harmless_when_denied or _hostile(reading, verb):
        return None
    return min(verb + 2, len(words))


def _hostile(reading: Reading, verb: int) -> bool:
    """A listed decision, so that to deny it protects ("on ne refuse pas")."""
    return any(hit.start == verb and hit.value.polarity == "negative" for hit in reading.predicates)


def _counselled(reading: Reading, at: int, harmless: set[int]) -> int | None:
    """ "autant classer", "mieux vaut un homme", "on gagnerait à muter", ", à surveiller": advice without a person."""
    then = _counsel_start(reading, at)
    if then is None:
        return None
    if reading.words[at] in _VALUES and reading.word(then) in {"un", "une", "des", "que", "qu", "quelqu"}:
        return then + 1
    denied = reading.word(then) == "ne"
    while reading.word(then) in _CLITICS or reading.word(then) in _DENIALS:
        then += 1
    verb = reading.word(then)
    if len(verb) < 4 or not verb.endswith(_INFINITIVE) or verb in reading.grammar.copulas:
        return None
    friendly = _hostile(reading, then) if denied else then in harmless
    return None if friendly else min(then + 1, len(reading.words))


def _counsel_start(reading: Reading, at: int) -> int | None:
    """Where what is advised begins, or None when the word at `at` advises nothing there."""
    word, follow = reading.words[at], reading.word(at + 1)
    if word in _VALUES:
        if "mieux" not in {reading.word(at - 1), follow}:
            return None
        return at + 1 + (follow == "mieux")
    if word in _GAINS:
        return at + 2 if follow == "a" else None
    return at + 1 if word != "a" or _set_apart(reading, at) else None


def _set_apart(reading: Reading, at: int) -> bool:
    """ "Dossier instable, à surveiller": an infinitive set apart by a sign, or "est à", "reste à"."""
    last = reading.word(at - 1)
    return last in {",", ":", ";", "("} and reading.sentence.written(at) in {"à", "À"}
