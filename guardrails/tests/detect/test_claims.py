"""The rules of claims and citations: bundled ones hold, broken ones are refused in French; hostile texts stay cheap."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import compliance_guardrails.policy
import pytest
from compliance_guardrails.detect import in_use
from compliance_guardrails.detect.citations import check
from compliance_guardrails.detect.figures import MAX_HITS, extract_figures, ground
from compliance_guardrails.policy.errors import PolicyError
from hypothesis import given
from hypothesis import strategies as st

BUNDLED = Path(compliance_guardrails.policy.__file__).parent / "data"
MEGA = 1_000_000
PIECES = [
    "12 500,00 €",
    "1,2 M€",
    "85 %",
    "article L. 113-8",
    "articles L113-8, L113-9 et",
    "1792 du Code civil",
    "clause n° 4",
    "trente jours",
    "deux mille euros",
    "45 ans",
    "14 h",
    "couvert",
    "jusqu'à",
    "à hauteur de",
    "selon",
    "p. 12",
    "[1]",
    "\n- ",
    "| ",
    "\n",
    ". ",
    " ",
    "(",
    ")",
    "«",
    "»",
    "\u0301",
    "\u200b",
    "**",
    "à 111-4",
    "€",
    "9",
    "-",
    "source : ",
    "Conditions générales",
]


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    """A policy folder of one's own with the bundled rules."""
    shutil.copytree(BUNDLED / "rules", tmp_path / "rules")
    return tmp_path


def edit(folder: Path, name: str, old: str, new: str) -> None:
    path = folder / "rules" / name
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def test_bundled_rules_agree_with_their_examples() -> None:
    assert in_use.load(BUNDLED) is not None


def test_an_edited_word_list_counts(rules: Path) -> None:
    edit(rules, "claims.yaml", 'words: ["clause", "clauses"]', 'words: ["clause", "clauses", "stipulation"]')
    made = in_use.load(rules)
    assert [figure.kind for figure in extract_figures("la stipulation 4", made.scanner)] == ["clause"]
    assert extract_figures("la stipulation 4") == []


@pytest.mark.parametrize(
    ("name", "old", "new", "expected"),
    [
        (
            "claims.yaml",
            '"La clause n° 4 exclut le vol."',
            '"La stipulation 4 exclut le vol."',
            "claims.yaml: clause.must_match[0]",
        ),
        (
            "claims.yaml",
            '"Un article de presse en parle."',
            '"L\'article 4 en parle."',
            "claims.yaml: law_article.must_not_match[0]",
        ),
        (
            "citations.yaml",
            '"Votre contrat couvre jusqu\'à 500 €."',
            '"Voir page 3 : 500 €."',
            "citations.yaml: examples.must_not_cite[0]",
        ),
        ("claims.yaml", "lead_words: 5", 'lead_words: "cinq"', "claims.yaml: delay.lead_words: attendu "),
        ("claims.yaml", "lead_words: 5", "lead_words: 5\n  lead_wrods: 6", "lead_wrods"),
        ("citations.yaml", "reach: 110", "reach: 110\nreach: 90", "reach"),
        ("citations.yaml", "reach: 110", "", "reach"),
    ],
)
def test_broken_rules_are_refused_in_french(rules: Path, name: str, old: str, new: str, expected: str) -> None:
    edit(rules, name, old, new)
    with pytest.raises(PolicyError) as caught:
        in_use.load(rules)
    assert expected in str(caught.value)
    assert "attendu" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_missing_rules_are_an_error_not_a_fall_back(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match=r"claims\.yaml"):
        in_use.load(tmp_path)


@given(
    st.lists(st.sampled_from(PIECES), max_size=25).map(" ".join)
    | st.lists(st.sampled_from(PIECES), max_size=25).map("".join)
)
def test_any_mixture_gives_spans_of_the_text(text: str) -> None:
    result = check(text)
    assert [claim.start for claim in result.claims] == sorted(claim.start for claim in result.claims)
    for claim in result.claims:
        assert text[claim.start : claim.end] == claim.text != ""
    if result.compliance is not None:
        assert result.compliance == int(all(claim.cited for claim in result.claims))


@given(st.text(max_size=300))
def test_any_text_is_accepted(text: str) -> None:
    for claim in check(text).claims:
        assert text[claim.start : claim.end] == claim.text


HOSTILE = {
    "digits": "1" * MEGA,
    "digits and spaces": "1 " * (MEGA // 2),
    "groups": "123 " * (MEGA // 4),
    "commas": "1," * (MEGA // 2),
    "dashes": "1-" * (MEGA // 2),
    "spaces": " " * MEGA,
    "newlines": "1 €\n" * (MEGA // 5),
    "articles": "article " * (MEGA // 8),
    "article l": "article l " * (MEGA // 10),
    "articles found": "article L113-8 " * (MEGA // 15),
    "clauses found": "clause 4 " * (MEGA // 9),
    "one list": "articles 1" + ", 1" * (MEGA // 3),
    "of a code": "1 du code " * (MEGA // 10),
    "ages": "9 ans " * (MEGA // 6),
    "words": "trente jours " * (MEGA // 13),
    "long number": "deux mille " * (MEGA // 11) + "euros",
    "cover": "couvert jusqu'à " * (MEGA // 17),
    "limits": "jusqu'à " * (MEGA // 9),
    "markers": "1 € " + "selon source document " * (MEGA // 22),
    "marked": "1 € selon " * (MEGA // 11),
    "items": "- 1 €\n" * (MEGA // 7),
    "sentences": "Le prix est de 1 €. " * (MEGA // 21),
    "stops": "1 €. " + ". " * (MEGA // 2),
    "abbreviations": ("p. " * 300 + "1 € ") * (MEGA // 904),
    "brackets": "1 € " + "[" * MEGA,
    "quotes": '1 € selon "' + '" ' * (MEGA // 2),
    "marks": "e\u0301" * (MEGA // 3),
    "emoji": "a😀" * (MEGA // 5),
    "table": "| 1 " * (MEGA // 4),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_megabytes_stay_cheap(name: str) -> None:
    text = HOSTILE[name]
    started = time.process_time()
    result = check(text)
    spent = time.process_time() - started
    assert len(result.claims) <= MAX_HITS
    # A generous bound for a shared machine: what is quadratic takes minutes here. The benchmark prints the figures.
    assert spent < 1.5


@pytest.mark.parametrize("name", ["articles found", "words", "table", "newlines"])
def test_hostile_sources_stay_cheap(name: str) -> None:
    started = time.process_time()
    ground("150 € et 30 jours, article L113-8", [HOSTILE[name]])
    assert time.process_time() - started < 3
