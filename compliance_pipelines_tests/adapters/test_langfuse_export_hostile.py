"""Exports that are damaged, half written or made to fill memory: one line, one counted row, never a lost file."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from compliance_pipelines.adapters import langfuse_export
from compliance_pipelines.adapters.langfuse_export import ExportError
from compliance_pipelines_tests.adapters.test_langfuse_export import HEADER, LINE, export, read, row

WHERE = "compliance_pipelines.adapters.langfuse_export_rows"


def parquet(tmp_path: Path, **changes: pa.Array) -> Path:
    texts = {"id": "o1", "traceId": "t1", "type": "GENERATION", "startTime": "2026-06-02T10:00:00Z", "output": "a"}
    columns = {name: pa.array([value]) for name, value in texts.items()} | changes
    (tmp_path / "e").mkdir(exist_ok=True)
    pq.write_table(pa.table(columns), tmp_path / "e" / "o.parquet")
    return tmp_path / "e"


def written(tmp_path: Path, name: str, content: bytes) -> Path:
    (tmp_path / "e").mkdir(exist_ok=True)
    (tmp_path / "e" / name).write_bytes(content)
    return tmp_path / "e"


def many(tmp_path: Path) -> bytes:
    names = ("id", "traceId", "type", "input")
    columns = {name: pa.array([f"{name}{k}" * 9 for k in range(2000)]) for name in names}
    pq.write_table(
        pa.table(columns | {"startTime": ["2026-06-02T10:00:00Z"] * 2000}), tmp_path / "o", use_dictionary=False
    )
    return (tmp_path / "o").read_bytes()


@pytest.mark.parametrize(
    "damage",
    [
        lambda whole: (
            whole[: len(whole) // 4]
            + bytes(b ^ 0xA5 for b in whole[len(whole) // 4 : len(whole) // 2])
            + whole[len(whole) // 2 :]
        ),
        lambda whole: whole[:1000] + whole[20_000:],
        lambda whole: whole[:-100],
        lambda _: b"",
    ],
    ids=["pages", "hole", "end", "empty"],
)
def test_a_damaged_parquet_file_is_one_line(damage: Callable[[bytes], bytes], tmp_path: Path) -> None:
    with pytest.raises(ExportError, match=r"o\.parquet : fichier Parquet illisible ou tronqué") as refused:
        read(written(tmp_path, "o.parquet", damage(many(tmp_path))), tmp_path)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "changes",
    [
        {"createdAt": pa.array([9 * 10**15], pa.timestamp("ms", "UTC"))},
        {"startTime": pa.array([1_780_394_400_000_000], pa.timestamp("us", "Nope/Zone"))},
        {"input": pa.array([{"a": datetime(2026, 6, 2, tzinfo=UTC)}])},
    ],
    ids=["beyond-time", "unknown-zone", "time-in-text"],
)
def test_a_parquet_cell_of_an_odd_type_costs_its_row_alone(changes: dict[str, pa.Array], tmp_path: Path) -> None:
    folder = parquet(tmp_path, **changes)
    export(folder, row(id="o2", traceId="t2"))
    traces, counts = read(folder, tmp_path)
    assert [trace.trace_id for trace in traces] == ["t2"]
    assert (counts["rows"], counts["rejected_unusable_field"]) == (2, 1)


def test_bytes_that_are_no_text_cost_their_row_alone(tmp_path: Path) -> None:
    offsets, text = pa.py_buffer(b"\0\0\0\0\3\0\0\0\6\0\0\0"), pa.py_buffer(b"\xff\xfeabon")
    pair = {name: pa.array([f"{name}1", f"{name}2"]) for name in ("id", "traceId")}
    pair |= {"type": pa.array(["GENERATION"] * 2), "startTime": pa.array(["2026-06-02T10:00:00Z"] * 2)}
    pair["output"] = pa.Array.from_buffers(pa.string(), 2, [None, offsets, text])
    traces, counts = read(parquet(tmp_path, **pair), tmp_path)
    assert [trace.answer for trace in traces] == ["bon"]
    assert counts["rejected_unusable_field"] == 1


def test_fewer_rows_at_once_where_a_dictionary_is_heavy(tmp_path: Path) -> None:
    from compliance_pipelines.adapters.langfuse_export_rows import _batch_rows

    def at_once(size: int) -> int:
        repeated = pa.DictionaryArray.from_arrays(pa.array([0] * 9, pa.int32()), pa.array(["x" * size]))
        pq.write_table(pa.table({"output": repeated}), tmp_path / "o", compression="zstd")
        with pq.ParquetFile(tmp_path / "o") as file:
            return _batch_rows(tmp_path / "o", file.metadata.row_group(0))

    assert at_once(100) == 500
    assert at_once(8 << 20) == 7


@pytest.mark.parametrize(
    ("name", "limit", "text"),
    [
        ("one-line.csv", 2000, HEADER + "a" * 5000),
        ("many-lines.csv", 2000, HEADER + LINE.format(1) + '"a\na\na",' * 500),
    ],
)
def test_a_csv_row_without_end_is_refused_before_it_fills_memory(
    name: str, limit: int, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{WHERE}._MAX_LINE", limit)
    with pytest.raises(ExportError, match="CSV abîmé ou tronqué"):
        read(written(tmp_path, name, text.encode()), tmp_path)


def test_small_json_that_becomes_huge_is_not_decoded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{WHERE}._FREE_SIGNS", 1000)
    dense = "[" + "{}," * 5000 + "{}]"
    traces, counts = read(export(tmp_path / "e", dense, row()), tmp_path)
    assert (len(traces), counts["rejected_line_too_dense"]) == (1, 1)
    with pytest.raises(ExportError, match=r"trop de valeurs .* exporter en JSONL"):
        read(export(tmp_path / "f", dense, name="o.json"), tmp_path)
    usual = [row(id=f"o{k}", traceId=f"t{k}") for k in range(40)]
    assert len(read(export(tmp_path / "g", json.dumps(usual), name="o.json"), tmp_path)[0]) == 40


@pytest.mark.parametrize("name", ["o.csv.gz", "o.json.gz", "o.jsonl.gz"])
def test_a_bomb_fills_no_memory(name: str, tmp_path: Path) -> None:
    piece = b"a" * (1 << 20) if name.startswith("o.csv") else b"{}," * (1 << 18)
    with gzip.open(tmp_path / name, "wb", compresslevel=1) as out:
        out.write(HEADER.encode() if name.startswith("o.csv") else b"[")
        for _ in range(400):
            out.write(piece)
    code = (
        "import resource, sys\nfrom datetime import date\nfrom pathlib import Path\n"
        "from compliance_pipelines.adapters.langfuse_export import ExportError, ExportReader, ReadReport\n"
        "r = ExportReader(Path(sys.argv[1]), Path(sys.argv[2]), lambda *a: ('d', 'stamp'), b'k')\n"
        "before, said = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, 'read'\n"
        "try: list(r.trace_chunks(date(2026, 6, 2), date(2026, 6, 2), ReadReport()))\n"
        "except ExportError: said = 'refused'\n"
        "print(said, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)"
    )
    arguments = [sys.executable, "-c", code, str(tmp_path / name), str(tmp_path / "s")]
    said, grown = subprocess.run(arguments, capture_output=True, text=True, check=True).stdout.split()
    assert said == "refused" or name == "o.jsonl.gz"
    # a JSON document of 256 MB is held once as bytes; decoded it would be gigabytes
    assert int(grown) < 600


def test_no_file_is_passed_over_in_silence(tmp_path: Path) -> None:
    folder = export(tmp_path / "e", row())
    (folder / "p.jsonl.GZ").write_bytes(gzip.compress(json.dumps(row(id="o2", traceId="t2")).encode() + b"\n"))
    (folder / "LISEZMOI.zip").write_bytes(b"PK")
    assert len(read(folder, tmp_path)[0]) == 2
    (folder / "q.csv.zst").write_bytes(b"x")
    with pytest.raises(ExportError, match=r"q\.csv\.zst : compression non lue, attendu \.gz"):
        read(folder, tmp_path)


def test_a_folder_that_cannot_be_opened_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = export(tmp_path / "e", row())

    def closed(top: Path, onerror: Callable[[OSError], None]) -> list[tuple[str, list[str], list[str]]]:
        onerror(PermissionError(13, "denied", str(top / "juin")))
        return []

    monkeypatch.setattr(langfuse_export.os, "walk", closed)
    with pytest.raises(ExportError, match=r"juin : dossier illisible \(PermissionError\)"):
        read(folder, tmp_path)


def test_a_file_taken_away_meanwhile_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = export(tmp_path / "e", row())
    monkeypatch.setattr(
        langfuse_export.ExportReader, "files", lambda _: [folder / "gone.jsonl", folder / "gone.parquet"]
    )
    with pytest.raises(ExportError, match=r"gone\.jsonl : lecture impossible \(FileNotFoundError\)"):
        read(folder, tmp_path)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("o.jsonl.gz", b"", "archive gzip tronquée"),
        ("o.csv.gz", b"", "archive gzip tronquée"),
        ("o.jsonl", json.dumps(row()).encode("utf-16"), "UTF-16, attendu UTF-8"),
        ("o.csv", (HEADER + LINE.format(1)).encode("utf-16"), "UTF-16, attendu UTF-8"),
        ("o.json", json.dumps([row()]).encode("utf-16"), "UTF-16, attendu UTF-8"),
    ],
)
def test_a_file_still_empty_or_of_another_encoding_is_refused(
    name: str, content: bytes, said: str, tmp_path: Path
) -> None:
    with pytest.raises(ExportError, match=said):
        read(written(tmp_path, name, content), tmp_path)
