"""Which department a trace belongs to, in the order in which sources are trusted."""

from __future__ import annotations

import unicodedata

import pytest
from compliance_guardrails.policy import Policy, load_policy
from compliance_guardrails.policy.resolution import fold_name
from hypothesis import given
from hypothesis import strategies as st


@pytest.fixture(scope="module")
def policy() -> Policy:
    return load_policy()


NONE = ("non-attribue", "none")


@pytest.mark.parametrize(
    ("given_values", "expected"),
    [
        ({"stamp": "direction-it", "key_alias": "sinistres"}, ("direction-it", "stamp")),
        ({"stamp": "inconnue", "key_alias": "sinistres"}, ("direction-sinistres", "key_alias")),
        ({"stamp": "non-attribue", "key_alias": "sinistres"}, ("direction-sinistres", "key_alias")),
        ({"key_alias": "owui-rh", "team_alias": "Sinistres"}, ("direction-rh", "key_alias")),
        ({"key_alias": "x", "team_alias": "Équipe Juridique"}, ("direction-juridique", "team_alias")),
        ({"team_alias": "EQUIPE JURIDIQUE"}, ("direction-juridique", "team_alias")),
        (
            {"team_alias": unicodedata.normalize("NFD", "Équipe Réassurance")},
            ("direction-reassurance", "team_alias"),
        ),
        ({"team_alias": "Équipe\u00a0Juridique"}, ("direction-juridique", "team_alias")),
        ({"team_alias": "Équipe\u202fJuridique"}, ("direction-juridique", "team_alias")),
        ({"team_id": "team-audit", "tags": ["department:direction-it"]}, ("direction-audit", "team_id")),
        ({"tags": ["a", "department:direction-it"]}, ("direction-it", "tag")),
        ({"tags": ("Department:Direction-IT",)}, ("direction-it", "tag")),
        ({"tags": "department:direction-it"}, ("direction-it", "tag")),
        ({"tags": ["department:inconnue", "department:direction-rh"]}, ("direction-rh", "tag")),
        ({"tags": ["department:direction-it"], "declared": "RH"}, ("direction-it", "tag")),
        ({"declared": "direction-rh"}, ("direction-rh", "declared")),
        ({"declared": "Direction des ressources humaines"}, ("direction-rh", "declared")),
        ({"declared": "Direction de l'actuariat"}, ("direction-actuariat", "declared")),
        ({"declared": "Direction de l’actuariat"}, ("direction-actuariat", "declared")),
        ({}, NONE),
        ({"declared": "direction"}, NONE),
        ({"declared": ""}, NONE),
        ({"key_alias": "sinistres-bis"}, NONE),
        ({"tags": ["direction-it"]}, NONE),
        ({"tags": ["department:"]}, NONE),
        ({"declared": "x" * 10_000}, NONE),
        (
            {
                "stamp": 3,
                "key_alias": {},
                "team_alias": [],
                "team_id": b"team-it",
                "tags": 7,
                "declared": None,
            },
            NONE,
        ),
        ({"stamp": "claims", "key_alias": "claims", "team_alias": "claims", "team_id": "claims"}, NONE),
    ],
)
def test_first_hit_wins(policy: Policy, given_values: dict[str, object], expected: tuple[str, str]) -> None:
    assert policy.resolve_department(**given_values) == expected


def test_positional_order_is_the_order_of_trust(policy: Policy) -> None:
    assert policy.resolve_department(None, None, None, None, None, "finance") == (
        "direction-finance",
        "declared",
    )
    assert policy.resolve_department("direction-it", "finance", "RH", "team-audit", [], "claims")[1] == "stamp"


def test_tags_beyond_the_bound_are_not_read(policy: Policy) -> None:
    assert policy.resolve_department(tags=["x"] * 10_000 + ["department:direction-it"]) == NONE


_ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30) | st.binary(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(st.lists(_ANYTHING, min_size=6, max_size=6))
def test_whatever_comes_in_an_answer_comes_out(values: list[object]) -> None:
    policy = load_policy()
    department, source = policy.resolve_department(*values)
    assert (department == "non-attribue") == (source == "none")
    policy.department(department)


@given(st.text(max_size=40))
def test_folding_is_stable(name: str) -> None:
    assert fold_name(fold_name(name)) == fold_name(name)
