"""Cells in print that no verdict closes: each attached figure has its place, and a changed cell is found.

The text is that of the golden reports, so that a change of layout which verification would not follow shows here.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from compliance_pipelines.core.evidence import EvidenceError
from compliance_pipelines.core.report import attachments, build_report
from compliance_pipelines.core.verify_tables import (
    MAX_PLACES,
    SCHEMA,
    Place,
    digest_places,
    flat,
    missing,
    printed_places,
)
from compliance_pipelines_tests.golden import months
from compliance_pipelines_tests.golden.months import MONTHS

FOLDER = Path(months.__file__).parent
THIN = "\u202f"


@cache
def pages(name: str) -> tuple[str, ...]:
    return tuple((FOLDER / f"{name}.txt").read_text(encoding="utf-8").split("\n\f\n"))


@cache
def document(name: str) -> dict[str, Any]:
    return json.loads(attachments(build_report(MONTHS[name]()))["figures.json"])


def places(name: str) -> list[Place]:
    inputs = MONTHS[name]()
    digests = {
        "Empreinte de la politique": inputs.policy_digest,
        "Empreinte des données": inputs.input_digest,
        "Manifeste précédent": inputs.previous_manifest_sha256,
    }
    return [*printed_places(document(name)["figures"], document(name)["labels"]), *digest_places(digests)]


@pytest.mark.parametrize("name", MONTHS)
def test_every_attached_figure_has_its_place_in_print(name: str) -> None:
    assert document(name)["schema"] == SCHEMA
    found = places(name)
    assert [place.name for place in missing(found, flat(pages(name)))] == []
    assert len(found) > (60 if name == "problems" else 5)


@pytest.mark.parametrize(
    ("printed", "forged", "place"),
    [
        ("7 / 8\ndirections", "8 / 8\ndirections", "première page, judge_neutrality"),
        ("N = 4 870 traces notées", "N = 4 880 traces notées", "première page, judge_neutrality"),
        ("≥ 86,7 %\nréponses dont", "≥ 96,7 %\nréponses dont", "première page, share_cited"),
        ("66,9 %\nrequêtes vues", "99,9 %\nrequêtes vues", "première page, share_with_score"),
        ("N = 4 945 requêtes, avec", "N = 4 946 requêtes, avec", "première page, share_with_score"),
        ("4 870\n7\n1\n–\n3\n1\n", "4 870\n8\n–\n–\n3\n1\n", "première page, verdicts, judge_neutrality"),
        ("requêtes\n66,9 %", "requêtes\n67,9 %", "garde-fou, Score de similarité reçu"),
        ("détectée\n1 076", "détectée\n1 077", "garde-fou, Affirmation précise détectée"),
        ("≥ 127\n1 076", "≥ 27\n1 076", "garde-fou, Affirmation précise sans source"),
        ("Finance\n312\n13\n6\n6,1 %", "Finance\n312\n23\n6\n6,1 %", "direction-finance, avis"),
        ("Finance\n312\n13\n6\n6,1 %", "Finance\n312\n13\n6\n9,1 %", "direction-finance, avis"),
        ("100\n75,0 %\n21,3 %", "100\n95,0 %\n21,3 %", "direction-souscription, avis"),
        ("6,1 %\n3,9 – 9,3 %", "6,1 %\n5,9 – 6,3 %", "direction-finance, avis"),
        ("Audit interne\n61\nn. c.\nn. c.\n11,5 %", "Audit interne\n61\nn. c.\nn. c.\n31,5 %", "direction-audit, avis"),
        ("Testés : 6 ; en partie : 1 ; non testés : 17", "Testés : 16 ; en partie : 1 ; non testés : 7", "critères"),
        ("Nuits manquantes\n2 sur", "Nuits manquantes\n1 sur", "nuits manquantes"),
        ("Nuits manquantes\n2 sur la période", "Nuits manquantes\naucune", "nuits manquantes"),
        ("Finance\n90\n12\n13,3 %", "Finance\n90\n2\n2,2 %", "direction-finance, sondes"),
        ("312 / 312\n0,64\n0,6996", "312 / 312\n0,74\n0,6996", "direction-finance, judge_neutrality, évolution"),
        ("Finance\n312\n312\n312\n312\n6\n1,9 %", "Finance\n312\n312\n312\n312\n0\n0,0 %", "effectifs"),
        ("15 / 15\n0,004\n0,41", "15 / 15\n0,400\n0,41", "paire origin-sinistres-01"),
        ("15 / 15\n0,330\n0,08", "15 / 15\n0,330\n0,80", "paire age-souscription-01"),
        ("Traces notées\n4 870", "Traces notées\n4 970", "section 8, scored"),
    ],
)
def test_a_changed_cell_is_found(printed: str, forged: str, place: str) -> None:
    whole = "\n".join(pages("problems")).replace(THIN, " ").replace("\u00a0", " ")
    assert printed in whole
    found = missing(places("problems"), flat([whole.replace(printed, forged)]))
    assert len(found) == 1
    assert place in found[0].name


def test_a_changed_digest_is_found() -> None:
    digest = MONTHS["problems"]().input_digest
    text = flat(pages("problems")).replace(digest, f"{digest[:-1]}{'0' if digest[-1] != '0' else '1'}")
    assert [place.name for place in missing(places("problems"), text)] == ["empreinte des données"]


@pytest.mark.parametrize("value", [1e300, -1e300, 10**40, "12", None])
def test_a_figure_out_of_all_bounds_is_no_traceback(value: object) -> None:
    rows = [
        {"section": section, "department": "toutes", "metric": metric, "name": name, "value": value, "state": "publié"}
        for section, metric, name in (
            (1, "citation_compliance", "share_cited"),
            (1, "citation_compliance", "n_share_cited"),
            (3, "coverage", "x"),
            (3, "coverage", "x – base"),
            (8, "extraction", "scored"),
        )
    ]
    assert len(missing(printed_places(rows, {}), "|")) <= 3


def test_more_lines_than_any_report_has_are_refused() -> None:
    rows = [
        {"section": 3, "department": "toutes", "metric": "coverage", "name": name, "value": 1, "state": "publié"}
        for number in range(MAX_PLACES + 1)
        for name in (f"g{number}", f"g{number} – base")
    ]
    with pytest.raises(EvidenceError, match="attendu au plus"):
        printed_places(rows, {})
