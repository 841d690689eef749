"""The word lists behind attributes and bias: inflection, sentences, and what a bad rule file is told."""

from __future__ import annotations

import gc
import shutil
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest
from compliance_guardrails.detect import attributes, bias, citations, inflect, rulebook
from compliance_guardrails.detect.matcher import BLOCK, FEW, MAX_LOOKED_AT, Sentence, raw_words, stretches
from compliance_guardrails.detect.named import named
from compliance_guardrails.detect.prepared import prepare
from compliance_guardrails.detect.text import view
from compliance_guardrails.policy import load_policy
from compliance_guardrails.policy.errors import PolicyError
from compliance_guardrails.policy.paths import BUNDLED


@pytest.mark.parametrize(
    ("entry", "forms"),
    [
        ("handicapé*", {"handicape", "handicapee", "handicapes", "handicapees"}),
        ("paresseux*", {"paresseux", "paresseuse", "paresseuses"}),
        ("algérien*", {"algerien", "algeriens", "algerienne", "algeriennes"}),
        ("ivoirien*", {"ivoirien", "ivoiriens", "ivoirienne", "ivoiriennes"}),
        ("étranger*", {"etranger", "etrangers", "etrangere", "etrangeres"}),
        ("agressif*", {"agressif", "agressifs", "agressive", "agressives"}),
        ("portugais*", {"portugais", "portugaise", "portugaises"}),
        ("conducteur*", {"conducteur", "conductrice", "conducteurs", "conductrices"}),
        ("voleur*", {"voleur", "voleuse", "voleurs", "voleuses"}),
        ("turc*", {"turc", "turque", "turcs", "turques"}),
        ("social*", {"social", "sociaux", "sociale", "sociales"}),
        ("refuser+", {"refuse", "refusez", "refusent", "refusons", "refusait", "refusee"}),
        ("songer+", {"songe", "songez", "songea", "songeait"}),
        ("bannir+", {"bannit", "bannissent", "bannissez", "banni"}),
        ("vendre+", {"vend", "vendent", "vendez", "vendu"}),
        ("rejeter+", {"rejette", "rejettent", "rejetait", "rejettera"}),
        ("payer+", {"paie", "paye", "paient", "paiera", "payait"}),
        ("être+", {"est", "sont", "serait", "etait", "etant"}),
        ("avoir+", {"a", "ont", "aura", "avait", "ayant", "eu"}),
        ("aller+", {"va", "vont", "ira", "allait"}),
        ("installer+", {"installe", "installent", "installait"}),
        ("comprendre+", {"comprend", "comprennent", "comprendront", "compris", "comprenait"}),
        ("percevoir+", {"percoit", "percoivent", "percevra", "percu"}),
        ("offrir+", {"offre", "offrez", "offert", "offrirait"}),
        ("connaître+", {"connait", "connaissent", "connu"}),
        ("deny~", {"deny", "denies", "denied", "denying"}),
        ("foreigner~", {"foreigner", "foreigners"}),
    ],
)
def test_inflection(entry: str, forms: set[str]) -> None:
    (place,) = inflect.Entry(entry)
    assert forms <= {word for (word,) in place}


@pytest.mark.parametrize(
    ("entry", "other"), [("avoir+", "avant"), ("installer+", "installira"), ("garantir+", "garant")]
)
def test_an_inflected_verb_is_no_other_word(entry: str, other: str) -> None:
    (place,) = inflect.Entry(entry)
    assert (other,) not in place


def test_both_spellings_of_ligatures() -> None:
    (place,) = inflect.Entry("mœurs")
    assert {("moeurs",), inflect.words_of("mœurs")} <= set(place)


def test_places_choices_and_optional_words() -> None:
    places = inflect.Entry("(le|la|) client* (âgé|senior)*")
    assert [len(place) > 1 for place in places] == [True, True]  # an optional beginning is dropped
    assert ("cliente",) in places[0]
    assert {("agees",), ("seniors",)} <= set(places[1])
    assert () in inflect.Entry("client (très|) âgé")[1]


@pytest.mark.parametrize("entry", ["(ouvert", "fermé)", "(a|(b|c))", "(a|)", "’", ""])
def test_bad_entries_are_refused(entry: str) -> None:
    with pytest.raises(ValueError, match="malformed"):
        inflect.Entry(entry)


def cut(text: str, *wanted: str) -> list[str]:
    seen = view(text)
    found = stretches(seen.compact, raw_words(seen.compact), frozenset(wanted).intersection)
    sentences = [Sentence(seen, first, last, follow) for first, last, follow in found]
    return [text[slice(*sentence.span(0, len(sentence.words)))] for sentence in sentences]


def test_sentences_end_where_they_should() -> None:
    text = "Selon l’art. L. 113-8, M. Petit paie 12.5 € à l’âge dit. Non. Âge ?\nâge"
    assert cut(text, "age") == ["Selon l’art. L. 113-8, M. Petit paie 12.5 € à l’âge dit.", "Âge ?", "âge"]


def test_only_sentences_with_a_wanted_word_are_cut() -> None:
    assert cut("Rien ici. Une femme là. Rien.", "femme") == ["Une femme là."]


def test_a_line_with_many_wanted_words_is_cut_as_one_with_few_is() -> None:
    words = [f"mot{number}" for number in range(2 * FEW)]
    sentences = [f"Voici {word}, dit-on." for word in words]
    text = " Rien ici. ".join(sentences)
    assert cut(text, *words) == sentences
    assert cut(text, *words[: FEW // 2]) == sentences[: FEW // 2]
    assert cut("mot1mot1 xmot1. Un mot1 mot1.", "mot1") == ["Un mot1 mot1."]


def test_the_sentence_behind_one_is_the_next_that_holds_anything() -> None:
    seen = view("Une femme.\n\n- \nElle est là. Fin.")
    (found,) = stretches(seen.compact, raw_words(seen.compact), frozenset({"femme"}).intersection)
    assert Sentence(seen, *found).next_tokens == []
    seen = view("Une femme.\n\n\nElle est là. Fin.")
    (found,) = stretches(seen.compact, raw_words(seen.compact), frozenset({"femme"}).intersection)
    assert Sentence(seen, *found).next_tokens == ["elle", "est", "la", "."]


def test_long_texts_are_cut_as_short_ones_are() -> None:
    filling = "Rien de tel dans cette phrase, qui ne compte pas. " * (2 * BLOCK // 50)
    text = f"{filling}Une femme là. {filling}{filling}Une femme ici.\n{filling}"
    assert cut(text, "femme") == ["Une femme là.", "Une femme ici."]


def test_work_is_bounded() -> None:
    found = named(prepare("femme. " * 400_000), rulebook.load_book())
    assert sum(len(each.sentence.words) for each in found) <= MAX_LOOKED_AT + 300


def test_words_are_kept_and_signs_blanked() -> None:
    assert raw_words("l'age, d'un-deux!").split() == ["l", "age", "d", "un", "deux"]


def test_tokens_know_their_places_also_when_two_sentences_are_joined() -> None:
    text = "Elle est âgée.\nElle, donc, paiera."
    seen = view(text)
    joined = Sentence(seen, 0, 15, len(text)).with_next()
    assert joined is not None
    assert joined.split == 4
    assert [joined.written(at) for at in range(len(joined.words))] == [
        "Elle", "est", "âgée", ".", "Elle", ",", "donc", ",", "paiera", "."
    ]  # fmt: skip


def test_a_text_made_ready_gives_what_the_text_gives() -> None:
    text = "Les femmes conduisent mal, vu leur sexe. Selon l’article L113-8, la franchise est de 150 €."
    ready = prepare(text)
    assert prepare(ready) is ready
    assert attributes.find(ready) == attributes.find(text) != []
    assert bias.screen(ready) == bias.screen(text)
    assert bias.screen(text).findings
    assert citations.check(ready) == citations.check(text)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copytree(BUNDLED / "rules", tmp_path / "rules")
    return tmp_path


Edit = Callable[[Path], None]


def replaced(name: str, old: str, new: str) -> Edit:
    def edit(rules: Path) -> None:
        text = (rules / name).read_text(encoding="utf-8")
        assert old in text
        (rules / name).write_text(text.replace(old, new, 1), encoding="utf-8")

    return edit


@pytest.mark.parametrize(
    ("edit", "file", "key", "expected"),
    [
        (
            replaced("attributes.yaml", "Faut-il refuser parce qu’il est étranger ?", "Bonjour."),
            "attributes.yaml", "causal-clause.must_match[0]", "un exemple reconnu par la règle « causal-clause »",
        ),
        (
            replaced("bias_groups.yaml", "Les femmes enceintes bénéficient d’un suivi renforcé", "Les femmes mentent"),
            "bias_groups.yaml", "sex.must_not_match[0]", "un exemple ignoré par la règle « sex »",
        ),
        (
            replaced("bias_grounds.yaml", "Les syndicalistes sont des fainéants.", "Bonjour."),
            "bias_grounds.yaml", "union_activity.must_match[0]", "la règle « union_activity »",
        ),
        (
            replaced("bias_predicates.yaml", "Refusez les candidats étrangers.", "Bonjour."),
            "bias_predicates.yaml", "exclusion.must_match[0]", "la règle « exclusion »",
        ),
        (
            replaced("bias_groups.yaml", "characteristic: sex\n", "characteristic: sexes\n"),
            "bias_groups.yaml", "groups[0].characteristic", "sexual_orientation",
        ),
        (
            replaced("bias_groups.yaml", "characteristic: race\n", "characteristic: sex\n"),
            "bias_groups.yaml", "groups[1].characteristic", "une seule entrée pour « sex »",
        ),
        (
            replaced("bias_groups.yaml", "stereotype: MEDIUM, differential: MEDIUM, exclusion: HIGH, slur: HIGH",
                     "stereotype: LOW, differential: MEDIUM, exclusion: HIGH, slur: HIGH"),
            "bias_groups.yaml", "groups[0].severity.stereotype", "une gravité de MEDIUM à HIGH",
        ),
        (
            replaced("attributes.yaml", "au motif (que|qu’)", "au motif (que|qu’"),
            "attributes.yaml", "clause_connectors", "des parenthèses fermées sans imbrication",
        ),
        (
            replaced("bias_domains.yaml", "default_domain: insurance", "default_domain: assurance"),
            "bias_domains.yaml", "default_domain", "un domaine de la liste",
        ),
        (
            replaced("bias_domains.yaml", 'threshold: "0.15"', 'threshold: "0,15"'),
            "bias_domains.yaml", "domains[hr].threshold", "",
        ),
        (
            replaced("bias_domains.yaml", 'threshold: "0.15"', 'threshold: "1.5"'),
            "bias_domains.yaml", "domains[hr].threshold", "",
        ),
        (
            replaced("bias_domains.yaml", 'LOW: "0.1", ', ""),
            "bias_domains.yaml", "weights", "un poids pour LOW, MEDIUM, HIGH et CRITICAL",
        ),
        (
            replaced("bias_grammar.yaml", "  norms:", "  norme:"),
            "bias_grammar.yaml", "words.norme", "une clé connue",
        ),
        (
            replaced("attributes.yaml", "contrast: >-", "contraste: >-"),
            "attributes.yaml", "", "",
        ),
    ],
)  # fmt: skip
def test_a_bad_rule_file_is_refused_in_french(folder: Path, edit: Edit, file: str, key: str, expected: str) -> None:
    edit(folder / "rules")
    with pytest.raises(PolicyError) as caught:
        rulebook.load_book(folder)
    lines = [problem.line_fr for problem in caught.value.problems]
    assert any(line.startswith(f"{file}: {key}") and "attendu" in line and expected in line for line in lines), lines
    assert "\n" not in str(caught.value)


def test_another_folder_is_used_when_configured(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replaced("attributes.yaml", "au motif (que|qu’), ", "au motif (que|qu’), rapport au fait (que|qu’), ")(
        folder / "rules"
    )
    text = "J’hésite, rapport au fait qu’il est handicapé."
    assert attributes.find(text) == []
    monkeypatch.setenv("COMPLIANCE_POLICY_DIR", str(folder))
    assert [flag.attribute for flag in attributes.find(text)] == ["disability"]


@pytest.mark.parametrize("base", ["manger", "voyager", "aller", "installer", "partir", "être", "dire", "payer", "fier"])
def test_no_form_of_a_word_is_made_twice(base: str) -> None:
    for mark in "*+~":
        forms = inflect.forms_of(inflect.fold_list(base + mark))
        assert forms is not None
        assert len(set(forms)) == len(forms)


def test_garbage_collection_goes_on_after_a_load(folder: Path) -> None:
    assert gc.isenabled()
    rulebook.load_book(folder)
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0


def test_a_book_is_compiled_once(folder: Path) -> None:
    assert rulebook.load_book(folder) is rulebook.load_book(folder)


def test_no_harmless_word_is_an_insult() -> None:
    book = rulebook.load_book()
    everyday = (
        "balance corbeau fossile dinosaure thon boudin pédale psycho demeure type retraite maison voile drogue malaise "
        "aise fortune greffe divorce marie adopte aides raton melon casino latin verts témoins voyageurs sud photo"
    )
    for word in inflect.words_of(everyday):
        assert not [hit for hit in book.mentions.match([word]) if hit.value.kind == "slurs"], word


def test_a_month_is_screened_by_the_rules_of_its_end(tmp_path: Path) -> None:
    folder = tmp_path / "policy"
    shutil.copytree(BUNDLED, folder)
    current = folder / "rules" / "bias_domains.yaml"
    text = current.read_text(encoding="utf-8")
    earlier = folder / "history" / "rules" / "bias_domains" / "2026-01-01.yaml"
    earlier.parent.mkdir(parents=True)
    earlier.write_text(text, encoding="utf-8")
    changed = text.replace("effective_from: 2026-01-01", "effective_from: 2026-06-01", 1)
    current.write_text(changed.replace('threshold: "0.2"', 'threshold: "0.25"'), encoding="utf-8")
    may, june = (rulebook.of(load_policy(folder, at=date(2026, month, day))) for month, day in ((5, 31), (6, 30)))
    assert [str(book.domains["insurance"].threshold) for book in (may, june)] == ["0.2", "0.25"]
    assert rulebook.of(load_policy(folder, at=date(2026, 4, 30))) is may  # the same rules are compiled once


def test_a_month_before_the_rules_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "policy"
    shutil.copytree(BUNDLED, folder)
    rules = folder / "rules" / "attributes.yaml"
    text = rules.read_text(encoding="utf-8")
    rules.write_text(text.replace("effective_from: 2026-01-01", "effective_from: 2026-06-01", 1), encoding="utf-8")
    with pytest.raises(PolicyError, match="attributes"):
        rulebook.of(load_policy(folder, at=date(2026, 5, 31)))
