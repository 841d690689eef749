"""A small month read closely, by someone who subtracts and by someone who forges.

No count in the archive gives a masked department back, and no command tells a figure that the index does not vouch for.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from compliance_guardrails.detect import bias

from compliance_pipelines.adapters.archive_dir import DirectoryArchive
from compliance_pipelines.adapters.table_store import TableStore
from compliance_pipelines.core.evidence import canonical_json, sha256
from compliance_pipelines.core.periods import Month
from compliance_pipelines.core.policy_archive import read_policy_json
from compliance_pipelines.core.verify import AlteredError
from compliance_pipelines.explain import HmacKey, explain
from compliance_pipelines_tests.small_month import SMALL, run_months

MONTH = "2026-06"
WORDS = ("sinistres", "neutralité")
KEY = HmacKey(b"key", is_default=False)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        # The report is built from the policy of its month: what is in force today is another one.
        patch.setattr(bias, "load_book", _todays_rules)
        run_months(home, [MONTH])
    return home


def _todays_rules(_: object = None) -> None:
    raise AssertionError("a past month is not told by the rules of today")


def test_the_grounds_under_watch_are_those_of_the_policy_of_the_month(home: Path) -> None:
    texts = read_policy_json(DirectoryArchive(home / "archive").read(MONTH)["policy.json"])
    assert "rules/bias_groups.yaml" in texts
    assert (home / "archive" / f"bias-report-{MONTH}.pdf").exists()


def test_no_count_of_the_archive_gives_a_masked_department_back(home: Path) -> None:
    files = DirectoryArchive(home / "archive").read(MONTH)
    store, days = TableStore(home / "data"), [day.isoformat() for day in Month.parse(MONTH).days()]
    owners = [
        row["department"] for day in days for row in store.read_columns(("langfuse", "traces"), day, ["department"])
    ]
    assert 0 < owners.count(SMALL) < 5
    figures = json.loads(files["figures.json"])["figures"]
    shown = [f for f in figures if (f["metric"], f["name"]) == ("lexical_neutrality", "n_traces")]
    published = sum(f["value"] for f in shown)
    assert published == len(owners) - owners.count(SMALL)
    counted = {item["asset"]: item["rows"] for item in json.loads(files["manifest.json"])["data"]}
    per_trace = {"langfuse/traces": 1, "evaluation/neutrality": 1, "evaluation/citations": 2}
    assert {name: counted[name] for name in per_trace} == {name: published * k for name, k in per_trace.items()}


def test_figures_and_manifest_altered_together_are_not_explained(home: Path) -> None:
    archive, month = DirectoryArchive(home / "archive"), Month.parse(MONTH)
    assert explain(archive, home, None, month, WORDS, KEY).exit_code == 0
    folder = home / "archive" / "revisions" / MONTH / "r1"
    figures, manifest = folder / "figures.json", folder / "manifest.json"
    document = json.loads(figures.read_bytes())
    document["figures"] = [{**f, "value": 0.99} if f["name"] == "mean" else f for f in document["figures"]]
    forged, said = json.dumps(document).encode(), json.loads(manifest.read_bytes())
    said["attachments"] = [
        {**one, "sha256": sha256(forged)} if one["name"] == "figures.json" else one for one in said["attachments"]
    ]
    for path, content in ((figures, forged), (manifest, canonical_json(said))):
        path.unlink()
        path.write_bytes(content)
    with pytest.raises(AlteredError, match="octets modifiés"):
        explain(archive, home, None, month, WORDS, KEY)
