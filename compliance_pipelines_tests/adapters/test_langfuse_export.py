"""The export reader on recorded files of every shape, and on files that are damaged, hostile or large."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from compliance_pipelines.adapters.langfuse_export import ExportError, ExportReader, ReadReport
from compliance_pipelines.core.records import Score, Trace
from compliance_pipelines.core.tables import frame

RECORDINGS = Path(__file__).parents[1] / "fixtures" / "recordings"
DAY = date(2026, 6, 2)
HUGE_SCORE = (
    '{"id": "s", "traceId": "t", "name": "n", "dataType": "NUMERIC", "timestamp": "2026-06-02T10:00:00Z", '
    '"value": 1' + "0" * 400 + "}"
)


def reader(source: Path, tmp_path: Path) -> ExportReader:
    def resolve(*found: object) -> tuple[str, str]:
        names = ("stamp", "key_alias", "team_alias", "team_id")
        return next(((str(v), s) for v, s in zip(found, names, strict=False) if v), ("non-attribue", "none"))

    return ExportReader(source, tmp_path / "scratch", resolve, b"k")


def read(source: Path, tmp_path: Path, first: date = DAY, last: date = DAY) -> tuple[list[Trace], dict[str, int]]:
    report = ReadReport()
    days = [date.fromordinal(k) for k in range(first.toordinal(), last.toordinal() + 1)]
    traces = [trace for _, rows in reader(source, tmp_path).trace_days(days, report) for trace in rows]
    frame(traces, Trace)
    return traces, report.totals(first, last)


def row(**changes: object) -> dict[str, object]:
    base: dict[str, object] = {
        "id": "o1", "traceId": "t1", "type": "GENERATION", "name": "litellm", "level": "DEFAULT",
        "startTime": "2026-06-02T10:00:00.000Z", "createdAt": "2026-06-02T10:00:02.000Z", "environment": "production",
        "input": json.dumps({"messages": [{"role": "user", "content": "Quelle franchise ?"}]}),
        "output": json.dumps({"role": "assistant", "content": "150 €"}), "metadata": {}, "tags": [], "sessionId": "s1",
    }  # fmt: skip
    return {k: v for k, v in (base | changes).items() if v is not None}


def export(folder: Path, *lines: object, name: str = "observations.jsonl") -> Path:
    folder.mkdir(exist_ok=True)
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines) + "\n"
    path = folder / name
    path.write_bytes(
        gzip.compress(text.encode("utf-8", "surrogatepass"))
        if name.endswith(".gz")
        else text.encode("utf-8", "surrogatepass")
    )
    return folder


@pytest.mark.parametrize(
    ("name", "exchanges", "answered"),
    [
        ("batch-events.csv.gz", 71, 55),
        ("batch-events.json.gz", 71, 55),
        ("batch-events.jsonl.gz", 71, 55),
        ("blob-observations_v2.csv.gz", 118, 90),
        ("blob-observations_v2.jsonl.gz", 118, 90),
        ("dual-observations.jsonl.gz", 87, 71),
        ("dual-traces.jsonl.gz", 64, 64),
        ("v2-observations-otel1-full-p01.json.gz", 17, 15),
    ],
)
def test_recorded_exports_are_read_unchanged(name: str, exchanges: int, answered: int, tmp_path: Path) -> None:
    traces, counts = read(RECORDINGS / name, tmp_path, date(2026, 11, 30), date(2026, 11, 30))
    assert (len(traces), sum(t.answer is not None for t in traces)) == (exchanges, answered)
    assert not [k for k in counts if k.startswith("rejected_")]
    answers = [t for t in traces if t.question and "franchise" in t.question and t.answer and t.contexts]
    assert answers, "a recorded exchange has question, answer and contexts"
    assert all("<source" not in t.question and "Consignes" not in t.question for t in answers if t.question)


def test_pages_of_one_query_read_together_join_across_pages(tmp_path: Path) -> None:
    folder = tmp_path / "pages"
    folder.mkdir()
    for path in RECORDINGS.glob("v2-observations-sdk-full-*"):
        (folder / path.name).write_bytes(path.read_bytes())
    traces, counts = read(folder, tmp_path, date(2026, 11, 30), date(2026, 11, 30))
    assert counts["observations"] == 162
    by_batch, _ = read(RECORDINGS / "batch-events.jsonl.gz", tmp_path, date(2026, 11, 30), date(2026, 11, 30))
    same = {(t.trace_id, t.question, t.answer, t.contexts, t.department) for t in traces}
    assert same == {(t.trace_id, t.question, t.answer, t.contexts, t.department) for t in by_batch}


@pytest.mark.parametrize(
    ("name", "scores", "feedback"),
    [
        ("batch-scores.csv.gz", 147, 6),
        ("batch-scores.jsonl.gz", 147, 6),
        ("blob-scores.csv.gz", 228, 0),
        ("v3-scores-all-p05.json.gz", 9, 0),
    ],
)
def test_recorded_scores(name: str, scores: int, feedback: int, tmp_path: Path) -> None:
    found, _ = reader(RECORDINGS / name, tmp_path).read_scores(date(2026, 11, 30), date(2026, 11, 30))
    frame(found, Score)
    assert len(found) == scores
    assert Counter(s.name for s in found)["human_feedback"] == feedback
    assert all(s.value in (1.0, -1.0) for s in found if s.name == "human_feedback")
    assert all(
        s.value is None and s.string_value in {"allowed", "refused"} for s in found if s.name == "guardrail_decision"
    )


def test_parquet_reads_like_jsonl(tmp_path: Path) -> None:
    rows = [row(), row(id="o2", traceId="t2", sessionId="s2")]
    export(tmp_path / "a", *rows)
    (tmp_path / "b").mkdir()
    flat = [{**r, "metadata": "{}", "tags": "[]"} for r in rows]
    pq.write_table(pa.Table.from_pylist(flat), tmp_path / "b" / "observations.parquet")
    assert read(tmp_path / "a", tmp_path)[0] == read(tmp_path / "b", tmp_path)[0]


def test_csv_reads_like_jsonl(tmp_path: Path) -> None:
    export(tmp_path / "a", row())
    (tmp_path / "b").mkdir()
    out = io.StringIO()
    writer = csv.DictWriter(out, list(row()))
    writer.writeheader()
    writer.writerow({**row(), "metadata": "{}", "tags": "[]"})
    (tmp_path / "b" / "observations.csv").write_bytes(b"\xef\xbb\xbf" + out.getvalue().encode())
    assert read(tmp_path / "a", tmp_path)[0] == read(tmp_path / "b", tmp_path)[0]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{pas du json", "not_json"),
        ("[1, 2]", "not_json"),
        ("null", "not_json"),
        (row(traceId=None), "missing_id"),
        (row(id=""), "missing_id"),
        (row(traceId="x" * 300), "missing_id"),
        ({"foo": 1}, "unknown_shape"),
        (row(startTime="2026-06-02T10:00:00"), "naive_time"),
        (row(startTime="demain"), "bad_time"),
        (row(startTime="9999-12-31T23:59:59-23:00"), "bad_time"),
        (row(startTime="9999-12-31T23:59:59Z"), "bad_time"),
        (row(startTime="0001-01-01T00:00:00Z"), "bad_time"),
        ("[" * 10_000, "not_json"),
        ('{"id": ' + "[" * 10_000, "not_json"),
        (row(tags="[" * 10_000), "unusable_field"),
        (HUGE_SCORE, "unusable_field"),
    ],
)
def test_an_unusable_row_is_counted_with_its_reason_and_the_others_are_read(
    line: object, reason: str, tmp_path: Path
) -> None:
    export(tmp_path / "e", row(), line, row(id="o3", traceId="t3"))
    traces, counts = read(tmp_path / "e", tmp_path)
    assert [t.trace_id for t in traces] == ["t1", "t3"]
    assert counts[f"rejected_{reason}"] == 1
    assert counts["rows"] == 3


def test_metadata_deeper_than_any_real_one_is_dropped_and_the_row_is_read(tmp_path: Path) -> None:
    deep = json.loads('{"a":' * 900 + "1" + "}" * 900)
    export(tmp_path / "e", row(metadata=deep), row(id="o2", traceId="t2", metadata='{"a":' * 900 + "1" + "}" * 900))
    assert [t.trace_id for t in read(tmp_path / "e", tmp_path)[0]] == ["t1", "t2"]


@pytest.mark.parametrize("as_text", [False, True])
def test_what_a_caller_nests_does_not_take_the_stamp_away(as_text: bool, tmp_path: Path) -> None:
    deep = json.loads('{"a":' * 60 + "[[1]]" + "}" * 60)
    metadata = {
        "compliance_department": "direction-sinistres",
        "requester_metadata": {"retrieval_score": 0.4, "note": deep},
    }
    export(tmp_path / "e", row(metadata=json.dumps(metadata) if as_text else metadata))
    ((trace,), _) = read(tmp_path / "e", tmp_path)
    assert (trace.department, trace.retrieval_score) == ("direction-sinistres", 0.4)


def test_one_huge_json_document_is_refused_before_it_fills_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("compliance_pipelines.adapters.langfuse_export_rows._MAX_JSON", 1000)
    folder = tmp_path / "e"
    folder.mkdir()
    (folder / "o.json.gz").write_bytes(gzip.compress(b" " * 5_000_000))
    with pytest.raises(ExportError, match="exporter en JSONL"):
        read(folder, tmp_path)


def test_a_row_without_time_is_refused(tmp_path: Path) -> None:
    export(tmp_path / "e", row(), row(id="o2", startTime=""))
    assert read(tmp_path / "e", tmp_path)[1]["rejected_missing_time"] == 1


def test_truncated_gzip_refuses_the_read_in_one_line(tmp_path: Path) -> None:
    folder = export(tmp_path / "e", *[row(id=f"o{k}", traceId=f"t{k}") for k in range(500)], name="o.jsonl.gz")
    path = folder / "o.jsonl.gz"
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(ExportError, match=r"o\.jsonl\.gz : archive gzip tronquée") as refused:
        read(folder, tmp_path)
    assert "\n" not in str(refused.value)
    assert not list((tmp_path / "scratch").glob("spill-*"))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("e.csv", b"a,b\n1,2\n", "colonnes inconnues"),
        ("e.json", b"{", "JSON illisible"),
        ("e.parquet", b"PAR1", "Parquet illisible"),
        ("e.jsonl.gz", b"not gzip", "gzip tronquée ou abîmée"),
    ],
)
def test_unreadable_files_are_one_line(name: str, content: bytes, message: str, tmp_path: Path) -> None:
    folder = tmp_path / "e"
    folder.mkdir()
    (folder / name).write_bytes(content)
    with pytest.raises(ExportError, match=message) as refused:
        read(folder, tmp_path)
    assert "\n" not in str(refused.value)


def test_missing_and_empty_folders_are_one_line(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match="introuvable"):
        read(tmp_path / "absent", tmp_path)
    (tmp_path / "vide").mkdir()
    with pytest.raises(ExportError, match="aucun fichier"):
        read(tmp_path / "vide", tmp_path)


def test_duplicate_rows_are_read_once_and_conflicts_are_counted(tmp_path: Path) -> None:
    later = row(createdAt="2026-06-02T10:05:00Z", output=json.dumps({"content": "corrigé"}))
    export(tmp_path / "e", row(), row(), later)
    traces, counts = read(tmp_path / "e", tmp_path)
    assert [t.answer for t in traces] == ["corrigé"]
    assert (counts["duplicates"], counts["conflicting_duplicates"]) == (2, 1)


@pytest.mark.parametrize("text", ["a\x00b", "\ud800 seul", "\u202edroite", "é" * 10, "<b>&amp;</b>"])
def test_strange_text_passes(text: str, tmp_path: Path) -> None:
    export(tmp_path / "e", row(output=json.dumps({"content": text})))
    (trace,) = read(tmp_path / "e", tmp_path)[0]
    assert trace.answer is not None
    assert trace.answer.encode()


def test_a_lone_surrogate_written_raw_passes(tmp_path: Path) -> None:
    export(tmp_path / "e", json.dumps(row()).replace("150", "\ud83d 150"))
    assert read(tmp_path / "e", tmp_path)[0][0].answer


def test_a_10_mb_answer_is_cut_and_counted(tmp_path: Path) -> None:
    export(tmp_path / "e", row(output="x" * 10_000_000))
    (trace,), counts = read(tmp_path / "e", tmp_path)
    assert trace.answer is not None
    assert len(trace.answer) == 2_000_000
    assert counts["truncated_texts"] == 1


def test_traces_on_either_side_of_midnight_go_to_their_paris_day(tmp_path: Path) -> None:
    export(
        tmp_path / "e",
        row(startTime="2026-06-02T21:59:59Z"),
        row(id="o2", traceId="t2", startTime="2026-06-02T22:00:00Z"),
    )
    assert [t.trace_id for t in read(tmp_path / "e", tmp_path)[0]] == ["t1"]
    assert [t.trace_id for t in read(tmp_path / "e", tmp_path, date(2026, 6, 3), date(2026, 6, 3))[0]] == ["t2"]


def test_truth_files_and_manifests_are_not_read_as_exports(tmp_path: Path) -> None:
    folder = export(tmp_path / "e", row())
    (folder / "truth.jsonl").write_text('{"id": "x"}\n', encoding="utf-8")
    (folder / "manifests").mkdir()
    (folder / "manifests" / "m.json").write_text("{}", encoding="utf-8")
    assert read(folder, tmp_path)[1]["rows"] == 1


def test_leftovers_of_a_killed_read_are_swept(tmp_path: Path) -> None:
    leftover = tmp_path / "scratch" / "spill-999999999-abc"
    leftover.mkdir(parents=True)
    export(tmp_path / "e", row())
    read(tmp_path / "e", tmp_path)
    assert not leftover.exists()


def test_memory_stays_bounded_over_a_large_export(tmp_path: Path) -> None:
    folder = tmp_path / "e"
    folder.mkdir()
    text = "La franchise est de 150 €. " * 400
    with gzip.open(folder / "o.jsonl.gz", "wt", compresslevel=1, encoding="utf-8") as out:
        for k in range(9000):
            out.write(json.dumps(row(id=f"o{k}", traceId=f"t{k % 3000}", output=text)) + "\n")
    code = (
        "import resource, sys\nfrom pathlib import Path\nfrom datetime import date\n"
        "from compliance_pipelines.adapters.langfuse_export import ExportReader, ReadReport\n"
        "r = ExportReader(Path(sys.argv[1]), Path(sys.argv[2]), lambda *a: ('d', 'stamp'), b'k')\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\nn = 0\n"
        "for chunk in r.trace_chunks(date(2026, 6, 2), date(2026, 6, 2), ReadReport()): n += len(chunk)\n"
        "print(n, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder), str(tmp_path / "s")],
        capture_output=True,
        text=True,
        check=True,
        env=dict(os.environ),
    )
    exchanges, grown = map(int, done.stdout.split())
    assert exchanges == 9000
    # 9,000 rows of 10 kB are about 100 MB of text (200 MB as Python objects)
    assert grown < 130


def saved(tmp_path: Path, name: str, text: str) -> Path:
    (tmp_path / "e").mkdir()
    (tmp_path / "e" / name).write_text(text, encoding="utf-8")
    return tmp_path / "e"


HEADER = "id,traceId,type,startTime,input,output,metadata\n"
LINE = '{0},t{0},GENERATION,2026-06-02T10:00:0{0}Z,"q","r","{{}}"\n'


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("in-the-last-cell.csv", HEADER + LINE.format(1) + LINE.format(2)[:-3]),
        ("quote-without-end.csv", HEADER + LINE.format(1).replace('"q"', '"q') + LINE.format(2) + LINE.format(3)),
        ("in-a-line.jsonl", json.dumps(row()) + "\n" + json.dumps(row(id="o2", traceId="t2"))[:-20]),
    ],
)
def test_a_file_cut_off_in_its_middle_is_refused_whole(name: str, text: str, tmp_path: Path) -> None:
    with pytest.raises(ExportError, match=r"tronqué.*lecture refusée \(à réexporter\)$"):
        read(saved(tmp_path, name, text), tmp_path)


def test_a_cell_beyond_the_limit_loses_no_row_in_silence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("compliance_pipelines.adapters.langfuse_export_rows._MAX_LINE", 2000)
    text = HEADER + LINE.format(1) + LINE.format(2).replace('"q"', f'"{"q" * 3000}"') + LINE.format(3)
    with pytest.raises(ExportError, match="lecture refusée"):
        read(saved(tmp_path, "long.csv", text), tmp_path)


def test_a_csv_row_of_too_few_or_too_many_cells_is_counted(tmp_path: Path) -> None:
    short, long = "2,t2,GENERATION,2026-06-02T10:00:02Z,q\n", LINE.format(3).replace("\n", ",plus\n")
    traces, counts = read(saved(tmp_path, "o.csv", HEADER + LINE.format(1) + short + long), tmp_path)
    assert [t.trace_id for t in traces] == ["t1"]
    assert counts["rejected_wrong_cells"] == 2


@pytest.mark.parametrize("wrap", [lambda rows: rows, lambda rows: {"data": rows, "meta": {}}], ids=["array", "page"])
def test_what_is_no_row_in_an_array_is_counted(wrap: Callable[[list[object]], object], tmp_path: Path) -> None:
    traces, counts = read(saved(tmp_path, "o.json", json.dumps(wrap([row(), 5, None, "x"]))), tmp_path)
    assert len(traces) == 1
    assert (counts["rows"], counts["rejected_not_json"]) == (4, 3)


@pytest.mark.parametrize("text", [pa.string(), pa.binary()], ids=["text", "bytes"])
def test_parquet_as_the_storage_engine_writes_it(text: pa.DataType, tmp_path: Path) -> None:
    stamps = {"compliance_department": "direction-it", "requester_metadata": '{"retrieval_score": 0.5}'}
    moment = datetime(2026, 6, 2, 10, tzinfo=UTC).replace(tzinfo=None)
    plain = {
        "id": "o1", "trace_id": "t1", "type": "GENERATION", "name": "litellm", "level": "DEFAULT",
        "session_id": "s1", "environment": "production", "input": row()["input"], "output": row()["output"],
    }  # fmt: skip
    columns = {name: pa.array([value], pa.string()).cast(text) for name, value in plain.items()}
    columns |= {name: pa.array([moment], pa.timestamp("us")) for name in ("start_time", "created_at")}
    columns["metadata"] = pa.array([list(stamps.items())], pa.map_(text, text))
    columns["tags"] = pa.array([["rag"]], pa.list_(text))
    (tmp_path / "e").mkdir()
    pq.write_table(pa.table(columns), tmp_path / "e" / "o.parquet")
    ((trace,), _) = read(tmp_path / "e", tmp_path)
    assert (trace.trace_id, trace.department, trace.department_source) == ("t1", "direction-it", "stamp")
    assert (trace.retrieval_score, trace.question, trace.answer) == (0.5, "Quelle franchise ?", "150 €")
