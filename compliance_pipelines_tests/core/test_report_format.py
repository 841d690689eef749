"""French numbers, dates, labels and spacing."""

from __future__ import annotations

import datetime as dt
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compliance_pipelines.core import report_format as fmt


@pytest.mark.parametrize(
    ("value", "printed"),
    [(0, "0"), (999, "999"), (1204, "1\u202f204"), (1234567, "1\u202f234\u202f567")],
)
def test_integer(value, printed):
    assert fmt.integer(value) == printed


@pytest.mark.parametrize(
    ("value", "digits", "printed"),
    [(0.8134, 2, "0,81"), (None, 2, "—"), (-0.0004, 2, "0,00"), (1, 1, "1,0"), (0.125, 2, "0,12")],
)
def test_decimal(value, digits, printed):
    assert fmt.decimal(value, digits) == printed


@pytest.mark.parametrize(
    ("share", "digits", "printed"),
    [(0.285, 1, "28,5\u202f%"), (1, 0, "100\u202f%"), (None, 1, "—"), (0.0005, 1, "0,0\u202f%")],
)
def test_percent(share, digits, printed):
    assert fmt.percent(share, digits) == printed


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_numbers_that_are_none_are_refused(value):
    with pytest.raises(ValueError, match="fini"):
        fmt.decimal(value)


@pytest.mark.parametrize(
    ("value", "threshold", "printed"),
    [
        (0.6996, 0.70, "0,6996"),
        (0.70, 0.70, "0,70"),
        (0.7004, 0.70, "0,70"),
        (0.81, 0.70, "0,81"),
        (0.69999999, 0.70, "0,700000"),
        (0.5, None, "0,50"),
    ],
)
def test_against(value, threshold, printed):
    assert fmt.against(value, threshold) == printed


def test_against_in_percent():
    assert fmt.against(0.79996, 0.80, 1, as_percent=True) == "79,996\u202f%"


@pytest.mark.parametrize(
    ("day", "printed"),
    [(dt.date(2026, 7, 1), "1er\u00a0juillet 2026"), (dt.date(2026, 2, 28), "28\u00a0février 2026")],
)
def test_date(day, printed):
    assert fmt.date_fr(day) == printed


@pytest.mark.parametrize(
    ("moment", "printed"),
    [
        (dt.datetime(2026, 7, 1, 4, tzinfo=dt.UTC), "1er\u00a0juillet 2026 à 06:00 (heure de Paris)"),
        (dt.datetime(2026, 12, 31, 23, 30, tzinfo=dt.UTC), "1er\u00a0janvier 2027 à 00:30 (heure de Paris)"),
    ],
)
def test_instants_are_printed_in_paris(moment, printed):
    assert fmt.instant_fr(moment) == printed


@pytest.mark.parametrize(
    ("count", "printed"),
    [(0, "0\u00a0alerte"), (1, "1\u00a0alerte"), (2, "2\u00a0alertes"), (1500, "1\u202f500\u00a0alertes")],
)
def test_plural(count, printed):
    assert fmt.plural(count, "alerte", "alertes") == printed


@pytest.mark.parametrize(
    ("raw", "bare"),
    [
        ("Sinistres", "Sinistres"),
        ("  deux\n\tlignes \u2028 ", "deux lignes"),
        ("gauche\u202edroite\u2066x\u2069", "gauchedroitex"),
        ("nul\x00 \x1b[31mrouge\x7f", "nul [31mrouge"),
        ("e\u0301te\u0301", "été"),
        ("12\u202f500\u00a0€", "12\u202f500\u00a0€"),
        ("a\u0332\u0332\u0332\u0332", "a\u0332\u0332"),
        ("", ""),
    ],
)
def test_clean(raw, bare):
    assert fmt.clean(raw) == bare


@given(st.text(max_size=2000), st.integers(min_value=2, max_value=120))
def test_clean_is_bounded_and_idempotent(text, limit):
    once = fmt.clean(text, limit)
    assert len(once) <= limit
    assert fmt.clean(once, limit) == once
    assert not any(unicodedata.category(char) in {"Cc", "Cf", "Cs"} for char in once)


@pytest.mark.parametrize(
    ("plain", "fine"),
    [
        ("Seuil : 80 %", "Seuil\u00a0: 80\u202f%"),
        ("a ; b ? c !", "a\u202f; b\u202f? c\u202f!"),
        ("« oui »", "«\u00a0oui\u00a0»"),
        ("N = 12", "N\u202f=\u202f12"),
        ("l'avis", "l’avis"),
        ("12:30, a:b", "12:30, a:b"),
    ],
)
def test_typeset(plain, fine):
    assert fmt.typeset(plain) == fine
    assert fmt.typeset(fine) == fine


@pytest.mark.parametrize(
    ("names", "joined"),
    [
        ([], ""),
        (["a", "b", "a"], "a, b"),
        (["a", "b", "c"], "a, b et 1\u00a0autre"),
        (["a", "b", "c", "d"], "a, b et 2\u00a0autres"),
    ],
)
def test_enumerations_are_bounded(names, joined):
    assert fmt.enumerate_fr(names, 2) == joined
