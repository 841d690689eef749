"""The index of listed phrases: found at every length, however an entry was filed, with all its forms and no other."""

from __future__ import annotations

import pytest
from compliance_guardrails.detect import inflect
from compliance_guardrails.detect.phrases import Hit, Phrases
from compliance_guardrails.policy import load_policy


def phrases(*entries: str) -> Phrases[str]:
    made: Phrases[str] = Phrases()
    for entry in entries:
        made.add(inflect.Entry(entry), entry)
    return made


def test_phrases_are_found_at_every_length() -> None:
    made = phrases("gens", "gens du voyage", "voyage (organisé|)", "du (nord|sud)")
    assert made.match(["les", "gens", "du", "voyage", "organise"]) == [
        Hit(1, 2, "gens"),
        Hit(1, 4, "gens du voyage"),
        Hit(3, 4, "voyage (organisé|)"),
        Hit(3, 5, "voyage (organisé|)"),
    ]


def test_words_inside_longer_words_are_not_found() -> None:
    assert phrases("rom", "age").match(["romain", "bagage", "aromes"]) == []


def test_entries_are_filed_under_rare_words_and_found_whatever_is_common() -> None:
    entries = ("personne sous tutelle", "personne âgée", "femme")
    rare: Phrases[str] = Phrases({"personne": 2, "sous": 1})
    filed = [word for entry in entries for word in rare.add(inflect.Entry(entry), entry)]
    assert filed == ["tutelle", "agee", "femme"]
    assert rare.words() == set(filed)
    text = ["une", "personne", "sous", "tutelle", "et", "une", "personne", "agee"]
    assert rare.match(text) == phrases(*entries).match(text) == [Hit(1, 4, entries[0]), Hit(6, 8, entries[1])]


def test_entries_with_words_left_out_are_found_from_either_side() -> None:
    made = phrases("pas (du tout|) fiable* (non plus|)", "(a|ont) (déjà|) (subi|souffert) d’un accident")
    (first, second, third) = made.match(
        ["pas", "du", "tout", "fiables", "non", "plus", "ont", "souffert", "d", "un", "accident"]
    )
    assert [first[:2], second[:2], third[:2]] == [(0, 4), (0, 6), (6, 11)]
    assert [hit[:2] for hit in made.match(["pas", "fiable"])] == [(0, 2)]
    assert made.match(["du", "tout", "fiable", "subi", "d", "un", "accident"]) == []


def test_an_entry_is_found_where_all_its_words_stand_and_nowhere_else() -> None:
    entries = ("nom de (jeune fille|famille)", "(un|une|des) femme* (de|en) place", "(sa|une|un autre) femme (de|dit)")
    made = phrases(*entries)
    assert made.match(["nom", "de", "jeune"]) == made.match(["de", "jeune", "fille"]) == []
    assert made.match(["femme", "de", "place"]) == made.match(["une", "femme", "en"]) == []
    assert made.match(["au", "nom", "de", "famille"]) == [Hit(1, 4, entries[0])]
    assert made.match(["une", "femme", "de", "place"]) == [Hit(0, 3, entries[2]), Hit(0, 4, entries[1])]
    assert made.match(["un", "autre", "femme", "dit"]) == [Hit(0, 4, entries[2])]


def test_the_keys_of_a_text_are_those_of_the_entries_found_in_it() -> None:
    made = phrases(
        "femme", "nom de famille", "(un|une) (homme|garçon) (âgé*|) de", "salarié* (en|de) (congé|longue) maladie"
    )
    assert made.keys(["le", "nom", "du", "garçon", "un", "homme", "salarie", "en", "conge"]) == set()
    for words in (["femme"], ["nom", "de", "famille"], ["un", "homme", "de"], ["salaries", "en", "conge", "maladie"]):
        assert made.match(words)
        assert len(made.keys(words)) == 1


def test_what_was_worked_out_is_dropped_when_it_grows_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("compliance_guardrails.detect.phrases.MAX_FORMS", 3)
    entries = [f"mot{n} (un|deux|trois) fin" for n in range(9)]
    made = phrases(*entries)
    for _ in range(2):
        for n, entry in enumerate(entries):
            assert made.match([f"mot{n}", "deux", "fin"]) == [Hit(0, 3, entry)]


def test_every_listed_phrase_is_found_however_it_was_filed() -> None:
    policy = load_policy()
    text = policy.rule_text("bias_grounds") + policy.rule_text("attributes")
    entries = [
        entry for entry in inflect.terms(text) if "\n" not in entry and ":" not in entry and entry.count("(") < 4
    ]
    common = {"de": 9, "la": 8, "un": 7, "une": 6, "est": 5, "avoir": 4, "du": 3, "le": 2, "a": 1}
    quick: Phrases[str] = Phrases(common)
    slow: Phrases[str] = Phrases(common)
    kept = []
    for entry in entries[::3]:
        folded = inflect.fold_list(entry)
        try:
            slow.add(inflect.Entry(entry), entry)
        except ValueError:
            with pytest.raises(ValueError, match="malformed"):
                quick.add_term(folded, entry)
        else:
            quick.add_term(folded, entry)
            kept.append(entry)
    assert len(kept) > 700
    for entry in kept:
        phrase = [word for place in inflect.Entry(entry) for word in place[-1]]
        found = quick.match(phrase)
        assert Hit(0, len(phrase), entry) in found
        assert found == slow.match(phrase)


LISTED = (
    "femme, femme*, refuser+, avis, garçon manqué, (le|la|) caisse* (noire|du personnel)*, tout d’un coup, mœurs, "
    "(bien|mal) (né|élevé)*, avis, foreigner~ at home, pas (un|une|de) (prêt|sou|carte bleue), né* (en|à) (x|y|)"
)


def test_a_list_is_filed_as_its_entries_are_one_by_one() -> None:
    common = {"de": 3, "un": 2, "une": 2, "pas": 1, "tout": 1}
    folded = list(inflect.terms(inflect.fold_list(LISTED)))
    whole: Phrases[str] = Phrases(common)
    whole.add_terms(folded, "usual", {"femme": "other", "tout d un coup": "other"})
    single: Phrases[str] = Phrases(common)
    for term in folded:
        single.add_term(term, "other" if term in {"femme", "tout d un coup"} else "usual")
    slow: Phrases[str] = Phrases(common)
    for entry in inflect.terms(LISTED):
        slow.add(inflect.Entry(entry), "other" if entry in {"femme", "tout d’un coup"} else "usual")
    assert whole.words() == single.words() == slow.words()
    for entry in inflect.terms(LISTED):
        for pick in (0, -1):
            words = ["la", *(word for place in inflect.Entry(entry) for word in place[pick]), "avis"]
            assert whole.match(words) == single.match(words) == slow.match(words) != []
            assert whole.keys(words) == slow.keys(words)
    assert [hit.value for hit in whole.match(["femme", "avis"])] == ["other", "usual", "usual", "usual"]


@pytest.mark.parametrize(("listed", "place"), [("(ouvert", 0), ("femme, garçon manqué, (a|)", 2), ("avis, ^, x", 1)])
def test_a_malformed_entry_is_known_by_its_place_in_the_list(listed: str, place: int) -> None:
    with pytest.raises(ValueError, match=rf"^{place}$"):
        Phrases[str]().add_terms(inflect.terms(inflect.fold_list(listed)), "", {})
