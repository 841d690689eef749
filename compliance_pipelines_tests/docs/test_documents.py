"""The pages say what is so: links resolve, traceability is current, privacy and deployment name what exists."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from compliance_guardrails.policy import load_policy
from compliance_guardrails.policy.paths import BUNDLED

from tools import supply_chain, traceability

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted([*DOCS.glob("*.md"), *DOCS.glob("adr/*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"])
PRIVACY = (DOCS / "privacy.md").read_text(encoding="utf-8")
DEPLOYMENT = (DOCS / "deployment.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_between_pages_resolve(page: Path) -> None:
    targets = re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", page.read_text(encoding="utf-8"))
    assert [t for t in targets if not (page.parent / t).exists() and not t.endswith(".png")] == []


def test_traceability_is_current() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(ROOT / "tools" / "traceability.py"), "--check"],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr


def test_traceability_refuses_names_that_do_not_exist() -> None:
    legal = load_policy(BUNDLED).legal
    checks, tags = {"audit/bias_report": ["x"]}, {"ai-act art-9": ["audit/bias_report"]}
    links = {rule.id: {"assets": [], "tests": []} for rule in legal.rules}
    links[legal.rules[0].id] = {"assets": ["audit/no_such"], "tests": ["compliance_pipelines_tests/no_such.py"]}
    del links[legal.rules[1].id]
    with pytest.raises(traceability.TraceabilityError) as wrong:
        traceability.document(list(legal.rules), links, checks, tags, "2026-07-31")
    for part in ("no such asset audit/no_such", "no such test", f"no entry for rule {legal.rules[1].id}"):
        assert part in str(wrong.value)


def test_every_rule_of_the_law_file_has_a_row() -> None:
    text = (DOCS / "traceability.md").read_text(encoding="utf-8")
    for rule in load_policy(BUNDLED).legal.rules:
        assert f"{rule.instrument}, {rule.article}" in text


def test_privacy_names_the_retention_that_the_policy_has() -> None:
    thresholds = load_policy(BUNDLED).thresholds
    assert f"`purge_months` ({thresholds.purge_months})" in PRIVACY
    assert f"{thresholds.retention_years} years, locked" in PRIVACY
    assert f"groups below {thresholds.suppress_below} suppressed" in PRIVACY


def test_privacy_covers_every_folder_of_the_home() -> None:
    for folder in ("data/langfuse", "data/evaluation", "cache/", "state/", "outbox/", "archive"):
        assert folder in PRIVACY


@pytest.mark.parametrize("article", ["GDPR 13", "GDPR 35", "26(7)", "GDPR 17", "GDPR 22", "GDPR 9"])
def test_privacy_speaks_of_the_articles_that_it_must(article: str) -> None:
    assert article in PRIVACY


def test_deployment_lists_the_secrets_that_manifests_refer_to() -> None:
    text = "\n".join(p.read_text(encoding="utf-8") for p in (ROOT / "k8s").rglob("*.yaml"))
    named = set(re.findall(r"secretRef: \{name: ([\w-]+)\}|secretKeyRef: \{name: ([\w-]+),|secretName: ([\w-]+)", text))
    names = {part for found in named for part in found if part}
    assert names
    for name in names:
        assert f"`{name}`" in DEPLOYMENT, name


def test_the_environment_file_lists_what_manifests_set() -> None:
    example = (ROOT / ".env.example").read_text(encoding="utf-8")
    own = {"RAGAS_DO_NOT_TRACK", "HOME", "MPLCONFIGDIR"}
    files = list((ROOT / "k8s").rglob("settings.env"))
    assert files
    for path in files:
        names = set(re.findall(r"^([A-Z0-9_]+)=", path.read_text(encoding="utf-8"), re.MULTILINE)) - own
        assert {name for name in names if f"#{name}=" not in example} == set()


def test_the_workflow_runs_what_the_makefile_has() -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8"))
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    commands = "\n".join(step.get("run", "") for job in workflow["jobs"].values() for step in job["steps"])
    used = set(re.findall(r"^make ([a-z-]+)$", commands, re.MULTILINE))
    assert used
    assert used <= targets
    for path in re.findall(
        r"(?<![\w-])(?:tools|tests|compliance_pipelines_tests|requirements|docker|k8s)/[\w./-]+\.(?:py|json|txt|yaml)",
        commands,
    ):
        assert (ROOT / path).exists(), path
    assert workflow["permissions"] == {"contents": "read"}
    assert all("timeout-minutes" in job for job in workflow["jobs"].values())


LOCK = "alpha==1.0 \\\n    --hash=sha256:" + "a" * 64 + "\nPyYAML==6.0 \\\n    --hash=sha256:" + "b" * 64 + "\n"


def test_the_bill_of_materials_repeats_and_is_complete() -> None:
    found = supply_chain.components(LOCK)
    assert [(one.name, one.version, len(one.hashes)) for one in found] == [("alpha", "1.0", 1), ("pyyaml", "6.0", 1)]
    first, second = supply_chain.sbom(found, LOCK), supply_chain.sbom(found, LOCK)
    assert json.dumps(first) == json.dumps(second)
    assert first["components"][1]["purl"] == "pkg:pypi/pyyaml@6.0"


@pytest.mark.parametrize(
    ("licence", "refused"),
    [
        ("AGPL-3.0-only", True),
        ("GPL-3.0-or-later", True),
        ("GNU General Public License v3 (GPLv3)", True),
        ("LGPL-2.1-or-later", False),
        ("GNU Library or Lesser General Public License (LGPL)", False),
        ("MIT", False),
        ("MPL-2.0", False),
        ("Apache-2.0 AND MIT", False),
        ("", False),
    ],
)
def test_licences_that_a_person_must_look_at(licence: str, refused: bool) -> None:
    assert supply_chain.Component("x", "1", (), licence).refused is refused


def test_a_lock_without_hashes_is_refused(tmp_path: Path) -> None:
    lock = tmp_path / "lock.txt"
    lock.write_text("alpha==1.0\n")
    assert supply_chain.main([str(lock)]) == 2
    assert supply_chain.main([str(tmp_path / "absent.txt")]) == 2
    lock.write_text(LOCK)
    assert supply_chain.main([str(lock)]) == 1
