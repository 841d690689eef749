"""The commands around the report, on two small months: list, summary, explain, verify, purge; words and exit codes."""

from __future__ import annotations

import io
import json
import os
import shutil
import sqlite3
import sys
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from compliance_guardrails.policy import policy_dir
from pypdf import PdfReader

from compliance_pipelines import cli, resources
from compliance_pipelines.adapters import purge
from compliance_pipelines.adapters.cache import SqliteCache
from compliance_pipelines.adapters.table_store import TableStore
from compliance_pipelines.core.judge_samples import Reading
from compliance_pipelines.core.periods import Month
from compliance_pipelines.core.records import Trace
from compliance_pipelines.core.tables import records
from compliance_pipelines_tests.small_month import revise_month, run_months

MONTHS = ("2026-05", "2026-06")
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("home")
    run_months(home, MONTHS)
    return home


@pytest.fixture
def home(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the finished home, to be changed at will."""
    copy = tmp_path / "copy"
    shutil.copytree(finished, copy)
    monkeypatch.setenv("COMPLIANCE_HOME", str(copy))
    return copy


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """`compliance …` in this process: exit code, output, errors."""

    def command(*words: str, columns: str = "200") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["compliance", *words])
        monkeypatch.setenv("COLUMNS", columns)
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            cli.main()
        captured = capsys.readouterr()
        assert "Traceback" not in captured.out + captured.err
        return int(ended.value.code or 0), captured.out, captured.err

    return command


def archived(home: Path, name: str, month: str = "2026-06") -> bytes:
    return (home / "archive" / "revisions" / month / "r1" / name).read_bytes()


def flat(text: str) -> str:
    return " ".join(text.replace("\u202f", " ").replace("\u00a0", " ").split())


@pytest.mark.usefixtures("home")
def test_both_months_are_listed_in_archive_order(run: Run) -> None:
    code, out, _ = run("report", "list")
    assert code == 0
    *months, head, place, later = out.splitlines()
    assert [line.split()[0] for line in months] == list(MONTHS)
    assert head.startswith("Tête de chaîne (empreinte à publier) : ")
    assert (place.strip(), "verify --published" in later) == ("maillon 1, 2026-06 révision 1", True)


def test_june_stands_beside_may_and_the_comparison_holds(home: Path) -> None:
    text = flat(
        " ".join(p.extract_text() for p in PdfReader(io.BytesIO(archived(home, "bias-report-2026-06.pdf"))).pages)
    )
    assert "Évolution depuis mai 2026" in text
    assert "Rupture de comparabilité" not in text
    assert "écart non établi" in text
    manifest = json.loads(archived(home, "manifest.json"))
    data = {item["asset"]: item for item in manifest["data"]}
    assert data["department/monthly"]["partitions"] == ["2026-05-01", "2026-06-01"]
    assert data["audit/bias_report"]["rows"] == 1
    may = flat(
        " ".join(
            p.extract_text() for p in PdfReader(io.BytesIO(archived(home, "bias-report-2026-05.pdf", "2026-05"))).pages
        )
    )
    assert "Évolution depuis" not in may


def test_the_summary_comes_from_the_archive(home: Path, run: Run, tmp_path: Path) -> None:
    code, out, _ = run("report", "summary", "2026-06", "--to", str(tmp_path / "out"))
    assert code == 0
    assert (tmp_path / "out" / "bias-summary-2026-06.pdf").read_bytes() == archived(home, "bias-summary-2026-06.pdf")
    code, out, _ = run("report", "summary", "2026-06", "--json")
    assert json.loads(out) == json.loads(archived(home, "summary.json"))
    assert run("report", "summary", "2026-04")[0] == 2
    code, out, _ = run("report", "verify", str(tmp_path / "out" / "bias-summary-2026-06.pdf"))
    assert code == 0
    assert "identique à bias-summary-2026-06.pdf de 2026-06, révision 1" in out


@pytest.mark.parametrize(
    ("department", "words", "metric"),
    [
        ("direction-sinistres", "neutralité", "lexical_neutrality"),
        ("Sinistres", "Neutralite", "lexical_neutrality"),
        ("sinistres", "citations", "citation_compliance"),
        ("direction-sinistres", "chiffres", "figure_grounding"),
        ("direction-sinistres", "avis", "human_oversight"),
    ],
)
def test_a_figure_is_retraced_to_its_traces(home: Path, run: Run, department: str, words: str, metric: str) -> None:
    code, out, _ = run("report", "explain", "2026-06", department, words, "--json")
    found = json.loads(out)
    assert code == 0
    assert found["metric"] == metric
    figures = {
        f["name"]: f["value"]
        for f in json.loads(archived(home, "figures.json"))["figures"]
        if (f["department"], f["metric"]) == ("direction-sinistres", metric)
    }
    assert found["figures"]["mean"] == figures["mean"]
    assert found["statuses"]["notées"] == figures["n_scored"]
    assert found["tables"] == {"as_archived": True, "retraced": True}
    values = [item["value"] for item in found["worst"]]
    assert values == sorted(values)
    assert len(values) == min(10, figures["n_scored"])
    code, out, _ = run("report", "explain", "2026-06", department, words)
    text = flat(out)
    assert code == 0
    assert "effectif et moyenne retrouvés depuis les tables" in text
    assert found["policy_digest"] in text


def test_trace_ids_appear_as_keyed_pseudonyms_only(home: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    store = TableStore(home / "data")
    days = [day.isoformat() for day in Month.parse("2026-06").days()]
    ids = {row.trace_id for _, table in store.read_many(("langfuse", "traces"), days) for row in records(table, Trace)}
    _, plain, _ = run("report", "explain", "2026-06", "sinistres", "neutralité")
    assert "COMPLIANCE_HMAC_KEY" in plain
    monkeypatch.setenv("COMPLIANCE_HMAC_KEY", "a key of the operator")
    _, keyed, _ = run("report", "explain", "2026-06", "sinistres", "neutralité")
    assert "COMPLIANCE_HMAC_KEY" not in keyed
    assert plain.splitlines()[-2] != keyed.splitlines()[-1]
    assert not [one for one in ids for text in (plain, keyed) if one in text or one[:16] in text]


def test_what_is_masked_is_not_explained(home: Path, run: Run) -> None:
    figures = json.loads(archived(home, "figures.json"))["figures"]
    masked = [f for f in figures if f["state"] == "non communiqué" and f["name"] == "n_scored"]
    assert masked
    code, out, _ = run("report", "explain", "2026-06", masked[0]["department"], masked[0]["metric"])
    assert code == 0
    assert "Non communiqué" in out
    assert len(out.splitlines()) == 2
    found = json.loads(run("report", "explain", "2026-06", masked[0]["department"], masked[0]["metric"], "--json")[1])
    assert (found["statuses"], found["worst"]) == (None, None)
    assert "mean" not in found["figures"]


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("2026-06", "direction-lunaire", "neutralité"), "direction « direction-lunaire » absente"),
        (("2026-06", "sinistres", "charme"), "mesure « charme » absente"),
        (("2026-04", "sinistres", "neutralité"), "2026-04"),
        (("juin", "sinistres", "neutralité"), "attendu AAAA-MM"),
    ],
)
def test_words_that_name_nothing_are_one_line(run: Run, words: tuple[str, ...], message: str) -> None:
    code, _, err = run("report", "explain", *words)
    assert (code, len(err.strip().splitlines())) == (2, 1)
    assert message in err


def test_tables_that_changed_or_went_are_said(home: Path, run: Run) -> None:
    store, key = TableStore(home / "data"), ("evaluation", "neutrality")
    day = next(d.isoformat() for d in Month.parse("2026-06").days() if store.rows(key, d.isoformat()) > 4)
    table = store.read(key, day)
    table.loc[table["department"] == "direction-sinistres", "value"] = 0.123
    table.loc[table["department"] == "direction-sinistres", "status"] = "scored"
    store.write(key, day, table)
    code, out, _ = run("report", "explain", "2026-06", "sinistres", "neutralité")
    assert code == 1
    assert "ÉCART" in out
    assert "plus celles du manifeste" in out
    shutil.rmtree(home / "data")
    code, out, _ = run("report", "explain", "2026-06", "sinistres", "neutralité")
    assert code == 2
    assert "seule l’archive répond" in out


def test_a_received_file_is_one_of_the_archive_or_is_not(home: Path, run: Run, tmp_path: Path) -> None:
    content = archived(home, "bias-report-2026-06.pdf")
    received = tmp_path / "reçu.pdf"
    received.write_bytes(content)
    code, out, _ = run("report", "verify", str(received))
    assert (code, "reçu.pdf : VALIDE" in out) == (0, True)
    for at in (0, len(content) // 2, len(content) - 1):
        changed = bytearray(content)
        changed[at] ^= 1
        received.write_bytes(bytes(changed))
        code, out, _ = run("report", "verify", str(received))
        assert (code, "NON VALIDE" in out) == (1, True)
    shutil.rmtree(home / "archive")
    code, out, _ = run("report", "verify", str(received))
    assert code == 2
    assert "l’archive est vide" in out


def test_a_published_head_is_found_or_its_absence_is(home: Path, run: Run) -> None:
    head = json.loads((home / "archive" / "chain.jsonl").read_text(encoding="utf-8").splitlines()[-1])
    digest = head["manifest_sha256"]
    code, out, _ = run("report", "verify", "--published", digest.upper())
    assert (code, "maillon 1, 2026-06 révision 1" in out) == (0, True)
    code, out, _ = run("report", "verify", "2026-06", "--published", "0" * 64)
    assert (code, "absente des 2 maillon(s)" in out) == (1, True)
    code, out, _ = run("report", "verify", "--published", "abc")
    assert (code, "64 chiffres" in out) == (2, True)


@pytest.mark.usefixtures("home")
def test_roots_that_are_no_certificate_are_one_line(run: Run, tmp_path: Path) -> None:
    wrong = tmp_path / "root.pem"
    wrong.write_bytes(b"no certificate")
    code, _, err = run("report", "verify", "2026-06", "--roots", str(wrong))
    assert (code, "PEM ou DER" in err, len(err.strip().splitlines())) == (2, True, 1)
    code, _, err = run("report", "verify", "2026-06", "--roots", str(tmp_path / "absent.pem"))
    assert (code, "absent.pem : ce fichier n’existe pas" in err) == (2, True)


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "indiquer ce qui est à vérifier, un mois (AAAA-MM), un fichier reçu, --all ou --published"),
        (("absent/rapport.pdf",), "absent/rapport.pdf : ce fichier n’existe pas"),
        (("rapport.pdf",), "rapport.pdf : ce fichier n’existe pas"),
        (("/",), "c’est un dossier"),
        (("juin",), "attendu AAAA-MM"),
        (("--all", "--revision", "1"), "--revision : attendu avec un mois"),
    ],
)
def test_what_cannot_be_verified_is_one_line_and_json_when_asked(
    run: Run, words: tuple[str, ...], message: str
) -> None:
    code, out, err = run("report", "verify", *words)
    assert (code, out, message in err, len(err.strip().splitlines())) == (2, "", True, 1)
    code, out, _ = run("report", "verify", *words, "--json")
    told = json.loads(out)
    assert (code, told["schema"], told["exit_code"]) == (2, "compliance-error/1", 2)
    assert message in told["error"]


def test_nothing_altered_is_handed_out(home: Path, run: Run, tmp_path: Path) -> None:
    folder = home / "archive" / "revisions" / "2026-06" / "r1"
    for name in ("bias-report-2026-06.pdf", "summary.json", "policy.json"):
        content = (folder / name).read_bytes()
        (folder / name).chmod(0o644)
        (folder / name).write_bytes(content[:-2] + b"x\n")
        for command in ("get", "summary"):
            code, out, err = run("report", command, "2026-06", "--to", str(tmp_path / "out"))
            assert (code, out, f"{name} : octets modifiés" in err) == (1, "", True)
        (folder / name).write_bytes(content)
    (folder / "figures.csv").unlink()
    code, _, err = run("report", "get", "2026-06", "--to", str(tmp_path / "out"))
    assert (code, "figures.csv : absent. Rien n’est remis" in err) == (1, True)
    assert not (tmp_path / "out").exists()


def _revised(home: Path, folder: Path) -> None:
    """June again under a policy whose citation threshold moved on 10 June, archived as revision 2."""
    shutil.copytree(policy_dir(None), folder)
    current = folder / "thresholds.yaml"
    text = current.read_text(encoding="utf-8")
    (folder / "history" / "thresholds").mkdir(parents=True, exist_ok=True)
    (folder / "history" / "thresholds" / "2026-01-01.yaml").write_text(text, encoding="utf-8")
    text = text.replace("effective_from: 2026-01-01", "effective_from: 2026-06-10")
    current.write_text(text.replace("citation_compliance: 0.80", "citation_compliance: 0.75"), encoding="utf-8")
    revise_month(home, "2026-06", folder)


def test_a_revision_says_why_everywhere(home: Path, run: Run, tmp_path: Path) -> None:
    _revised(home, tmp_path / "policy")
    code, out, _ = run("report", "list")
    reason = "motif : recalcul – politique : thresholds.citation_compliance 0,8 → 0,75 ; données modifiées : "
    assert (code, reason in out) == (0, True)
    head = json.loads((home / "archive" / "chain.jsonl").read_text(encoding="utf-8").splitlines()[-1])
    assert f"Tête de chaîne (empreinte à publier) : {head['manifest_sha256']}" in out
    listed = json.loads(run("report", "list", "--json")[1])
    assert [row["in_force"] for row in listed["reports"]] == [True, False, True]
    assert listed["chain_head"]["sha256"] == head["manifest_sha256"]
    content = (home / "archive" / "revisions" / "2026-06" / "r2" / "bias-report-2026-06.pdf").read_bytes()
    text = flat(" ".join(page.extract_text() for page in PdfReader(io.BytesIO(content)).pages))
    assert "Révision 2, remplace la révision 1 du 1er juillet 2026" in text
    assert "Motif : recalcul – politique : thresholds.citation_compliance 0,8 → 0,75" in text
    log = "10/06/2026 seuil seuil de citation des sources (thresholds.citation_compliance) : 0,8 → 0,75"
    assert text.count(log) == 1
    for revision, wanted in (("1", 0), ("2", 0), ("3", 2)):
        code, out, err = run("report", "verify", "2026-06", "--revision", revision)
        assert code == wanted, out + err
    assert "pas de révision 3" in out
    code, out, _ = run("report", "verify", "2026-06", "--revision", "1", "--json")
    assert json.loads(out)[0]["chain_head"]["sha256"] == head["manifest_sha256"]
    code, out, _ = run("report", "verify", str(_handed(home, tmp_path)))
    assert "révision 1 remplacée par la 2" in out.splitlines()[-4]


def _handed(home: Path, folder: Path) -> Path:
    received = folder / "ancien.pdf"
    received.write_bytes(archived(home, "bias-report-2026-06.pdf"))
    return received


def _old_things(home: Path) -> None:
    store = TableStore(home / "data")
    table = store.read(("evaluation", "neutrality"), "2026-06-02")
    for day in ("2025-09-30", "2025-10-01"):
        store.write(("evaluation", "neutrality"), day, table)
    store.write(("department", "monthly"), "2025-09-01", store.read(("department", "monthly"), "2026-06-01"))
    (home / "data" / "evaluation" / "neutrality" / "notes.parquet").write_bytes(b"not a partition")
    left = home / "data" / "langfuse" / "traces" / ".2026-06-01.parquet.77.tmp"
    left.write_bytes(b"left by a killed run")
    state = home / "state" / "read" / "journal"
    state.parent.mkdir(parents=True)
    state.write_bytes(b"rows")
    for path in (left, state):
        os.utime(path, (1_700_000_000, 1_700_000_000))
    (home / "state" / "recent").write_bytes(b"rows")
    os.utime(home / "state" / "recent", (1_796_000_000, 1_796_000_000))
    for moment, key in ((1_700_000_000.0, "old"), (1_796_000_000.0, "new")):
        with SqliteCache(home / "cache" / "judgements.sqlite", clock=lambda moment=moment: moment) as cache:
            cache.put("e", "b", key, Reading(0.5, None))


def _everything(home: Path) -> dict[str, bytes]:
    return {str(p.relative_to(home)): p.read_bytes() for p in sorted(home.rglob("*")) if p.is_file()}


def test_purge_shows_first_then_deletes_what_is_old_and_never_the_archive(
    home: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resources, "utc_now", lambda: datetime(2026, 11, 30, 12, tzinfo=UTC))
    _old_things(home)
    before = _everything(home)
    code, out, _ = run("purge")
    assert code == 0
    assert "depuis le 01/10/2025" in out
    assert "Rien n'a été supprimé" in out
    # looking leaves SQLite's own side files behind, nothing else
    assert {name for name in _everything(home) if not name.endswith(("-shm", "-wal"))} == set(before)
    assert purge.last(home) is None
    code, out, _ = run("purge", "--apply")
    assert code == 0
    assert purge.last(home) == datetime(2026, 11, 30, 12, tzinfo=UTC)
    after = _everything(home)
    gone = {name for name in before if name not in after}
    assert gone == {
        "data/evaluation/neutrality/2025-09-30.parquet",
        "data/department/monthly/2025-09-01.parquet",
        "data/langfuse/traces/.2026-06-01.parquet.77.tmp",
        "state/read/journal",
    }
    kept = [name for name in after if name.startswith("archive/")]
    assert kept
    assert all(after[name] == before[name] for name in kept)
    with sqlite3.connect(home / "cache" / "judgements.sqlite") as db:
        assert db.execute("SELECT key FROM judgements").fetchall() == [("new",)]
    db.close()
    monkeypatch.setattr(resources, "utc_now", lambda: datetime(2026, 11, 30, 13, tzinfo=UTC))
    code, out, _ = run("purge", "--apply")
    assert (code, "Rien à supprimer" in out) == (0, True)
    assert purge.last(home) == datetime(2026, 11, 30, 13, tzinfo=UTC)
    assert run("report", "verify", "2026-06")[0] == 0


def test_purge_follows_no_link_out_of_the_tables(tmp_path: Path) -> None:
    elsewhere, tables = tmp_path / "elsewhere", tmp_path / "home" / "data" / "evaluation"
    elsewhere.mkdir()
    (elsewhere / "2020-01-01.parquet").write_bytes(b"not of this home")
    tables.mkdir(parents=True)
    (tables / "linked").symlink_to(elsewhere)
    assert purge.find(tmp_path / "home", date(2026, 1, 1)) == ()
